/* SPDX-License-Identifier: Apache-2.0 */
#include "packages.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpc/log.h>

#include "shelf.h"

#define FOLDERS_MAX 16

#define PATH_LENGTH 512

enum state {
	UNREAD,
	SHELVED, /* or it was */
	NOTHING  /* it cannot be read */
};

struct folder {
	char *path;
	enum state state;
	struct gpc_folder_id id; /* when SHELVED */
};

struct py_packages {
	int refs; /* the worker's */
	char standard[PY_PACKAGE_MAX];
	struct py_shelf *shelf;
	pthread_mutex_t lock;
	struct folder folders[FOLDERS_MAX];
	unsigned n;
};

struct py_packages *gpc_py_packages_new(const char *version, struct py_shelf *shelf)
{
	struct py_packages *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->refs = 1;
	p->shelf = shelf;
	if (*version)
		snprintf(p->standard, sizeof p->standard, "standard-library==%s", version);
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

struct py_packages *gpc_py_packages_get(struct py_packages *p)
{
	if (p)
		p->refs++;
	return p;
}

void gpc_py_packages_free(struct py_packages *p)
{
	if (!p || --p->refs)
		return;
	for (unsigned i = 0; i < p->n; i++)
		free(p->folders[i].path);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- paths ---------------------------------------------------------------------------- */

/* The length of the folder with packages, without the slash; 0: not in one. */
static size_t site_of(const char *file)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/"};
	size_t longest = 0;

	for (unsigned i = 0; i < 2; i++)
		for (const char *at = file; (at = strstr(at, names[i])); at++) {
			size_t n = (size_t)(at - file) + strlen(names[i]) - 1;

			if (n > longest)
				longest = n;
		}
	return longest;
}

/* "/python3.11/": where the standard library is. */
static bool is_standard(const char *file)
{
	for (const char *at = file; (at = strstr(at, "/python")); at++) {
		const char *s = at + 7;

		if (!isdigit((unsigned char)s[0]) || s[1] != '.' || !isdigit((unsigned char)s[2]))
			continue;
		s += 3;
		s += isdigit((unsigned char)*s) != 0;
		s += *s == 't'; /* a free-threaded build's */
		if (*s == '/')
			return true;
	}
	return false;
}

static bool is_source(const char *file)
{
	size_t n = strlen(file);

	return n > 3 && strcmp(file + n - 3, ".py") == 0;
}

/* ---- readers ---------------------------------------------------------------------------- */

/* Locked. NULL: there is no place for more. */
static struct folder *find_folder(struct py_packages *p, const char *path, size_t n)
{
	char *copy;

	for (unsigned i = 0; i < p->n; i++)
		if (strncmp(p->folders[i].path, path, n) == 0 && !p->folders[i].path[n])
			return &p->folders[i];
	copy = p->n < FOLDERS_MAX && n < PATH_LENGTH ? strndup(path, n) : NULL;
	if (!copy)
		return NULL;
	p->folders[p->n] = (struct folder){.path = copy};
	return &p->folders[p->n++];
}

bool gpc_py_packages_find(struct py_packages *p, const char *file, char ret[PY_PACKAGE_MAX])
{
	size_t site = site_of(file);
	struct folder *f;
	bool is_known = true;

	ret[0] = '\0';
	if (*file != '/' || !is_source(file))
		return true;
	if (!site) {
		if (is_standard(file))
			memcpy(ret, p->standard, sizeof p->standard);
		return true;
	}
	pthread_mutex_lock(&p->lock);
	f = find_folder(p, file, site);
	if (f && f->state == SHELVED &&
	    !gpc_py_shelf_find(p->shelf, &f->id, file + site + 1, ret, PY_PACKAGE_MAX))
		f->state = UNREAD; /* others needed the room */
	is_known = !f || f->state != UNREAD;
	pthread_mutex_unlock(&p->lock);
	return is_known;
}

/* ---- the worker --------------------------------------------------------------------------- */

/* Another process may have had it read. UNREAD: it is not all read yet. */
static enum state shelve(struct py_packages *p, const struct gpc_target *t, struct folder *f,
			 const struct py_packages_turn *turn)
{
	const struct gpc_host *h = turn->host;
	const struct gpc_about_api *api = h->extension(h, "gpc.about/1");
	struct py_desk_folder folder = {h, t, f->path, {0}};
	struct py_dists *dists;

	if (!api || !GPC_HAS(api, folder_id) || api->folder_id(h, t, f->path, &f->id) < 0)
		return NOTHING;
	if (gpc_py_shelf_has(p->shelf, &f->id))
		return SHELVED;
	folder.id = f->id;
	switch (gpc_py_desk_read(turn->desk, &folder, turn->until_ns, &dists)) {
	case PY_READING_DONE:
		gpc_host_logf(h, GPC_DEBUG, "packages in %s are known", f->path);
		gpc_py_shelf_put(p->shelf, &f->id, dists);
		return SHELVED;
	case PY_READING_NONE:
		return NOTHING;
	default:
		return UNREAD;
	}
}

/* The next folder that was not read, from *i on, with a path in text. */
static bool next_unread(struct py_packages *p, unsigned *i, char text[PATH_LENGTH])
{
	bool has;

	pthread_mutex_lock(&p->lock);
	while (*i < p->n && p->folders[*i].state != UNREAD)
		++*i;
	has = *i < p->n;
	if (has)
		snprintf(text, PATH_LENGTH, "%s", p->folders[*i].path);
	pthread_mutex_unlock(&p->lock);
	return has;
}

bool gpc_py_packages_read(struct py_packages *p, const struct gpc_target *t,
			  const struct py_packages_turn *turn)
{
	char path[PATH_LENGTH];
	bool is_done = true;

	for (unsigned i = 0; next_unread(p, &i, path); i++) {
		struct folder f = {.path = path};
		enum state state = UNREAD;

		if (turn->host->now_ns(turn->host) < turn->until_ns)
			state = shelve(p, t, &f, turn);
		is_done &= state != UNREAD;
		pthread_mutex_lock(&p->lock);
		p->folders[i].state = state;
		p->folders[i].id = f.id;
		pthread_mutex_unlock(&p->lock);
	}
	return is_done;
}
