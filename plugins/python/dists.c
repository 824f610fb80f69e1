/* SPDX-License-Identifier: Apache-2.0 */
#include "dists.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX  65536
#define BYTES_MAX (4u << 20)
#define NAME_MAX_ 100
#define HEAP      16 /* what malloc adds to a piece, about */

/* The first part of a file's path, or its first two, and whose it is. */
struct key {
	char *text;
	uint32_t dist; /* 0: of several */
};

struct py_dists {
	char **names; /* names[0] is "" */
	uint32_t n, room;
	struct key *keys;
	uint32_t n_keys, keys_room;
	size_t bytes;
};

struct py_dists *gpc_py_dists_new(void)
{
	struct py_dists *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->names = calloc(1, sizeof *d->names);
	if (d->names)
		d->names[0] = strdup("");
	if (!d->names || !d->names[0]) {
		free(d->names);
		free(d);
		return NULL;
	}
	d->n = d->room = 1;
	return d;
}

void gpc_py_dists_free(struct py_dists *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->n; i++)
		free(d->names[i]);
	for (uint32_t i = 0; i < d->n_keys; i++)
		free(d->keys[i].text);
	free(d->names);
	free(d->keys);
	free(d);
}

size_t gpc_py_dists_bytes(const struct py_dists *d)
{
	size_t bytes = sizeof *d + d->room * sizeof *d->names + d->keys_room * sizeof *d->keys;

	for (uint32_t i = 0; i < d->n; i++)
		bytes += strlen(d->names[i]) + 1 + HEAP;
	for (uint32_t i = 0; i < d->n_keys; i++)
		bytes += strlen(d->keys[i].text) + 1 + HEAP;
	return bytes;
}

/* ---- one distribution -------------------------------------------------------------------- */

/* The value of a header's line "Key: value"; 0: there is none. */
static size_t header(const char *text, const char *key, char *ret, size_t size)
{
	size_t n = strlen(key);

	for (const char *line = text; *line && *line != '\n' && *line != '\r';
	     line += *line == '\n') {
		size_t length = strcspn(line, "\r\n");

		if (length > n && strncmp(line, key, n) == 0) {
			while (n < length && line[n] == ' ')
				n++;
			snprintf(ret, size, "%.*s", (int)(length - n), line + n);
			return strlen(ret);
		}
		line += length;
		line += *line == '\r';
	}
	return 0;
}

static bool grow(void **at, uint32_t *room, uint32_t need, size_t size)
{
	uint32_t want = *room ? 2 * *room : 16;
	void *bigger;

	if (need <= *room)
		return true;
	bigger = realloc(*at, want * size);
	if (!bigger)
		return false;
	*at = bigger;
	*room = want;
	return true;
}

uint32_t gpc_py_dists_add(struct py_dists *d, const char *metadata)
{
	char name[NAME_MAX_], version[48], text[NAME_MAX_ + 50];

	if (!header(metadata, "Name:", name, sizeof name) ||
	    !header(metadata, "Version:", version, sizeof version) || d->n >= PY_DISTS_MAX ||
	    !grow((void **)&d->names, &d->room, d->n + 1, sizeof *d->names))
		return 0;
	snprintf(text, sizeof text, "%s==%s", name, version);
	d->names[d->n] = strdup(text);
	return d->names[d->n] ? d->n++ : 0;
}

static void add_key(struct py_dists *d, uint32_t dist, const char *text, size_t n)
{
	struct key *last = d->n_keys ? &d->keys[d->n_keys - 1] : NULL;

	/* Files of one folder stand together. */
	if (last && last->dist == dist && strncmp(last->text, text, n) == 0 && !last->text[n])
		return;
	if (!n || d->n_keys >= KEYS_MAX || d->bytes + n > BYTES_MAX ||
	    !grow((void **)&d->keys, &d->keys_room, d->n_keys + 1, sizeof *d->keys))
		return;
	d->keys[d->n_keys].text = strndup(text, n);
	d->keys[d->n_keys].dist = dist;
	if (d->keys[d->n_keys].text) {
		d->n_keys++;
		d->bytes += n + 1;
	}
}

/* The end of a path's first part, and of its second. */
static size_t part(const char *path, size_t n, unsigned parts)
{
	for (size_t i = 0; i < n; i++)
		if (path[i] == '/' && !--parts)
			return i;
	return n;
}

void gpc_py_dists_own(struct py_dists *d, uint32_t dist, const char *list)
{
	for (const char *line = list; *line; line += *line == '\n') {
		size_t length = strcspn(line, "\n"), n = strcspn(line, ",\r\n");
		const char *path = line;

		/* installed-files.txt is seen from within NAME.egg-info. */
		if (n > 3 && strncmp(path, "../", 3) == 0) {
			path += 3;
			n -= 3;
		}
		if (*path != '.' && *path != '/') {
			add_key(d, dist, path, part(path, n, 1));
			add_key(d, dist, path, part(path, n, 2));
		}
		line += length;
	}
}

static int compare(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : x->dist < y->dist ? -1 : x->dist > y->dist;
}

/* Namespaces belong to several; what lies in them to one. */
void gpc_py_dists_end(struct py_dists *d)
{
	uint32_t kept = 0;
	void *fitting;

	if (!d->n_keys)
		return;
	qsort(d->keys, d->n_keys, sizeof *d->keys, compare);
	for (uint32_t i = 0; i < d->n_keys; i++) {
		if (!kept || strcmp(d->keys[kept - 1].text, d->keys[i].text) != 0) {
			d->keys[kept++] = d->keys[i];
			continue;
		}
		if (d->keys[kept - 1].dist != d->keys[i].dist)
			d->keys[kept - 1].dist = 0;
		free(d->keys[i].text);
	}
	d->n_keys = kept;
	fitting = realloc(d->keys, kept * sizeof *d->keys);
	if (fitting) {
		d->keys = fitting;
		d->keys_room = kept;
	}
}

static const struct key *find_key(const struct py_dists *d, const char *text, size_t n)
{
	uint32_t from = 0, to = d->n_keys;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		int order = strncmp(d->keys[mid].text, text, n);

		if (!order)
			order = d->keys[mid].text[n] != 0;
		if (!order)
			return &d->keys[mid];
		if (order < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

const char *gpc_py_dists_find(const struct py_dists *d, const char *file)
{
	size_t length = strlen(file), n = part(file, length, 1);
	const struct key *key = find_key(d, file, n);

	/* top_level.txt names modules without their ending. */
	if (!key && n == length && length > 3)
		key = find_key(d, file, length - 3);
	if (key && !key->dist && n < length)
		key = find_key(d, file, part(file, length, 2));
	return d->names[key ? key->dist : 0];
}
