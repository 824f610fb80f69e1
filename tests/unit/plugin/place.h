/* SPDX-License-Identifier: Apache-2.0 */
/* A folder in safe hands for tests that load files, and what to put there. Most
 * places will do, /tmp will not: anybody may write to it. */
#ifndef GPC_TESTS_PLACE_H
#define GPC_TESTS_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "plugin/module.h"

#define MAX_FILE ((size_t)64 << 20)

struct place {
	char dir[PATH_MAX];
	char file[PATH_MAX]; /* the path that the last place_ call made */
};

static inline bool place_try(struct place *p, const char *base)
{
	char path[PATH_MAX / 2];

	if (!base || snprintf(path, sizeof path, "%s/gpc-test-XXXXXX", base) >= (int)sizeof path)
		return false;
	if (!mkdtemp(path))
		return false;
	if (gpc_trust_check(path, NULL) == GPC_OK && realpath(path, p->dir))
		return true;
	rmdir(path);
	return false;
}

static inline int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	*state = p;
	if (!p)
		return -1;
	return place_try(p, ".") || place_try(p, getenv("HOME")) || place_try(p, "/run") ? 0 : -1;
}

static inline int place_remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

static inline int place_teardown(void **state)
{
	struct place *p = *state;

	nftw(p->dir, place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(p);
	return 0;
}

static inline const char *place_path(struct place *p, const char *name)
{
	assert_true(snprintf(p->file, sizeof p->file, "%s/%s", p->dir, name) < (int)sizeof p->file);
	return p->file;
}

static inline const char *place_write(struct place *p, const char *name, const void *bytes,
				      size_t n)
{
	const char *path = place_path(p, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

/* The bytes of a module of tests/plugins; the caller frees them. */
static inline char *module_bytes(const char *module, size_t *n)
{
	char path[PATH_MAX];
	char *bytes;

	snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGINS, module);
	assert_int_equal(gpc_read_file(AT_FDCWD, path, MAX_FILE, &bytes, n, NULL), GPC_OK);
	return bytes;
}

/* A copy of such a module under another name. */
static inline const char *place_module(struct place *p, const char *module, const char *name)
{
	size_t n;
	char *bytes = module_bytes(module, &n);

	place_write(p, name, bytes, n);
	free(bytes);
	return p->file;
}

#endif
