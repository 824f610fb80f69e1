/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF files that a target maps: found by name, opened as the target sees
 * them, with what is needed to go from linked addresses to those in the
 * process. Opens files: for workers. */
#ifndef GPC_PROC_MODULES_H
#define GPC_PROC_MODULES_H

#include <stdint.h>

#include "base/err.h"
#include "elf/file.h"

struct gpc_module_file {
	int fd;           /* the caller's */
	uint64_t bias;    /* address in the process = address as linked + bias */
	const char *path; /* borrowed from the target */
};

/* The file of one mapping; -1: it cannot be opened, or another has its name by now. */
int gpc_module_open_map(const struct gpc_target *t, const struct gpc_map *m);

/* The first mapped file whose base name matches the glob; NULL: the executable.
 * GPC_E_GONE: none is mapped, or it cannot be opened. */
gpc_status gpc_module_open(const struct gpc_target *t, const char *glob,
			   struct gpc_module_file *ret, struct gpc_err *err);

struct gpc_place { /* in the process */
	uint64_t start, size;
};
/* A symbol of the module: function or data. For thread-local ones start is bias and the
 * offset in the module's block. */
gpc_status gpc_module_symbol(const struct gpc_module_file *m, const char *name,
			     struct gpc_place *ret, struct gpc_err *err);
/* A section by name (".rodata", ".PyRuntime"). */
gpc_status gpc_module_section(const struct gpc_module_file *m, const char *name,
			      struct gpc_place *ret, struct gpc_err *err);
/* Bytes in a section: where needle first stands. GPC_E_GONE: nowhere. */
gpc_status gpc_module_search(const struct gpc_module_file *m, const char *section,
			     const void *needle, size_t n, uint64_t *ret, struct gpc_err *err);
/* At most 20 bytes; *len 0: it has none. */
gpc_status gpc_module_build_id(const struct gpc_module_file *m, uint8_t ret[20], uint32_t *len,
			       struct gpc_err *err);

#endif
