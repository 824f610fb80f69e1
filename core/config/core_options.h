/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the program and of the core itself, with the names of
 * gProfiler, and the checks that look at several of them at once. The caller
 * owns the struct; texts and lists in it belong to struct gpc_options. */
#ifndef GPC_CONFIG_CORE_OPTIONS_H
#define GPC_CONFIG_CORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/option.h"

#define GPC_DEFAULT_HZ             11
#define GPC_DEFAULT_ALLOC_INTERVAL (INT64_C(2) << 20)

enum gpc_mode { GPC_MODE_CPU, GPC_MODE_ALLOCATION, GPC_MODE_NONE };

/* Members are named after their keys in the run arguments. */
struct gpc_core_options {
	/* the program */
	int32_t help, version;
	const char *config;
	const char *pid_file;
	int64_t controller_pid; /* 0: none */
	int32_t rootless;
	int32_t pid_ns_check;
	int32_t disable_core_files;
	int32_t log_usage;
	int32_t diagnostics;

	/* a session */
	int64_t frequency;    /* Hz; in allocation mode bytes between samples */
	int64_t duration;     /* ns */
	int64_t min_duration; /* ns: processes younger than this are left alone */
	int32_t continuous;
	int32_t profiling_mode; /* enum gpc_mode */
	int64_t alloc_interval; /* bytes; 0 outside allocation mode */
	struct gpc_list pids_to_profile;
	int64_t max_processes_per_profiler;                /* 0: unlimited */
	int64_t max_system_processes_for_system_profilers; /* 0: unlimited */
	int32_t profile_spawned_processes;
	int32_t insert_dso_name;
	int32_t demangle;
	int32_t inlines;

	/* collectors */
	struct gpc_list plugins;
	struct gpc_list plugin_dirs;
	int32_t strict_plugins;
	int32_t max_touch;       /* GPC_TOUCH_ */
	int32_t reader_priority; /* enum gpc_priority, of core/source */
	int32_t container_names;
	const char *container_root; /* NULL: the machine's */
	const char *docker_socket;  /* NULL: the usual one */
	int32_t collect_metrics;
	int32_t collect_metadata;
	int32_t collect_appids;
	struct gpc_list app_id_args_filters;
	int32_t application_metadata;

	/* output */
	const char *external_metadata;
	const char *heartbeat_file;
	const char *debug_raw_records;

	/* log */
	int32_t verbose;
	const char *log_file;
	int64_t log_rotate_max_size;
	int64_t log_rotate_backup_count;
	struct gpc_list log_levels; /* "java:debug", or "debug" for all */
	int32_t log_to_server;

	/* upload */
	int32_t upload_results;
	const char *server_host, *api_server;
	int64_t server_upload_timeout; /* ns */
	const char *server_token;
	const char *service_name;
	const char *profile_api_version; /* NULL or "v1" */
	int32_t curlify_requests;
	int32_t verify;
	int32_t enable_heartbeat_server;
	int64_t heartbeat_interval; /* ns */

	/* accepted, without effect */
	int64_t spark_sample_period;
	int32_t collect_spark_metrics;
	int32_t databricks_job_name;
};

/* Adds all tables, to be stored into dest. */
gpc_status gpc_core_options_add(struct gpc_options *o, struct gpc_core_options *dest,
				struct gpc_err *err);

/* What the checks must know of the perf module's own options. */
struct gpc_perf_facts {
	int64_t dwarf_stack_size; /* bytes; 0: not known */
	int64_t event_period;     /* 0: none */
	bool has_event;           /* --perf-event */
};

/* After apply: checks options against each other, and fills in what depends on
 * others (frequency, alloc_interval). o tells which were given.
 * has_output: profiles have somewhere to go even without --upload-results. */
gpc_status gpc_options_check_cross(const struct gpc_options *o, struct gpc_core_options *c,
				   const struct gpc_perf_facts *perf, bool has_output,
				   struct gpc_err *err);

/* The level for a module by --log and --verbose. */
gpc_level gpc_core_options_level(const struct gpc_core_options *c, const char *module);
/* --pids as numbers; *ret is new, freed by the caller, NULL when there are none. */
gpc_status gpc_core_options_pids(const struct gpc_core_options *c, int32_t **ret, uint32_t *n,
				 struct gpc_err *err);

#endif
