/* SPDX-License-Identifier: Apache-2.0 */
/* jit-PID.dump, in which a runtime notes the code it makes: loaded, moved, with
 * lines and unwind information (format: Linux, tools/perf/Documentation/
 * jitdump-specification.txt). The file is foreign and may be half written: what is
 * complete counts, up to the first record that is not. Of the code itself nothing
 * is read. Code at an address that was used before replaces it. */
#ifndef GPC_SYM_JITDUMP_H
#define GPC_SYM_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_jitdump;

struct gpc_jit_symbol {
	const char *name; /* borrowed, as file */
	const char *file; /* NULL: not known */
	uint32_t line;    /* 0: not known */
};

/* Where in the file the unwind information of a piece of code is: .eh_frame, then
 * .eh_frame_hdr, whose addresses are as if they followed the code. */
struct gpc_jit_unwind {
	uint64_t code, code_size; /* where the code is now */
	uint64_t offset;          /* in the file */
	uint64_t size, header_size;
};

/* True for the name that the marker mapping of such a file has. */
bool gpc_jitdump_is(const char *path);
/* Keeps at most about max_bytes in memory, and reads for a second or so: newer records are
 * left out then. */
gpc_status gpc_jitdump_load(int fd, size_t max_bytes, struct gpc_jitdump **ret,
			    struct gpc_err *err);
void gpc_jitdump_free(struct gpc_jitdump *d); /* NULL is fine */
bool gpc_jitdump_find(const struct gpc_jitdump *d, uint64_t address, struct gpc_jit_symbol *ret);
bool gpc_jitdump_unwind(const struct gpc_jitdump *d, uint64_t address, struct gpc_jit_unwind *ret);
size_t gpc_jitdump_bytes(const struct gpc_jitdump *d);

#endif
