/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel symbols from /proc/kallsyms: text symbols only, packed to 8 bytes and
 * a name each, loaded when first needed, re-read when told so (a module came,
 * a BPF program was loaded). One thread. */
#ifndef GPC_SYM_KERNEL_H
#define GPC_SYM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_kernel_syms;

struct gpc_kernel_symbol {
	const char *name;   /* borrowed until the next reload; NULL: unknown */
	const char *module; /* "ext4", "bpf"; "" for the kernel proper */
	uint64_t start;
};

/* path: "/proc/kallsyms"; tests pass their own file. */
gpc_status gpc_kernel_syms_new(const char *path, struct gpc_kernel_syms **ret, struct gpc_err *err);
void gpc_kernel_syms_free(struct gpc_kernel_syms *k);
/* Marks the table stale; read again at the next find. */
void gpc_kernel_syms_stale(struct gpc_kernel_syms *k);
/* GPC_E_PERM when the kernel hides its addresses (kptr_restrict, no
 * CAP_SYSLOG): all addresses are 0 then. Addresses beyond the last symbol's
 * plausible end (a gap of more than 16 MiB) are unknown: name NULL. */
gpc_status gpc_kernel_syms_find(struct gpc_kernel_syms *k, uint64_t address,
				struct gpc_kernel_symbol *ret, struct gpc_err *err);
size_t gpc_kernel_syms_bytes(const struct gpc_kernel_syms *k);

#endif
