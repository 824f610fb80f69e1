/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "proc/target.h"
#include "proc/target_threads_impl.h"

/* struct pthread of musl 1.1.16 and later on 64-bit machines whose thread
 * pointer is the struct itself (x86-64): self, dtv, prev, next, sysinfo, canary,
 * then the tid. On arm64 the thread pointer is behind the struct and dtv at its
 * end: not known here. */
enum { DTV = 8, NEXT = 24, TID = 48 };

#define EM_X86_64 62

static const struct gpc_map *map_at(const struct gpc_target *t, uint32_t k)
{
	return (const struct gpc_map *)(const void *)((const char *)t->maps +
						      (size_t)k * t->map_stride);
}

#define PIECE_MAX (1u << 20)  /* of one mapping */
#define LOOK_MAX  (64u << 20) /* of all */

/* A program with few thread-local variables keeps the struct that the dynamic
 * linker began with; one with many gets another, and the first stays behind as it
 * was: alone, without blocks of variables. */
static bool is_in_use(struct gpc_target_threads *th, uint64_t at)
{
	uint64_t next, dtv, n;

	if (gpc_target_threads_read_word(th, at + NEXT, &next, NULL) < 0 ||
	    gpc_target_threads_read_word(th, at + DTV, &dtv, NULL) < 0 ||
	    gpc_target_threads_read_word(th, dtv, &n, NULL) < 0)
		return false;
	return next != at || n > 0;
}

/* The main thread's struct: a word that points to itself, with the process's
 * number in its place. True when it is in use; one that is not is kept for the
 * case that there is no other. */
static bool look(struct gpc_target_threads *th, uint64_t from, uint64_t to)
{
	uint64_t block[512];

	for (uint64_t at = from; at + TID + 8 <= to; at += sizeof block - TID - 8) {
		size_t n = to - at < sizeof block ? (size_t)(to - at) : sizeof block;

		if (gpc_target_threads_read(th, at, block, n, NULL) < 0)
			return false;
		for (size_t i = 0; i + TID / 8 < n / 8; i++) {
			bool is_self = block[i] == at + i * 8 &&
				       (int32_t)block[i + TID / 8] == th->target->ns_pid;
			bool is_used = is_self && is_in_use(th, block[i]);

			if (is_used || (is_self && !th->first))
				th->first = block[i];
			if (is_used)
				return true;
		}
	}
	return false;
}

/* The library's data, and the zeroed part behind it. */
static bool look_near(struct gpc_target_threads *th, bool *is_musl)
{
	uint64_t left = LOOK_MAX, n;
	bool is_near = false;

	for (uint32_t k = 0; k < th->target->n_maps; k++) {
		const struct gpc_map *m = map_at(th->target, k);
		bool is_libc = gpc_libc_of_file(m->path) == GPC_LIBC_MUSL;

		*is_musl |= is_libc;
		is_near = is_libc || (is_near && !m->path[0]);
		if (!is_near || !(m->prot & GPC_MAP_WRITE))
			continue;
		n = m->end - m->start < left ? m->end - m->start : left;
		left -= n;
		if (look(th, m->start, m->start + n))
			return true;
	}
	return false;
}

/* The allocator's memory, as it was when the program began: mappings grow
 * downwards, the heap upwards. */
static bool look_far(struct gpc_target_threads *th)
{
	uint64_t left = LOOK_MAX;

	for (uint32_t k = th->target->n_maps; k-- > 0 && left;) {
		const struct gpc_map *m = map_at(th->target, k);
		uint64_t n = m->end - m->start < PIECE_MAX ? m->end - m->start : PIECE_MAX;
		bool is_heap = strcmp(m->path, "[heap]") == 0;

		if (!(m->prot & GPC_MAP_WRITE) || m->path[0] == '/' || (*m->path && !is_heap))
			continue;
		n = n < left ? n : left;
		left -= n;
		if (is_heap ? look(th, m->start, m->start + n) : look(th, m->end - n, m->end))
			return true;
	}
	return false;
}

static gpc_status musl_open(struct gpc_target_threads *th, struct gpc_err *err)
{
	const struct gpc_target *t = th->target;
	bool is_musl = false;

	if (t->machine != EM_X86_64)
		return gpc_err_set(err, GPC_E_UNSUPPORTED,
				   "process %d: threads of musl are known on x86-64 only", t->pid);
	th->tid = TID;
	th->dtv = DTV;
	th->dtv_stride = 8;
	th->dtv_count = 0;
	th->first = 0;
	if (look_near(th, &is_musl) || (is_musl && look_far(th)) || th->first)
		return GPC_OK;
	return gpc_err_set(err, GPC_E_UNSUPPORTED,
			   is_musl ? "process %d: threads of this musl are not as they should be"
				   : "process %d uses neither glibc nor musl",
			   t->pid);
}

static gpc_status musl_pointer(struct gpc_target_threads *th, int32_t ns_tid, uint64_t *ret,
			       struct gpc_err *err)
{
	uint64_t at = th->first;

	for (unsigned n = 0; at && n < GPC_TARGET_THREADS_MAX; n++) {
		int32_t tid;

		gpc_try(gpc_target_threads_tid(th, at, &tid, err));
		if (tid == ns_tid) {
			*ret = at;
			return GPC_OK;
		}
		gpc_try(gpc_target_threads_read_word(th, at + NEXT, &at, err));
		if (at == th->first)
			break;
	}
	return gpc_err_set(err, GPC_E_GONE, "process %d has no thread %d (any more)",
			   th->target->pid, ns_tid);
}

/* Only the executable's own variables, which are always the first block. */
static gpc_status musl_module_number(struct gpc_target_threads *th, uint64_t link_map,
				     uint64_t *ret, struct gpc_err *err)
{
	uint64_t prev;

	/* link_map: l_addr, l_name, l_ld, l_next, l_prev. */
	gpc_try(gpc_target_threads_read_word(th, link_map + 32, &prev, err));
	if (prev)
		return gpc_err_set(err, GPC_E_UNSUPPORTED,
				   "thread-local variables of musl's shared libraries cannot be "
				   "found");
	*ret = 1;
	return GPC_OK;
}

const struct gpc_libc gpc_libc_musl = {.open = musl_open,
				       .pointer = musl_pointer,
				       .module_number = musl_module_number};
