/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/header.h"

static struct gpc_header_input input(void)
{
	return (struct gpc_header_input){.cpu_avg = NAN,
					 .mem_avg = NAN,
					 .profiling_mode = "cpu",
					 .sampling = {.event = "cpu-time", .rate = 11}};
}

static void the_least_header(void **state)
{
	struct gpc_header_input in = input();
	autofree char *text = NULL;

	(void)state;
	assert_int_equal(gpc_header_build(&in, &text, NULL), GPC_OK);
	assert_string_equal(
		text, "{\"containers\": [], \"container_names_enabled\": false, \"metadata\": {}, "
		      "\"metrics\": {\"cpu_avg\": null, \"mem_avg\": null}, "
		      "\"application_metadata\": [null], \"application_metadata_enabled\": false, "
		      "\"profiling_mode\": \"cpu\", \"hwmetrics\": null, \"htmlblob\": null, "
		      "\"flamegraph_html\": null, \"sampling_event\": \"cpu-time\", "
		      "\"sampling_mode\": \"frequency\", \"sampling_frequency\": 11, "
		      "\"gprofiler_core\": {}}");
}

static void a_full_header(void **state)
{
	static const char *const containers[] = {"shop_\xC3\xBC",
						 "b\xFF"
						 "d",
						 "web"};
	struct gpc_header_input in = input();
	json_t *meta = json_pack("{s:s}", "hostname", "a\nb"), *apps = json_pack("[n, {}]"),
	       *core = json_pack("{s:f}", "lost", 1234567.5);
	autofree char *text = NULL;

	(void)state;
	in.containers = containers;
	in.n_containers = 3;
	in.container_names_enabled = in.application_metadata_enabled = true;
	in.metadata = meta;
	in.application_metadata = apps;
	in.gprofiler_core = core;
	in.cpu_avg = 12.3000001;
	in.mem_avg = 40;
	in.sampling = (struct gpc_sampling){"cycles", true, 1000003, ":pp"};
	assert_int_equal(gpc_header_build(&in, &text, NULL), GPC_OK);
	assert_null(strchr(text, '\n'));
	assert_non_null(strstr(text, "\"containers\": [\"shop_\\u00FC\", \"web\"], "));
	assert_non_null(strstr(text, "\"metadata\": {\"hostname\": \"a\\nb\"}"));
	assert_non_null(strstr(text, "{\"cpu_avg\": 12.3, \"mem_avg\": 40.0}"));
	assert_non_null(strstr(text, "\"application_metadata\": [null, {}]"));
	assert_non_null(strstr(text, "\"sampling_mode\": \"period\", \"sampling_period\": 1000003, "
				     "\"precise_modifier\": \":pp\", \"gprofiler_core\": "
				     "{\"lost\": 1234567.5}}"));
	json_decref(meta);
	json_decref(apps);
	json_decref(core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_header),
		cmocka_unit_test(a_full_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
