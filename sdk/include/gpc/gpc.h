/* SPDX-License-Identifier: Apache-2.0 */
/* gpc/gpc.h - the profiler as a library, libgpc.so.
 *
 * Stability: 0.x, may change with every release until 1.0.
 *
 * What gpc expects of your process, and what it leaves alone:
 *   - No global state: several cores can live in one process.
 *   - It prints nothing, never exits, installs no signal handler, changes no
 *     signal disposition, working directory, umask, locale or environment.
 *     Its threads (from gpc_core_start on; none before) block all signals.
 *   - It needs up to a thousand file descriptors: two or three for each CPU, 768 for
 *     files of processes; and with --pids one more for each thread on each CPU. It
 *     leaves RLIMIT_NOFILE alone: raise the soft limit before gpc_core_start if it is
 *     lower.
 *   - Children that plugins start are reaped by pidfd; do not wait for -1.
 *   - Plugins are loaded with dlopen(RTLD_LOCAL) and stay loaded.
 *   - After fork() the child must not use a core.
 *
 * Threads: one core is used by one thread at a time; gpc_core_end_window,
 * gpc_core_state and gpc_core_fd may be called from any thread, and
 * gpc_core_end_window from a signal handler.
 *
 * Errors: functions return 0 or a status below 0 and fill *err (may be NULL), a
 * struct of the caller; nothing is allocated for it.
 *
 *   struct gpc_err err;
 *   struct gpc_core *core;
 *   struct gpc_core_setup setup = {.size = sizeof setup, .on_profile = mine};
 *
 *   if (gpc_core_new(&setup, &core, &err) < 0 ||
 *       gpc_core_set(core, "profiling-duration", "10", &err) < 0 ||
 *       gpc_core_start(core, &err) < 0)
 *           ... err.text says why
 *   for (;;) { poll(gpc_core_fd(core)); gpc_core_step(core, &err); }
 *   gpc_core_free(core);
 */
#ifndef GPC_GPC_H
#define GPC_GPC_H

#include <stdio.h>

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPC_ERR_TEXT 256

struct gpc_err {
	gpc_status code;
	int sys; /* errno, or 0 */
	char text[GPC_ERR_TEXT];
};

struct gpc_log_line {
	gpc_level level;
	int32_t pid;        /* 0: about no process */
	const char *module; /* "core", "source", "perf" ... */
	const char *message;
};

struct gpc_core;

/* size must be sizeof(struct gpc_core_setup); what a newer program sets beyond
 * the library's struct must be zero, else gpc_core_new refuses. */
struct gpc_core_setup {
	size_t size;
	void *ctx; /* for all callbacks */
	gpc_level log_level;
	int32_t reserved;
	/* From any thread, never two at once; must not call into the core. */
	void (*on_log)(void *ctx, const struct gpc_log_line *line);
	/* From gpc_core_step. The profile is borrowed until it returns. */
	void (*on_profile)(void *ctx, const struct gpc_profile *p,
			   const struct gpc_profile_api *api);
};

GPC_EXPORT const char *gpc_version(void);

GPC_EXPORT gpc_status gpc_core_new(const struct gpc_core_setup *setup, struct gpc_core **ret,
				   struct gpc_err *err);
/* Does what gpc_core_stop does if that was not done: on_profile is called for the window
 * that runs. NULL is fine. */
GPC_EXPORT void gpc_core_free(struct gpc_core *core);

/* ---- options: before gpc_core_start ----------------------------------------- */

/* Adds the caller's own table (a program's options beside the core's). dest is
 * filled by gpc_core_args and gpc_core_start and must outlive the core. */
GPC_EXPORT gpc_status gpc_core_add_options(struct gpc_core *core, const char *title,
					   const struct gpc_option *table, void *dest,
					   struct gpc_err *err);
/* One option by its long name without "--", as on the command line. A switch
 * takes "true" or "false". Options of plugins are known after gpc_core_load. */
GPC_EXPORT gpc_status gpc_core_set(struct gpc_core *core, const char *name, const char *value,
				   struct gpc_err *err);
/* Words of a command line that are no options, as pointers into argv. */
struct gpc_rest {
	const char **at; /* the caller's, with room for that many */
	int room, n;
};
/* A program's whole configuration: the system's config file and --config, the
 * environment (GPROFILER_...), the command line without argv[0]; loads the
 * plugins on the way, since they bring options too. Words that are no options
 * go to rest; NULL: none are allowed. GPC_E_CONFIG: a usage error. */
GPC_EXPORT gpc_status gpc_core_args(struct gpc_core *core, int argc, char *const *argv,
				    char *const *envp, struct gpc_rest *rest, struct gpc_err *err);
/* The value of an option after gpc_core_args or gpc_core_start, by long name;
 * NULL when it has none (or is unknown, or a list). Borrowed from the core. */
GPC_EXPORT const char *gpc_core_get(struct gpc_core *core, const char *name);
/* The same for switches, numbers and durations (ns); 0 when it has none. */
GPC_EXPORT int64_t gpc_core_get_int(struct gpc_core *core, const char *name);
/* 1: the command line or gpc_core_set gave it, not the environment, a file or nobody. */
GPC_EXPORT int gpc_core_is_given(struct gpc_core *core, const char *name);
/* Usage of all options that are known now. */
GPC_EXPORT void gpc_core_help(struct gpc_core *core, const char *usage, FILE *out, int width);

/* ---- plugins ------------------------------------------------------------------ */

/* Looks through the plugin folders; done by gpc_core_args and gpc_core_start. */
GPC_EXPORT gpc_status gpc_core_load(struct gpc_core *core, struct gpc_err *err);
/* Lists the plugins (name NULL) or describes one, as text or JSON. */
GPC_EXPORT gpc_status gpc_core_describe(struct gpc_core *core, const char *name, int as_json,
					FILE *out, struct gpc_err *err);

/* Explains what a profile would show of a process, and why not more. Instead of
 * gpc_core_start: the core can only be freed afterwards. */
GPC_EXPORT gpc_status gpc_core_doctor(struct gpc_core *core, int32_t pid, FILE *out,
				      struct gpc_err *err);

/* Writes a memory image of a process to a new file (docs/images.md), and what it
 * holds to out. Needs CAP_SYS_PTRACE. */
GPC_EXPORT gpc_status gpc_core_capture(struct gpc_core *core, int32_t pid, const char *path,
				       FILE *out, struct gpc_err *err);

/* ---- running ------------------------------------------------------------------- */

/* Before gpc_core_start: profiles are to have these GPC_WANT_, for an on_profile
 * that writes pprof or firefox. */
GPC_EXPORT void gpc_core_want(struct gpc_core *core, uint32_t wants);
/* Checks all options, starts collectors and sinks, begins the first window.
 * After a failure the core can only be freed. */
GPC_EXPORT gpc_status gpc_core_start(struct gpc_core *core, struct gpc_err *err);
/* Polls readable when gpc_core_step has something to do. */
GPC_EXPORT int gpc_core_fd(const struct gpc_core *core);
/* Hands finished profiles to on_profile. Returns the number of profiles, or a
 * status below 0 when the last window failed (err says why; the core goes on). */
GPC_EXPORT gpc_status gpc_core_step(struct gpc_core *core, struct gpc_err *err);
/* Ends the running window now; what was measured is delivered, and without
 * --continuous that was the last one. */
GPC_EXPORT void gpc_core_end_window(struct gpc_core *core);
/* Ends the running window now, delivers it (on_profile included), stops all
 * collectors, and flushes the sinks. */
GPC_EXPORT gpc_status gpc_core_stop(struct gpc_core *core, struct gpc_err *err);

struct gpc_core_state {
	size_t size;               /* set by the caller */
	uint32_t window;           /* number of the running window, from 0 */
	uint32_t is_running;       /* 0: no window runs (not started, or the last is over) */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t samples;          /* in the running window */
	uint64_t lost;             /* samples lost since start */
	uint32_t processes;        /* known now */
	uint32_t profiles;         /* delivered since start */
	uint32_t failed_writes;    /* of sinks, since start */
	uint32_t hz;               /* samples a second and CPU; 0: not by time */
	uint32_t dropped;          /* profiles dropped since start: outputs were too slow, or
				    * gpc_core_step was not called */
};
GPC_EXPORT void gpc_core_state(struct gpc_core *core, struct gpc_core_state *ret);

/* ---- profiles in files: no core is needed --------------------------------------- */

/* Reads a .col, pprof or speedscope file, told apart by their content; the error
 * says the place in the file. */
GPC_EXPORT gpc_status gpc_profile_open(const char *path, struct gpc_profile **ret,
				       struct gpc_err *err);
/* format: "col", "pprof", "speedscope"; NULL: by content. */
GPC_EXPORT gpc_status gpc_profile_open_as(const char *path, const char *format,
					  struct gpc_profile **ret, struct gpc_err *err);
GPC_EXPORT void gpc_profile_close(struct gpc_profile *p); /* NULL is fine */
/* What reads (and encodes) a profile. */
GPC_EXPORT const struct gpc_profile_api *gpc_profile_functions(void);
/* Two profiles as one page that shows the differences, streamed as
 * gpc_profile_api.encode does. */
GPC_EXPORT gpc_status
gpc_profile_diff_html(const struct gpc_profile *before, const struct gpc_profile *after,
		      gpc_status (*out)(void *ctx, const void *bytes, uint64_t n), void *ctx);

#ifdef __cplusplus
}
#endif
#endif /* GPC_GPC_H */
