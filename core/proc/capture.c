/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "proc/mem_image.h"
#include "proc/root.h"
#include "proc/stat.h"

#define CHUNK      65536
#define PAGE       4096 /* or a part of one */
#define STACKS_MAX (16u << 20)
#define ZSTD_LEVEL 3

/* ---- MessagePack into zstd into the file --------------------------------------- */

struct out {
	int fd;
	ZSTD_CCtx *zstd;
	gpc_status status;
	struct gpc_err *err;
	char buf[CHUNK];
};

static void compress_out(struct out *o, const void *bytes, size_t n, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {bytes, n, 0};
	size_t left;

	do {
		ZSTD_outBuffer to = {o->buf, sizeof o->buf, 0};

		left = ZSTD_compressStream2(o->zstd, &to, &in, end);
		if (ZSTD_isError(left)) {
			o->status = gpc_err_set(o->err, GPC_E_INTERNAL, "zstd: %s",
						ZSTD_getErrorName(left));
			return;
		}
		if (o->status == GPC_OK)
			o->status = gpc_write_all(o->fd, o->buf, to.pos, o->err);
	} while (o->status == GPC_OK && (in.pos < in.size || (end == ZSTD_e_end && left)));
}

static int write_packed(void *ctx, const char *bytes, size_t n)
{
	struct out *o = ctx;

	if (o->status == GPC_OK)
		compress_out(o, bytes, n, ZSTD_e_continue);
	return o->status < 0 ? -1 : 0;
}

static void pack_text(msgpack_packer *pk, const char *s)
{
	size_t n = strlen(s);

	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, s, n);
}

static void pack_number(msgpack_packer *pk, const char *key, uint64_t value)
{
	pack_text(pk, key);
	msgpack_pack_uint64(pk, value);
}

static void pack_pair(msgpack_packer *pk, const char *key, const char *value)
{
	pack_text(pk, key);
	pack_text(pk, value);
}

/* ---- what is written -------------------------------------------------------------- */

static const struct gpc_map *map_at(const struct gpc_target *t, uint32_t k)
{
	return (const struct gpc_map *)(const void *)((const char *)t->maps +
						      (size_t)k * t->map_stride);
}

static void pack_maps(msgpack_packer *pk, const struct gpc_target *t)
{
	pack_text(pk, "maps");
	msgpack_pack_array(pk, t->n_maps);
	for (uint32_t k = 0; k < t->n_maps; k++) {
		const struct gpc_map *m = map_at(t, k);

		msgpack_pack_map(pk, 6);
		pack_number(pk, "start", m->start);
		pack_number(pk, "end", m->end);
		pack_number(pk, "offset", m->offset);
		pack_number(pk, "prot", m->prot);
		pack_number(pk, "inode", m->inode);
		pack_pair(pk, "path", m->path);
	}
}

/* /proc/TID/syscall of a waiting thread: number, six arguments, sp, pc; "running"
 * for others. */
static void read_registers(int taskfd, int32_t tid, struct gpc_mem_image_thread *ret)
{
	char path[40], text[512];
	unsigned long long sp, pc;
	const char *at;

	snprintf(path, sizeof path, "%d/syscall", tid);
	if (gpc_read_small(taskfd, path, text, sizeof text) <= 0)
		return;
	at = strrchr(text, ' ');
	if (!at || sscanf(at, " %llx", &pc) != 1)
		return;
	while (at > text && at[-1] != ' ')
		at--;
	if (at == text || sscanf(at, "%llx", &sp) != 1)
		return;
	ret->pc = pc;
	ret->sp = sp;
}

struct threads {
	vec(struct gpc_mem_image_thread) list;
};

static gpc_status list_threads(const struct gpc_target *t, struct threads *ret, struct gpc_err *err)
{
	char path[40];
	autoclose int taskfd = -1;
	autodir DIR *dir = NULL;
	struct dirent *e;

	snprintf(path, sizeof path, "/proc/%d/task", t->pid);
	dir = opendir(path);
	taskfd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!dir || taskfd < 0)
		return gpc_err_sys(err, "threads of process %d", t->pid);
	while ((e = readdir(dir))) {
		struct gpc_mem_image_thread th = {.tid = (int32_t)strtol(e->d_name, NULL, 10)};
		struct gpc_proc_stat stat;

		if (th.tid <= 0 || !gpc_proc_stat_read(taskfd, th.tid, &stat))
			continue;
		memcpy(th.comm, stat.comm, sizeof th.comm);
		th.state = stat.state;
		th.ns_tid = gpc_ns_pid(th.tid);
		read_registers(taskfd, th.tid, &th);
		if (!vec_push(&ret->list, th))
			return gpc_err_nomem(err);
	}
	return GPC_OK;
}

static gpc_status pack_threads(msgpack_packer *pk, const struct gpc_target *t, uint32_t *ret,
			       struct gpc_err *err)
{
	struct threads threads = {0};
	gpc_status st = list_threads(t, &threads, err);

	pack_text(pk, "threads");
	msgpack_pack_array(pk, threads.list.n);
	for (size_t i = 0; i < threads.list.n; i++) {
		const struct gpc_mem_image_thread *th = &threads.list.at[i];
		char state[2] = {th->state, '\0'};

		msgpack_pack_map(pk, 6);
		pack_number(pk, "tid", (uint64_t)th->tid);
		pack_number(pk, "ns_tid", (uint64_t)th->ns_tid);
		pack_pair(pk, "comm", th->comm);
		pack_pair(pk, "state", state);
		pack_number(pk, "pc", th->pc);
		pack_number(pk, "sp", th->sp);
	}
	*ret = (uint32_t)threads.list.n;
	vec_deinit(&threads.list);
	return st;
}

static gpc_status pack_head(msgpack_packer *pk, const struct gpc_capture *c,
			    struct gpc_capture_facts *facts, struct gpc_err *err)
{
	const struct gpc_target *t = c->target;
	autofree char *stacks = NULL;

	if (c->stacks_path)
		gpc_try(gpc_read_file(AT_FDCWD, c->stacks_path, STACKS_MAX, &stacks, NULL, err));
	msgpack_pack_map(pk, 10);
	pack_pair(pk, "format", "gpc-memory-image");
	pack_number(pk, "version", 1);
	pack_number(pk, "pid", (uint64_t)t->pid);
	pack_number(pk, "ns_pid", (uint64_t)t->ns_pid);
	pack_number(pk, "machine", t->machine);
	pack_pair(pk, "comm", t->comm);
	pack_pair(pk, "exe", t->exe);
	pack_pair(pk, "stacks", stacks ? stacks : "");
	pack_maps(pk, t);
	facts->mappings = t->n_maps;
	return pack_threads(pk, t, &facts->threads, err);
}

/* Mappings of devices and of the kernel's own pages are not memory. What is
 * shared without a file is named after /dev/zero. */
static bool is_memory(const struct gpc_map *m)
{
	bool is_device = strncmp(m->path, "/dev/", 5) == 0 &&
			 strncmp(m->path, "/dev/shm/", 9) != 0 && strcmp(m->path, "/dev/zero") != 0;

	return m->prot & GPC_MAP_READ && strncmp(m->path, "[v", 2) != 0 && !is_device;
}

/* A page that cannot be read (a guard, a file that was cut) does not hide those
 * behind it. */
static gpc_status pack_memory(msgpack_packer *pk, const struct gpc_capture *c,
			      const struct gpc_map *m, struct gpc_capture_facts *facts,
			      struct gpc_err *err)
{
	char block[CHUNK];
	uint64_t step;

	for (uint64_t at = m->start; at < m->end; at += step) {
		uint64_t want = m->end - at < sizeof block ? m->end - at : sizeof block;
		int64_t got;

		step = want;
		if (facts->bytes + want > c->max_bytes) {
			facts->skipped_bytes += step;
			continue;
		}
		got = gpc_mem_read(c->mem, c->target->id, c->target->pid, at, block, want);
		if (got == GPC_E_GONE)
			return gpc_err_set(err, GPC_E_GONE, "process %d ended while it was read",
					   c->target->pid);
		step = got > 0 ? (uint64_t)got : PAGE - at % PAGE;
		if (got <= 0) {
			facts->skipped_bytes += step;
			continue;
		}
		msgpack_pack_map(pk, 2);
		pack_number(pk, "at", at);
		pack_text(pk, "bytes");
		msgpack_pack_bin(pk, (size_t)got);
		msgpack_pack_bin_body(pk, block, (size_t)got);
		facts->bytes += (uint64_t)got;
	}
	return GPC_OK;
}

static gpc_status pack_all(struct out *o, const struct gpc_capture *c,
			   struct gpc_capture_facts *facts)
{
	msgpack_packer pk;

	msgpack_packer_init(&pk, o, write_packed);
	gpc_try(pack_head(&pk, c, facts, o->err));
	for (uint32_t k = 0; k < c->target->n_maps; k++)
		if (is_memory(map_at(c->target, k)))
			gpc_try(pack_memory(&pk, c, map_at(c->target, k), facts, o->err));
	msgpack_pack_map(&pk, 1);
	pack_number(&pk, "end", facts->bytes);
	if (o->status == GPC_OK)
		compress_out(o, "", 0, ZSTD_e_end);
	return o->status;
}

gpc_status gpc_mem_image_capture(const struct gpc_capture *c, const char *path,
				 struct gpc_capture_facts *ret, struct gpc_err *err)
{
	struct gpc_capture_facts facts = {0};
	struct out *o = calloc(1, sizeof *o);
	gpc_status st;

	if (!o)
		return gpc_err_nomem(err);
	o->err = err;
	o->zstd = ZSTD_createCCtx();
	o->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (o->fd < 0 || !o->zstd) {
		st = gpc_err_sys(err, "create %s", path);
	} else {
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
		st = pack_all(o, c, &facts);
		if (st < 0)
			unlink(path);
	}
	if (o->fd >= 0)
		close(o->fd);
	ZSTD_freeCCtx(o->zstd);
	free(o);
	if (st == GPC_OK)
		*ret = facts;
	return st;
}
