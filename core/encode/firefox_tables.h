/* SPDX-License-Identifier: Apache-2.0 */
/* What all threads of a Firefox profile share: strings, frames, functions,
 * libraries, and the tree of stacks. Filled as stacks are asked for, written
 * once at the end. */
#ifndef GPC_ENCODE_FIREFOX_TABLES_H
#define GPC_ENCODE_FIREFOX_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "encode/encode.h"

struct gpc_firefox_func {
	uint32_t name, resource; /* resource: its number + 1, 0 none */
	uint32_t source;         /* the same */
	uint32_t line;
};
struct gpc_firefox_frame {
	uint64_t address;
	uint32_t func, line;
	uint8_t category;
};
struct gpc_firefox_node {
	uint32_t prefix; /* its number + 1; 0: a root */
	uint32_t frame;
};
struct gpc_firefox_lib {
	uint32_t file, build_id; /* strings */
};

struct gpc_firefox_tables {
	const struct gpc_profile *profile;
	struct gpc_names *names; /* numbers are places in the array of strings */
	uint32_t n_strings;
	vec(struct gpc_firefox_node) nodes;
	vec(struct gpc_firefox_frame) frames;
	vec(struct gpc_firefox_func) funcs;
	vec(struct gpc_firefox_lib) libs; /* resources have their numbers */
	vec(uint32_t) sources;            /* strings */
	struct gpc_u64map by_node, by_frame, by_func, by_lib, by_source;
	bool is_short_of_memory;
};

bool gpc_firefox_tables_init(struct gpc_firefox_tables *t, const struct gpc_profile *p);
void gpc_firefox_tables_deinit(struct gpc_firefox_tables *t);
/* The number of the stack; it has at least one frame. */
uint32_t gpc_firefox_stack(struct gpc_firefox_tables *t, const struct gpc_stack *stack);

/* "[...]", the members "libs" and "shared". */
void gpc_firefox_put_categories(struct gpc_out *o);
void gpc_firefox_put_tables(const struct gpc_firefox_tables *t, struct gpc_out *o);

#endif
