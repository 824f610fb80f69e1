/* SPDX-License-Identifier: Apache-2.0 */
#include "packages.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dists.h"

#define FOLDERS_MAX 16

struct folder {
	char path[512];
	struct py_dists *dists; /* NULL: not read yet */
};

struct py_packages {
	int refs; /* the worker's */
	char standard[PY_PACKAGE_MAX];
	pthread_mutex_t lock;
	struct folder folders[FOLDERS_MAX];
	unsigned n;
};

struct py_packages *gpc_py_packages_new(const char *version)
{
	struct py_packages *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->refs = 1;
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
		gpc_py_dists_free(p->folders[i].dists);
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
	struct folder *f;

	for (unsigned i = 0; i < p->n; i++)
		if (strncmp(p->folders[i].path, path, n) == 0 && !p->folders[i].path[n])
			return &p->folders[i];
	if (p->n == FOLDERS_MAX || n >= sizeof f->path)
		return NULL;
	f = &p->folders[p->n++];
	memcpy(f->path, path, n);
	f->path[n] = '\0';
	return f;
}

bool gpc_py_packages_find(struct py_packages *p, const char *file, char ret[PY_PACKAGE_MAX])
{
	size_t site = site_of(file);
	const struct folder *f;
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
	if (f && !f->dists)
		is_known = false;
	else if (f)
		snprintf(ret, PY_PACKAGE_MAX, "%s", gpc_py_dists_find(f->dists, file + site + 1));
	pthread_mutex_unlock(&p->lock);
	return is_known;
}

/* ---- the worker --------------------------------------------------------------------------- */

void gpc_py_packages_read(struct py_packages *p, const struct gpc_host *h,
			  const struct gpc_target *t)
{
	for (unsigned i = 0;; i++) {
		char path[sizeof p->folders->path] = "";
		struct py_dists *dists;

		pthread_mutex_lock(&p->lock);
		while (i < p->n && p->folders[i].dists)
			i++;
		if (i < p->n)
			memcpy(path, p->folders[i].path, sizeof path);
		pthread_mutex_unlock(&p->lock);
		if (!*path)
			return;
		dists = gpc_py_dists_read(h, t, path);
		if (!dists)
			return;
		pthread_mutex_lock(&p->lock);
		p->folders[i].dists = dists;
		pthread_mutex_unlock(&p->lock);
	}
}
