/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profile/meta.h"

static struct gpc_meta_input input(void)
{
	return (struct gpc_meta_input){.agent_version = "1.2.3",
				       .spawn_unix_ns = INT64_C(1770091506000000000),
				       .root_fd = -1,
				       .proc_fd = -1};
}

static const char *text_of(const json_t *meta, const char *key)
{
	return json_string_value(json_object_get(meta, key));
}

static void the_keys_and_their_order(void **state)
{
	static const char *const keys[] = {
		"cloud_provider",    "agent_version",  "spawn_time",
		"python_version",    "run_mode",       "deployment_type",
		"kernel_release",    "kernel_version", "system_name",
		"hypervisor",        "processors",     "cpu_model_name",
		"cpu_arch_codename", "cpu_flags",      "memory_capacity_mb",
		"hostname",          "system",         "os_name",
		"os_release",        "os_codename",    "libc_type",
		"libc_version",      "hardware_type",  "pid",
		"mac_address",       "private_ip",     "spawn_uptime_ms",
		"run_arguments",     "big_data",       "external_metadata"};
	struct gpc_meta_input in = input();
	json_t *meta = NULL, *value;
	const char *key;
	size_t i = 0;

	(void)state;
	assert_int_equal(gpc_meta_new(&in, &meta, NULL), GPC_OK);
	json_object_foreach(meta, key, value)
	{
		assert_true(i < sizeof keys / sizeof *keys);
		assert_string_equal(key, keys[i++]);
	}
	assert_int_equal(i, sizeof keys / sizeof *keys);
	assert_string_equal(text_of(meta, "cloud_provider"), "unknown");
	assert_string_equal(text_of(meta, "agent_version"), "1.2.3");
	assert_string_equal(text_of(meta, "spawn_time"), "2026-02-03T04:05:06");
	assert_string_equal(text_of(meta, "run_mode"), "standalone_executable");
	assert_true(json_integer_value(json_object_get(meta, "processors")) > 0);
	assert_true(json_integer_value(json_object_get(meta, "memory_capacity_mb")) > 16);
	json_decref(meta);
}

static void what_the_owner_gives(void **state)
{
	struct gpc_meta_input in = input();
	json_t *arguments = json_pack("{s:s, s:i, s:s}", "server_token", "secret", "duration", 60,
				      "func", "x"),
	       *external = json_pack("{s:s}", "team", "a"), *meta = NULL;

	(void)state;
	in.run_arguments = arguments;
	in.external = external;
	in.in_container = true;
	assert_int_equal(gpc_meta_new(&in, &meta, NULL), GPC_OK);
	assert_string_equal(text_of(meta, "run_mode"), "container");
	assert_string_equal(text_of(meta, "deployment_type"), "containers");
	assert_int_equal(json_object_size(json_object_get(meta, "run_arguments")), 1);
	assert_non_null(json_object_get(arguments, "server_token")); /* not ours to change */
	assert_string_equal(text_of(json_object_get(meta, "external_metadata"), "team"), "a");
	json_decref(meta);
	in.in_k8s = true;
	assert_int_equal(gpc_meta_new(&in, &meta, NULL), GPC_OK);
	assert_string_equal(text_of(meta, "run_mode"), "k8s");
	json_decref(meta);
	json_decref(arguments);
	json_decref(external);
}

static void each_session_adds_its_part(void **state)
{
	struct gpc_sampling hz = {.event = "cpu-time", .rate = 11},
			    period = {"cycles", true, 1000, ":p"};
	json_t *meta = json_pack("{s:s}", "hostname", "h"), *session = NULL;

	(void)state;
	assert_int_equal(gpc_meta_session(meta, 0, "cpu", &hz, &session, NULL), GPC_OK);
	assert_string_equal(text_of(session, "hostname"), "h");
	assert_string_equal(text_of(session, "current_time"), "1970-01-01T00:00:00");
	assert_string_equal(text_of(session, "sampling_mode"), "frequency");
	assert_int_equal(json_integer_value(json_object_get(session, "sampling_frequency")), 11);
	assert_null(json_object_get(session, "precise_modifier"));
	json_decref(session);
	assert_int_equal(gpc_meta_session(meta, 0, "cpu", &period, &session, NULL), GPC_OK);
	assert_int_equal(json_integer_value(json_object_get(session, "sampling_period")), 1000);
	assert_string_equal(text_of(session, "precise_modifier"), ":p");
	assert_int_equal(json_object_size(meta), 1);
	json_decref(session);
	json_decref(meta);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_keys_and_their_order),
		cmocka_unit_test(what_the_owner_gives),
		cmocka_unit_test(each_session_adds_its_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
