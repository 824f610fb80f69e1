/* SPDX-License-Identifier: Apache-2.0 */
/* What a process says of the code it made: its perf map and its jitdump file, as
 * they are now if it lives, else as they were opened while it lived. */
#ifndef GPC_SOURCE_JITCODE_H
#define GPC_SOURCE_JITCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "source/sampler.h"
#include "sym/jitdump.h"
#include "sym/perfmap.h"

struct gpc_jitcode {
	struct gpc_perfmap *map;  /* NULL: none */
	struct gpc_jitdump *dump; /* NULL: none */
};

/* What was spent for the processes of a window. Each may take a fourth of what is left,
 * so that one with a very large file leaves something for all that follow. */
struct gpc_jit_spent {
	uint64_t map_bytes; /* of perf maps */
	uint64_t dump_ns;   /* for jitdump files */
	bool is_short;      /* some were read in part, or not at all */
};

void gpc_jitcode_load(struct gpc_sampler *s, uint64_t process, struct gpc_jit_spent *spent,
		      struct gpc_jitcode *ret);
void gpc_jitcode_deinit(struct gpc_jitcode *j);
/* Texts are borrowed. jitdump knows more, so it goes before. */
bool gpc_jitcode_find(const struct gpc_jitcode *j, uint64_t address, struct gpc_jit_symbol *ret);

#endif
