/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a reader puts it together: processes, frames and rows in the
 * order of the file. Everything comes from a file that anybody may have
 * written, so it has bounds: over them reading fails with GPC_E_BUDGET. */
#ifndef GPC_DECODE_DRAFT_H
#define GPC_DECODE_DRAFT_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"

#define GPC_DRAFT_STACK_BYTES ((size_t)512 << 20) /* of each event */
#define GPC_DRAFT_EVENTS      64
#define GPC_DRAFT_FRAMES      65535 /* of one stack */

/* A text of the file; need not end with a NUL. */
struct gpc_draft_text {
	const char *at;
	size_t n;
};

struct gpc_draft_process { /* numbers of names; equal bytes are one process */
	gpc_str comm, container, appid, pod, pod_namespace, container_id;
	uint32_t metadata;
	int32_t pid, reserved;
	uint64_t twin; /* tells processes apart that look the same */
};

struct gpc_draft_event {
	gpc_str name, unit;
	struct gpc_stacks *stacks;
};

struct gpc_draft {
	struct gpc_names *names;
	vec(struct gpc_draft_process) processes; /* number - 1 */
	struct gpc_u64map process_index;         /* hash -> place */
	struct gpc_u64map threads;               /* key -> name */
	vec(struct gpc_draft_event) events;
	vec(gpc_frame) stack; /* scratch, leaf first */
	char *header;
	struct gpc_profile_span span;
	bool has_index, has_container; /* what lines of .col begin with */
	uint32_t wants;                /* GPC_WANT_ that the file brings */
};

gpc_status gpc_draft_init(struct gpc_draft *d, struct gpc_err *err);
void gpc_draft_deinit(struct gpc_draft *d);

/* 0 only for an empty text; no memory is an error. */
gpc_status gpc_draft_str(struct gpc_draft *d, struct gpc_draft_text text, gpc_str *ret,
			 struct gpc_err *err);
/* The frame that .col writes as text: "function" or "function_[suffix]"; other
 * members of *entry are kept. */
gpc_status gpc_draft_frame(struct gpc_draft *d, struct gpc_draft_text text,
			   struct gpc_frame_entry *entry, gpc_frame *ret, struct gpc_err *err);
gpc_status gpc_draft_process(struct gpc_draft *d, const struct gpc_draft_process *process,
			     uint64_t *ret, struct gpc_err *err);
gpc_status gpc_draft_event(struct gpc_draft *d, struct gpc_draft_text name,
			   struct gpc_draft_text unit, struct gpc_err *err);
gpc_status gpc_draft_push(struct gpc_draft *d, gpc_frame frame, struct gpc_err *err);
/* d->stack under the key of a process (gpc_key). */
gpc_status gpc_draft_row(struct gpc_draft *d, size_t event, uint64_t key, uint64_t value,
			 struct gpc_err *err);
/* The JSON object of .col's header, with the times and the event it tells. Text
 * that is no JSON object is an error. */
gpc_status gpc_draft_header(struct gpc_draft *d, struct gpc_draft_text json, struct gpc_err *err);
/* What the header says of the event measured; "cpu-time" without one. */
gpc_status gpc_draft_header_event(struct gpc_draft *d, struct gpc_err *err);

/* The profile; the draft is empty afterwards. */
gpc_status gpc_draft_finish(struct gpc_draft *d, struct gpc_profile **ret, struct gpc_err *err);

#endif
