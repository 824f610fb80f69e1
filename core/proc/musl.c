/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

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

static bool is_libc(const char *path)
{
	return strstr(path, "/ld-musl-") || strstr(path, "/libc.musl-");
}

/* The main thread's struct lies in the library's own data: a word that points to
 * itself, with the process's number in its place. */
static bool scan(struct gpc_target_threads *th, const struct gpc_map *m)
{
	uint64_t block[512];

	for (uint64_t at = m->start; at + sizeof block <= m->end; at += sizeof block - TID - 8) {
		if (gpc_target_threads_read(th, at, block, sizeof block, NULL) < 0)
			return false;
		for (size_t i = 0; i + TID / 8 < 512; i++) {
			if (block[i] != at + i * 8 ||
			    (int32_t)block[i + TID / 8] != th->target->ns_pid)
				continue;
			th->first = block[i];
			return true;
		}
	}
	return false;
}

static gpc_status musl_open(struct gpc_target_threads *th, struct gpc_err *err)
{
	const struct gpc_target *t = th->target;
	bool is_near = false;

	if (t->machine != EM_X86_64)
		return gpc_err_set(err, GPC_E_UNSUPPORTED,
				   "process %d: threads of musl are known on x86-64 only", t->pid);
	th->tid = TID;
	th->dtv = DTV;
	th->dtv_stride = 8;
	for (uint32_t k = 0; k < t->n_maps; k++) {
		const struct gpc_map *m = map_at(t, k);

		/* The library's data, and the zeroed part behind it. */
		is_near = is_libc(m->path) || (is_near && !m->path[0]);
		if (is_near && m->prot & GPC_MAP_WRITE && scan(th, m))
			return GPC_OK;
	}
	return gpc_err_set(err, GPC_E_UNSUPPORTED, "process %d uses neither glibc nor musl",
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
