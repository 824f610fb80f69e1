/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata object of a profile's header: what machine and what agent. Built
 * once, completed for each session. The cloud is not asked (no network at all):
 * cloud_provider is "unknown". */
#ifndef GPC_PROFILE_META_H
#define GPC_PROFILE_META_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_sampling {
	const char *event; /* "cpu-time" */
	bool is_period;    /* rate is a period of the event, not Hz */
	uint64_t rate;
	const char *precise; /* "", ":p" ...; NULL: no custom event */
};

struct gpc_meta_input {
	const char *agent_version;
	int64_t spawn_unix_ns;
	bool in_k8s, in_container;   /* GPROFILER_IN_K8S, GPROFILER_IN_CONTAINER are set */
	const json_t *run_arguments; /* borrowed, without secrets; NULL: none */
	const json_t *external;      /* the external file's "static"; NULL: none */
	int root_fd, proc_fd;        /* for tests; below 0: the host's */
};

/* *ret is new. */
gpc_status gpc_meta_new(const struct gpc_meta_input *in, json_t **ret, struct gpc_err *err);
/* *ret is new: meta and what changes with every session. */
gpc_status gpc_meta_session(const json_t *meta, int64_t now_unix_ns, const char *profiling_mode,
			    const struct gpc_sampling *sampling, json_t **ret, struct gpc_err *err);
/* sampling_event, sampling_mode ... into an object. False: no memory. */
bool gpc_meta_put_sampling(json_t *to, const struct gpc_sampling *sampling);

/* "2026-02-03T04:05:06", UTC. */
void gpc_meta_time(int64_t unix_ns, char ret[32]);

#endif
