/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/elfid.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sha1.h"
#include "proc/modules.h"

#define KNOWN_MAX 256
#define FILE_MAX  ((off_t)256 << 20)
#define PIECE     ((size_t)64 * 1024)
#define TURN_NS   (2 * GPC_MS_NS)
#define STALE_NS  (5 * GPC_SECOND_NS)

struct file {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
};

struct known {
	struct file file;
	char text[GPC_ELFID_MAX];
};

/* Of the file that is being read; file.size 0: of none. */
struct sum {
	struct file file;
	struct gpc_sha1 sha;
	off_t at;
	uint64_t asked_ns; /* who does not come back leaves it to others */
};

struct gpc_elfids {
	pthread_mutex_t lock;
	struct known known[KNOWN_MAX];
	unsigned n; /* beyond KNOWN_MAX the oldest go first */
	struct sum sum;
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

static struct file file_of(const struct stat *st)
{
	return (struct file){st->st_dev, st->st_ino, st->st_size, st->st_ctim};
}

static bool is_same(const struct file *a, const struct file *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static bool recall(const struct gpc_elfids *e, const struct file *file, char ret[GPC_ELFID_MAX])
{
	unsigned n = e->n < KNOWN_MAX ? e->n : KNOWN_MAX;

	for (unsigned i = 0; i < n; i++) {
		if (!is_same(&e->known[i].file, file))
			continue;
		memcpy(ret, e->known[i].text, GPC_ELFID_MAX);
		return true;
	}
	return false;
}

static void put_hex(char ret[GPC_ELFID_MAX], const char *kind, const uint8_t *bytes, unsigned n)
{
	int at = snprintf(ret, GPC_ELFID_MAX, "%s:", kind);

	for (unsigned i = 0; i < n; i++)
		at += snprintf(ret + at, GPC_ELFID_MAX - (size_t)at, "%02x", bytes[i]);
}

/* Takes the sum for a file. False: another one's is being made. */
static bool begin_sum(struct sum *s, const struct file *file)
{
	uint64_t now = gpc_now_ns();

	if (!is_same(&s->file, file)) {
		if (s->file.size && now - s->asked_ns < STALE_NS)
			return false;
		s->file = *file;
		s->at = 0;
		gpc_sha1_init(&s->sha);
	}
	s->asked_ns = now;
	return true;
}

/* One turn of it. */
static gpc_status add_to_sum(struct sum *s, int fd, struct gpc_err *err)
{
	autofree uint8_t *piece = malloc(PIECE);
	uint64_t until = gpc_now_ns() + TURN_NS;

	if (!piece)
		return gpc_err_nomem(err);
	do {
		ssize_t n = pread(fd, piece, PIECE, s->at);

		/* It may be written to meanwhile. */
		if (n < 0 || (!n && s->at != s->file.size) || s->at + n > s->file.size)
			return gpc_err_set(err, GPC_E_CORRUPT, "the file changes while it is read");
		if (!n)
			return GPC_OK;
		gpc_sha1_add(&s->sha, piece, (size_t)n);
		s->at += n;
	} while (gpc_now_ns() < until);
	return gpc_err_set(err, GPC_E_RETRY, "not all of the file was read yet");
}

static gpc_status sum_file(struct gpc_elfids *e, int fd, const struct file *file,
			   char ret[GPC_ELFID_MAX], struct gpc_err *err)
{
	uint8_t sum[GPC_SHA1_BYTES];
	gpc_status st;
	autolock(&e->lock);

	if (recall(e, file, ret))
		return GPC_OK;
	if (file->size > FILE_MAX)
		return gpc_err_set(err, GPC_E_BUDGET,
				   "a file of %lld bytes is not read for its sum",
				   (long long)file->size);
	if (!begin_sum(&e->sum, file))
		return gpc_err_set(err, GPC_E_RETRY, "another file is being read");
	st = add_to_sum(&e->sum, fd, err);
	if (st == GPC_E_RETRY)
		return st;
	e->sum.file = (struct file){0};
	gpc_try(st);
	gpc_sha1_end(&e->sum.sha, sum);
	put_hex(ret, "sha1", sum, sizeof sum);
	e->known[e->n % KNOWN_MAX].file = *file;
	snprintf(e->known[e->n++ % KNOWN_MAX].text, GPC_ELFID_MAX, "%s", ret);
	return GPC_OK;
}

gpc_status gpc_elfids_of(struct gpc_elfids *e, const struct gpc_target *t, const char *glob,
			 char ret[GPC_ELFID_MAX], struct gpc_err *err)
{
	autoclose int fd = -1;
	struct gpc_module_file m;
	struct file file;
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
	file = file_of(&st);
	return sum_file(e, fd, &file, ret, err);
}
