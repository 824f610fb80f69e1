/* SPDX-License-Identifier: Apache-2.0 */
#include "source/pull_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hot.h"
#include "base/thread.h"
#include "source/spacing.h"

#define BATCH_MS 100
#define STOP_NS  (500 * GPC_MS_NS) /* then a reader counts as hanging */
#define GIVEN_UP UINT64_MAX

/* Shared by the thread and the slot's owner; the last one frees it: a reader
 * that hangs in a process may outlive everything else. */
struct gpc_reader_thread {
	int refs;
	enum gpc_priority wanted, got;
	pthread_t thread;
	int stop_fd, tid;
	uint64_t suspect_since_ns, suspect_cpu_ns; /* the owner's */
	bool is_ready;
	pthread_mutex_t lock; /* covers is_ready */
	pthread_cond_t ready;

	/* What each sample needs, in as few cache lines as can be. */
	struct gpc_slot *slot; /* not to be touched by a thread that was given up */
	uint32_t cpu;
	int epoll;
	int ring_fd;
	bool is_stopping; /* atomic */
	bool is_given_up; /* the thread's own, as what follows */
	bool is_late;
	/* Atomic. 0: not in pull(); GIVEN_UP: in there, and whoever comes back finds it. The
	 * slot and the record in flight are the owner's from then on. */
	uint64_t busy_since_ns;
	uint64_t sampled_ns;
	const void *record; /* the one in flight, n bytes */
	size_t n;
	struct gpc_perf_format format;
	struct gpc_pull_hooks hooks;
	uint64_t mean_ns; /* of the slot */
	/* The slot's, so that the record in flight stays there for who hangs. */
	struct gpc_ring ring;
	struct gpc_spacing spacing;
	struct gpc_pulled pulled; /* begins with what is not large */
	uint64_t wrapped[GPC_RECORD_MAX / 8];
};

const char *gpc_priority_name(enum gpc_priority p)
{
	static const char *const names[] = {"realtime", "nice", "normal", "batched"};

	return names[p];
}

static void put(struct gpc_reader_thread *t)
{
	if (__atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	close(t->epoll);
	close(t->stop_fd);
	gpc_ring_unmap(&t->ring);
	free(t->pulled.own);
	pthread_cond_destroy(&t->ready);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- the thread ------------------------------------------------------------------ */

static enum gpc_priority take_priority(enum gpc_priority wanted)
{
	if (wanted == GPC_PRIORITY_REALTIME && gpc_thread_realtime())
		return GPC_PRIORITY_REALTIME;
	if (wanted <= GPC_PRIORITY_NICE && setpriority(PRIO_PROCESS, 0, -20) == 0)
		return GPC_PRIORITY_NICE;
	return wanted == GPC_PRIORITY_BATCHED ? GPC_PRIORITY_BATCHED : GPC_PRIORITY_NORMAL;
}

static void tell_ready(struct gpc_reader_thread *t, enum gpc_priority got)
{
	autolock(&t->lock);

	t->got = got;
	t->tid = (int)syscall(SYS_gettid);
	t->is_ready = true;
	pthread_cond_signal(&t->ready);
}

static bool is_stopping(struct gpc_reader_thread *t)
{
	return __atomic_load_n(&t->is_stopping, __ATOMIC_ACQUIRE);
}

/* Hands the record in flight on, if there is one, and takes the next from the ring, if
 * there is one. False: this reader was given up while it read. */
GPC_HOT static bool go_on(struct gpc_reader_thread *t, bool has_frames)
{
	const struct gpc_pulled *pulled = has_frames ? &t->pulled : NULL;
	const void *next = NULL;

	if (t->is_given_up)
		return false;
	if (t->record && is_stopping(t))
		gpc_slot_put(t->slot, t->record, t->n, pulled);
	else if (t->record)
		next = gpc_slot_next(t->slot, t->record, t->n, pulled, t->wrapped, &t->n);
	else if (!is_stopping(t))
		next = gpc_slot_lift(t->slot, t->wrapped, &t->n);
	t->record = next;
	t->sampled_ns = next ? t->slot->in_flight_ns : 0;
	return true;
}

static bool is_sample(const struct gpc_reader_thread *t)
{
	struct perf_event_header head;

	memcpy(&head, t->record, sizeof head);
	return head.type == PERF_RECORD_SAMPLE;
}

/* By its edges: the ring is always read to its end, and the kernel need not look a second
 * time before it waits. fd below 0: nobody is left who writes into the ring. */
static void watch(struct gpc_reader_thread *t, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	if (fd >= 0)
		(void)epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* Another event that writes into the ring tells of it after fd has ended. */
static void watch_another(struct gpc_reader_thread *t, int fd)
{
	(void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, fd, NULL);
	watch(t, gpc_slot_next_fd(t->slot, fd));
}

GPC_HOT static bool pull(struct gpc_reader_thread *t)
{
	uint64_t since = gpc_now_ns();
	bool has_frames;

	__atomic_store_n(&t->busy_since_ns, since, __ATOMIC_RELEASE);
	t->pulled.begun_ns = since;
	has_frames = t->hooks.pull(t->hooks.ctx, t->cpu, t->record, t->n, &t->format, &t->pulled);
	t->is_given_up = !__atomic_compare_exchange_n(&t->busy_since_ns, &since, 0, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return has_frames;
}

GPC_HOT static bool read_ring(struct gpc_reader_thread *t)
{
	bool is_ours = go_on(t, false);

	while (is_ours && t->record) {
		bool has_frames = false;

		if (is_sample(t)) {
			/* Before the reading, whose time is sampled like any other. */
			gpc_spacing_next(&t->spacing, t->sampled_ns);
			has_frames = !t->is_late && pull(t);
		}
		is_ours = go_on(t, has_frames);
	}
	return is_ours;
}

/* The hooks are there as long as this reader is the slot's. */
static void end(struct gpc_reader_thread *t)
{
	if (!t->is_given_up && t->hooks.end)
		t->hooks.end(t->hooks.ctx, &t->pulled);
}

GPC_HOT static void *run(void *arg)
{
	struct gpc_reader_thread *t = arg;
	bool is_batched = t->wanted == GPC_PRIORITY_BATCHED;
	struct epoll_event ev;
	enum gpc_priority got;
	bool is_over = false;

	gpc_thread_pin(t->cpu);
	gpc_thread_leave_rseq();
	got = take_priority(t->wanted);
	/* Any other reader may be kept waiting, while the kernel repeats what may be a short
	 * distance. */
	gpc_spacing_init(&t->spacing, t->ring_fd, got == GPC_PRIORITY_REALTIME ? t->mean_ns : 0);
	/* What was sampled before there was a reader ran on since, however fresh it is.
	 * A batched one reads it with its first batch: no process is read before the
	 * starter, who holds locks that a reader that hangs is given up under, goes on. */
	t->is_late = true;
	/* Watched first: what is told of before is not told again. */
	if (!is_batched) {
		watch(t, t->ring_fd);
		is_over = !read_ring(t);
	}
	t->is_late = false;
	tell_ready(t, got);
	while (!is_over) {
		int n = epoll_wait(t->epoll, &ev, 1,
				   is_batched ? BATCH_MS : gpc_spacing_wait_ms(&t->spacing));

		if ((n < 0 && errno != EINTR) || (n > 0 && ev.data.fd == t->stop_fd))
			break;
		/* The event's thread has ended, or its CPU has gone. */
		if (n > 0 && ev.events & (EPOLLHUP | EPOLLERR))
			watch_another(t, ev.data.fd);
		if (n == 0)
			gpc_spacing_silent(&t->spacing);
		is_over = !read_ring(t);
	}
	end(t);
	put(t);
	return NULL;
}

/* ---- its owner ---------------------------------------------------------------------- */

static struct gpc_reader_thread *new_thread(struct gpc_slot *slot,
					    const struct gpc_pull_hooks *hooks,
					    enum gpc_priority wanted)
{
	struct gpc_reader_thread *t = calloc(1, sizeof *t);
	struct epoll_event stop = {.events = EPOLLIN};

	if (!t)
		return NULL;
	t->refs = 1;
	t->slot = slot;
	t->cpu = slot->cpu;
	t->ring_fd = slot->fd;
	t->mean_ns = slot->mean_ns;
	t->format = slot->ring.format;
	t->hooks = *hooks;
	t->wanted = wanted;
	gpc_mutex_init_inherit(&t->lock);
	gpc_cond_init(&t->ready);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->stop_fd = stop.data.fd = eventfd(0, EFD_CLOEXEC);
	if (t->epoll < 0 || t->stop_fd < 0 ||
	    epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->stop_fd, &stop) < 0 ||
	    !gpc_ring_share(&slot->ring, &t->ring)) {
		put(t);
		return NULL;
	}
	return t;
}

gpc_status gpc_reader_thread_start(struct gpc_slot *slot, const struct gpc_pull_hooks *hooks,
				   enum gpc_priority wanted, enum gpc_priority *got,
				   struct gpc_err *err)
{
	struct gpc_reader_thread *t = new_thread(slot, hooks, wanted);

	if (!t)
		return gpc_err_nomem(err);
	gpc_lock_take(&slot->lock);
	slot->thread = t;
	gpc_lock_give(&slot->lock);
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	if (gpc_thread_start(&t->thread, "gpc-reader", run, t, err) < 0) {
		gpc_lock_take(&slot->lock);
		slot->thread = NULL;
		gpc_lock_give(&slot->lock);
		put(t);
		put(t);
		return GPC_E_SYSTEM;
	}
	pthread_mutex_lock(&t->lock);
	while (!t->is_ready)
		pthread_cond_wait(&t->ready, &t->lock);
	*got = t->got;
	pthread_mutex_unlock(&t->lock);
	return GPC_OK;
}

/* Leaves the reader to itself when it is still in the pull() that began at since;
 * the record it holds goes on. Takes the slot's reference then. */
static bool give_up(struct gpc_slot *slot, uint64_t since)
{
	struct gpc_reader_thread *t = slot->thread;

	/* In pull() it holds a record and touches neither that nor the slot. */
	if (!since || !__atomic_compare_exchange_n(&t->busy_since_ns, &since, GIVEN_UP, false,
						   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	gpc_slot_put(slot, t->record, t->n, NULL);
	pthread_detach(t->thread);
	gpc_spacing_end(slot->fd, slot->mean_ns);
	t->hooks.hangs(t->hooks.ctx, &t->pulled);
	gpc_lock_take(&slot->lock);
	slot->thread = NULL;
	gpc_lock_give(&slot->lock);
	put(t);
	return true;
}

static bool joined_within(pthread_t thread, uint64_t ns)
{
	uint64_t until = gpc_now_ns() + ns;

	/* pthread_clockjoin_np would do, but the thread sanitizer does not know it. */
	while (pthread_tryjoin_np(thread, NULL) != 0) {
		if (gpc_now_ns() >= until)
			return false;
		usleep(500);
	}
	return true;
}

void gpc_reader_thread_stop(struct gpc_slot *slot)
{
	struct gpc_reader_thread *t = slot->thread;
	uint64_t one = 1;

	if (!t)
		return;
	__atomic_store_n(&t->is_stopping, true, __ATOMIC_RELEASE);
	(void)!write(t->stop_fd, &one, sizeof one);
	/* Whoever is not in pull() comes, however long a busy machine lets it wait. */
	do {
		uint64_t since = __atomic_load_n(&t->busy_since_ns, __ATOMIC_ACQUIRE);

		if (joined_within(t->thread, STOP_NS))
			break;
		if (give_up(slot, since))
			return;
	} while (true);
	gpc_spacing_end(slot->fd, slot->mean_ns);
	gpc_lock_take(&slot->lock);
	slot->thread = NULL;
	gpc_lock_give(&slot->lock);
	put(t);
}

uint64_t gpc_reader_thread_cpu_ns(struct gpc_slot *slot)
{
	clockid_t clock;

	if (!slot->thread || pthread_getcpuclockid(slot->thread->thread, &clock) != 0)
		return 0;
	return gpc_clock_ns(clock);
}

void gpc_reader_thread_set_calm(struct gpc_slot *slot, bool is_calm)
{
	if (slot->thread)
		__atomic_store_n(&slot->thread->spacing.is_calm, is_calm, __ATOMIC_RELAXED);
}

static bool is_runnable(int tid)
{
	char path[48], text[128];
	autoclose int fd = -1;
	const char *end;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'R';
}

/* Who only waits for a CPU does not hang; who computes for ever does. */
static bool is_hanging(struct gpc_slot *slot, uint64_t since, uint64_t limit_ns)
{
	struct gpc_reader_thread *t = slot->thread;
	uint64_t cpu_ns;

	if (!is_runnable(t->tid))
		return true;
	cpu_ns = gpc_reader_thread_cpu_ns(slot);
	if (t->suspect_since_ns != since) {
		t->suspect_since_ns = since;
		t->suspect_cpu_ns = cpu_ns;
	}
	return cpu_ns - t->suspect_cpu_ns > limit_ns;
}

bool gpc_reader_thread_check(struct gpc_slot *slot, uint64_t limit_ns)
{
	struct gpc_reader_thread *t = slot->thread;
	uint64_t since = t ? __atomic_load_n(&t->busy_since_ns, __ATOMIC_ACQUIRE) : 0;
	struct gpc_pull_hooks hooks;
	enum gpc_priority wanted, got;

	if (!since || gpc_now_ns() - since <= limit_ns || !is_hanging(slot, since, limit_ns))
		return false;
	hooks = t->hooks;
	wanted = t->wanted;
	if (!give_up(slot, since))
		return false;
	gpc_reader_thread_start(slot, &hooks, wanted, &got, NULL);
	return true;
}
