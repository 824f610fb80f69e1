/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.elf/1: looking into a target's files and threads.
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_ELF_H
#define GPC_EXT_ELF_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpc_target_threads; /* a target's threads, as its C library knows them */
struct gpc_tls_variable {
	uint64_t module; /* its number in a thread's vector of modules */
	uint64_t offset;
};
struct gpc_needle {
	uint32_t struct_size, reserved;
	const char *section; /* ".rodata" */
	const void *bytes;
	uint64_t n; /* at most 4096 */
};
/* glob: base name of a mapped file; NULL is the executable. Addresses are those
 * in the target. GPC_E_GONE: there is no such file, section, symbol, thread. */
struct gpc_elf_api {
	uint32_t struct_size, reserved;
	/* [worker] */
	gpc_status (*load_bias)(const struct gpc_host *h, const struct gpc_target *t,
				const char *glob, uint64_t *ret);
	gpc_status (*section)(const struct gpc_host *h, const struct gpc_target *t,
			      const char *glob, const char *name, uint64_t *start, uint64_t *bytes);
	/* Where the needle first stands in its section. */
	gpc_status (*search)(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			     const struct gpc_needle *needle, uint64_t *ret);
	/* *len 0: it has none. */
	gpc_status (*build_id)(const struct gpc_host *h, const struct gpc_target *t,
			       const char *glob, uint8_t ret[20], uint32_t *len);
	/* [worker] glibc, or musl on x86-64; valid until threads_close, which must
	 * come before detach returns. */
	gpc_status (*threads_open)(const struct gpc_host *h, const struct gpc_target *t,
				   struct gpc_target_threads **ret);
	void (*threads_close)(struct gpc_target_threads *th);
	/* [worker] */
	gpc_status (*tls_find)(struct gpc_target_threads *th, const char *glob, const char *symbol,
			       struct gpc_tls_variable *ret);
	/* [worker,reader] ns_tid: in the target's pid namespace. pthread: a pthread_t. */
	gpc_status (*thread_pointer)(struct gpc_target_threads *th, int32_t ns_tid, uint64_t *ret);
	gpc_status (*thread_of)(struct gpc_target_threads *th, uint64_t pthread, int32_t *ns_tid);
	gpc_status (*tls_address)(struct gpc_target_threads *th, const struct gpc_tls_variable *var,
				  uint64_t thread_pointer, uint64_t *ret);
	/* [worker] Of the file's .dynsym, then .symtab; *bytes 0: not told. */
	gpc_status (*symbol)(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			     const char *name, uint64_t *start, uint64_t *bytes);
	/* [worker] threads_open for a child that was copied from the process of parent. */
	gpc_status (*threads_fork)(const struct gpc_target_threads *parent,
				   const struct gpc_target *t, struct gpc_target_threads **ret);
	/* [worker] "buildid:..." of the file's note, else "sha1:..." of its bytes, all of
	 * which are read for it, once for each file, in turns of some milliseconds:
	 * GPC_E_RETRY asks to come again. ret has room for 64 bytes. */
	gpc_status (*file_id)(const struct gpc_host *h, const struct gpc_target *t,
			      const char *glob, char *ret);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_ELF_H */
