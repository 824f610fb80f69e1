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

/* The unwind information of code, as far as that stands where it was put: newer code
 * may have come over a part of it. */
struct gpc_jit_unwind {
	uint64_t start, end;
	uint64_t code; /* where all of it begins, or began */
	/* Its .eh_frame, in the file; .eh_frame_hdr follows and is not needed. Addresses are
	 * as if it lay somewhere behind the code: where, each runtime decides. */
	uint64_t offset, size;
};

enum gpc_jitdump_part {
	GPC_JITDUMP_NAMES,  /* all */
	GPC_JITDUMP_FRAMES, /* unwind information, and no texts and lines */
};

/* True for the name that the marker mapping of such a file has. */
bool gpc_jitdump_is(const char *path);
/* Keeps at most about max_bytes in memory: newer records are left out then. NULL: no
 * memory. */
struct gpc_jitdump *gpc_jitdump_new(enum gpc_jitdump_part part, size_t max_bytes);
/* Reads what the file has got since, for a second or so; *has_more: that was code. */
gpc_status gpc_jitdump_more(struct gpc_jitdump *d, int fd, bool *has_more, struct gpc_err *err);
/* Both, for names. An empty file is none. */
gpc_status gpc_jitdump_load(int fd, size_t max_bytes, struct gpc_jitdump **ret,
			    struct gpc_err *err);
void gpc_jitdump_free(struct gpc_jitdump *d); /* NULL is fine */
bool gpc_jitdump_find(const struct gpc_jitdump *d, uint64_t address, struct gpc_jit_symbol *ret);
/* One after another in the order of addresses; *i begins with 0. False: no more. */
bool gpc_jitdump_unwind(const struct gpc_jitdump *d, size_t *i, struct gpc_jit_unwind *ret);
/* False: there is code, but none of it with such information. */
bool gpc_jitdump_has_unwind(const struct gpc_jitdump *d);
size_t gpc_jitdump_bytes(const struct gpc_jitdump *d);

#endif
