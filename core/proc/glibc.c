/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/modules.h"
#include "proc/target_threads_impl.h"

/* One of glibc's own descriptions of its structures: three 32-bit numbers, size
 * in bits, number of elements, offset in bytes. */
static gpc_status described(struct gpc_target_threads *th, const struct gpc_module_file *libc,
			    const char *what, uint32_t ret[3], struct gpc_err *err)
{
	char name[96];
	struct gpc_place place;

	snprintf(name, sizeof name, "_thread_db_%s", what);
	gpc_try(gpc_module_symbol(libc, name, &place, err));
	return gpc_target_threads_read(th, place.start, ret, 3 * sizeof *ret, err);
}

static gpc_status offset_of(struct gpc_target_threads *th, const struct gpc_module_file *libc,
			    const char *what, uint64_t *ret, struct gpc_err *err)
{
	uint32_t d[3];

	gpc_try(described(th, libc, what, d, err));
	if (d[2] > 65536)
		return gpc_err_set(err, GPC_E_CORRUPT, "%s: impossible offset %u", what, d[2]);
	*ret = d[2];
	return GPC_OK;
}

static gpc_status read_layout(struct gpc_target_threads *th, const struct gpc_module_file *libc,
			      struct gpc_err *err)
{
	uint32_t dtv[3];

	gpc_try(offset_of(th, libc, "pthread_tid", &th->tid, err));
	gpc_try(offset_of(th, libc, "pthread_dtvp", &th->dtv, err));
	gpc_try(offset_of(th, libc, "pthread_list", &th->list, err));
	gpc_try(offset_of(th, libc, "link_map_l_tls_modid", &th->modid, err));
	gpc_try(described(th, libc, "dtv_dtv", dtv, err));
	th->dtv_stride = dtv[0] / 8;
	/* The element before the vector counts it (glibc/elf/dl-tls.c). */
	th->dtv_count = -(int64_t)th->dtv_stride;
	if (!th->dtv_stride || th->dtv_stride > 64)
		return gpc_err_set(err, GPC_E_CORRUPT, "impossible thread vector");
	return GPC_OK;
}

/* x86: the thread pointer is struct pthread. arm64: it is right behind it. */
static gpc_status read_bias(struct gpc_target_threads *th, const struct gpc_module_file *libc,
			    struct gpc_err *err)
{
	struct gpc_place place;
	uint32_t size;

	if (th->target->machine != 183 /* EM_AARCH64 */)
		return GPC_OK;
	gpc_try(gpc_module_symbol(libc, "_thread_db_sizeof_pthread", &place, err));
	gpc_try(gpc_target_threads_read(th, place.start, &size, sizeof size, err));
	th->pointer_bias = size;
	return GPC_OK;
}

/* Since 2.34 the lists are in the dynamic linker's _rtld_global; before, in
 * libpthread as stack_used and __stack_user. */
static gpc_status find_lists(struct gpc_target_threads *th, const struct gpc_module_file *libc,
			     struct gpc_err *err)
{
	autoclose int fd = -1;
	struct gpc_module_file ld;
	struct gpc_place global, used;
	uint64_t offset = 0;

	if (offset_of(th, libc, "rtld_global__dl_stack_used", &offset, NULL) < 0) {
		gpc_try(gpc_module_symbol(libc, "__stack_user", &global, err));
		th->lists[0] = global.start;
		if (gpc_module_symbol(libc, "stack_used", &used, NULL) == GPC_OK)
			th->lists[1] = used.start;
		return GPC_OK;
	}
	gpc_try(gpc_module_open(th->target, "ld-linux*", &ld, err));
	fd = ld.fd;
	gpc_try(gpc_module_symbol(&ld, "_rtld_global", &global, err));
	th->lists[0] = global.start + offset;
	gpc_try(offset_of(th, libc, "rtld_global__dl_stack_user", &offset, err));
	th->lists[1] = global.start + offset;
	return GPC_OK;
}

static gpc_status glibc_open(struct gpc_target_threads *th, struct gpc_err *err)
{
	static const char *const names[] = {"libpthread.so.0", "libpthread-2.*", "libc.so.6",
					    "libc-2.*"};
	gpc_status st = GPC_E_UNSUPPORTED;

	for (size_t i = 0; i < 4 && st < 0; i++) {
		autoclose int fd = -1;
		struct gpc_module_file libc;

		st = gpc_module_open(th->target, names[i], &libc, err);
		if (st < 0)
			continue;
		fd = libc.fd;
		st = read_layout(th, &libc, err);
		if (st == GPC_OK)
			st = read_bias(th, &libc, err);
		if (st == GPC_OK)
			st = find_lists(th, &libc, err);
	}
	return st;
}

/* A list node is {next, prev} inside struct pthread. */
static gpc_status search_list(struct gpc_target_threads *th, uint64_t head, int32_t ns_tid,
			      uint64_t *ret, struct gpc_err *err)
{
	uint64_t node = head;

	for (unsigned n = 0; head && n < GPC_TARGET_THREADS_MAX; n++) {
		int32_t tid = 0;

		gpc_try(gpc_target_threads_read_word(th, node, &node, err));
		if (node == head || !node)
			break;
		gpc_try(gpc_target_threads_tid(th, node - th->list, &tid, err));
		if (tid != ns_tid)
			continue;
		*ret = node - th->list + th->pointer_bias;
		return GPC_OK;
	}
	return GPC_E_GONE;
}

static gpc_status glibc_pointer(struct gpc_target_threads *th, int32_t ns_tid, uint64_t *ret,
				struct gpc_err *err)
{
	for (unsigned i = 0; i < 2; i++)
		if (search_list(th, th->lists[i], ns_tid, ret, err) == GPC_OK)
			return GPC_OK;
	return gpc_err_set(err, GPC_E_GONE, "process %d has no thread %d (any more)",
			   th->target->pid, ns_tid);
}

static gpc_status glibc_module_number(struct gpc_target_threads *th, uint64_t link_map,
				      uint64_t *ret, struct gpc_err *err)
{
	gpc_try(gpc_target_threads_read_word(th, link_map + th->modid, ret, err));
	if (*ret && *ret < 65536)
		return GPC_OK;
	return gpc_err_set(err, GPC_E_CORRUPT, "the module has no thread-local variables");
}

const struct gpc_libc gpc_libc_glibc = {.open = glibc_open,
					.pointer = glibc_pointer,
					.module_number = glibc_module_number};
