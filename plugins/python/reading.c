/* SPDX-License-Identifier: Apache-2.0 */
#include "reading.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (2u << 20)
#define HEAD_MAX 16384                /* of METADATA: the rest is a description */
#define READ_MAX ((size_t)64 << 20)   /* of all files of a folder */
#define STALE_NS UINT64_C(5000000000) /* nobody has the folder any more */
#define LOOK_MAX (1u << 20)           /* entries of a folder */
#define LOOK_AT  64                   /* of them, between two looks at the clock */

struct py_desk {
	struct py_dists *dists; /* NULL: no folder lies open */
	struct gpc_folder_id id;
	DIR *dir;
	unsigned looked, met; /* entries; of packages */
	size_t left;          /* of READ_MAX */
	uint64_t asked_ns;
	char pending[256]; /* an entry that has to be read through another process; "" none */
};

struct py_desk *gpc_py_desk_new(void)
{
	return calloc(1, sizeof(struct py_desk));
}

static void clear(struct py_desk *d)
{
	if (d->dir)
		closedir(d->dir);
	gpc_py_dists_free(d->dists);
	*d = (struct py_desk){0};
}

void gpc_py_desk_free(struct py_desk *d)
{
	if (!d)
		return;
	clear(d);
	free(d);
}

/* ---- one package ---------------------------------------------------------------------- */

struct package {
	struct py_desk *desk;
	const struct py_desk_folder *folder;
	const char *info; /* NAME.dist-info */
};

/* Its beginning, of max bytes at most; *ret NULL: no memory. */
static size_t read_all(int fd, size_t max, char **ret)
{
	struct stat st;
	ssize_t got = 0;
	size_t n = 0;
	char *text;

	if (fstat(fd, &st) == 0 && st.st_size >= 0 && (uint64_t)st.st_size < max)
		max = (size_t)st.st_size;
	text = malloc(max + 1);
	while (text && n < max && (got = read(fd, text + n, max - n)) > 0)
		n += (size_t)got;
	if (text)
		text[n] = '\0';
	*ret = text;
	return n;
}

static char *read_text(const struct package *p, const char *name, size_t max)
{
	const struct py_desk_folder *f = p->folder;
	char path[1024], *text = NULL;
	int32_t fd;

	if (max > p->desk->left ||
	    snprintf(path, sizeof path, "%s/%s/%s", f->path, p->info, name) >= (int)sizeof path)
		return NULL;
	fd = f->host->open_file(f->host, f->target, path, 0);
	if (fd < 0)
		return NULL;
	p->desk->left -= read_all(fd, max, &text);
	close(fd);
	return text;
}

static bool own_files(const struct package *p, uint32_t dist, const char *name)
{
	char *list = read_text(p, name, FILE_MAX);

	if (list)
		gpc_py_dists_own(p->desk->dists, dist, list);
	free(list);
	return list != NULL;
}

static bool ends_with(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n > m && strcmp(s + n - m, with) == 0;
}

/* The process may have ended: then its files are not missing. */
static bool is_there(const struct py_desk_folder *f)
{
	int32_t fd = f->host->open_file(f->host, f->target, f->path, GPC_OPEN_FOLDER);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

enum step {
	STEP_OTHER, /* it is no package */
	STEP_READ,
	STEP_GONE, /* the process is */
	STEP_END
};

static enum step read_package(const struct package *p)
{
	bool is_dist = ends_with(p->info, ".dist-info");
	char *metadata;
	uint32_t dist;

	if (!is_dist && !ends_with(p->info, ".egg-info"))
		return STEP_OTHER;
	metadata = read_text(p, is_dist ? "METADATA" : "PKG-INFO", HEAD_MAX);
	if (!metadata && !is_there(p->folder))
		return STEP_GONE;
	dist = metadata ? gpc_py_dists_add(p->desk->dists, metadata) : 0;
	free(metadata);
	if (dist && !own_files(p, dist, is_dist ? "RECORD" : "installed-files.txt"))
		(void)own_files(p, dist, "top_level.txt");
	return STEP_READ;
}

/* ---- a folder ----------------------------------------------------------------------------- */

static const char *next_entry(struct py_desk *d)
{
	const struct dirent *e;

	if (d->pending[0])
		return d->pending;
	e = d->looked++ < LOOK_MAX ? readdir(d->dir) : NULL;
	return e ? e->d_name : NULL;
}

/* One package, or some entries that are none. */
static enum step step(struct py_desk *d, const struct py_desk_folder *folder)
{
	for (unsigned i = 0; i < LOOK_AT; i++) {
		struct package p = {d, folder, next_entry(d)};
		enum step did = p.info ? read_package(&p) : STEP_END;

		if (did == STEP_GONE && p.info != d->pending)
			snprintf(d->pending, sizeof d->pending, "%s", p.info);
		if (did == STEP_READ)
			d->pending[0] = '\0';
		if (did == STEP_READ && ++d->met == PY_DISTS_MAX)
			return STEP_END;
		if (did != STEP_OTHER)
			return did;
	}
	return STEP_OTHER;
}

static bool is_same(const struct gpc_folder_id *a, const struct gpc_folder_id *b)
{
	return a->device == b->device && a->inode == b->inode && a->changed_ns == b->changed_ns;
}

static enum py_reading lay_open(struct py_desk *d, const struct py_desk_folder *folder)
{
	const struct gpc_host *h = folder->host;
	int32_t fd = h->open_file(h, folder->target, folder->path, GPC_OPEN_FOLDER);

	clear(d);
	if (fd < 0)
		return PY_READING_NONE;
	d->dir = fdopendir(fd);
	d->dists = d->dir ? gpc_py_dists_new() : NULL;
	d->id = folder->id;
	d->left = READ_MAX;
	if (d->dists)
		return PY_READING_MORE;
	if (!d->dir)
		close(fd);
	clear(d);
	return PY_READING_NONE;
}

enum py_reading gpc_py_desk_read(struct py_desk *d, const struct py_desk_folder *folder,
				 uint64_t until_ns, struct py_dists **ret)
{
	const struct gpc_host *h = folder->host;
	uint64_t now = h->now_ns(h);
	enum step did;

	if (!d->dists || !is_same(&d->id, &folder->id)) {
		if (d->dists && now - d->asked_ns < STALE_NS)
			return PY_READING_BUSY;
		if (lay_open(d, folder) == PY_READING_NONE)
			return PY_READING_NONE;
	}
	d->asked_ns = now;
	do {
		did = step(d, folder);
	} while (did != STEP_END && did != STEP_GONE && h->now_ns(h) < until_ns);
	if (did != STEP_END)
		return PY_READING_MORE;
	gpc_py_dists_end(d->dists);
	*ret = d->dists;
	d->dists = NULL;
	clear(d);
	return PY_READING_DONE;
}
