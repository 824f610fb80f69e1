/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.elf/1: files and threads of targets, for collectors. */
#include <unistd.h>

#include "base/cleanup.h"
#include "core_impl.h"
#include "proc/elfid.h"
#include "proc/modules.h"
#include "proc/target_threads.h"

/* Opens the module, which the caller closes. */
static gpc_status open_module(const struct gpc_host *h, const struct gpc_target *t,
			      const char *glob, struct gpc_module_file *ret)
{
	(void)h;
	return gpc_module_open(t, glob, ret, NULL);
}

static gpc_status load_bias(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			    uint64_t *ret)
{
	struct gpc_module_file m;

	gpc_try(open_module(h, t, glob, &m));
	close(m.fd);
	*ret = m.bias;
	return GPC_OK;
}

static gpc_status section(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			  const char *name, uint64_t *start, uint64_t *bytes)
{
	struct gpc_module_file m;
	struct gpc_place place;
	gpc_status st;

	gpc_try(open_module(h, t, glob, &m));
	st = gpc_module_section(&m, name, &place, NULL);
	close(m.fd);
	gpc_try(st);
	*start = place.start;
	*bytes = place.size;
	return GPC_OK;
}

static gpc_status symbol(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			 const char *name, uint64_t *start, uint64_t *bytes)
{
	struct gpc_module_file m;
	struct gpc_place place;
	gpc_status st;

	gpc_try(open_module(h, t, glob, &m));
	st = gpc_module_symbol(&m, name, &place, NULL);
	close(m.fd);
	gpc_try(st);
	*start = place.start;
	*bytes = place.size;
	return GPC_OK;
}

static gpc_status search(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			 const struct gpc_needle *needle, uint64_t *ret)
{
	struct gpc_module_file m;
	gpc_status st;

	gpc_try(open_module(h, t, glob, &m));
	st = gpc_module_search(&m, needle->section, needle->bytes, needle->n, ret, NULL);
	close(m.fd);
	return st;
}

static gpc_status build_id(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			   uint8_t ret[20], uint32_t *len)
{
	struct gpc_module_file m;
	gpc_status st;

	gpc_try(open_module(h, t, glob, &m));
	st = gpc_module_build_id(&m, ret, len, NULL);
	close(m.fd);
	return st;
}

static gpc_status threads_open(const struct gpc_host *h, const struct gpc_target *t,
			       struct gpc_target_threads **ret)
{
	return gpc_target_threads_open(t, gpc_instance_services(gpc_instance_of_host(h))->mem, ret,
				       NULL);
}

static gpc_status threads_fork(const struct gpc_target_threads *parent, const struct gpc_target *t,
			       struct gpc_target_threads **ret)
{
	return gpc_target_threads_fork(parent, t, ret, NULL);
}

static gpc_status file_id(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			  char *ret)
{
	const struct gpc_core *core = gpc_instance_services(gpc_instance_of_host(h))->ctx;

	return gpc_elfids_of(core->elfids, t, glob, ret, NULL);
}

static gpc_status tls_find(struct gpc_target_threads *th, const char *glob, const char *symbol,
			   struct gpc_tls_variable *ret)
{
	return gpc_target_threads_variable(th, glob, symbol, ret, NULL);
}

static gpc_status thread_pointer(struct gpc_target_threads *th, int32_t ns_tid, uint64_t *ret)
{
	return gpc_target_threads_pointer(th, ns_tid, ret, NULL);
}

static gpc_status thread_of(struct gpc_target_threads *th, uint64_t pthread, int32_t *ns_tid)
{
	return gpc_target_threads_tid(th, pthread, ns_tid, NULL);
}

static gpc_status tls_address(struct gpc_target_threads *th, const struct gpc_tls_variable *var,
			      uint64_t tp, uint64_t *ret)
{
	return gpc_target_threads_address(th, var, tp, ret, NULL);
}

const void *gpc_core_elf_extension(void)
{
	static const struct gpc_elf_api api = {.struct_size = sizeof api,
					       .load_bias = load_bias,
					       .section = section,
					       .search = search,
					       .build_id = build_id,
					       .threads_open = threads_open,
					       .threads_close = gpc_target_threads_free,
					       .tls_find = tls_find,
					       .thread_pointer = thread_pointer,
					       .thread_of = thread_of,
					       .tls_address = tls_address,
					       .symbol = symbol,
					       .threads_fork = threads_fork,
					       .file_id = file_id};

	return &api;
}
