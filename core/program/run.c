/* SPDX-License-Identifier: Apache-2.0 */
#include "program/run.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "program/checks.h"
#include "program/controller.h"
#include "program/heartbeat.h"
#include "program/lock.h"
#include "program/pidfile.h"
#include "program/progress.h"
#include "program/secrets.h"
#include "program/signals.h"
#include "program/usage.h"

#define PATIENCE_NS (GPC_SECOND_NS / 2) /* a second signal within it is the same key press */

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

struct run {
	struct gpc_core *core;
	struct gpc_journal *journal;
	struct gpc_controller controller;
	struct gpc_progress progress;
	const struct gpc_viewer *viewer; /* or NULL */
	const char *pid_file, *heartbeat_file;
	int signal_fd, lock_fd;
	bool is_continuous, has_usage, is_over, has_failed;
	uint64_t tick_ns;   /* when to look at controller and progress next */
	uint64_t signal_ns; /* when we were first told to end; 0: never */
	uint64_t cpu_ns;    /* of our control group, when the session began */
	uint32_t window;    /* the session that was last seen to begin */
};

static struct gpc_core_state get_state(struct run *r)
{
	struct gpc_core_state state = {.size = sizeof state};

	gpc_core_state(r->core, &state);
	return state;
}

/* ---- what happens at each session -------------------------------------------- */

static void log_usage(struct run *r)
{
	struct gpc_usage now;
	struct gpc_err err;

	if (gpc_usage_own(&now, &err) < 0) {
		gpc_journal_say(r->journal, GPC_WARN, "Cannot log usage: %s", err.text);
		return;
	}
	gpc_journal_say(
		r->journal, GPC_INFO,
		"Usage of our control group: %.3f s of CPU, memory %.1f MB, highest %.1f MB",
		(double)(now.cpu_ns - r->cpu_ns) / (double)GPC_SECOND_NS,
		(double)now.memory_bytes / 1e6, (double)now.highest_bytes / 1e6);
	r->cpu_ns = now.cpu_ns;
}

static void begin_session(struct run *r)
{
	struct gpc_err err;

	if (!r->is_continuous || !r->heartbeat_file || !*r->heartbeat_file)
		return;
	if (gpc_heartbeat_touch(r->heartbeat_file, &err) < 0)
		gpc_journal_say(r->journal, GPC_WARN, "Cannot touch the heartbeat file: %s",
				err.text);
}

static void end_session(struct run *r)
{
	if (r->has_usage)
		log_usage(r);
}

/* Looked at each second: the core says nothing when a session begins. */
static void check_session(struct run *r)
{
	struct gpc_core_state state = get_state(r);

	if (!state.is_running)
		r->is_over = true;
	if (state.window == r->window)
		return;
	r->window = state.window;
	end_session(r);
	begin_session(r);
}

/* The core has logged what went wrong. */
static void step(struct run *r)
{
	if (gpc_core_step(r->core, NULL) < 0)
		r->has_failed = true;
	check_session(r);
}

/* ---- each second ------------------------------------------------------------- */

static void show_progress(struct run *r)
{
	struct gpc_core_state state;
	char text[200];

	if (!r->journal->has_terminal)
		return;
	state = get_state(r);
	gpc_progress_text(&r->progress, &state, gpc_now_ns(), text, sizeof text);
	gpc_journal_status(r->journal, text);
}

static void check_controller(struct run *r)
{
	if (r->is_over || !gpc_controller_is_gone(&r->controller))
		return;
	gpc_journal_say(r->journal, GPC_INFO,
			"Controller process %d has exited; gProfiler stopping...",
			r->controller.pid);
	r->is_over = true;
}

static void tick(struct run *r)
{
	uint64_t now = gpc_now_ns();

	if (now < r->tick_ns)
		return;
	r->tick_ns = now + GPC_SECOND_NS;
	check_session(r);
	check_controller(r);
	show_progress(r);
}

static int until_tick_ms(const struct run *r)
{
	uint64_t now = gpc_now_ns();

	return now >= r->tick_ns ? 0 : (int)((r->tick_ns - now) / GPC_MS_NS + 1);
}

/* ---- ending ------------------------------------------------------------------ */

static void end_view(const struct run *r)
{
	if (r->viewer)
		r->viewer->end(r->viewer->ctx);
}

/* Outputs hang, and the user does not want to wait: no destructor would end
 * sooner than they do. */
static _Noreturn void give_up(struct run *r)
{
	end_view(r);
	gpc_journal_status(r->journal, "");
	gpc_journal_say(r->journal, GPC_WARN, "Interrupted again: not waiting for slow outputs");
	gpc_pidfile_remove(r->pid_file);
	_exit(STATUS_OK);
}

static void told_to_end(struct run *r, int number)
{
	uint64_t now = gpc_now_ns();

	if (r->signal_ns) {
		if (now - r->signal_ns >= PATIENCE_NS)
			give_up(r);
		return;
	}
	r->signal_ns = now;
	gpc_journal_say(r->journal, GPC_INFO, "Got SIG%s: ending the session",
			sigabbrev_np(number));
	r->is_over = true;
}

static bool is_of(const int *signals, int number)
{
	while (*signals && *signals != number)
		signals++;
	return *signals;
}

static void take_signals(struct run *r)
{
	const struct gpc_viewer *v = r->viewer;
	int number;

	while ((number = gpc_signals_next(r->signal_fd))) {
		if (v && is_of(v->signals, number) && v->on_signal(v->ctx, number))
			continue;
		if (number == SIGHUP && !v)
			gpc_journal_reopen(r->journal);
		else
			told_to_end(r, number);
	}
}

static void take_input(struct run *r)
{
	if (!r->viewer->on_input(r->viewer->ctx))
		r->is_over = true;
}

/* Until fd polls readable, or timeout; signals are taken meanwhile. */
static bool wait_for(struct run *r, int fd)
{
	bool has_input = r->viewer && !r->is_over;
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
			       {.fd = r->signal_fd, .events = POLLIN},
			       {.fd = has_input ? r->viewer->input_fd : -1, .events = POLLIN}};

	if (poll(fds, 3, until_tick_ms(r)) <= 0)
		return false;
	if (fds[1].revents)
		take_signals(r);
	if (fds[2].revents)
		take_input(r);
	return fds[0].revents;
}

struct stopping {
	struct gpc_core *core;
	int done_fd;
	gpc_status status;
};

static void *stop_core(void *arg)
{
	struct stopping *s = arg;

	s->status = gpc_core_stop(s->core, NULL);
	eventfd_write(s->done_fd, 1);
	return NULL;
}

/* In a thread of its own, so that signals are heard while outputs are slow. */
static void stop(struct run *r)
{
	struct stopping s = {.core = r->core, .done_fd = eventfd(0, EFD_CLOEXEC)};
	pthread_t thread;

	if (s.done_fd < 0 || pthread_create(&thread, NULL, stop_core, &s) != 0) {
		stop_core(&s);
	} else {
		while (!wait_for(r, s.done_fd))
			tick(r);
		pthread_join(thread, NULL);
	}
	gpc_cleanup_close(&s.done_fd);
	if (s.status < 0)
		r->has_failed = true;
	end_session(r);
}

/* ---- starting ---------------------------------------------------------------- */

/* With --pids there is a descriptor for each thread on each CPU. */
static void raise_fd_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static void set_limits(struct gpc_core *core)
{
	const struct rlimit none = {0};

	umask(022);
	raise_fd_limit();
	if (gpc_core_get_int(core, "dont-disable-core-files"))
		setrlimit(RLIMIT_CORE, &none);
}

static void open_journal(struct run *r, char *const *argv)
{
	autofree char *line = gpc_secrets_command_line(argv);
	struct gpc_core *core = r->core;
	struct gpc_err err;

	gpc_journal_open(r->journal, gpc_core_get(core, "log-file"),
			 gpc_core_get_int(core, "log-rotate-max-size"),
			 gpc_core_get_int(core, "log-rotate-backup-count"));
	gpc_journal_say(r->journal, GPC_INFO, "Running gProfiler core %s, command line: %s",
			gpc_version(), line ? line : "?");
	if (gpc_is_fargate())
		gpc_journal_say(r->journal, GPC_INFO,
				"AWS Fargate: perf is switched off, there are no perf events here");
	if (*r->pid_file && gpc_pidfile_write(r->pid_file, &err) < 0)
		gpc_journal_say(r->journal, GPC_WARN, "No pid file: %s", err.text);
}

static void init(struct run *r)
{
	struct gpc_core *core = r->core;

	r->pid_file = gpc_core_get(core, "pid-file");
	r->heartbeat_file = gpc_core_get(core, "heartbeat-file");
	r->is_continuous = gpc_core_get_int(core, "continuous");
	r->has_usage = gpc_core_get_int(core, "log-usage");
	gpc_progress_init(&r->progress, core);
}

/* Where nobody reads a log yet, errors go to standard error. */
static gpc_status prepare(struct run *r, struct gpc_err *err)
{
	gpc_try(gpc_checks_run(r->core, err));
	gpc_try(gpc_only_one(gpc_core_get_int(r->core, "rootless"), &r->lock_fd, err));
	return gpc_signals_open(r->viewer ? r->viewer->signals : NULL, &r->signal_fd, err);
}

static gpc_status start(struct run *r, struct gpc_err *err)
{
	int32_t controller = (int32_t)gpc_core_get_int(r->core, "controller-pid");
	struct gpc_usage usage;

	gpc_try(gpc_controller_init(&r->controller, controller, err));
	if (r->has_usage && gpc_usage_own(&usage, NULL) >= 0)
		r->cpu_ns = usage.cpu_ns;
	gpc_try(gpc_core_start(r->core, err));
	begin_session(r);
	return GPC_OK;
}

/* Files that could not be written are in the log; a single run has then failed,
 * a continuous one goes on. */
static int sessions(struct run *r)
{
	struct gpc_core_state state;

	if (r->viewer)
		r->viewer->begin(r->viewer->ctx);
	while (!r->is_over) {
		if (wait_for(r, gpc_core_fd(r->core)))
			step(r);
		tick(r);
	}
	end_view(r);
	stop(r);
	gpc_journal_status(r->journal, "");
	if (r->is_continuous)
		return STATUS_OK;
	state = get_state(r);
	return r->has_failed || state.failed_writes || state.dropped ? STATUS_FAILED : STATUS_OK;
}

static int run(struct run *r, struct gpc_err *err)
{
	int status = STATUS_FAILED;

	if (start(r, err) >= 0) {
		status = sessions(r);
	} else if (err->code == GPC_E_CONFIG) {
		status = STATUS_USAGE;
	} else {
		gpc_journal_say(r->journal, GPC_ERROR, "%s", err->text);
		err->text[0] = '\0';
	}
	gpc_pidfile_remove(r->pid_file);
	return status;
}

int gpc_run(struct gpc_core *core, struct gpc_journal *j, const struct gpc_viewer *viewer,
	    char *const *argv, struct gpc_err *err)
{
	struct run r = {
		.core = core, .journal = j, .viewer = viewer, .signal_fd = -1, .lock_fd = -1};
	int status = STATUS_FAILED;

	init(&r);
	if (prepare(&r, err) >= 0) {
		set_limits(core);
		open_journal(&r, argv);
		status = run(&r, err);
	}
	gpc_cleanup_close(&r.signal_fd);
	gpc_cleanup_close(&r.lock_fd);
	return status;
}
