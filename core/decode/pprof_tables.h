/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a profile.proto: strings, functions, mappings, locations. Texts
 * are borrowed from the file's bytes. */
#ifndef GPC_DECODE_PPROF_TABLES_H
#define GPC_DECODE_PPROF_TABLES_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "decode/draft.h"
#include "decode/pbread.h"
#include "encode/pprof.h"

struct gpc_pprof_type {
	uint64_t name, unit; /* strings */
};
struct gpc_pprof_mapping {
	uint64_t id, file, build_id;
};
struct gpc_pprof_function {
	uint64_t name, file;
};
struct gpc_pprof_location {
	size_t first_frame, n; /* in frames, innermost first */
};

struct gpc_pprof_tables {
	vec(struct gpc_draft_text) strings;
	vec(struct gpc_pprof_type) types;
	struct gpc_pprof_type period;
	vec(struct gpc_pprof_mapping) mappings;
	vec(struct gpc_pprof_function) functions;
	vec(struct gpc_pprof_location) locations;
	vec(gpc_frame) frames;
	struct gpc_u64map mapping_index, function_index, location_index; /* id -> place */
	struct gpc_draft_text header;                                    /* of our own files */
	uint64_t numbers[GPC_PPROF_DEFAULT_TYPE + 1]; /* fields of the profile that are one */
};

void gpc_pprof_tables_deinit(struct gpc_pprof_tables *t);
/* Frames become d's. */
gpc_status gpc_pprof_tables_read(struct gpc_pprof_tables *t, struct gpc_pbread file,
				 struct gpc_draft *d, struct gpc_err *err);

/* "" for a number that the file does not have. */
struct gpc_draft_text gpc_pprof_text(const struct gpc_pprof_tables *t, uint64_t string);
bool gpc_pprof_is(const struct gpc_pprof_tables *t, uint64_t string, const char *text);
struct gpc_draft_text gpc_pprof_base_name(struct gpc_draft_text path);
/* The fields 1 to last of a message that are numbers, by their number; what is
 * missing stays as it is. */
gpc_status gpc_pprof_numbers(struct gpc_pbread *part, uint64_t *ret, uint32_t last,
			     struct gpc_err *err);

#endif
