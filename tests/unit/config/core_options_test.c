/* SPDX-License-Identifier: Apache-2.0 */
#include "config/core_options.h"

#include <jansson.h>

#include "fixture.h"

/* Filled by the file sink's own table. */
struct file_options {
	const char *output_dir;
	int32_t rotating_output, flamegraph;
	struct gpc_list formats;
};

GPC_EXPORT const struct gpc_module *gpc_module_entry_file(void);

struct core {
	struct gpc_options *o;
	struct gpc_core_options v;
	struct file_options files;
	struct gpc_perf_facts perf;
	struct gpc_err err;
};

static int begin(void **state)
{
	struct core *f = calloc(1, sizeof *f);

	assert_non_null(f);
	assert_int_equal(gpc_options_new(&f->o, &f->err), GPC_OK);
	assert_ok(f, gpc_core_options_add(f->o, &f->v, &f->err));
	assert_true(gpc_module_entry_file()->options_bytes == sizeof f->files);
	assert_ok(f, gpc_options_add(f->o, "file", "Files", gpc_module_entry_file()->options,
				     &f->files, &f->err));
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct core *f = *state;

	gpc_options_free(f->o);
	free(f);
	return 0;
}

/* Parses words separated by blanks, applies them and checks them. */
static gpc_status check(struct core *f, const char *line)
{
	char copy[256], *argv[32], *save = NULL;
	int argc = 0;

	snprintf(copy, sizeof copy, "%s", line);
	for (char *at = strtok_r(copy, " ", &save); at; at = strtok_r(NULL, " ", &save))
		argv[argc++] = at;
	gpc_options_reset(f->o);
	gpc_try(gpc_options_args(f->o, argc, argv, false, NULL, &f->err));
	gpc_try(gpc_options_apply(f->o, &f->err));
	return gpc_options_check_cross(f->o, &f->v, &f->perf,
				       f->files.output_dir && *f->files.output_dir, &f->err);
}

static void defaults_are_those_of_gprofiler(void **state)
{
	static const char want[] =
		"{\"alloc_interval\":null,\"api_server\":\"https://api.granulate.io\","
		"\"app_id_args_filters\":[],\"application_metadata\":true,\"collect_appids\":true,"
		"\"collect_metadata\":true,\"collect_metrics\":true,"
		"\"collect_spark_metrics\":false,\"config\":null,\"container_names\":true,"
		"\"continuous\":false,\"controller_pid\":null,\"curlify_requests\":false,"
		"\"databricks_job_name_as_service_name\":false,\"demangle\":true,\"diagnostics\":"
		"false,"
		"\"disable_core_files\":true,\"duration\":60,\"enable_heartbeat_server\":false,"
		"\"external_metadata\":null,\"flamegraph\":true,\"formats\":[\"col\"],"
		"\"frequency\":11,\"heartbeat_file\":null,\"heartbeat_interval\":30,"
		"\"inlines\":true,\"insert_dso_name\":false,\"log\":null,"
		"\"log_file\":\"/var/log/gprofiler/gprofiler.log\",\"log_rotate_backup_count\":1,"
		"\"log_rotate_max_size\":5242880,\"log_to_server\":true,\"log_usage\":false,"
		"\"max_processes_per_profiler\":0,"
		"\"max_system_processes_for_system_profilers\":0,\"max_touch\":\"injects\","
		"\"min_duration\":0,\"output_dir\":\"/x\",\"pid_file\":\"/var/run/gprofiler.pid\","
		"\"pid_ns_check\":true,\"pids_to_profile\":null,\"plugin_dirs\":null,"
		"\"plugins\":null,\"profile_api_version\":null,"
		"\"profile_spawned_processes\":false,\"profiling_mode\":\"cpu\",\"reader_"
		"priority\":\"realtime\","
		"\"rootless\":false,\"rotating_output\":false,"
		"\"server_host\":\"https://profiler.granulate.io\",\"server_upload_timeout\":120,"
		"\"service_name\":null,\"spark_sample_period\":120,\"strict_plugins\":false,"
		"\"upload_results\":false,\"verbose\":false,\"verify\":true}";
	struct core *f = *state;
	json_t *j;
	char *text;

	assert_ok(f, check(f, "-o /x"));
	j = gpc_options_json(f->o);
	text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, want);
	free(text);
	json_decref(j);
}

static void deployments_work_as_they_are(void **state)
{
	struct core *f = *state;

	assert_ok(f, check(f, "-cu --token=secret --service-name=shop -o x --disable-pidns-check "
			      "--dont-disable-core-files --disable-container-names --no-verify "
			      "--glogger-server http://logs --pids 1,2 --pids 3 -d 30 -f 99 "
			      "--rot --dont-send-logs --no-flame -v --profile-api-version v1"));
	assert_int_equal(f->v.continuous, 1);
	assert_int_equal(f->v.pid_ns_check, 0);
	assert_int_equal(f->v.disable_core_files, 0);
	assert_int_equal(f->v.container_names, 0);
	assert_int_equal(f->v.verify, 0);
	assert_int_equal(f->v.log_to_server, 0);
	assert_int_equal(f->files.flamegraph, 0);
	assert_int_equal(f->files.rotating_output, 1);
	assert_int_equal(f->v.frequency, 99);
	assert_int_equal(f->v.duration, INT64_C(30000000000));
	assert_string_equal(f->v.api_server, "http://logs");
	assert_string_equal(f->v.profile_api_version, "v1");
	assert_string_equal(joined(&f->v.pids_to_profile), "1|2|3");
}

static void tokens_stay_secret(void **state)
{
	struct core *f = *state;
	json_t *j;
	char *text;

	assert_ok(f, check(f, "-u --token=hunter2 --service-name s -o x"));
	assert_string_equal(f->v.server_token, "hunter2");
	j = gpc_options_json(f->o);
	text = json_dumps(j, 0);
	assert_null(strstr(text, "hunter2"));
	assert_null(strstr(text, "server_token"));
	free(text);
	json_decref(j);
}

static void explicit_zero_means_unlimited(void **state)
{
	struct core *f = *state;

	assert_ok(f, check(f, "-o x --min-duration 0 --max-processes-runtime-profiler=0 "
			      "--skip-system-profilers-above 0"));
	assert_int_equal(f->v.max_processes_per_profiler, 0);
	assert_refused(f, check(f, "-o x -f 0"), "--profiling-frequency (command line)", "'0'",
		       "from 1 to 1000");
	assert_refused(f, check(f, "-o x -f 1001"), "'1001'");
	assert_refused(f, check(f, "-o x -d 0"), "--profiling-duration", "at least 1s");
	assert_refused(f, check(f, "-o x --log-rotate-backup-count 0"), "from 1 to", "'0'");
	assert_refused(f, check(f, "-o x --duration 5"), "unknown option --duration",
		       "--profiling-duration?");
	assert_refused(f, check(f, "-o x --pids 1,x"), "--pids", "'x'");
	assert_refused(f, check(f, "-o x --format=svg"), "--format", "one of col, html");
	assert_refused(f, check(f, "-o x --max-touch=kills"), "nothing, reads, pauses, injects");
}

static void logs_stay_here_once_the_variable_is_there(void **state)
{
	struct core *f = *state;

	assert_ok(f, ENV(f, "GPROFILER_DONT_SEND_LOGS=0"));
	apply(f);
	assert_int_equal(f->v.log_to_server, 0);
	assert_refused(f, ENV(f, "GPROFILER_DONT_SEND_LOGS=maybe"), "GPROFILER_DONT_SEND_LOGS");
}

static void some_options_are_for_the_command_line_alone(void **state)
{
	struct core *f = *state;

	assert_ok(f, ENV(f, "GPROFILER_HELP=1", "GPROFILER_VERSION=1", "GPROFILER_CONFIG=/x"));
	apply(f);
	assert_int_equal(f->v.help, 0);
	assert_int_equal(f->v.version, 0);
	assert_null(f->v.config);
	assert_refused(f, FILE_TEXT(f, "config = /x"), "some.ini:1", "--config");
	assert_ok(f, check(f, "-o x --config /y -h"));
	assert_string_equal(f->v.config, "/y");
	assert_int_equal(f->v.help, 1);
}

static void uploading_has_its_needs(void **state)
{
	struct core *f = *state;

	assert_refused(f, check(f, ""), "--output-dir");
	assert_refused(f, check(f, "--output-dir="), "--output-dir");
	assert_refused(f, check(f, "-cu --token=t --service-name=s"), "--upload-results",
		       "cannot send profiles", "--output-dir");
	assert_refused(f, check(f, "-u -o x"), "--token");
	assert_refused(f, check(f, "-u -o x --token="), "--token");
	assert_refused(f, check(f, "-u -o x --token=t"), "--service-name");
	assert_ok(f, check(f, "-u -o x --token=t --databricks-job-name-as-service-name"));
	assert_ok(f, check(f, "-u -o x --token=t --service-name=s --enable-heartbeat-server"));
	assert_refused(f, check(f, "-o x --enable-heartbeat-server"), "--upload-results");
	assert_refused(f,
		       check(f, "-u -o x --token=t --databricks-job-name-as-service-name "
				"--enable-heartbeat-server"),
		       "--enable-heartbeat-server needs --service-name");
}

static void modes_exclude_options(void **state)
{
	struct core *f = *state;

	assert_refused(f, check(f, "-o x --alloc-interval=1mb"), "--alloc-interval",
		       "--mode=allocation");
	assert_refused(f, check(f, "-o x --mode=allocation -f 11"), "--profiling-frequency");
	assert_ok(f, check(f, "-o x --mode=allocation"));
	assert_int_equal(f->v.frequency, 2097152);
	assert_ok(f, check(f, "-o x --mode=allocation --alloc-interval=100kb"));
	assert_int_equal(f->v.alloc_interval, 102400);
	assert_int_equal(f->v.frequency, 102400);
	assert_refused(f, check(f, "-o x --pids 1 --profile-spawned-processes"), "--pids",
		       "--profile-spawned-processes");
}

static void perf_limits_hold(void **state)
{
	struct core *f = *state;

	f->perf.dwarf_stack_size = 65528;
	assert_ok(f, check(f, "-o x -f 101"));
	f->perf.dwarf_stack_size = 65529;
	assert_refused(f, check(f, "-o x"), "--perf-dwarf-stack-size", "65529", "65528");
	f->perf.dwarf_stack_size = 0;
	f->perf.event_period = 5;
	assert_refused(f, check(f, "-o x"), "--perf-event-period needs --perf-event");
	f->perf.has_event = true;
	assert_ok(f, check(f, "-o x"));
	assert_refused(f, check(f, "-o x -f 11"), "--perf-event-period");
}

static void levels_go_by_module(void **state)
{
	struct core *f = *state;

	assert_ok(f, check(f, "-o x"));
	assert_int_equal(gpc_core_options_level(&f->v, "java"), GPC_INFO);
	assert_ok(f, check(f, "-o x -v --log java:trace,proc:error"));
	assert_int_equal(gpc_core_options_level(&f->v, "java"), GPC_TRACE);
	assert_int_equal(gpc_core_options_level(&f->v, "proc"), GPC_ERROR);
	assert_int_equal(gpc_core_options_level(&f->v, "jav"), GPC_DEBUG);
	assert_ok(f, check(f, "-o x --log java:debug,warn"));
	assert_int_equal(gpc_core_options_level(&f->v, "java"), GPC_DEBUG);
	assert_int_equal(gpc_core_options_level(&f->v, "perf"), GPC_WARN);
	assert_refused(f, check(f, "-o x --log java:loud"), "--log", "'java:loud'");
	assert_refused(f, check(f, "-o x --log java"), "'java'");
	assert_refused(f, check(f, "-o x --log :debug"), "':debug'");
}

static void formats_and_plugins(void **state)
{
	struct core *f = *state;
	int32_t *pids;
	uint32_t n;

	assert_ok(f, check(f, "-o x --plugins=java,python --plugin-dir /a,b --plugin-dir /c"));
	assert_string_equal(joined(&f->v.plugins), "java|python");
	assert_string_equal(joined(&f->v.plugin_dirs), "/a,b|/c");
	assert_int_equal(f->v.max_touch, GPC_TOUCH_INJECTS);
	assert_string_equal(joined(&f->files.formats), "col");
	assert_int_equal(f->files.flamegraph, 1);
	assert_ok(f, gpc_core_options_pids(&f->v, &pids, &n, &f->err));
	assert_int_equal(n, 0);
	assert_null(pids);
	assert_ok(f, check(f, "-o x --no-flamegraph --format html --pids 7,8 --max-touch=reads"));
	assert_string_equal(joined(&f->files.formats), "html");
	assert_int_equal(f->files.flamegraph, 0);
	assert_int_equal(f->v.max_touch, GPC_TOUCH_READS);
	assert_ok(f, gpc_core_options_pids(&f->v, &pids, &n, &f->err));
	assert_int_equal(n, 2);
	assert_int_equal(pids[1], 8);
	free(pids);
}

#define with_core(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_core(defaults_are_those_of_gprofiler),
		with_core(deployments_work_as_they_are),
		with_core(tokens_stay_secret),
		with_core(explicit_zero_means_unlimited),
		with_core(logs_stay_here_once_the_variable_is_there),
		with_core(some_options_are_for_the_command_line_alone),
		with_core(uploading_has_its_needs),
		with_core(modes_exclude_options),
		with_core(perf_limits_hold),
		with_core(levels_go_by_module),
		with_core(formats_and_plugins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
