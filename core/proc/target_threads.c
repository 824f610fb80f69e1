/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/target_threads.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/modules.h"
#include "proc/target_threads_impl.h"

/* ---- memory --------------------------------------------------------------------- */

gpc_status gpc_target_threads_read(struct gpc_target_threads *th, uint64_t addr, void *buf,
				   size_t n, struct gpc_err *err)
{
	int64_t got = gpc_mem_read(th->mem, th->target->id, th->target->pid, addr, buf, n);

	if (got == (int64_t)n)
		return GPC_OK;
	return gpc_err_set(err, got < 0 ? (gpc_status)got : GPC_E_CORRUPT,
			   "process %d: %zu bytes at %#llx cannot be read", th->target->pid, n,
			   (unsigned long long)addr);
}

gpc_status gpc_target_threads_read_word(struct gpc_target_threads *th, uint64_t addr, uint64_t *ret,
					struct gpc_err *err)
{
	return gpc_target_threads_read(th, addr, ret, sizeof *ret, err);
}

/* ---- modules --------------------------------------------------------------------- */

#define MODULES_MAX 4096

/* The dynamic linker's list of modules, from the debugger's door (link.h: struct
 * r_debug, struct link_map), which DT_DEBUG of the executable leads to. */
static gpc_status first_link_map(struct gpc_target_threads *th, uint64_t *ret, struct gpc_err *err)
{
	autoclose int fd = -1;
	struct gpc_module_file exe;
	struct gpc_place dynamic;
	uint64_t pair[2], r_map;

	gpc_try(gpc_module_open(th->target, NULL, &exe, err));
	fd = exe.fd;
	gpc_try(gpc_module_section(&exe, ".dynamic", &dynamic, err));
	for (uint64_t at = 0; at + sizeof pair <= dynamic.size; at += sizeof pair) {
		gpc_try(gpc_target_threads_read(th, dynamic.start + at, pair, sizeof pair, err));
		if (pair[0] == DT_NULL)
			break;
		if (pair[0] != DT_DEBUG || !pair[1])
			continue;
		gpc_try(gpc_target_threads_read_word(th, pair[1] + 8, &r_map, err));
		*ret = r_map;
		return GPC_OK;
	}
	return gpc_err_set(err, GPC_E_UNSUPPORTED, "process %d has no list of modules (static?)",
			   th->target->pid);
}

/* link_map: l_addr, l_name, l_ld, l_next. */
static gpc_status find_link_map(struct gpc_target_threads *th, uint64_t bias, uint64_t *ret,
				uint64_t *index, struct gpc_err *err)
{
	uint64_t at = 0, head[4];

	gpc_try(first_link_map(th, &at, err));
	for (*index = 0; at && *index < MODULES_MAX; ++*index, at = head[3]) {
		gpc_try(gpc_target_threads_read(th, at, head, sizeof head, err));
		if (head[0] != bias)
			continue;
		*ret = at;
		return GPC_OK;
	}
	return gpc_err_set(err, GPC_E_GONE, "process %d: the module is not in its list of modules",
			   th->target->pid);
}

/* musl numbers the modules that have thread-local variables in the order of the
 * list (ldso/dynlink.c: tls_id); glibc writes the number down. */
gpc_status gpc_target_threads_variable(struct gpc_target_threads *th, const char *glob,
				       const char *symbol, struct gpc_tls_variable *ret,
				       struct gpc_err *err)
{
	autoclose int fd = -1;
	struct gpc_module_file m;
	struct gpc_place place;
	uint64_t map = 0, index = 0;

	gpc_try(gpc_module_open(th->target, glob, &m, err));
	fd = m.fd;
	gpc_try(gpc_module_symbol(&m, symbol, &place, err));
	ret->offset = place.start - m.bias;
	gpc_try(find_link_map(th, m.bias, &map, &index, err));
	return th->libc->module_number(th, map, &ret->module, err);
}

/* ---- the C library ---------------------------------------------------------------- */

gpc_status gpc_target_threads_fork(const struct gpc_target_threads *parent,
				   const struct gpc_target *t, struct gpc_target_threads **ret,
				   struct gpc_err *err)
{
	struct gpc_target_threads *th = malloc(sizeof *th);

	if (!th)
		return gpc_err_nomem(err);
	*th = *parent;
	th->target = t;
	*ret = th;
	return GPC_OK;
}

gpc_status gpc_target_threads_open(const struct gpc_target *t, struct gpc_mem *mem,
				   struct gpc_target_threads **ret, struct gpc_err *err)
{
	static const struct gpc_libc *const known[] = {&gpc_libc_glibc, &gpc_libc_musl};
	struct gpc_target_threads *th = calloc(1, sizeof *th);
	gpc_status st = GPC_E_UNSUPPORTED;

	if (!th)
		return gpc_err_nomem(err);
	th->target = t;
	th->mem = mem;
	for (size_t i = 0; i < 2 && st < 0; i++) {
		th->libc = known[i];
		st = th->libc->open(th, err);
	}
	if (st < 0) {
		free(th);
		return st;
	}
	*ret = th;
	return GPC_OK;
}

void gpc_target_threads_free(struct gpc_target_threads *th)
{
	free(th);
}

gpc_status gpc_target_threads_pointer(struct gpc_target_threads *th, int32_t ns_tid, uint64_t *ret,
				      struct gpc_err *err)
{
	return th->libc->pointer(th, ns_tid, ret, err);
}

gpc_status gpc_target_threads_tid(struct gpc_target_threads *th, uint64_t pthread, int32_t *ret,
				  struct gpc_err *err)
{
	return gpc_target_threads_read(th, pthread + th->tid, ret, sizeof *ret, err);
}

gpc_status gpc_target_threads_address(struct gpc_target_threads *th,
				      const struct gpc_tls_variable *var, uint64_t thread_pointer,
				      uint64_t *ret, struct gpc_err *err)
{
	uint64_t dtv, n, block = 0;

	gpc_try(gpc_target_threads_read_word(th, thread_pointer - th->pointer_bias + th->dtv, &dtv,
					     err));
	/* A thread that was there before the module may have no room for it yet. */
	gpc_try(gpc_target_threads_read_word(th, dtv + (uint64_t)th->dtv_count, &n, err));
	if (var->module <= n)
		gpc_try(gpc_target_threads_read_word(th, dtv + var->module * th->dtv_stride, &block,
						     err));
	/* glibc writes -1 where a block was not made yet; musl, 0. */
	if (!block || block == UINT64_MAX)
		return gpc_err_set(err, GPC_E_GONE, "the thread has not used the module yet");
	*ret = block + var->offset;
	return GPC_OK;
}
