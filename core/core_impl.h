/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct gpc_core, for the files that make it up:
 *   core.c      life, options, plugins
 *   start.c     from options to running collectors
 *   control.c   the control thread: windows, end, stop
 *   finish.c    a window becomes a profile
 *   head.c      the profile's header
 *   locate.c    which container a process is in
 *   services.c  what collectors may ask for: gpc.source/1, gpc.processes/1
 *   services_pull.c  gpc.pull/1, gpc.native-unwind/1, and who is pulled
 *   services_inject.c  gpc.inject/1: sockets, files and signals of targets
 *   doctor.c    what would be seen of one process
 *   deliver.c   sinks, on a thread of their own
 */
#ifndef GPC_CORE_IMPL_H
#define GPC_CORE_IMPL_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include <gpc/gpc.h>

#include "base/vec.h"
#include "config/core_options.h"
#include "containers/containers.h"
#include "health/metrics.h"
#include "plugin/discovery.h"
#include "plugin/instance.h"
#include "plugin/module.h"
#include "proc/connector.h"
#include "proc/inject.h"
#include "proc/scan.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "source/sampler.h"
#include "source/symbolize.h"

/* A stream that a collector opened through gpc.source/1. */
struct gpc_source {
	struct gpc_core *core;
	struct gpc_instance *owner; /* NULL until it is known: opened in start() */
	uint32_t stream, candidate;
	uint16_t event;
	char name[64];       /* of the event that opened */
	char event_name[64]; /* as profiles call it */
	char unit[32];
	bool is_cpu_time, is_period, is_open;
	uint64_t rate;
	uint64_t lost_before, throttled_before; /* at the end of the last window */
	struct gpc_source *next;
};

struct gpc_module_state {
	const struct gpc_loaded_module *module;
	void *options; /* the struct its options fill */
	bool is_enabled;
};

/* A file beside a target that a collector had made. */
struct gpc_core_injected {
	uint64_t target;
	const struct gpc_instance *owner;
	struct gpc_injected_file file;
};

struct gpc_deliver; /* sinks */

struct gpc_core {
	struct gpc_core_setup setup;
	struct gpc_log log;
	pthread_mutex_t log_lock; /* held during on_log, by readers too */
	struct gpc_options *options;
	struct gpc_core_options opts;

	struct gpc_modules modules;
	vec(struct gpc_module_state) states; /* one per module, in its order */
	bool is_loaded;

	struct gpc_names *names;
	struct gpc_sampler *sampler;
	struct gpc_containers *containers; /* NULL: --disable-container-names */
	vec(char *) container_names;       /* in this window's profile, sorted */
	struct gpc_vdso *vdso;
	struct gpc_source *sources;
	struct gpc_services services;
	vec(struct gpc_instance *) instances;
	vec(struct gpc_instance *) runtimes; /* of process scope: discovery's */
	/* Set and cleared under the sampler's lock, where they are used too. */
	struct gpc_discovery *discovery;
	bool is_telling;
	struct gpc_scan *scan;           /* NULL: perf tells all */
	struct gpc_connector *connector; /* NULL: perf or the scan tells of processes */
	struct gpc_deliver *deliver;
	vec(char *) troubles; /* plugins refused or not started, for the header */
	struct gpc_session session;
	int32_t *pids;
	uint32_t n_pids;
	json_t *meta, *external, *app_metadata;
	struct gpc_abouts *abouts; /* what collectors say of processes */
	struct gpc_elfids *elfids;
	struct gpc_metrics metrics;
	int proc_fd;
	uint32_t wants; /* GPC_WANT_ of sinks and of --profile-details */
	bool kernel_hidden;

	pthread_t control;
	bool is_looking;             /* for the doctor: nothing is measured or written */
	bool is_started, is_stopped; /* control thread exists; was joined */
	int end_fd;                  /* eventfd: end the window now */
	int ready_fd;                /* eventfd: gpc_core_step has something to do */

	pthread_mutex_t lock;               /* covers what follows */
	vec(struct gpc_profile *) finished; /* for on_profile */
	vec(struct gpc_core_injected) injected;
	struct gpc_err failure; /* of the last window that failed */
	bool has_failed, is_stopping;
	struct gpc_core_state state;
};

/* start.c */
/* Starts the runtime collectors alone, for the doctor. */
gpc_status gpc_core_start_runtimes(struct gpc_core *core, struct gpc_err *err);
void gpc_core_trouble(struct gpc_core *core, const char *fmt, ...) GPC_PRINTF(2, 3);

/* services.c */
void gpc_core_init_services(struct gpc_core *core);
void gpc_core_free_sources(struct gpc_core *core);
void gpc_core_tell(struct gpc_core *core, const struct gpc_process_event *ev);

/* services_pull.c */
void gpc_core_init_pull_services(struct gpc_core *core);
/* When all collectors were created: samples carry what the pulling ones want. */
void gpc_core_prepare_pull(struct gpc_core *core);
const void *gpc_core_pull_extension(const char *id);

/* services_inject.c */
const void *gpc_core_inject_extension(const struct gpc_core *core); /* NULL: --max-touch */
void gpc_core_remove_injected(struct gpc_core *core, const struct gpc_instance *owner,
			      uint64_t target);

/* services_about.c */
const void *gpc_core_about_extension(void);
/* After a window: forgets processes that are gone. */
void gpc_core_trim_abouts(struct gpc_core *core);

/* services_elf.c */
const void *gpc_core_elf_extension(void);

/* control.c */
gpc_status gpc_core_start_control(struct gpc_core *core, struct gpc_err *err);
/* Ends discovery and all collectors. Safe twice. */
void gpc_core_quiet(struct gpc_core *core);

/* finish.c */
/* With the limit within a window. NULL: no memory. */
struct gpc_names *gpc_core_new_names(uint32_t epoch);
/* Names for the next window: those of this one, or new ones when they have grown
 * too much; give them to gpc_core_finish, and adopt them when it is done. A new reference. */
struct gpc_names *gpc_core_next_names(struct gpc_core *core);
void gpc_core_adopt_names(struct gpc_core *core, struct gpc_names *taken);
gpc_status gpc_core_finish(struct gpc_core *core, const struct gpc_window *win,
			   struct gpc_names *next_names, int64_t end_unix_ns,
			   struct gpc_profile **ret, struct gpc_err *err);

/* locate.c */
gpc_status gpc_core_start_containers(struct gpc_core *core, struct gpc_err *err);
void gpc_core_free_containers(struct gpc_core *core);
/* From the sampler (gpc_sampler_config.placed). */
void gpc_core_placed(void *ctx, const char *cgroup);
/* Sets v->target.container; waits a little for a runtime's answer. */
void gpc_core_complete(void *ctx, struct gpc_target_view *v);
/* Before the processes of a profile are added, and for each of them: what is
 * known of the container of cgroup (NULL: none) by until_ns. *ret is new; its name
 * is in container_names from then on. False: in none. */
void gpc_core_begin_containers(struct gpc_core *core);
bool gpc_core_container(struct gpc_core *core, const char *cgroup, uint64_t until_ns,
			struct gpc_container *ret);

/* head.c */
gpc_status gpc_core_init_head(struct gpc_core *core, struct gpc_err *err);
/* Before the processes of a profile are added, and for each of them. */
void gpc_core_begin_app_metadata(struct gpc_core *core);
/* collected: what a collector told of it; or NULL. */
uint32_t gpc_core_app_metadata(struct gpc_core *core, int32_t pid, const json_t *collected);
/* *ret is new. */
gpc_status gpc_core_head(struct gpc_core *core, const struct gpc_window *win,
			 const struct gpc_reports *reports, char **ret, struct gpc_err *err);

/* deliver.c */
gpc_status gpc_deliver_new(struct gpc_core *core, struct gpc_deliver **ret, struct gpc_err *err);
/* A reference on p is taken. */
void gpc_deliver_put(struct gpc_deliver *d, struct gpc_profile *p);
/* Writes what is queued, flushes, frees. NULL is fine. */
void gpc_deliver_free(struct gpc_deliver *d);
uint32_t gpc_deliver_sinks(const struct gpc_deliver *d);

#endif
