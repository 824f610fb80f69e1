/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/core_options.h"

#define DWARF_STACK_MAX 65528 /* the kernel's limit on sampled stacks */

static const char *const level_names = "error|warn|info|debug|trace";

static bool is_given(const struct gpc_options *o, const char *name)
{
	return gpc_options_origin(o, name) != GPC_FROM_DEFAULT;
}

static gpc_status usage(struct gpc_err *err, const char *text)
{
	return gpc_err_set(err, GPC_E_CONFIG, "%s", text);
}

/* A level from its name, 0: not one. */
static gpc_level level_of(const char *name)
{
	size_t len = strlen(name);
	const char *at = level_names;

	for (gpc_level level = GPC_ERROR; at; level++) {
		size_t n = strcspn(at, "|");

		if (n == len && memcmp(at, name, n) == 0)
			return level;
		at = at[n] ? at + n + 1 : NULL;
	}
	return 0;
}

static gpc_status check_log(const struct gpc_core_options *c, struct gpc_err *err)
{
	for (uint32_t i = 0; i < c->log_levels.n; i++) {
		const char *text = c->log_levels.at[i];
		const char *colon = strrchr(text, ':');

		if (!level_of(colon ? colon + 1 : text) || colon == text)
			return gpc_err_set(err, GPC_E_CONFIG,
					   "--log: '%.60s' is not allowed, it must be LEVEL or "
					   "MODULE:LEVEL, with a level of error, warn, info, debug "
					   "or trace",
					   text);
	}
	return GPC_OK;
}

static gpc_status check_cpu_mode(const struct gpc_options *o, struct gpc_core_options *c,
				 struct gpc_err *err)
{
	if (is_given(o, "alloc-interval"))
		return usage(err, "--alloc-interval is only allowed with --mode=allocation");
	if (!is_given(o, "profiling-frequency"))
		c->frequency = GPC_DEFAULT_HZ;
	return GPC_OK;
}

static gpc_status check_allocation_mode(const struct gpc_options *o, struct gpc_core_options *c,
					struct gpc_err *err)
{
	if (is_given(o, "profiling-frequency"))
		return usage(err, "--profiling-frequency is not allowed with --mode=allocation: "
				  "use --alloc-interval");
	if (!is_given(o, "alloc-interval"))
		c->alloc_interval = GPC_DEFAULT_ALLOC_INTERVAL;
	c->frequency = c->alloc_interval;
	return GPC_OK;
}

static gpc_status check_mode(const struct gpc_options *o, struct gpc_core_options *c,
			     const struct gpc_perf_facts *perf, struct gpc_err *err)
{
	if (perf->event_period && !perf->has_event)
		return usage(err, "--perf-event-period needs --perf-event");
	if (perf->event_period && is_given(o, "profiling-frequency"))
		return usage(err, "--perf-event-period and --profiling-frequency exclude each "
				  "other");
	if (c->profiling_mode == GPC_MODE_CPU)
		return check_cpu_mode(o, c, err);
	if (c->profiling_mode == GPC_MODE_ALLOCATION)
		return check_allocation_mode(o, c, err);
	return GPC_OK;
}

static gpc_status check_upload(const struct gpc_core_options *c, bool has_output,
			       struct gpc_err *err)
{
	bool has_token = c->server_token && *c->server_token;
	bool has_service = c->service_name && *c->service_name;

	/* It would measure and lose every profile. */
	if (c->upload_results && !has_output)
		return usage(err, "--upload-results: this version cannot send profiles to a server "
				  "yet; give --output-dir to have them as files");
	if (c->upload_results && !has_token)
		return usage(err, "--upload-results needs --token");
	if (c->upload_results && !has_service && !c->databricks_job_name)
		return usage(err, "--upload-results needs --service-name");
	if (!has_output)
		return usage(err, "nowhere to put profiles: give --output-dir");
	return GPC_OK;
}

static gpc_status check_perf(const struct gpc_perf_facts *perf, struct gpc_err *err)
{
	if (perf->dwarf_stack_size > DWARF_STACK_MAX)
		return gpc_err_set(err, GPC_E_CONFIG,
				   "--perf-dwarf-stack-size: %" PRId64
				   " is not allowed, it must be at most %d",
				   perf->dwarf_stack_size, DWARF_STACK_MAX);
	return GPC_OK;
}

static gpc_status check_heartbeat(const struct gpc_core_options *c, struct gpc_err *err)
{
	if (!c->enable_heartbeat_server)
		return GPC_OK;
	if (!c->upload_results)
		return usage(err, "--enable-heartbeat-server needs --upload-results");
	if (!c->service_name || !*c->service_name)
		return usage(err, "--enable-heartbeat-server needs --service-name");
	return GPC_OK; /* a token is there: uploading needs it too */
}

gpc_status gpc_options_check_cross(const struct gpc_options *o, struct gpc_core_options *c,
				   const struct gpc_perf_facts *perf, bool has_output,
				   struct gpc_err *err)
{
	gpc_try(check_mode(o, c, perf, err));
	gpc_try(check_upload(c, has_output, err));
	gpc_try(check_perf(perf, err));
	if (c->profile_spawned_processes && c->pids_to_profile.n)
		return usage(err, "--profile-spawned-processes and --pids exclude each other");
	gpc_try(check_heartbeat(c, err));
	return check_log(c, err);
}

gpc_level gpc_core_options_level(const struct gpc_core_options *c, const char *module)
{
	gpc_level all = c->verbose ? GPC_DEBUG : GPC_INFO, own = 0;
	size_t len = strlen(module);

	for (uint32_t i = 0; i < c->log_levels.n; i++) {
		const char *text = c->log_levels.at[i];
		const char *colon = strrchr(text, ':');

		if (!colon)
			all = level_of(text);
		else if ((size_t)(colon - text) == len && memcmp(text, module, len) == 0)
			own = level_of(colon + 1);
	}
	return own ? own : all;
}

gpc_status gpc_core_options_pids(const struct gpc_core_options *c, int32_t **ret, uint32_t *n,
				 struct gpc_err *err)
{
	int32_t *pids = NULL;

	if (c->pids_to_profile.n) {
		pids = calloc(c->pids_to_profile.n, sizeof *pids);
		if (!pids)
			return gpc_err_nomem(err);
	}
	for (uint32_t i = 0; i < c->pids_to_profile.n; i++)
		pids[i] = (int32_t)strtol(c->pids_to_profile.at[i], NULL, 10);
	*ret = pids;
	*n = c->pids_to_profile.n;
	return GPC_OK;
}
