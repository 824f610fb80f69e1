/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define REAL_DIGITS 15 /* 12.3 stays 12.3 */

static void drop(json_t **json)
{
	json_decref(*json);
}

static bool set(json_t *to, const char *key, json_t *taken)
{
	return json_object_set_new(to, key, taken) == 0;
}

static json_t *share(const json_t *json, json_t *(*instead)(void))
{
	return json ? json_incref((json_t *)(uintptr_t)json) : instead();
}

static json_t *percent(double value)
{
	return isnan(value) ? json_null() : json_real((double)(long)(value * 100 + 0.5) / 100);
}

static json_t *only_null(void)
{
	return json_pack("[n]");
}

static json_t *names(const char *const *at, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_string(at[i])); /* skips what is no text */
	return array;
}

static bool put_all(json_t *to, const struct gpc_header_input *in)
{
	return set(to, "containers", names(in->containers, in->n_containers)) &&
	       set(to, "container_names_enabled", json_boolean(in->container_names_enabled)) &&
	       set(to, "metadata", share(in->metadata, json_object)) &&
	       set(to, "metrics",
		   json_pack("{s:o, s:o}", "cpu_avg", percent(in->cpu_avg), "mem_avg",
			     percent(in->mem_avg))) &&
	       set(to, "application_metadata", share(in->application_metadata, only_null)) &&
	       set(to, "application_metadata_enabled",
		   json_boolean(in->application_metadata_enabled)) &&
	       set(to, "profiling_mode", json_string(in->profiling_mode)) &&
	       set(to, "hwmetrics", json_null()) && set(to, "htmlblob", json_null()) &&
	       set(to, "flamegraph_html", json_null()) &&
	       gpc_meta_put_sampling(to, &in->sampling) &&
	       set(to, "gprofiler_core", share(in->gprofiler_core, json_object));
}

gpc_status gpc_header_build(const struct gpc_header_input *in, char **ret, struct gpc_err *err)
{
	autocall(drop) json_t *header = json_object();
	char *text;

	if (!header || !put_all(header, in))
		return gpc_err_nomem(err);
	text = json_dumps(header, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(REAL_DIGITS));
	if (!text)
		return gpc_err_nomem(err);
	*ret = text;
	return GPC_OK;
}
