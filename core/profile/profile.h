/* SPDX-License-Identifier: Apache-2.0 */
/* One finished profile: processes, events, folded stacks, the header. Built by
 * the core at the end of a window, read only afterwards and shared by sinks
 * through references (get and put are thread-safe). */
#ifndef GPC_PROFILE_PROFILE_H
#define GPC_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/names.h"
#include "profile/stacks.h"

struct gpc_profile;

struct gpc_profile_process {
	uint64_t id; /* as in the rows of the stacks */
	int32_t pid;
	const char *comm, *container, *appid; /* copied; "" for none */
	uint32_t metadata;                    /* index into application_metadata; 0 none */
	const char *pod, *pod_namespace, *container_id; /* copied; NULL for none */
};

struct gpc_profile_span {
	uint32_t seq;
	int64_t begin_unix_ns, end_unix_ns;
	uint64_t duration_ns;
};

/* One reference; takes a reference on names. */
gpc_status gpc_profile_new(struct gpc_names *names, const struct gpc_profile_span *span,
			   struct gpc_profile **ret, struct gpc_err *err);
struct gpc_profile *gpc_profile_get(struct gpc_profile *p);
void gpc_profile_put(struct gpc_profile *p); /* NULL is fine */

gpc_status gpc_profile_add_process(struct gpc_profile *p, const struct gpc_profile_process *proc,
				   struct gpc_err *err);
/* Takes stacks in every case; its frames are numbers of names; rows of a
 * process that was not added are an error. name and unit are copied. The first
 * event added is the one .col and .html show. */
gpc_status gpc_profile_add_event(struct gpc_profile *p, const char *name, const char *unit,
				 struct gpc_stacks *stacks, struct gpc_err *err);
/* A thread by its key (gpc_key); name is copied. */
gpc_status gpc_profile_add_thread(struct gpc_profile *p, uint64_t key, const char *name,
				  struct gpc_err *err);
/* The .col header's JSON object, one line; copied. */
gpc_status gpc_profile_set_header(struct gpc_profile *p, const char *json, struct gpc_err *err);
/* What the folded lines start with; both true by default. */
void gpc_profile_set_prefix(struct gpc_profile *p, bool metadata_index, bool container);

bool gpc_profile_prefix_index(const struct gpc_profile *p);
bool gpc_profile_prefix_container(const struct gpc_profile *p);

/* A profile with what GPC_WANT_ brings holds rows that differ in threads and
 * addresses alone. *ret is one without these, its rows added up; for a profile
 * that has none of it, another reference on p. */
void gpc_profile_set_wants(struct gpc_profile *p, uint32_t wants);
gpc_status gpc_profile_plain(struct gpc_profile *p, struct gpc_profile **ret, struct gpc_err *err);

/* Reading, as gpc.profile/1 describes it: ret->struct_size is the caller's, no
 * more than that is filled. */
void gpc_profile_info(const struct gpc_profile *p, struct gpc_profile_info *ret);
int32_t gpc_profile_frame(const struct gpc_profile *p, gpc_frame f, struct gpc_frame_text *ret);
int32_t gpc_profile_event(const struct gpc_profile *p, uint32_t index, struct gpc_event *ret);
int32_t gpc_profile_next(const struct gpc_profile *p, uint64_t *cursor, struct gpc_stack *ret);

/* The public reading interface (gpc.profile/1) over these. Defined in encode/,
 * since it encodes too. */
const struct gpc_profile_api *gpc_profile_api_get(void);

#endif
