/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread: windows one after another, without gaps and without drift. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "core_impl.h"

#define METRICS_NS  (5 * GPC_SECOND_NS)
#define SCAN_MIN_NS (100 * GPC_MS_NS)   /* /proc is scanned so often at first ... */
#define SCAN_MAX_NS (5 * GPC_SECOND_NS) /* ... and so often later */
#define DEADLINE_NS (5 * GPC_SECOND_NS) /* collectors have so long to write a window */

/* ---- waiting for the end of a window -------------------------------------------- */

static bool drain_fd(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof count) == sizeof count;
}

/* What is done now and then while a window runs. */
struct chores {
	uint64_t metrics_ns, scan_ns; /* when next */
	uint64_t scan_every_ns;
};

static void do_chores(struct gpc_core *core, struct chores *c, uint64_t now)
{
	if (now >= c->metrics_ns) {
		gpc_metrics_tick(&core->metrics);
		c->metrics_ns = now + METRICS_NS;
	}
	if (now >= c->scan_ns) {
		gpc_scan_run(core->scan);
		/* Often at first, so that a short session sees who runs. */
		c->scan_every_ns =
			c->scan_every_ns * 2 < SCAN_MAX_NS ? c->scan_every_ns * 2 : SCAN_MAX_NS;
		c->scan_ns = now + c->scan_every_ns;
	}
	if (core->scan && now >= gpc_scan_due(core->scan))
		gpc_scan_run_expected(core->scan, now);
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t next_chore(const struct gpc_core *core, const struct chores *c)
{
	uint64_t due = earliest(c->metrics_ns, c->scan_ns);

	return core->scan ? earliest(due, gpc_scan_due(core->scan)) : due;
}

/* Waits until end_ns; true when the window is to end now instead. */
static bool wait_for_end(struct gpc_core *core, struct chores *c, uint64_t end_ns)
{
	struct pollfd fds[] = {{.fd = core->end_fd, .events = POLLIN},
			       {.fd = -1, .events = POLLIN}};

	if (core->connector)
		fds[1].fd = gpc_connector_fd(core->connector);
	for (;;) {
		uint64_t now = gpc_now_ns();
		uint64_t next = earliest(end_ns, next_chore(core, c));
		struct timespec wait = gpc_timespec(next > now ? next - now : 0);

		if (ppoll(fds, 2, &wait, NULL) > 0) {
			if (fds[0].revents)
				return drain_fd(core->end_fd);
			gpc_connector_run(core->connector);
		}
		now = gpc_now_ns();
		if (now >= end_ns)
			return false;
		do_chores(core, c, now);
	}
}

/* ---- one window ------------------------------------------------------------------ */

static void begin_window(struct gpc_core *core, const struct gpc_window *win)
{
	autolock(&core->lock);

	core->state.window = win->seq;
	core->state.begin_ns = win->begin_ns;
	core->state.end_ns = win->end_ns;
	core->state.is_running = 1;
}

static void wake_step(struct gpc_core *core)
{
	uint64_t one = 1;
	ssize_t n = write(core->ready_fd, &one, sizeof one);

	(void)n; /* full means awake */
}

/* To the embedder, unless nobody asked; the oldest goes when nobody comes. */
#define FINISHED_MAX 4
static void hand_over(struct gpc_core *core, struct gpc_profile *p)
{
	autolock(&core->lock);

	core->state.profiles++;
	if (!core->setup.on_profile)
		return;
	if (core->finished.n == FINISHED_MAX) {
		gpc_profile_put(core->finished.at[0]);
		core->state.dropped++;
		memmove(core->finished.at, core->finished.at + 1,
			--core->finished.n * sizeof *core->finished.at);
		gpc_warn(&core->log, "core", "a profile was dropped: gpc_core_step was not called");
	}
	if (vec_push(&core->finished, gpc_profile_get(p)))
		wake_step(core);
}

static void window_failed(struct gpc_core *core, const struct gpc_err *err)
{
	gpc_error(&core->log, "core", "this window's profile is lost: %s", err->text);
	autolock(&core->lock);
	core->failure = *err;
	core->has_failed = true;
	wake_step(core);
}

static void end_window(struct gpc_core *core, struct gpc_window *win, uint64_t next_end_ns)
{
	struct gpc_names *names;
	struct gpc_profile *p = NULL;
	struct gpc_err err;
	int64_t end_unix_ns = gpc_unix_ns() - (int64_t)(gpc_now_ns() - win->end_ns);

	win->deadline_ns = gpc_now_ns() + DEADLINE_NS;
	names = gpc_core_next_names(core);
	gpc_sampler_cut(core->sampler, win->end_ns, next_end_ns, names);
	if (gpc_core_finish(core, win, names, end_unix_ns, &p, &err) < 0) {
		window_failed(core, &err);
	} else {
		gpc_deliver_put(core->deliver, p);
		hand_over(core, p);
		gpc_profile_put(p);
	}
	gpc_core_adopt_names(core, names);
	gpc_sampler_trim(core->sampler, win->end_ns);
	gpc_core_trim_abouts(core);
}

static bool is_last(struct gpc_core *core)
{
	autolock(&core->lock);

	return core->is_stopping || !core->opts.continuous;
}

static void *run(void *arg)
{
	struct gpc_core *core = arg;
	uint64_t length = (uint64_t)core->opts.duration;
	struct gpc_window win = {.struct_size = sizeof win, .begin_ns = gpc_now_ns()};
	struct chores chores = {.metrics_ns = win.begin_ns + METRICS_NS,
				.scan_ns = core->scan ? win.begin_ns : UINT64_MAX,
				.scan_every_ns = SCAN_MIN_NS};
	bool is_over = false;

	gpc_sampler_begin(core->sampler, win.begin_ns + length);
	for (win.end_ns = win.begin_ns + length; !is_over; win.seq++) {
		uint64_t next_end_ns;

		begin_window(core, &win);
		if (wait_for_end(core, &chores, win.end_ns))
			win.end_ns = gpc_sampler_end_now(core->sampler);
		is_over = is_last(core);
		next_end_ns = win.end_ns + length;
		/* After the last window nothing is counted, nor read, any more. */
		end_window(core, &win, is_over ? win.end_ns : next_end_ns);
		win.begin_ns = win.end_ns;
		win.end_ns = next_end_ns;
	}
	pthread_mutex_lock(&core->lock);
	core->state.is_running = 0;
	pthread_mutex_unlock(&core->lock);
	wake_step(core);
	return NULL;
}

gpc_status gpc_core_start_control(struct gpc_core *core, struct gpc_err *err)
{
	pthread_mutex_lock(&core->lock);
	core->state.is_running = 1; /* nobody may see it stopped before it began */
	if (!gpc_options_number(core->options, "perf-event-period"))
		core->state.hz = core->session.hz;
	pthread_mutex_unlock(&core->lock);
	gpc_try(gpc_thread_start(&core->control, "gpc-control", run, core, err));
	core->is_started = true;
	return GPC_OK;
}

/* ---- the public side ---------------------------------------------------------------- */

GPC_EXPORT int gpc_core_fd(const struct gpc_core *core)
{
	return core->ready_fd;
}

static struct gpc_profile *next_finished(struct gpc_core *core)
{
	struct gpc_profile *p = NULL;
	autolock(&core->lock);

	if (core->finished.n) {
		p = core->finished.at[0];
		memmove(core->finished.at, core->finished.at + 1,
			--core->finished.n * sizeof *core->finished.at);
	}
	return p;
}

GPC_EXPORT gpc_status gpc_core_step(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_profile *p;
	gpc_status n = 0;

	drain_fd(core->ready_fd);
	while ((p = next_finished(core))) {
		core->setup.on_profile(core->setup.ctx, p, gpc_profile_api_get());
		gpc_profile_put(p);
		n++;
	}
	autolock(&core->lock);
	if (!core->has_failed)
		return n;
	core->has_failed = false;
	if (err)
		*err = core->failure;
	return core->failure.code;
}

GPC_EXPORT void gpc_core_end_window(struct gpc_core *core)
{
	int saved = errno;
	uint64_t one = 1;
	ssize_t n = write(core->end_fd, &one, sizeof one);

	(void)n; /* full means asked already */
	errno = saved;
}

/* The source's thread tells collectors and discovery of processes under its
 * lock: take it away there before they go. */
void gpc_core_quiet(struct gpc_core *core)
{
	struct gpc_discovery *d = core->discovery;

	if (core->sampler) {
		gpc_sampler_lock(core->sampler);
		core->is_telling = false;
		core->discovery = NULL;
		gpc_sampler_unlock(core->sampler);
	}
	gpc_discovery_free(d);
	for (size_t i = 0; i < core->instances.n; i++)
		gpc_instance_stop(core->instances.at[i]);
}

GPC_EXPORT gpc_status gpc_core_stop(struct gpc_core *core, struct gpc_err *err)
{
	gpc_status st;

	if (!core->is_started || core->is_stopped)
		return GPC_OK;
	pthread_mutex_lock(&core->lock);
	__atomic_store_n(&core->is_stopping, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&core->lock);
	gpc_core_end_window(core);
	pthread_join(core->control, NULL);
	core->is_stopped = true;
	st = gpc_core_step(core, err);
	gpc_core_quiet(core);
	gpc_deliver_free(core->deliver);
	core->deliver = NULL;
	return st < 0 ? st : GPC_OK;
}

GPC_EXPORT void gpc_core_state(struct gpc_core *core, struct gpc_core_state *ret)
{
	struct gpc_core_state state;
	size_t size = ret->size < sizeof state ? ret->size : sizeof state;
	struct gpc_sampler *sampler;

	pthread_mutex_lock(&core->lock);
	state = core->state;
	sampler = core->sampler; /* it stays until gpc_core_free */
	pthread_mutex_unlock(&core->lock);
	state.size = size;
	if (sampler) {
		state.samples = gpc_sampler_progress(sampler);
		gpc_sampler_lock(sampler);
		state.processes = (uint32_t)gpc_table_count(gpc_sampler_table(sampler));
		gpc_sampler_unlock(sampler);
	}
	memcpy(ret, &state, size);
}
