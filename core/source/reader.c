/* SPDX-License-Identifier: Apache-2.0 */
#include "source/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "source/cpus.h"
#include "source/reader_impl.h"
#include "source/ring.h"

#define MIN_RING_BYTES 8192
#define RECORD_MAX     65536

/* One CPU of one stream. The first event owns the ring, the others (more
 * threads, in pid mode) write into it. */
struct slot {
	struct gpc_ring ring;
	int fd;
	vec(int) others;
	uint32_t cpu, stream;
	uint64_t next_time;
	uint64_t enabled_ns; /* how long it has counted, when last looked at */
};

struct stream {
	struct gpc_perf_request req;
	struct perf_event_attr attr; /* what the kernel accepted */
	vec(int32_t) pids;           /* empty: system-wide */
	bool is_open;
};

struct gpc_reader {
	struct gpc_log *log;
	int epoll;
	struct gpc_cpus cpus;
	vec(struct slot *) slots;
	vec(struct stream) streams;
	vec(struct slot *) heap;
	uint64_t scratch[RECORD_MAX / 8];
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

static void slot_free(struct slot *s)
{
	if (!s)
		return;
	gpc_ring_unmap(&s->ring);
	for (size_t i = 0; i < s->others.n; i++)
		close(s->others.at[i]);
	if (s->fd >= 0)
		close(s->fd);
	vec_deinit(&s->others);
	free(s);
}

static void cleanup_slot(struct slot **s)
{
	slot_free(*s);
}

void gpc_reader_free(struct gpc_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->slots.n; i++)
		slot_free(r->slots.at[i]);
	for (size_t i = 0; i < r->streams.n; i++)
		vec_deinit(&r->streams.at[i].pids);
	vec_deinit(&r->slots);
	vec_deinit(&r->streams);
	vec_deinit(&r->heap);
	gpc_cpus_deinit(&r->cpus);
	close(r->epoll);
	free(r);
}

/* A second of records at the wanted rate, 512 bytes each, within reason. */
static size_t ring_bytes(const struct gpc_perf_request *req)
{
	uint64_t want = req->samples ? (req->is_period ? 1000 : req->rate) * 512 : 65536;
	size_t bytes = 32768;

	while (bytes < want && bytes < 1048576)
		bytes *= 2;
	return bytes;
}

static gpc_status adopt_first(struct gpc_reader *r, struct slot *slot, const struct stream *st,
			      struct gpc_err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};
	gpc_status status =
		gpc_ring_map(slot->fd, ring_bytes(&st->req), MIN_RING_BYTES, &slot->ring, err);

	if (status < 0)
		return status;
	slot->ring.format.sample_type = st->attr.sample_type;
	slot->ring.format.sample_id_all = st->attr.sample_id_all;
	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, slot->fd, &ev) < 0)
		return gpc_err_sys(err, "watch a perf ring");
	return GPC_OK;
}

/* One more event on the slot's CPU; the first one maps the ring. */
static gpc_status add_event(struct gpc_reader *r, struct slot *slot, struct stream *st, pid_t pid,
			    struct gpc_err *err)
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

/* All threads of a process that exist now; those that start while we look are
 * inherited from one that we have already. */
static gpc_status add_process(struct gpc_reader *r, struct slot *slot, struct stream *st,
			      int32_t pid, struct gpc_err *err)
{
	char path[64];
	autodir DIR *dir = NULL;
	struct dirent *e;
	unsigned found = 0;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return gpc_err_sys(err, "process %d", pid);
	while ((e = readdir(dir))) {
		int tid = atoi(e->d_name);
		gpc_status status;

		if (tid <= 0)
			continue;
		status = add_event(r, slot, st, tid, err);
		if (status == GPC_E_GONE)
			continue;
		if (status < 0)
			return gpc_err_prefix(err, "process %d, thread %d", pid, tid);
		found++;
	}
	return found ? GPC_OK : gpc_err_set(err, GPC_E_GONE, "process %d has ended", pid);
}

static gpc_status fill_slot(struct gpc_reader *r, struct slot *slot, struct stream *st,
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

static void enable(const struct slot *slot, unsigned long request)
{
	ioctl(slot->fd, request, 0);
	for (size_t i = 0; i < slot->others.n; i++)
		ioctl(slot->others.at[i], request, 0);
}

static gpc_status open_cpu(struct gpc_reader *r, uint32_t stream, uint32_t cpu, struct gpc_err *err)
{
	autocall(cleanup_slot) struct slot *slot = calloc(1, sizeof *slot);

	if (!slot || !vec_reserve(&r->slots, 1) || !vec_reserve(&r->heap, r->slots.n + 1))
		return gpc_err_nomem(err);
	slot->fd = -1;
	slot->cpu = cpu;
	slot->stream = stream;
	gpc_try(fill_slot(r, slot, &r->streams.at[stream], err));
	enable(slot, PERF_EVENT_IOC_ENABLE);
	r->slots.at[r->slots.n++] = take(slot);
	return GPC_OK;
}

/* In pid mode there is a descriptor per thread and CPU. */
static void raise_fd_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
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
	raise_fd_limit();
	for (size_t i = 0; i < r->cpus.list.n && status == GPC_OK; i++) {
		uint32_t cpu = r->cpus.list.at[i];

		status = open_cpu(r, id, cpu, err);
		if (status < 0 && err && err->sys == ENODEV)
			status = GPC_OK; /* went off line meanwhile */
		else if (status < 0 && status != GPC_E_GONE)
			gpc_err_prefix(err, "%s on CPU %u", req->name, cpu);
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
		if (r->slots.at[i]->stream == stream)
			slot_free(r->slots.at[i]);
		else
			r->slots.at[kept++] = r->slots.at[i];
	}
	r->slots.n = kept;
	r->streams.at[stream].is_open = false;
}

gpc_status gpc_reader_adopt(struct gpc_reader *r, const struct gpc_reader_ring *ring,
			    struct gpc_err *err)
{
	struct slot *slot = calloc(1, sizeof *slot);

	if (!slot || !vec_reserve(&r->slots, 1) || !vec_reserve(&r->heap, r->slots.n + 1)) {
		free(slot);
		return gpc_err_nomem(err);
	}
	slot->fd = -1;
	slot->cpu = ring->cpu;
	slot->stream = ring->stream;
	slot->ring.page = ring->mapping;
	slot->ring.data = (uint8_t *)ring->mapping + sysconf(_SC_PAGESIZE);
	slot->ring.size = ring->bytes;
	slot->ring.format = ring->format;
	r->slots.at[r->slots.n++] = slot;
	return GPC_OK;
}

int gpc_reader_fd(const struct gpc_reader *r)
{
	return r->epoll;
}

/* ---- the heap of slots by next_time ------------------------------------- */

/* Of the same time, side-band (the first stream) goes before samples, and the
 * rest has an order that does not depend on the past. */
static bool is_before(const struct slot *a, const struct slot *b)
{
	if (a->next_time != b->next_time)
		return a->next_time < b->next_time;
	return a->stream != b->stream ? a->stream < b->stream : a->cpu < b->cpu;
}

static void sift_down(struct gpc_reader *r, size_t i)
{
	struct slot **h = r->heap.at;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= r->heap.n)
			return;
		if (child + 1 < r->heap.n && is_before(h[child + 1], h[child]))
			child++;
		if (!is_before(h[child], h[i]))
			return;
		struct slot *swap = h[i];
		h[i] = h[child];
		h[child] = swap;
		i = child;
	}
}

static void build_heap(struct gpc_reader *r)
{
	r->heap.n = 0;
	for (size_t i = 0; i < r->slots.n; i++) {
		struct slot *s = r->slots.at[i];

		gpc_ring_refresh(&s->ring);
		if (gpc_ring_next_time(&s->ring, &s->next_time))
			r->heap.at[r->heap.n++] = s;
	}
	for (size_t i = r->heap.n / 2; i-- > 0;)
		sift_down(r, i);
}

static void visit(struct gpc_reader *r, struct slot *s, const struct gpc_reader_visitor *v)
{
	struct gpc_perf_record record;
	size_t size = 0;
	const void *bytes = gpc_ring_take(&s->ring, r->scratch, &size);

	if (!bytes)
		return;
	if (v->raw)
		v->raw(v->ctx, bytes, size, s->stream, &s->ring.format);
	if (gpc_perf_decode(bytes, size, &s->ring.format, &record))
		v->record(v->ctx, &record, s->stream);
	else
		gpc_warn(r->log, "source", "perf: a record of CPU %u does not fit its length",
			 s->cpu);
}

uint64_t gpc_reader_drain(struct gpc_reader *r, uint64_t until_ns,
			  const struct gpc_reader_visitor *v)
{
	uint64_t n = 0;

	build_heap(r);
	while (r->heap.n && r->heap.at[0]->next_time < until_ns) {
		struct slot *s = r->heap.at[0];

		visit(r, s, v);
		n++;
		if (!gpc_ring_next_time(&s->ring, &s->next_time))
			r->heap.at[0] = r->heap.at[--r->heap.n];
		sift_down(r, 0);
	}
	for (size_t i = 0; i < r->slots.n; i++)
		gpc_ring_release(&r->slots.at[i]->ring);
	return n;
}

/* ---- CPUs that come and go ---------------------------------------------- */

/* The event of a CPU that went off line stays dead when the CPU comes back: it
 * counts no time any more. Events of processes count theirs only. */
static bool is_dead(const struct gpc_reader *r, struct slot *s)
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
		struct slot *s = r->slots.at[i];
		bool is_over = !gpc_cpus_has(now, s->cpu) || is_dead(r, s);

		gpc_ring_refresh(&s->ring);
		if (!is_over || s->ring.head != s->ring.tail)
			r->slots.at[kept++] = s;
		else
			slot_free(s);
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

static void take_up(struct gpc_reader *r, const struct gpc_cpus *now)
{
	for (uint32_t stream = 0; stream < r->streams.n; stream++) {
		for (size_t i = 0; r->streams.at[stream].is_open && i < now->list.n; i++) {
			struct gpc_err err;
			uint32_t cpu = now->list.at[i];

			if (has_slot(r, stream, cpu))
				continue;
			if (open_cpu(r, stream, cpu, &err) < 0)
				gpc_debug(r->log, "source", "CPU %u came: %s", cpu, err.text);
			else
				gpc_info(r->log, "source", "CPU %u is on line: sampled too", cpu);
		}
	}
}

void gpc_reader_follow_cpus(struct gpc_reader *r)
{
	struct gpc_cpus now = {0};
	bool is_same;

	if (gpc_cpus_online(&now, NULL) < 0)
		return;
	is_same = now.list.n == r->cpus.list.n &&
		  memcmp(now.list.at, r->cpus.list.at, now.list.n * sizeof *now.list.at) == 0;
	if (let_go(r, &now) || !is_same)
		take_up(r, &now);
	gpc_cpus_deinit(&r->cpus);
	r->cpus = now;
}

void gpc_reader_stats(const struct gpc_reader *r, uint32_t stream, struct gpc_reader_stats *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->cpus = (uint32_t)r->cpus.list.n;
	for (size_t i = 0; i < r->slots.n; i++) {
		if (r->slots.at[i]->stream != stream)
			continue;
		ret->rings++;
		ret->ring_bytes += r->slots.at[i]->ring.size;
	}
	ret->no_kernel = stream < r->streams.n && r->streams.at[stream].attr.exclude_kernel;
}
