/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/maps.h"

#include <string.h>

/* Hand-made number readers: this runs for every line of every sampled process,
 * and strtoull would accept signs and spaces. */
static bool hex(const char **at, const char *end, uint64_t *ret)
{
	const char *from = *at;
	uint64_t v = 0;

	for (; *at < end; ++*at) {
		char c = **at;
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			break;
		if (v >> 60)
			return false;
		v = v << 4 | digit;
	}
	*ret = v;
	return *at > from;
}

static bool decimal(const char **at, const char *end, uint64_t *ret)
{
	const char *from = *at;
	uint64_t v = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
		if (v > UINT64_MAX / 10 - 1)
			return false;
		v = v * 10 + (uint64_t)(**at - '0');
	}
	*ret = v;
	return *at > from;
}

static bool skip(const char **at, const char *end, char c)
{
	if (*at >= end || **at != c)
		return false;
	++*at;
	return true;
}

static bool protection(const char **at, const char *end, uint32_t *ret)
{
	if (end - *at < 4)
		return false;
	*ret = ((*at)[0] == 'r' ? GPC_MAP_READ : 0) | ((*at)[1] == 'w' ? GPC_MAP_WRITE : 0) |
	       ((*at)[2] == 'x' ? GPC_MAP_EXEC : 0);
	*at += 4;
	return true;
}

static bool parse_line(const char *at, const char *end, struct gpc_maps_line *ret)
{
	static const char deleted[] = " (deleted)";
	struct gpc_map *m = &ret->map;
	uint64_t major, minor;
	size_t n = sizeof deleted - 1;

	memset(ret, 0, sizeof *ret);
	if (!hex(&at, end, &m->start) || !skip(&at, end, '-') || !hex(&at, end, &m->end) ||
	    !skip(&at, end, ' ') || !protection(&at, end, &m->prot) || !skip(&at, end, ' ') ||
	    !hex(&at, end, &m->offset) || !skip(&at, end, ' ') || !hex(&at, end, &major) ||
	    !skip(&at, end, ':') || !hex(&at, end, &minor) || !skip(&at, end, ' ') ||
	    !decimal(&at, end, &m->inode) || m->end <= m->start)
		return false;
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;
	while (at < end && *at == ' ')
		at++;
	ret->path = at;
	ret->path_len = (size_t)(end - at);
	if (ret->path_len > n && memcmp(end - n, deleted, n) == 0) {
		ret->path_len -= n;
		ret->is_deleted = true;
	}
	return true;
}

bool gpc_maps_next(const char **at, const char *end, struct gpc_maps_line *ret)
{
	while (*at < end) {
		const char *line = *at;
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		*at = stop < end ? stop + 1 : end;
		if (parse_line(line, stop, ret))
			return true;
	}
	return false;
}
