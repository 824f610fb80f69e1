/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of gProfiler's collectors, in every form that users give it. */
#include <jansson.h>

#include "agent_tables.h"
#include "config/core_options.h"

struct bench {
	struct gpc_options *o;
	struct gpc_core_options core;
	struct agent v;
	struct gpc_err err;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);

	assert_int_equal(gpc_options_new(&b->o, NULL), GPC_OK);
	/* Beside the program's own: no name may be taken twice. */
	assert_ok(b, gpc_core_options_add(b->o, &b->core, &b->err));
	for (size_t k = 0; k < N_AGENT_TABLES; k++)
		assert_ok(b, gpc_options_add(b->o, agent_tables[k].module, agent_tables[k].module,
					     agent_tables[k].rows, &b->v, &b->err));
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	gpc_options_free(b->o);
	free(b);
	return 0;
}

/* The value of a row's member as one text: what all types have in common. */
static void show(const struct bench *b, const struct gpc_option *row, char *buf, size_t size)
{
	const char *slot = (const char *)&b->v + row->offset, *text;
	struct gpc_list list;
	int64_t number;
	int32_t small;

	if (row->type == GPC_OPT_LIST) {
		memcpy(&list, slot, sizeof list);
		snprintf(buf, size, "%s", joined(&list));
	} else if (row->type == GPC_OPT_STRING) {
		memcpy(&text, slot, sizeof text);
		snprintf(buf, size, "%s", text ? text : "(none)");
	} else if (row->type == GPC_OPT_BOOL || row->type == GPC_OPT_CHOICE) {
		memcpy(&small, slot, sizeof small);
		snprintf(buf, size, "%d", small);
	} else {
		memcpy(&number, slot, sizeof number);
		snprintf(buf, size, "%lld", (long long)number);
	}
}

static const struct gpc_option *row_of(const char *dest)
{
	for (size_t k = 0; k < N_AGENT_TABLES; k++)
		for (const struct gpc_option *r = agent_tables[k].rows; r->struct_size; r++)
			if (strcmp(r->dest, dest) == 0)
				return r;
	fail_msg("no option fills %s", dest);
	return NULL;
}

static void check(struct bench *b, const char *dest, const char *want, const char *how)
{
	char got[256];

	if (gpc_options_apply(b->o, &b->err) < 0)
		fail_msg("%s: %s", how, b->err.text);
	show(b, row_of(dest), got, sizeof got);
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s is '%s', wanted '%s'", how, dest, got, want);
}

/* Words of a command line in one text; EMPTY is an empty argument. */
static gpc_status parse(struct bench *b, const char *line)
{
	char words[256], *argv[12], *save = NULL;
	int n = 0;

	snprintf(words, sizeof words, "%s", line);
	for (char *w = strtok_r(words, " ", &save); w && n < 11; w = strtok_r(NULL, " ", &save))
		argv[n++] = strcmp(w, "EMPTY") == 0 ? w + strlen(w) : w;
	argv[n] = NULL;
	return gpc_options_args(b->o, n, argv, false, NULL, &b->err);
}

static const struct given {
	const char *line, *dest, *want; /* a choice is its index */
} given[] = {
	/* line, member, value; without a line: the default */
	{"", "perf_mode", "0"},
	{"--perf-mode fp", "perf_mode", "0"},
	{"--perf-mode=dwarf", "perf_mode", "1"},
	{"--perf-mode=smart", "perf_mode", "2"},
	{"--perf-mode=disabled", "perf_mode", "3"},
	{"--perf-mode none", "perf_mode", "4"},
	{"--no-perf", "perf_mode", "3"},
	{"--no-perf --perf-mode=smart", "perf_mode", "2"},
	{"--perf-mode=smart --no-perf", "perf_mode", "3"},
	{"", "perf_dwarf_stack_size", "8192"},
	{"--perf-dwarf-stack-size 65528", "perf_dwarf_stack_size", "65528"},
	{"", "perf_memory_restart", "1"},
	{"--perf-no-memory-restart", "perf_memory_restart", "0"},
	{"", "perf_use_cgroups", "0"},
	{"--perf-use-cgroups", "perf_use_cgroups", "1"},
	{"", "perf_max_cgroups", "50"},
	{"--perf-max-cgroups=7", "perf_max_cgroups", "7"},
	{"", "perf_max_docker_containers", "0"},
	{"--perf-max-docker-containers=3", "perf_max_docker_containers", "3"},
	{"", "perf_event", "(none)"},
	{"--perf-event cpu/event=0x3c,umask=0/", "perf_event", "cpu/event=0x3c,umask=0/"},
	{"", "perf_event_period", "0"},
	{"--perf-event-period=1000003", "perf_event_period", "1000003"},
	{"", "hw_events_file", "(none)"},
	{"--hw-events-file /etc/events.json", "hw_events_file", "/etc/events.json"},

	{"", "java_mode", "0"},
	{"--java-mode=ap", "java_mode", "0"},
	{"--java-mode=disabled", "java_mode", "1"},
	{"--java-mode=none", "java_mode", "2"},
	{"--no-java", "java_mode", "1"},
	{"", "java_version_check", "1"},
	{"--java-no-version-check", "java_version_check", "0"},
	{"", "java_async_profiler_mode", "3"},
	{"--java-async-profiler-mode=cpu", "java_async_profiler_mode", "0"},
	{"--java-async-profiler-mode=itimer", "java_async_profiler_mode", "1"},
	{"--java-async-profiler-mode=alloc", "java_async_profiler_mode", "2"},
	{"", "java_async_profiler_safemode", "0"},
	{"--java-async-profiler-safemode=63", "java_async_profiler_safemode", "63"},
	{"--java-async-profiler-safemode 0", "java_async_profiler_safemode", "0"},
	{"", "java_async_profiler_features", "probesp|vtable"},
	{"--java-async-profiler-features=comptask,vtable", "java_async_profiler_features",
	 "comptask|vtable"},
	{"--java-async-profiler-features EMPTY", "java_async_profiler_features", ""},
	{"", "java_async_profiler_args", "(none)"},
	{"--java-async-profiler-args=cstack=vm,loop=1h", "java_async_profiler_args",
	 "cstack=vm,loop=1h"},
	{"", "java_safemode", "profiled-oom|profiled-signaled|hserr"},
	{"--java-safemode", "java_safemode", "all"},
	{"--java-safemode --continuous", "java_safemode", "all"},
	{"--java-safemode EMPTY", "java_safemode", ""},
	{"--java-safemode=", "java_safemode", ""},
	{"--java-safemode=\"\"", "java_safemode", ""},
	{"--java-safemode hserr,ap-loaded", "java_safemode", "hserr|ap-loaded"},
	{"--java-safemode --java-safemode=hserr", "java_safemode", "hserr"},
	{"--java-safemode=hserr --java-safemode=", "java_safemode", ""},
	{"", "java_jattach_timeout", "30000000000"},
	{"--java-jattach-timeout 5", "java_jattach_timeout", "5000000000"},
	{"", "java_async_profiler_mcache", "30"},
	{"--java-async-profiler-mcache 0", "java_async_profiler_mcache", "0"},
	{"--java-async-profiler-mcache 255", "java_async_profiler_mcache", "255"},
	{"", "java_collect_spark_app_name_as_appid", "0"},
	{"--java-collect-spark-app-name-as-appid", "java_collect_spark_app_name_as_appid", "1"},
	{"", "java_async_profiler_report_meminfo", "1"},
	{"--java-async-profiler-no-report-meminfo", "java_async_profiler_report_meminfo", "0"},
	{"", "java_collect_jvm_flags", "default"},
	{"--java-collect-jvm-flags all", "java_collect_jvm_flags", "all"},
	{"--java-collect-jvm-flags=none", "java_collect_jvm_flags", "none"},
	{"--java-collect-jvm-flags=", "java_collect_jvm_flags", ""},
	{"--java-collect-jvm-flags", "java_collect_jvm_flags", ""},
	{"--java-collect-jvm-flags=UseG1GC,MaxHeapSize", "java_collect_jvm_flags",
	 "UseG1GC|MaxHeapSize"},
	{"", "java_full_hserr", "0"},
	{"--java-full-hserr", "java_full_hserr", "1"},
	{"", "java_include_method_modifiers", "0"},
	{"--java-include-method-modifiers", "java_include_method_modifiers", "1"},
	{"", "java_line_numbers", "0"},
	{"--java-line-numbers none", "java_line_numbers", "0"},
	{"--java-line-numbers line-of-function", "java_line_numbers", "1"},
	{"", "java_collect_thread_names", "0"},
	{"--java-collect-thread-names", "java_collect_thread_names", "1"},

	{"", "python_mode", "0"},
	{"--python-mode=auto", "python_mode", "0"},
	{"--python-mode=pyperf", "python_mode", "1"},
	{"--python-mode=pyspy", "python_mode", "2"},
	{"--python-mode=py-spy", "python_mode", "3"},
	{"--python-mode=disabled", "python_mode", "4"},
	{"--python-mode=none", "python_mode", "5"},
	{"--no-python", "python_mode", "4"},
	{"", "python_add_versions", "1"},
	{"--no-python-versions", "python_add_versions", "0"},
	{"--no-python-versions", "python_mode", "0"},
	{"--no-python", "python_add_versions", "1"},
	{"--no-python-v", "python_add_versions", "0"},
	{"", "python_pyperf_user_stacks_pages", "-1"},
	{"--pyperf-user-stacks-pages 0", "python_pyperf_user_stacks_pages", "0"},
	{"--pyperf-user-stacks-pages 4", "python_pyperf_user_stacks_pages", "4"},
	{"", "python_pyperf_verbose", "0"},
	{"--python-pyperf-verbose", "python_pyperf_verbose", "1"},
	{"", "python_pyspy_process", ""},
	{"--python-pyspy-process 12", "python_pyspy_process", "12"},
	{"--python-pyspy-process 12,13 --python-pyspy-process=14", "python_pyspy_process",
	 "12|13|14"},
	{"", "python_skip_pyperf_profiler_above", "0"},
	{"--python-skip-pyperf-profiler-above 100", "python_skip_pyperf_profiler_above", "100"},

	{"", "php_mode", "1"},
	{"--php-mode=phpspy", "php_mode", "0"},
	{"--php-mode=disabled", "php_mode", "1"},
	{"--php-mode=none", "php_mode", "2"},
	{"--php-mode=phpspy --no-php", "php_mode", "1"},
	{"", "php_process_filter", "php-fpm"},
	{"--php-proc-filter apache2", "php_process_filter", "apache2"},
	{"", "ruby_mode", "0"},
	{"--ruby-mode=rbspy", "ruby_mode", "0"},
	{"--ruby-mode=none", "ruby_mode", "2"},
	{"--no-ruby", "ruby_mode", "1"},
	{"", "dotnet_mode", "1"},
	{"--dotnet-mode=dotnet-trace", "dotnet_mode", "0"},
	{"--dotnet-mode=none", "dotnet_mode", "2"},
	{"--dotnet-mode=dotnet-trace --no-dotnet", "dotnet_mode", "1"},
	{"", "nodejs_mode", "2"},
	{"--nodejs-mode=attach-maps", "nodejs_mode", "0"},
	{"--nodejs-mode=perf", "nodejs_mode", "1"},
	{"--nodejs-mode=none", "nodejs_mode", "3"},
	{"--nodejs-mode=perf --no-nodejs", "nodejs_mode", "2"},
	{"", "collect_hw_metrics", "0"},
	{"--enable-hw-metrics-collection", "collect_hw_metrics", "1"},
	{"", "tool_perfspect_path", "(none)"},
	{"--perfspect-path /opt/perfspect", "tool_perfspect_path", "/opt/perfspect"},
	{"", "tool_perfspect_duration", "60000000000"},
	{"--perfspect-duration=10", "tool_perfspect_duration", "10000000000"},

	{"", "vendor_key", "(none)"},
	{"--vendor-key 5f", "vendor_key", "5f"},
	{"--vendor-token=60", "vendor_key", "60"},
	{"--vt 61", "vendor_key", "61"},
};

#define N_GIVEN (sizeof given / sizeof *given)

static void test_each_form(void **state)
{
	struct bench *b = *state;

	for (size_t k = 0; k < N_GIVEN; k++) {
		gpc_options_reset(b->o);
		if (parse(b, given[k].line) < 0)
			fail_msg("%s: %s", given[k].line, b->err.text);
		check(b, given[k].dest, given[k].want, *given[k].line ? given[k].line : "default");
	}
}

static bool is_tried(const char *name, const char *dest)
{
	for (size_t k = 0; k < N_GIVEN; k++)
		if (strcmp(given[k].dest, dest) == 0 && strncmp(given[k].line, "--", 2) == 0 &&
		    strstr(given[k].line, name))
			return true;
	return false;
}

/* So that a row that is added to the tables is added above too. */
static void test_no_row_is_left_out(void **state)
{
	unsigned n = 0;

	(void)state;
	for (size_t k = 0; k < N_AGENT_TABLES; k++)
		for (const struct gpc_option *r = agent_tables[k].rows; r->struct_size; r++, n++)
			if (!is_tried(r->name, r->dest))
				fail_msg("%s is not tried", r->name);
	assert_int_equal(n, 47);
}

static void test_what_is_no_value(void **state)
{
	static const char *const lines[][2] = {
		{"--perf-mode=lbr", "one of fp, dwarf, smart, disabled, none"},
		{"--perf-dwarf-stack-size=65529", "65528"},
		{"--perf-dwarf-stack-size=8k", "whole number"},
		{"--perf-event-period=0", "at least 1"},
		{"--perf-max-cgroups=-1", "from 0"},
		{"--no-perf=1", "takes no value"},
		{"--java-mode=async", "one of ap"},
		{"--java-async-profiler-mode=wall", "one of cpu"},
		{"--java-async-profiler-safemode=64", "from 0 to 63"},
		{"--java-async-profiler-features=probesp,odd", "'odd'"},
		{"--java-async-profiler-mcache=256", "from 0 to 255"},
		{"--java-jattach-timeout=0", "at least 1s"},
		{"--java-line-numbers=all", "one of none, line-of-function"},
		{"--java-async-profiler-args", "a value is needed"},
		{"--java-full-hserr=yes", "takes no value"},
		{"--python-mode=austin", "one of auto"},
		{"--pyperf-user-stacks-pages=-1", "from 0"},
		{"--python-pyspy-process=self", "'self'"},
		{"--python-pyspy-process=0", "'0'"},
		{"--no-python-versions=1", "takes no value"},
		{"--php-mode=rbspy", "one of phpspy"},
		{"--nodejs-mode=fp", "one of attach-maps"},
		{"--node-mode=perf", "node-mode"},
		{"--perfspect-duration=0", "at least 1s"},
		{"--python-no-versions", "no-versions"},
		{"--java-async", "ambiguous"},
	};
	struct bench *b = *state;

	for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
		gpc_options_reset(b->o);
		if (parse(b, lines[k][0]) != GPC_E_CONFIG)
			fail_msg("%s was taken", lines[k][0]);
		if (!strstr(b->err.text, lines[k][1]))
			fail_msg("%s: '%s' does not say '%s'", lines[k][0], b->err.text,
				 lines[k][1]);
	}
}

/* The same options in the environment and in a file. */
static void test_other_sources(void **state)
{
	struct bench *b = *state;

	assert_ok(b, ENV(b, "GPROFILER_JAVA_SAFEMODE=", "GPROFILER_NO_PYTHON_VERSIONS=1",
			 "GPROFILER_NO_RUBY=true", "GPROFILER_NO_PERF=false",
			 "GPROFILER_NODEJS_MODE=perf", "GPROFILER_VENDOR_KEY=62",
			 "GPROFILER_PYTHON_PYSPY_PROCESS=[3, 4]",
			 "GPROFILER_PYPERF_USER_STACKS_PAGES=0"));
	assert_ok(b, FILE_TEXT(b, "[collectors]\njava-safemode = hserr\nno-php = true\n"
				  "php-mode = phpspy\nperf-no-memory-restart: true\n"
				  "java-async-profiler-features = [comptask, probesp]\n"));
	check(b, "java_safemode", "", "environment");
	check(b, "python_add_versions", "0", "environment");
	check(b, "ruby_mode", "1", "environment");
	check(b, "perf_mode", "0", "environment");
	check(b, "nodejs_mode", "1", "environment");
	check(b, "vendor_key", "62", "environment");
	check(b, "python_pyspy_process", "3|4", "environment");
	check(b, "python_pyperf_user_stacks_pages", "0", "environment");
	check(b, "php_mode", "0", "file");
	check(b, "perf_memory_restart", "0", "file");
	check(b, "java_async_profiler_features", "comptask|probesp", "file");
}

static void assert_json(json_t *all, const char *key, const char *want)
{
	char *got = json_dumps(json_object_get(all, key), JSON_ENCODE_ANY | JSON_COMPACT);

	if (!got || strcmp(got, want) != 0)
		fail_msg("%s is %s, wanted %s", key, got ? got : "missing", want);
	free(got);
}

/* Under the agent's keys, which servers know; secrets have none. */
static void test_run_arguments(void **state)
{
	struct bench *b = *state;
	json_t *all;

	assert_ok(b, parse(b, "--vendor-key=5f --no-php --java-safemode --python-pyspy-process 7"));
	assert_ok(b, gpc_options_apply(b->o, &b->err));
	all = gpc_options_json(b->o);
	assert_json(all, "perf_mode", "\"fp\"");
	assert_json(all, "perf_event_period", "null");
	assert_json(all, "php_mode", "\"disabled\"");
	assert_json(all, "php_process_filter", "\"php-fpm\"");
	assert_json(all, "java_safemode", "[\"all\"]");
	assert_json(all, "java_jattach_timeout", "30");
	assert_json(all, "python_add_versions", "true");
	assert_json(all, "python_pyspy_process", "[7]");
	assert_json(all, "python_pyperf_user_stacks_pages", "null");
	assert_json(all, "collect_hw_metrics", "false");
	assert_null(json_object_get(all, "vendor_key"));
	json_decref(all);
}

static void count_warning(void *ctx, const char *text)
{
	unsigned *n = ctx;

	if (strstr(text, "is deprecated"))
		++*n;
}

/* They stand in the program's own tables. */
static void test_options_without_effect(void **state)
{
	struct bench *b = *state;
	unsigned n = 0;

	assert_ok(b, gpc_options_apply(b->o, &b->err));
	assert_int_equal(b->core.spark_sample_period, 120);
	assert_ok(b, parse(b, "--spark-sample-period 5 --collect-spark-metrics "
			      "--databricks-job-name-as-service-name"));
	assert_ok(b, gpc_options_apply(b->o, &b->err));
	assert_int_equal(b->core.spark_sample_period, 5);
	assert_int_equal(b->core.collect_spark_metrics, 1);
	assert_int_equal(b->core.databricks_job_name, 1);
	gpc_options_deprecated(b->o, count_warning, &n);
	assert_int_equal(n, 3);
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_each_form),        bench_test(test_no_row_is_left_out),
		bench_test(test_what_is_no_value), bench_test(test_other_sources),
		bench_test(test_run_arguments),    bench_test(test_options_without_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
