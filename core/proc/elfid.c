/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/elfid.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha1.h"
#include "proc/modules.h"

#define KNOWN_MAX 256
#define FILE_MAX  ((off_t)256 << 20)
#define PIECE     ((size_t)64 * 1024)

struct known {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	char text[GPC_ELFID_MAX];
};

struct gpc_elfids {
	pthread_mutex_t lock;
	struct known known[KNOWN_MAX];
	unsigned n; /* beyond KNOWN_MAX the oldest go first */
};

struct gpc_elfids *gpc_elfids_new(void)
{
	struct gpc_elfids *e = calloc(1, sizeof *e);

	if (e)
		pthread_mutex_init(&e->lock, NULL);
	return e;
}

void gpc_elfids_free(struct gpc_elfids *e)
{
	if (!e)
		return;
	pthread_mutex_destroy(&e->lock);
	free(e);
}

static bool is_file(const struct known *k, const struct stat *st)
{
	return k->dev == st->st_dev && k->ino == st->st_ino && k->size == st->st_size &&
	       k->changed.tv_sec == st->st_ctim.tv_sec && k->changed.tv_nsec == st->st_ctim.tv_nsec;
}

static bool recall(struct gpc_elfids *e, const struct stat *st, char ret[GPC_ELFID_MAX])
{
	unsigned n;
	autolock(&e->lock);

	n = e->n < KNOWN_MAX ? e->n : KNOWN_MAX;
	for (unsigned i = 0; i < n; i++) {
		if (!is_file(&e->known[i], st))
			continue;
		memcpy(ret, e->known[i].text, GPC_ELFID_MAX);
		return true;
	}
	return false;
}

static void keep(struct gpc_elfids *e, const struct stat *st, const char *text)
{
	struct known k = {.dev = st->st_dev,
			  .ino = st->st_ino,
			  .size = st->st_size,
			  .changed = st->st_ctim};
	autolock(&e->lock);

	snprintf(k.text, sizeof k.text, "%s", text);
	e->known[e->n++ % KNOWN_MAX] = k;
}

static void put_hex(char ret[GPC_ELFID_MAX], const char *kind, const uint8_t *bytes, unsigned n)
{
	int at = snprintf(ret, GPC_ELFID_MAX, "%s:", kind);

	for (unsigned i = 0; i < n; i++)
		at += snprintf(ret + at, GPC_ELFID_MAX - (size_t)at, "%02x", bytes[i]);
}

static gpc_status sum_file(int fd, const struct stat *st, char ret[GPC_ELFID_MAX],
			   struct gpc_err *err)
{
	autofree uint8_t *piece = malloc(PIECE);
	uint8_t sum[GPC_SHA1_BYTES];
	struct gpc_sha1 sha;
	off_t at = 0;
	ssize_t n;

	if (st->st_size > FILE_MAX)
		return gpc_err_set(err, GPC_E_BUDGET,
				   "a file of %lld bytes is not read for its sum",
				   (long long)st->st_size);
	if (!piece)
		return gpc_err_nomem(err);
	gpc_sha1_init(&sha);
	/* It may be written to meanwhile. */
	while (at <= FILE_MAX && (n = pread(fd, piece, PIECE, at)) > 0) {
		gpc_sha1_add(&sha, piece, (size_t)n);
		at += n;
	}
	if (at != st->st_size)
		return gpc_err_set(err, GPC_E_CORRUPT, "the file changes while it is read");
	gpc_sha1_end(&sha, sum);
	put_hex(ret, "sha1", sum, sizeof sum);
	return GPC_OK;
}

gpc_status gpc_elfids_of(struct gpc_elfids *e, const struct gpc_target *t, const char *glob,
			 char ret[GPC_ELFID_MAX], struct gpc_err *err)
{
	autoclose int fd = -1;
	struct gpc_module_file m;
	uint8_t id[20];
	uint32_t n = 0;
	struct stat st;

	gpc_try(gpc_module_open(t, glob, &m, err));
	fd = m.fd;
	if (gpc_module_build_id(&m, id, &n, NULL) == GPC_OK && n) {
		put_hex(ret, "buildid", id, n);
		return GPC_OK;
	}
	if (fstat(fd, &st) < 0)
		return gpc_err_sys(err, "fstat");
	if (recall(e, &st, ret))
		return GPC_OK;
	gpc_try(sum_file(fd, &st, ret, err));
	keep(e, &st, ret);
	return GPC_OK;
}
