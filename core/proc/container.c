/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/container.h"

#include <string.h>

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The last id in [from, end), a part of a path between slashes; NULL: none. */
static const char *id_in_part(const char *from, const char *end)
{
	for (const char *at = end; at > from;) {
		const char *stop = at;

		while (at > from && is_hex(at[-1]))
			at--;
		if (stop - at == GPC_CONTAINER_ID && (at == from || !is_word(at[-1])) &&
		    (stop == end || !is_word(*stop)))
			return at;
		if (at == stop)
			at--;
	}
	return NULL;
}

static bool is_monitor(const char *from, const char *end)
{
	return memmem(from, (size_t)(end - from), "conmon", 6) != NULL;
}

static bool has(const struct gpc_container_id *ids, size_t n, const char *hex)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(ids[i].hex, hex, GPC_CONTAINER_ID) == 0)
			return true;
	return false;
}

/* Where the part of a path that ends at stop begins. */
static const char *part_of(const char *line, const char *stop)
{
	while (stop > line && stop[-1] != '/')
		stop--;
	return stop;
}

/* ids may be NULL: only counts. */
static size_t ids_in_line(const char *line, const char *end, struct gpc_container_id *ids)
{
	struct gpc_container_id own[GPC_CONTAINER_DEPTH];
	struct gpc_container_id *ret = ids ? ids : own;
	size_t n = 0;

	for (const char *stop = end; stop > line && n < GPC_CONTAINER_DEPTH;) {
		const char *part = part_of(line, stop);
		const char *hex = is_monitor(part, stop) ? NULL : id_in_part(part, stop);

		if (hex && !has(ret, n, hex)) {
			memcpy(ret[n].hex, hex, GPC_CONTAINER_ID);
			ret[n++].hex[GPC_CONTAINER_ID] = '\0';
		}
		stop = part > line ? part - 1 : line;
	}
	return n;
}

const char *gpc_container_line(const char *cgroup, size_t *len)
{
	const char *best = cgroup;
	size_t most = 0;

	*len = 0;
	for (const char *line = cgroup; *line;) {
		const char *end = strchrnul(line, '\n');
		size_t n = ids_in_line(line, end, NULL);

		if (n && n >= most) {
			most = n;
			best = line;
			*len = (size_t)(end - line);
		}
		line = *end ? end + 1 : end;
	}
	return best;
}

size_t gpc_container_ids(const char *cgroup, struct gpc_container_id ret[GPC_CONTAINER_DEPTH])
{
	size_t len;
	const char *line = gpc_container_line(cgroup, &len);

	return len ? ids_in_line(line, line + len, ret) : 0;
}

static bool is_dash_place(size_t n)
{
	return n == 8 || n == 13 || n == 18 || n == 23;
}

/* "8-4-4-4-12" in hex, or the 32 digits that a pod from a file has. Returns its
 * length, 0 if it is neither. */
static size_t uid_length(const char *at)
{
	size_t n = 0;

	while (n < GPC_POD_UID && (is_dash_place(n) ? at[n] == '-' || at[n] == '_' : is_hex(at[n])))
		n++;
	if (n != GPC_POD_UID)
		for (n = 0; n < 32 && is_hex(at[n]);)
			n++;
	return (n == GPC_POD_UID || n == 32) && !is_word(at[n]) ? n : 0;
}

bool gpc_container_pod_uid(const char *path, char ret[GPC_POD_UID + 1])
{
	for (const char *at = path; (at = strstr(at, "pod")); at += 3) {
		size_t n = uid_length(at + 3);

		if (!n || (at > path && is_word(at[-1])))
			continue;
		memcpy(ret, at + 3, n);
		ret[n] = '\0';
		for (char *c = ret; *c; c++)
			if (*c == '_')
				*c = '-';
		return true;
	}
	return false;
}
