/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "plugin/ticks_impl.h"
#include "proc/running.h"

#define HINTS_MAX      16
#define CANDIDATES_MAX 256
/* Who comes later was kept waiting, and finds threads where they are put aside. */
#define LATE_NS (300 * UINT64_C(1000))
/* Notes of one moment are equal; a kernel may take the clock once more between the two. */
#define SAME_NS UINT64_C(2000)

struct candidate {
	struct gpc_tick_target *target;
	struct gpc_tick_thread thread;
	uint32_t cpu;
	bool is_done;
};

struct ticker {
	struct gpc_ticks *t;
	bool is_realtime, has_notes;
	int own_fd; /* of our own note */
	struct gpc_random random;
	uint64_t took_ns;       /* the last tick */
	uint64_t paid_until_ns; /* the budget covers what was spent, from then on */
	uint64_t own_ns;        /* our note of when we came to this CPU */
	struct candidate candidates[CANDIDATES_MAX];
	unsigned n;
};

void gpc_tick_target_put(struct gpc_tick_target *t)
{
	if (__atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	gpc_u64map_deinit(&t->ns_to_tid);
	gpc_u64map_deinit(&t->threads);
	free(t);
}

/* ---- who may run --------------------------------------------------------------------- */

static void consider(struct ticker *k, struct gpc_tick_target *target,
		     const struct gpc_tick_thread *thread)
{
	struct gpc_thread_place place;

	for (unsigned i = 0; i < k->n; i++)
		if (k->candidates[i].thread.tid == thread->tid)
			return;
	if (k->n == CANDIDATES_MAX ||
	    !gpc_thread_place_read(k->t->proc_fd, target->pid, thread->tid, &place) ||
	    place.state != 'R')
		return;
	k->candidates[k->n++] =
		(struct candidate){.target = target, .thread = *thread, .cpu = place.cpu};
}

/* By its number in the target's own pid namespace. */
static int32_t tid_of(struct gpc_tick_target *target, int32_t ns_tid)
{
	uint64_t tid;

	if (target->ns_pid == target->pid)
		return ns_tid;
	if (ns_tid == target->ns_pid)
		return target->pid;
	if (gpc_u64map_get(&target->ns_to_tid, (uint32_t)ns_tid, &tid))
		return (int32_t)tid;
	target->wants_scan = true;
	return 0;
}

static void consider_target(struct ticker *k, struct gpc_tick_target *target)
{
	const struct gpc_ticks_setup *s = &k->t->setup;
	int32_t hints[HINTS_MAX];
	uint64_t cpu_ns;
	uint32_t n = s->api->threads ? s->api->threads(s->self, target->tctx, hints, HINTS_MAX) : 0;

	for (uint32_t i = 0; i < n && i < HINTS_MAX; i++) {
		struct gpc_tick_thread thread = {.tid = hints[i] > 0 ? tid_of(target, hints[i]) : 0,
						 .ns_tid = hints[i]};

		if (thread.tid)
			consider(k, target, &thread);
	}
	cpu_ns = gpc_process_cpu_ns(target->pid);
	/* Nobody has run since, or only for less than a tick of the kernel's, on another CPU. */
	if (cpu_ns == target->tick_cpu_ns)
		return;
	target->tick_cpu_ns = cpu_ns;
	for (uint32_t i = 0; i < target->n_busy; i++)
		consider(k, target, &target->busy[i]);
}

/* ---- the visit of a CPU ---------------------------------------------------------------- */

static void sample(struct ticker *k, const struct candidate *c, bool is_exact)
{
	const struct gpc_ticks_setup *setup = &k->t->setup;
	struct gpc_pull_sample s = {.struct_size = sizeof s,
				    .flags = is_exact ? GPC_PULL_EXACT : 0,
				    .tid = c->thread.tid,
				    .ns_tid = c->thread.ns_tid,
				    .cpu = (int32_t)c->cpu,
				    .time_ns = gpc_now_ns(),
				    .thread_name = ""};

	k->t->target = c->target->id;
	k->t->stats.asked++;
	k->t->stats.exact += is_exact;
	if (setup->api->tick(setup->self, c->target->tctx, &s,
			     gpc_batch_writer_get(setup->writer)) < 0)
		k->t->stats.failed++;
	gpc_batch_writer_flush(setup->writer);
	k->t->target = 0;
}

static bool is_interrupted(const struct ticker *k, const struct candidate *c)
{
	uint64_t ns;

	return gpc_exec_start_read(k->t->proc_fd, c->target->pid, c->thread.tid, &ns) &&
	       (ns > k->own_ns ? ns - k->own_ns : k->own_ns - ns) <= SAME_NS;
}

/* Without the kernel's notes only one that is alone can be told. */
static bool is_alone(const struct ticker *k, uint32_t cpu)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->n; i++)
		n += k->candidates[i].cpu == cpu;
	return n == 1;
}

/* We are on the CPU. */
static void visit(struct ticker *k, uint32_t cpu)
{
	bool is_alone_here = is_alone(k, cpu), is_found = false;

	for (unsigned i = 0; i < k->n; i++) {
		struct candidate *c = &k->candidates[i];

		if (c->is_done || c->cpu != cpu)
			continue;
		c->is_done = true;
		if (is_found || !(k->has_notes ? is_interrupted(k, c) : is_alone_here))
			continue;
		is_found = true;
		sample(k, c, k->is_realtime);
	}
}

static void note_arrival(struct ticker *k)
{
	k->has_notes = gpc_exec_start_again(k->own_fd, &k->own_ns);
}

/* False: we came too late, what is interrupted there was chosen by the scheduler. */
static bool go_to(struct ticker *k, uint32_t cpu)
{
	uint64_t begin = gpc_now_ns();

	if (!gpc_thread_pin(cpu))
		return false;
	note_arrival(k);
	return k->is_realtime || gpc_now_ns() - begin <= LATE_NS;
}

static void drop_those_on(struct ticker *k, uint32_t cpu)
{
	for (unsigned i = 0; i < k->n; i++)
		k->candidates[i].is_done |= k->candidates[i].cpu == cpu;
}

static void tick(struct ticker *k)
{
	uint32_t here = (uint32_t)sched_getcpu();

	k->n = 0;
	note_arrival(k);
	for (size_t i = 0; i < k->t->targets.n; i++)
		consider_target(k, k->t->targets.at[i]);
	visit(k, here);
	for (unsigned i = 0; i < k->n; i++) {
		uint32_t cpu = k->candidates[i].cpu;

		if (k->candidates[i].is_done)
			continue;
		if (go_to(k, cpu))
			visit(k, cpu);
		else
			drop_those_on(k, cpu);
	}
}

/* ---- the timer ----------------------------------------------------------------------------- */

/* Of the scheduler since Linux 6.12: who asks for short slices is let in at once. Others
 * ignore it. */
static void ask_for_short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof attr, .nice = getpriority(PRIO_PROCESS, 0), .runtime = 100000};

	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void take_priority(struct ticker *k)
{
	k->is_realtime = k->t->setup.is_realtime && gpc_thread_realtime();
	if (k->is_realtime)
		return;
	setpriority(PRIO_PROCESS, 0, -20);
	ask_for_short_slices();
	gpc_warn(k->t->setup.log, k->t->setup.name,
		 "sampling is not at real-time priority (CAP_SYS_NICE, --reader-priority): on a "
		 "busy machine many samples will be left out");
}

/* At random distances: not in step with anything, nor with what ticks cause (as in
 * source/spacing.h). While a tick is under way its thread stands still, so the next one is
 * counted from its end. */
static uint64_t next_due(struct ticker *k)
{
	uint64_t every = k->t->setup.every_ns;

	return gpc_now_ns() +
	       gpc_random_distance(&k->random, every - (k->took_ns < every ? k->took_ns : 0));
}

/* Over the budget: samples are left out, not caught up with. A second's worth can be spent
 * at once. */
static bool can_afford(const struct ticker *k, uint64_t now)
{
	return now + GPC_SECOND_NS >= k->paid_until_ns;
}

static void spend(struct ticker *k, uint64_t now, uint64_t ns)
{
	if (k->paid_until_ns < now)
		k->paid_until_ns = now;
	k->paid_until_ns += ns * 1000 / k->t->setup.permille;
}

static bool has_targets(struct gpc_ticks *t)
{
	bool has;

	gpc_ticks_lock(t);
	has = t->targets.n > 0;
	gpc_ticks_unlock(t);
	return has;
}

/* Until due; false: it is over. Without targets nothing is due. */
static bool wait_until(struct gpc_ticks *t, uint64_t due)
{
	struct pollfd fds[2] = {{.fd = t->stop_fd, .events = POLLIN},
				{.fd = t->wake_fd, .events = POLLIN}};
	uint64_t count, now;

	while (!has_targets(t)) {
		if ((poll(fds, 2, -1) < 0 && errno != EINTR) || fds[0].revents)
			return false;
		if (fds[1].revents && read(t->wake_fd, &count, sizeof count) < 0)
			continue;
	}
	while ((now = gpc_now_ns()) < due) {
		struct timespec left = gpc_timespec(due - now);

		if (ppoll(fds, 1, &left, NULL) > 0)
			return false;
	}
	return true;
}

static void *run(void *arg)
{
	struct ticker *k = arg;
	uint64_t due, now;

	k->own_fd =
		gpc_exec_start_open(k->t->proc_fd, (int32_t)getpid(), (int32_t)syscall(SYS_gettid));
	take_priority(k);
	gpc_random_init(&k->random, gpc_now_ns());
	for (;;) {
		due = next_due(k);
		if (!wait_until(k->t, due))
			break;
		now = gpc_now_ns();
		gpc_ticks_lock(k->t);
		if (!can_afford(k, now) || (!k->is_realtime && now - due > LATE_NS)) {
			k->t->stats.late++;
			gpc_ticks_unlock(k->t);
			continue;
		}
		now = gpc_now_ns();
		tick(k);
		gpc_ticks_unlock(k->t);
		k->took_ns = gpc_now_ns() - now;
		spend(k, now, k->took_ns);
	}
	if (k->own_fd >= 0)
		close(k->own_fd);
	free(k);
	return NULL;
}

/* ---- who is sampled -------------------------------------------------------------------------- */

void gpc_ticks_lock(struct gpc_ticks *t)
{
	pthread_mutex_lock(&t->lock);
}

void gpc_ticks_unlock(struct gpc_ticks *t)
{
	pthread_mutex_unlock(&t->lock);
}

uint64_t gpc_ticks_target(const struct gpc_ticks *t)
{
	return t->target;
}

void gpc_ticks_stats(struct gpc_ticks *t, struct gpc_ticks_stats *ret)
{
	gpc_ticks_lock(t);
	*ret = t->stats;
	gpc_ticks_unlock(t);
}

gpc_status gpc_ticks_add(struct gpc_ticks *t, const struct gpc_target *target, void *tctx)
{
	struct gpc_tick_target *added = calloc(1, sizeof *added);
	uint64_t one = 1;
	bool is_added;

	if (!added)
		return GPC_E_NOMEM;
	*added = (struct gpc_tick_target){.refs = 1,
					  .id = target->id,
					  .pid = target->pid,
					  .ns_pid = target->ns_pid,
					  .target = target,
					  .tctx = tctx,
					  .busy = {{target->pid, target->ns_pid}},
					  .n_busy = 1};
	gpc_ticks_lock(t);
	is_added = vec_push(&t->targets, added);
	gpc_ticks_unlock(t);
	if (!is_added)
		gpc_tick_target_put(added);
	else if (write(t->wake_fd, &one, sizeof one) < 0)
		return GPC_OK; /* the counter is full: it is awake */
	return is_added ? GPC_OK : GPC_E_NOMEM;
}

void gpc_ticks_remove(struct gpc_ticks *t, uint64_t target)
{
	gpc_ticks_lock(t);
	for (size_t i = 0; i < t->targets.n; i++) {
		struct gpc_tick_target *at = t->targets.at[i];

		if (at->id != target)
			continue;
		t->targets.at[i] = t->targets.at[--t->targets.n];
		at->target = NULL;
		gpc_tick_target_put(at);
		break;
	}
	gpc_ticks_unlock(t);
}

/* ---- life ---------------------------------------------------------------------------------------
 */

static gpc_status start(struct gpc_ticks *t, struct gpc_err *err)
{
	struct ticker *k = calloc(1, sizeof *k);

	if (!k)
		return gpc_err_nomem(err);
	k->t = t;
	if (gpc_thread_start(&t->ticker, "gpc-ticker", run, k, err) < 0) {
		free(k);
		return GPC_E_SYSTEM;
	}
	t->is_running = true;
	return gpc_thread_start(&t->lookout, "gpc-threads", gpc_ticks_lookout, t, err);
}

gpc_status gpc_ticks_new(const struct gpc_ticks_setup *setup, struct gpc_ticks **ret,
			 struct gpc_err *err)
{
	struct gpc_ticks *t = calloc(1, sizeof *t);
	gpc_status st;

	if (!t)
		return gpc_err_nomem(err);
	t->setup = *setup;
	gpc_mutex_init_inherit(&t->lock);
	t->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->proc_fd < 0 || t->stop_fd < 0 || t->wake_fd < 0)
		st = gpc_err_sys(err, "open /proc");
	else
		st = start(t, err);
	if (st < 0) {
		gpc_ticks_free(t);
		return st;
	}
	*ret = t;
	return GPC_OK;
}

void gpc_ticks_free(struct gpc_ticks *t)
{
	uint64_t one = 1;

	if (!t)
		return;
	if (t->is_running && write(t->stop_fd, &one, sizeof one) == sizeof one) {
		pthread_join(t->ticker, NULL);
		if (t->lookout)
			pthread_join(t->lookout, NULL);
	}
	for (size_t i = 0; i < t->targets.n; i++)
		gpc_tick_target_put(t->targets.at[i]);
	vec_deinit(&t->targets);
	if (t->proc_fd >= 0)
		close(t->proc_fd);
	if (t->stop_fd >= 0)
		close(t->stop_fd);
	if (t->wake_fd >= 0)
		close(t->wake_fd);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
