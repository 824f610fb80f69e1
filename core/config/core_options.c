/* SPDX-License-Identifier: Apache-2.0 */
#include "config/core_options.h"

#include <stddef.h>

#include "base/clock.h"

#define SEC     ((int64_t)GPC_SECOND_NS)
#define PID_MAX 4194304 /* the kernel's own limit */

#define ROW(opt_type, opt_name, member)                                                         \
	.struct_size = sizeof(struct gpc_option), .type = GPC_OPT_##opt_type, .name = opt_name, \
	.offset = offsetof(struct gpc_core_options, member)
/* A switch that turns something on, or off what is on. */
#define TURNS_ON(opt_name, member) \
	ROW(BOOL, opt_name, member), .dest = #member, .flags = GPC_OPT_SWITCH, .fallback = "false"
#define TURNS_OFF(opt_name, member)                                                                \
	ROW(BOOL, opt_name, member), .dest = #member, .flags = GPC_OPT_SWITCH, .fallback = "true", \
				     .implied = "false"
#define GONE(opt_help) .flags = GPC_OPT_DEPRECATED | GPC_OPT_HIDDEN, .help = opt_help

static const struct gpc_option program_rows[] = {
	{ROW(BOOL, "help", help), .short_name = 'h', .flags = GPC_OPT_SWITCH, .dest = "",
	 .help = "Show this help and exit"},
	{ROW(BOOL, "version", version), .flags = GPC_OPT_SWITCH, .dest = "",
	 .help = "Show the version and exit"},
	{ROW(STRING, "config", config), .metavar = "PATH", .dest = "config",
	 .help = "Read options from this file too; they win over those of "
		 "/etc/gprofiler/config.ini"},
	{ROW(STRING, "pid-file", pid_file), .metavar = "PATH", .dest = "pid_file",
	 .fallback = "/var/run/gprofiler.pid", .help = "Where to write the process id"},
	{ROW(INT, "controller-pid", controller_pid), .metavar = "PID", .dest = "controller_pid",
	 .min = 1, .max = PID_MAX, .help = "Stop when this process ends"},
	{TURNS_ON("rootless", rootless), .help = "Run without root, and measure what that allows"},
	{TURNS_OFF("disable-pidns-check", pid_ns_check),
	 .help = "Run although this is not the host's pid namespace"},
	{TURNS_OFF("dont-disable-core-files", disable_core_files),
	 .help = "Leave the limit on core files as it is (default: no core files)"},
	{TURNS_ON("log-usage", log_usage),
	 .help = "Log the CPU time and memory of our own container after each session"},
	{TURNS_ON("diagnostics", diagnostics),
	 .help = "Accepted for compatibility: nothing is logged for it"},
	{0},
};

static const struct gpc_option session_rows[] = {
	{ROW(INT, "profiling-frequency", frequency), .short_name = 'f', .metavar = "N",
	 .dest = "frequency", .min = 1, .max = 1000,
	 .help = "Samples a second and CPU (default: 11)"},
	{ROW(DURATION, "profiling-duration", duration), .short_name = 'd', .metavar = "SECONDS",
	 .dest = "duration", .fallback = "60", .min = SEC, .max = INT64_MAX,
	 .help = "Length of a session"},
	{TURNS_ON("continuous", continuous), .short_name = 'c',
	 .help = "Run session after session until stopped"},
	{ROW(CHOICE, "mode", profiling_mode), .dest = "profiling_mode", .fallback = "cpu",
	 .choices = "cpu|allocation|none",
	 .help = "What to measure; of the collectors that come with this program none measures "
		 "allocations"},
	{ROW(BYTES, "alloc-interval", alloc_interval), .metavar = "SIZE", .dest = "alloc_interval",
	 .min = 1, .max = INT64_MAX,
	 .help = "Bytes allocated between two samples; only with --mode=allocation (default: "
		 "2mb)"},
	{ROW(LIST, "pids", pids_to_profile), .metavar = "PIDS", .dest = "pids_to_profile", .min = 1,
	 .max = PID_MAX, .help = "Measure only these processes (a comma separated list)"},
	{ROW(DURATION, "min-duration", min_duration), .metavar = "SECONDS", .dest = "min_duration",
	 .fallback = "0", .max = INT64_MAX,
	 .help = "Leave processes younger than this to perf alone; 0 takes all"},
	{ROW(INT, "max-processes-runtime-profiler", max_processes_per_profiler), .metavar = "N",
	 .dest = "max_processes_per_profiler", .fallback = "0", .max = INT32_MAX,
	 .help = "Per runtime, look only into the first N processes that use CPU; 0 is unlimited"},
	{ROW(INT, "skip-system-profilers-above", max_system_processes_for_system_profilers),
	 .metavar = "N", .dest = "max_system_processes_for_system_profilers", .fallback = "0",
	 .max = INT32_MAX,
	 .help = "Run without perf if the machine has more than N processes at the start; 0 is "
		 "unlimited"},
	{TURNS_ON("profile-spawned-processes", profile_spawned_processes),
	 .help = "Accepted for compatibility: processes that start during a session are always "
		 "looked into"},
	{TURNS_ON("insert-dso-name", insert_dso_name),
	 .help = "Put the name of its file behind each native frame"},
	{TURNS_OFF("no-demangle", demangle),
	 .help = "Leave names of C++, Rust and D as in the file"},
	{ROW(BOOL, "inlines", inlines), .metavar = "BOOL", .dest = "inlines", .fallback = "true",
	 .help = "Show inlined functions as frames of their own where the machine has debug "
		 "information; no leaves them out (default: yes)"},
	{0},
};

static const struct gpc_option collection_rows[] = {
	{ROW(LIST, "plugins", plugins), .metavar = "LIST", .dest = "plugins",
	 .help = "Load only these plugins (perf always), and use those that are off by default"},
	{ROW(LIST, "plugin-dir", plugin_dirs), .metavar = "DIR", .dest = "plugin_dirs",
	 .flags = GPC_OPT_REGEX, .help = "Look for plugins in this folder first; may be repeated"},
	{TURNS_ON("strict-plugins", strict_plugins),
	 .help = "Give up when a plugin is refused or does not start"},
	{ROW(CHOICE, "max-touch", max_touch), .dest = "max_touch", .fallback = "injects",
	 .choices = "nothing|reads|pauses|injects",
	 .help = "The most that a collector may do to a process it looks at"},
	{ROW(CHOICE, "reader-priority", reader_priority), .dest = "reader_priority",
	 .fallback = "realtime", .choices = "realtime|nice|normal|batched",
	 .help = "Priority of the threads that read runtime stacks at each sample; batched reads "
		 "them every 100 ms, cheaper and less exact"},
	{TURNS_OFF("disable-container-names", container_names),
	 .help = "Leave the names of containers out"},
	{ROW(STRING, "container-root", container_root), .metavar = "DIR", .dest = "",
	 .flags = GPC_OPT_HIDDEN, .help = "Where /run of the container runtimes is; for tests"},
	{ROW(STRING, "docker-socket", docker_socket), .metavar = "PATH", .dest = "",
	 .flags = GPC_OPT_HIDDEN, .help = "The socket of Docker's daemon, if not the usual one"},
	{TURNS_OFF("disable-metrics-collection", collect_metrics),
	 .help = "Leave the machine's use of CPU and memory out"},
	{TURNS_OFF("disable-metadata-collection", collect_metadata),
	 .help = "Leave what is known about the machine out, but for its name"},
	{TURNS_OFF("disable-application-identifiers", collect_appids),
	 .help = "Leave the identifiers of applications out"},
	{ROW(LIST, "app-id-args-filter", app_id_args_filters), .metavar = "REGEX",
	 .dest = "app_id_args_filters", .flags = GPC_OPT_REGEX, .fallback = "",
	 .help = "Arguments of Java that become part of its identifier; may be repeated"},
	{TURNS_OFF("disable-application-metadata", application_metadata),
	 .help = "Leave what is known about applications out"},
	{0},
};

static const struct gpc_option output_rows[] = {
	{ROW(STRING, "external-metadata", external_metadata), .metavar = "FILE",
	 .dest = "external_metadata", .help = "A JSON file whose content goes into each profile"},
	{ROW(STRING, "heartbeat-file", heartbeat_file), .metavar = "FILE", .dest = "heartbeat_file",
	 .help = "A file to touch when a session starts"},
	{ROW(STRING, "debug-raw-records", debug_raw_records), .metavar = "FILE", .dest = "",
	 .flags = GPC_OPT_HIDDEN, .help = "Write perf's records as they come; for tests"},
	{0},
};

static const struct gpc_option logging_rows[] = {
	{TURNS_ON("verbose", verbose), .short_name = 'v', .help = "Show debug messages"},
	{ROW(STRING, "log-file", log_file), .metavar = "PATH", .dest = "log_file",
	 .fallback = "/var/log/gprofiler/gprofiler.log",
	 .help = "Where to log; its folder is created"},
	{ROW(BYTES, "log-rotate-max-size", log_rotate_max_size), .metavar = "BYTES",
	 .dest = "log_rotate_max_size", .fallback = "5242880", .min = 1, .max = INT64_MAX,
	 .help = "Start a new log file at this size"},
	{ROW(INT, "log-rotate-backup-count", log_rotate_backup_count), .metavar = "N",
	 .dest = "log_rotate_backup_count", .fallback = "1", .min = 1, .max = INT32_MAX,
	 .help = "How many old log files to keep"},
	{ROW(LIST, "log", log_levels), .metavar = "LIST", .dest = "log",
	 .help = "Levels (error, warn, info, debug, trace) by module: java:debug,proc:trace"},
	{TURNS_OFF("dont-send-logs", log_to_server),
	 .help = "Do not send logs to the server; none are sent yet"},
	{0},
};

static const struct gpc_option upload_rows[] = {
	{TURNS_ON("upload-results", upload_results), .short_name = 'u',
	 .help = "Send profiles to the server: not there yet, so --output-dir is needed too"},
	{ROW(STRING, "server-host", server_host), .metavar = "URL", .dest = "server_host",
	 .fallback = "https://profiler.granulate.io", .help = "The server for profiles"},
	{ROW(STRING, "api-server", api_server), .metavar = "URL", .dest = "api_server",
	 .fallback = "https://api.granulate.io", .help = "The server for logs and heartbeats"},
	{ROW(STRING, "glogger-server", api_server), .metavar = "URL", .dest = "api_server",
	 GONE("use --api-server")},
	{ROW(DURATION, "server-upload-timeout", server_upload_timeout), .metavar = "SECONDS",
	 .dest = "server_upload_timeout", .fallback = "120", .min = SEC, .max = INT64_MAX,
	 .help = "Longest time an upload may take"},
	{ROW(STRING, "token", server_token), .metavar = "TOKEN", .dest = "server_token",
	 .flags = GPC_OPT_SECRET,
	 .help = "The server's access token; the environment hides it better than the command "
		 "line"},
	{ROW(STRING, "service-name", service_name), .metavar = "NAME", .dest = "service_name",
	 .help = "The service that these profiles belong to"},
	{ROW(STRING, "profile-api-version", profile_api_version), .choices = "v1",
	 .dest = "profile_api_version",
	 .help = "Write stacks as the older protocol has them: without container and metadata"},
	{TURNS_ON("curlify-requests", curlify_requests),
	 .help = "Log each request as a curl command, at debug level"},
	{TURNS_OFF("no-verify", verify), .help = "Do not check the server's certificate"},
	{TURNS_ON("enable-heartbeat-server", enable_heartbeat_server),
	 .help = "Let the server start and stop profiling: not there yet"},
	{ROW(DURATION, "heartbeat-interval", heartbeat_interval), .metavar = "SECONDS",
	 .dest = "heartbeat_interval", .fallback = "30", .min = SEC, .max = INT64_MAX,
	 .help = "How often to ask the server"},
	{0},
};

static const struct gpc_option old_rows[] = {
	{ROW(INT, "spark-sample-period", spark_sample_period), .fallback = "120",
	 GONE("it has no effect")},
	{ROW(BOOL, "collect-spark-metrics", collect_spark_metrics), .fallback = "false",
	 .flags = GPC_OPT_SWITCH | GPC_OPT_DEPRECATED | GPC_OPT_HIDDEN, .help = "it has no effect"},
	{ROW(BOOL, "databricks-job-name-as-service-name", databricks_job_name), .fallback = "false",
	 .flags = GPC_OPT_SWITCH | GPC_OPT_DEPRECATED | GPC_OPT_HIDDEN,
	 .help = "use --service-name"},
	{0},
};

gpc_status gpc_core_options_add(struct gpc_options *o, struct gpc_core_options *dest,
				struct gpc_err *err)
{
	static const struct {
		const char *title;
		const struct gpc_option *rows;
	} tables[] = {
		{"options", program_rows},
		{"sessions", session_rows},
		{"collection", collection_rows},
		{"output", output_rows},
		{"logging", logging_rows},
		{"connectivity (nothing is sent yet)", upload_rows},
		{"deprecated", old_rows},
	};

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		gpc_try(gpc_options_add(o, "", tables[i].title, tables[i].rows, dest, err));
	return GPC_OK;
}
