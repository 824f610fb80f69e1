/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON object in the first line of a .col file: one line, ASCII, keys in
 * the order that readers of gProfiler's files know. */
#ifndef GPC_PROFILE_HEADER_H
#define GPC_PROFILE_HEADER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "profile/meta.h"

struct gpc_header_input { /* all borrowed */
	const char *const *containers;
	size_t n_containers;
	bool container_names_enabled, application_metadata_enabled;
	const json_t *metadata;             /* of gpc_meta_session; NULL: {} */
	double cpu_avg, mem_avg;            /* percent; NAN: null */
	const json_t *application_metadata; /* an array, [0] is null; NULL: [null] */
	const char *profiling_mode;         /* "cpu" */
	struct gpc_sampling sampling;
	const json_t *gprofiler_core; /* what only we tell: lost samples, reports; NULL: {} */
};

/* *ret is new, freed by the caller. */
gpc_status gpc_header_build(const struct gpc_header_input *in, char **ret, struct gpc_err *err);

#endif
