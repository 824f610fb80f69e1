/* SPDX-License-Identifier: Apache-2.0 */
#include "source/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "source/cpus.h"
#include "source/reader_impl.h"
#include "source/slot.h"
#include "source/tids.h"

#define MIN_RING_BYTES 8192

struct stream {
	struct gpc_perf_request req;
	struct perf_event_attr attr; /* what the kernel accepted */
	vec(int32_t) pids;           /* empty: system-wide */
	bool is_open;
	uint64_t dropped; /* by rings that were closed since */
};

struct gpc_reader {
	struct gpc_log *log;
	int epoll;
	struct gpc_cpus cpus;
	bool is_incomplete; /* some CPU has no ring of some stream: to be tried again */
	vec(struct gpc_slot *) slots;
	vec(struct stream) streams;
	vec(struct gpc_slot *) heap;
	uint64_t scratch[GPC_RECORD_MAX / 8];
	struct gpc_pulled pulled;
	/* Pull. */
	bool is_pulling;
	struct gpc_pull_hooks hooks;
	enum gpc_priority wanted, got;
};

gpc_status gpc_reader_new(struct gpc_log *log, struct gpc_reader **ret, struct gpc_err *err)
{
	struct gpc_reader *r = calloc(1, sizeof *r);

	if (!r)
		return gpc_err_nomem(err);
	r->log = log;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0) {
		free(r);
		return gpc_err_sys(err, "epoll");
	}
	*ret = r;
	return gpc_cpus_online(&r->cpus, err);
}

/* ---- pull ------------------------------------------------------------------ */

/* A reader that reads so long is given up. Others than real-time ones may wait for
 * the machine or for whoever holds a lock. */
#define HANG_NS       (50 * GPC_MS_NS)
#define HANG_OTHER_NS GPC_SECOND_NS

static bool is_pulled(const struct gpc_reader *r, const struct gpc_slot *s)
{
	return r->is_pulling && r->streams.at[s->stream].req.pulled;
}

static gpc_status pull_slot(struct gpc_reader *r, struct gpc_slot *s, struct gpc_err *err)
{
	enum gpc_priority got;

	if (!is_pulled(r, s) || s->thread)
		return GPC_OK;
	gpc_try(gpc_reader_thread_start(s, &r->hooks, r->wanted, &got, err));
	if (got > r->got)
		r->got = got;
	return GPC_OK;
}

gpc_status gpc_reader_start_pull(struct gpc_reader *r, const struct gpc_pull_hooks *hooks,
				 enum gpc_priority wanted, enum gpc_priority *got,
				 struct gpc_err *err)
{
	r->is_pulling = true;
	r->hooks = *hooks;
	r->wanted = wanted;
	r->got = wanted;
	for (size_t i = 0; i < r->slots.n; i++)
		gpc_try(pull_slot(r, r->slots.at[i], err));
	*got = r->got;
	return GPC_OK;
}

void gpc_reader_stop_pull(struct gpc_reader *r)
{
	for (size_t i = 0; i < r->slots.n; i++)
		gpc_reader_thread_stop(r->slots.at[i]);
	r->is_pulling = false;
}

void gpc_reader_check_pull(struct gpc_reader *r, bool is_calm)
{
	for (size_t i = 0; r->is_pulling && i < r->slots.n; i++) {
		gpc_reader_thread_set_calm(r->slots.at[i], is_calm);
		gpc_reader_thread_check(r->slots.at[i],
					r->got == GPC_PRIORITY_REALTIME ? HANG_NS : HANG_OTHER_NS);
	}
}

/* ---- life and streams -------------------------------------------------------- */

static void cleanup_slot(struct gpc_slot **s)
{
	gpc_slot_free(*s);
}

/* What it counted stays counted. */
static void drop_slot(struct gpc_reader *r, struct gpc_slot *s)
{
	if (s->stream < r->streams.n)
		r->streams.at[s->stream].dropped += s->dropped;
	if (s->watched >= 0)
		epoll_ctl(r->epoll, EPOLL_CTL_DEL, s->watched, NULL);
	gpc_slot_free(s);
}

void gpc_reader_free(struct gpc_reader *r)
{
	if (!r)
		return;
	gpc_reader_stop_pull(r);
	for (size_t i = 0; i < r->slots.n; i++)
		gpc_slot_free(r->slots.at[i]);
	for (size_t i = 0; i < r->streams.n; i++)
		vec_deinit(&r->streams.at[i].pids);
	vec_deinit(&r->slots);
	vec_deinit(&r->streams);
	vec_deinit(&r->heap);
	gpc_cpus_deinit(&r->cpus);
	close(r->epoll);
	free(r);
}

uint64_t gpc_reader_second_bytes(const struct gpc_perf_request *req)
{
	uint64_t each = 512 + (req->user_state ? 256 + req->stack_bytes : 0);

	return req->samples ? (req->is_period ? 1000 : req->rate) * each : 65536;
}

/* A second of records, within reason. */
static size_t ring_bytes(const struct gpc_perf_request *req)
{
	uint64_t want = gpc_reader_second_bytes(req);
	size_t bytes = 32768, most = req->user_state ? 8388608 : 1048576;

	while (bytes < want && bytes < most)
		bytes *= 2;
	return bytes;
}

static bool watch(struct gpc_reader *r, struct gpc_slot *slot, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		return false;
	slot->watched = fd;
	return true;
}

static gpc_status adopt_first(struct gpc_reader *r, struct gpc_slot *slot, const struct stream *st,
			      struct gpc_err *err)
{
	gpc_status status =
		gpc_ring_map(slot->fd, ring_bytes(&st->req), MIN_RING_BYTES, &slot->ring, err);

	if (status < 0)
		return status;
	slot->ring.format.sample_type = st->attr.sample_type;
	slot->ring.format.regs_mask = st->attr.sample_regs_user;
	slot->ring.format.sample_id_all = st->attr.sample_id_all;
	/* Samples that can be pulled wake their CPU's reader, each of them; the source's
	 * thread comes for them by its own clock. */
	if (!st->req.pulled && !watch(r, slot, slot->fd))
		return gpc_err_sys(err, "watch a perf ring");
	return GPC_OK;
}

/* One more event on the slot's CPU; the first one maps the ring. */
static gpc_status add_event(struct gpc_reader *r, struct gpc_slot *slot, struct stream *st,
			    pid_t pid, struct gpc_err *err)
{
	autoclose int fd = -1;

	gpc_try(gpc_perf_open(gpc_perf_open_syscall, &st->attr, pid, (int)slot->cpu, r->log, &fd,
			      err));
	if (slot->fd < 0) {
		slot->fd = take_fd(&fd);
		return adopt_first(r, slot, st, err);
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, slot->fd) < 0)
		return gpc_err_sys(err, "share a perf ring");
	if (!vec_push(&slot->others, fd))
		return gpc_err_nomem(err);
	take_fd(&fd);
	return GPC_OK;
}

/* All threads of a process that exist now. They are listed before the first is
 * opened: one that starts later inherits the event of the thread that starts it, and
 * would be counted twice if it were opened too. (Who starts between the listing and
 * the opening of that thread is not seen on this CPU.) */
static gpc_status add_process(struct gpc_reader *r, struct gpc_slot *slot, struct stream *st,
			      int32_t pid, struct gpc_err *err)
{
	autocall(gpc_tids_deinit) struct gpc_tids threads;
	unsigned found = 0;

	gpc_try(gpc_tids_read(pid, &threads, err));
	for (size_t i = 0; i < threads.list.n; i++) {
		gpc_status status = add_event(r, slot, st, threads.list.at[i], err);

		if (status == GPC_E_GONE)
			continue;
		if (status < 0)
			return gpc_err_prefix(err, "process %d, thread %d", pid,
					      threads.list.at[i]);
		found++;
	}
	return found ? GPC_OK : gpc_err_set(err, GPC_E_GONE, "process %d has ended", pid);
}

static gpc_status fill_slot(struct gpc_reader *r, struct gpc_slot *slot, struct stream *st,
			    struct gpc_err *err)
{
	unsigned found = 0;

	if (!st->pids.n)
		return add_event(r, slot, st, -1, err);
	for (size_t i = 0; i < st->pids.n; i++) {
		gpc_status status = add_process(r, slot, st, st->pids.at[i], err);

		if (status == GPC_OK)
			found++;
		else if (status != GPC_E_GONE)
			return status;
	}
	return found ? GPC_OK
		     : gpc_err_set(err, GPC_E_GONE,
				   "none of the processes given with --pids lives");
}

static void enable(const struct gpc_slot *slot, unsigned long request)
{
	ioctl(slot->fd, request, 0);
	for (size_t i = 0; i < slot->others.n; i++)
		ioctl(slot->others.at[i], request, 0);
}

static gpc_status open_cpu(struct gpc_reader *r, uint32_t stream, uint32_t cpu, struct gpc_err *err)
{
	autocall(cleanup_slot) struct gpc_slot *slot = gpc_slot_new(cpu, stream);

	if (!slot || !vec_reserve(&r->slots, 1) || !vec_reserve(&r->heap, r->slots.n + 1))
		return gpc_err_nomem(err);
	/* What children inherit keeps its distance. */
	if (!r->streams.at[stream].pids.n)
		slot->mean_ns = gpc_perf_timer_ns(&r->streams.at[stream].req);
	gpc_try(fill_slot(r, slot, &r->streams.at[stream], err));
	enable(slot, PERF_EVENT_IOC_ENABLE);
	r->slots.at[r->slots.n++] = slot;
	/* Without a reader its ring is read like any other. */
	if (pull_slot(r, take(slot), err) < 0 && err)
		gpc_warn(r->log, "source", "CPU %u has no reader: %s", cpu, err->text);
	return GPC_OK;
}

gpc_status gpc_reader_open(struct gpc_reader *r, const struct gpc_perf_request *req,
			   const int32_t *pids, uint32_t n_pids, uint32_t *ret_stream,
			   struct gpc_err *err)
{
	struct stream st = {.req = *req, .is_open = true};
	uint32_t id = (uint32_t)r->streams.n;
	gpc_status status = GPC_OK;

	if (!st.req.wake_bytes)
		st.req.wake_bytes = (uint32_t)ring_bytes(req) / 4;
	gpc_perf_attr(&st.req, &st.attr);
	for (uint32_t i = 0; i < n_pids; i++)
		if (!vec_push(&st.pids, pids[i]))
			status = GPC_E_NOMEM;
	if (status < 0 || !vec_push(&r->streams, st)) {
		vec_deinit(&st.pids);
		return gpc_err_nomem(err);
	}
	for (size_t i = 0; i < r->cpus.list.n && status == GPC_OK; i++) {
		uint32_t cpu = r->cpus.list.at[i];

		status = open_cpu(r, id, cpu, err);
		if (status < 0 && err && err->sys == ENODEV) {
			r->is_incomplete = true; /* went off line meanwhile */
			status = GPC_OK;
		} else if (status < 0 && status != GPC_E_GONE) {
			gpc_err_prefix(err, "%s on CPU %u", req->name, cpu);
		}
	}
	if (status < 0) {
		gpc_reader_close(r, id);
		return status;
	}
	*ret_stream = id;
	return GPC_OK;
}

void gpc_reader_close(struct gpc_reader *r, uint32_t stream)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->slots.n; i++) {
		if (r->slots.at[i]->stream == stream) {
			gpc_reader_thread_stop(r->slots.at[i]);
			drop_slot(r, r->slots.at[i]);
		} else
			r->slots.at[kept++] = r->slots.at[i];
	}
	r->slots.n = kept;
	r->streams.at[stream].is_open = false;
}

gpc_status gpc_reader_adopt(struct gpc_reader *r, const struct gpc_reader_ring *ring,
			    struct gpc_err *err)
{
	struct gpc_slot *slot = gpc_slot_new(ring->cpu, ring->stream);

	if (!slot || !vec_reserve(&r->slots, 1) || !vec_reserve(&r->heap, r->slots.n + 1)) {
		gpc_slot_free(slot);
		return gpc_err_nomem(err);
	}
	slot->ring.page = ring->mapping;
	slot->ring.data = (uint8_t *)ring->mapping + sysconf(_SC_PAGESIZE);
	slot->ring.size = ring->bytes;
	slot->ring.format = ring->format;
	slot->dropped = ring->dropped;
	r->slots.at[r->slots.n++] = slot;
	return GPC_OK;
}

struct gpc_slot *gpc_reader_slot(struct gpc_reader *r, size_t i)
{
	return r->slots.at[i];
}

int gpc_reader_fd(const struct gpc_reader *r)
{
	return r->epoll;
}

/* Another event that writes into the same ring tells of it from now on. */
static void watch_another(struct gpc_reader *r, int ended)
{
	for (size_t i = 0; i < r->slots.n; i++) {
		struct gpc_slot *s = r->slots.at[i];
		int fd = ended;

		if (s->watched != ended)
			continue;
		epoll_ctl(r->epoll, EPOLL_CTL_DEL, ended, NULL);
		s->watched = -1;
		do
			fd = gpc_slot_next_fd(s, fd);
		while (fd >= 0 && !watch(r, s, fd));
	}
}

void gpc_reader_woken(struct gpc_reader *r)
{
	struct epoll_event events[32];
	int n = epoll_wait(r->epoll, events, 32, 0);

	for (int i = 0; i < n; i++)
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			watch_another(r, events[i].data.fd);
}

/* ---- the heap of slots by next_time ------------------------------------- */

/* Of the same time, side-band (the first stream) goes before samples, and the
 * rest has an order that does not depend on the past. */
static bool is_before(const struct gpc_slot *a, const struct gpc_slot *b)
{
	if (a->next_time != b->next_time)
		return a->next_time < b->next_time;
	return a->stream != b->stream ? a->stream < b->stream : a->cpu < b->cpu;
}

static void sift_down(struct gpc_reader *r, size_t i)
{
	struct gpc_slot **h = r->heap.at;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= r->heap.n)
			return;
		if (child + 1 < r->heap.n && is_before(h[child + 1], h[child]))
			child++;
		if (!is_before(h[child], h[i]))
			return;
		struct gpc_slot *swap = h[i];
		h[i] = h[child];
		h[child] = swap;
		i = child;
	}
}

/* A record that a reader works on holds back what is younger. */
static void build_heap(struct gpc_reader *r, uint64_t *until_ns)
{
	r->heap.n = 0;
	for (size_t i = 0; i < r->slots.n; i++) {
		struct gpc_slot *s = r->slots.at[i];
		enum gpc_slot_state state;

		gpc_slot_refresh(s);
		state = gpc_slot_next_time(s, &s->next_time);
		if (state == GPC_SLOT_READY)
			r->heap.at[r->heap.n++] = s;
		else if (state == GPC_SLOT_BUSY && s->next_time < *until_ns)
			*until_ns = s->next_time;
	}
	for (size_t i = r->heap.n / 2; i-- > 0;)
		sift_down(r, i);
}

static void visit(struct gpc_reader *r, struct gpc_slot *s, const struct gpc_reader_visitor *v)
{
	struct gpc_perf_record record;
	size_t size = 0;
	const void *bytes = gpc_slot_take(s, r->scratch, &size, &r->pulled);

	if (!bytes)
		return;
	if (v->raw)
		v->raw(v->ctx, bytes, size, s->stream, &s->ring.format);
	if (gpc_perf_decode(bytes, size, &s->ring.format, &record))
		v->record(v->ctx, &record, s->stream, r->pulled.n ? &r->pulled : NULL);
	else
		gpc_warn(r->log, "source", "perf: a record of CPU %u does not fit its length",
			 s->cpu);
}

uint64_t gpc_reader_drain(struct gpc_reader *r, uint64_t until_ns,
			  const struct gpc_reader_visitor *v)
{
	uint64_t n = 0;

	build_heap(r, &until_ns);
	while (r->heap.n && r->heap.at[0]->next_time < until_ns) {
		struct gpc_slot *s = r->heap.at[0];
		enum gpc_slot_state state;

		visit(r, s, v);
		n++;
		state = gpc_slot_next_time(s, &s->next_time);
		if (state == GPC_SLOT_BUSY && s->next_time < until_ns)
			until_ns = s->next_time;
		if (state != GPC_SLOT_READY)
			r->heap.at[0] = r->heap.at[--r->heap.n];
		sift_down(r, 0);
	}
	for (size_t i = 0; i < r->slots.n; i++)
		gpc_slot_release(r->slots.at[i]);
	return n;
}

bool gpc_reader_is_behind(struct gpc_reader *r, uint64_t until_ns)
{
	for (size_t i = 0; i < r->slots.n; i++)
		if (gpc_slot_is_behind(r->slots.at[i], until_ns))
			return true;
	return false;
}

/* ---- CPUs that come and go ---------------------------------------------- */

/* The event of a CPU that went off line stays dead when the CPU comes back: it
 * counts no time any more. Events of processes count theirs only. */
static bool is_dead(const struct gpc_reader *r, struct gpc_slot *s)
{
	struct {
		uint64_t value, enabled_ns;
	} now;

	if (r->streams.at[s->stream].pids.n || read(s->fd, &now, sizeof now) != (ssize_t)sizeof now)
		return false;
	if (now.enabled_ns == s->enabled_ns)
		return true;
	s->enabled_ns = now.enabled_ns;
	return false;
}

/* Closes what cannot count any more; what it still holds is read first. True
 * when some went. */
static bool let_go(struct gpc_reader *r, const struct gpc_cpus *now)
{
	size_t kept = 0, before = r->slots.n;

	for (size_t i = 0; i < r->slots.n; i++) {
		struct gpc_slot *s = r->slots.at[i];
		bool is_over = !gpc_cpus_has(now, s->cpu) || is_dead(r, s);
		uint64_t time;

		if (is_over)
			gpc_reader_thread_stop(s);
		gpc_slot_refresh(s);
		if (!is_over || gpc_slot_next_time(s, &time) != GPC_SLOT_EMPTY)
			r->slots.at[kept++] = s;
		else
			drop_slot(r, s);
	}
	r->slots.n = kept;
	return kept != before;
}

static bool has_slot(const struct gpc_reader *r, uint32_t stream, uint32_t cpu)
{
	for (size_t i = 0; i < r->slots.n; i++)
		if (r->slots.at[i]->stream == stream && r->slots.at[i]->cpu == cpu)
			return true;
	return false;
}

/* False: to be tried again. */
static bool take_up_cpu(struct gpc_reader *r, uint32_t stream, uint32_t cpu)
{
	struct gpc_err err = {0};
	gpc_status st = open_cpu(r, stream, cpu, &err);

	if (st == GPC_OK) {
		gpc_info(r->log, "source", "CPU %u is on line: sampled too", cpu);
		return true;
	}
	if (st == GPC_E_GONE) /* none of its processes lives */
		return true;
	if (err.sys == ENODEV || r->is_incomplete)
		gpc_debug(r->log, "source", "CPU %u came: %s", cpu, err.text);
	else
		gpc_warn(r->log, "source", "CPU %u came, and is not sampled for the time being: %s",
			 cpu, err.text);
	return false;
}

static void take_up(struct gpc_reader *r, const struct gpc_cpus *now)
{
	bool is_complete = true;

	for (uint32_t stream = 0; stream < r->streams.n; stream++)
		for (size_t i = 0; r->streams.at[stream].is_open && i < now->list.n; i++)
			if (!has_slot(r, stream, now->list.at[i]) &&
			    !take_up_cpu(r, stream, now->list.at[i]))
				is_complete = false;
	r->is_incomplete = !is_complete;
}

void gpc_reader_follow_cpus(struct gpc_reader *r)
{
	struct gpc_cpus now = {0};
	bool is_same;

	if (gpc_cpus_online(&now, NULL) < 0)
		return;
	is_same = now.list.n == r->cpus.list.n &&
		  memcmp(now.list.at, r->cpus.list.at, now.list.n * sizeof *now.list.at) == 0;
	if (let_go(r, &now) || !is_same || r->is_incomplete)
		take_up(r, &now);
	gpc_cpus_deinit(&r->cpus);
	r->cpus = now;
}

void gpc_reader_stats(const struct gpc_reader *r, uint32_t stream, struct gpc_reader_stats *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->cpus = (uint32_t)r->cpus.list.n;
	ret->dropped = stream < r->streams.n ? r->streams.at[stream].dropped : 0;
	for (size_t i = 0; i < r->slots.n; i++) {
		if (r->slots.at[i]->stream != stream)
			continue;
		ret->rings++;
		ret->ring_bytes += r->slots.at[i]->ring.size;
		ret->reader_cpu_ns += gpc_reader_thread_cpu_ns(r->slots.at[i]);
		ret->dropped += r->slots.at[i]->dropped;
	}
	ret->no_kernel = stream < r->streams.n && r->streams.at[stream].attr.exclude_kernel;
}
