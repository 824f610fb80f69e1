/* SPDX-License-Identifier: Apache-2.0 */
/* Small profiles for tests of what is drawn of them. */
#ifndef TESTS_PROGRAM_DRAW_H
#define TESTS_PROGRAM_DRAW_H

#include <stdlib.h>
#include <string.h>

#include "encode/encode.h"
#include "program/summary.h"

#define DRAW_HEADER                                                                   \
	"{\"sampling_mode\": \"frequency\", \"sampling_frequency\": 100, "            \
	"\"gprofiler_core\": {\"sources\": [{\"lost\": 5, \"throttled\": 1, "         \
	"\"kernel_stacks\": true}, {\"lost\": 2, \"throttled\": 0, \"kernel_stacks\"" \
	": true}], \"kernel_names\": false, \"reports\": [\"a \\\"lost\\\": 90\"]}}"

struct draw {
	struct gpc_names *names;
	struct gpc_profile *p;
	struct gpc_stacks *stacks;
	uint64_t processes;
};

static inline void draw_begin(struct draw *d)
{
	struct gpc_profile_span span = {.duration_ns = UINT64_C(2000000000)};

	*d = (struct draw){.names = gpc_names_new(1)};
	assert_int_equal(gpc_profile_new(d->names, &span, &d->p, NULL), GPC_OK);
	assert_int_equal(gpc_stacks_new(0, &d->stacks, NULL), GPC_OK);
}

/* Further stacks are of this process. */
static inline void draw_process(struct draw *d, int32_t pid, const char *comm,
				const char *container)
{
	struct gpc_profile_process process = {.id = ++d->processes,
					      .pid = pid,
					      .comm = comm,
					      .container = container};

	assert_int_equal(gpc_profile_add_process(d->p, &process, NULL), GPC_OK);
}

static inline gpc_frame draw_frame(struct draw *d, const char *text)
{
	const char *suffix = strstr(text, "_[");
	size_t n = suffix ? (size_t)(suffix - text) : strlen(text);
	struct gpc_frame_entry entry = {.function = gpc_names_str(d->names, text, n)};

	if (suffix)
		entry.suffix = gpc_names_str(d->names, suffix + 2, strlen(suffix) - 3);
	if (strncmp(text, "[Profiling", 10) == 0)
		entry.flags = GPC_FRAME_ERROR;
	return gpc_names_frame(d->names, &entry);
}

/* As folded text has it, from the root; "": a stack without frames. */
static inline void draw_stack(struct draw *d, const char *folded, uint64_t value)
{
	char *copy = strdup(folded), *save = NULL;
	gpc_frame frames[8];
	uint32_t n = 0;

	for (char *at = strtok_r(copy, ";", &save); at; at = strtok_r(NULL, ";", &save)) {
		assert_true(n < 8);
		memmove(frames + 1, frames, n++ * sizeof *frames);
		frames[0] = draw_frame(d, at);
	}
	assert_int_equal(gpc_stacks_add(d->stacks, d->processes, frames, n, value), GPC_OK);
	free(copy);
}

/* The summary of all that, into zeros. */
static inline void draw_end(struct draw *d, struct gpc_summary *ret)
{
	assert_int_equal(gpc_profile_add_event(d->p, "cpu-time", "samples", d->stacks, NULL),
			 GPC_OK);
	assert_int_equal(gpc_profile_set_header(d->p, DRAW_HEADER, NULL), GPC_OK);
	assert_int_equal(gpc_summary_add(ret, d->p, gpc_profile_api_get(), NULL), GPC_OK);
	gpc_profile_put(d->p);
	gpc_names_put(d->names);
}

#endif
