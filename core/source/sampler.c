/* SPDX-License-Identifier: Apache-2.0 */
#include "source/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "source/frames.h"
#include "source/sampler_impl.h"
#include "source/sideband.h"

#define CALM_MS      10                  /* and by wake-ups at most so often */
#define SLACK_NS     (2 * GPC_MS_NS)     /* a CPU may publish a record so late */
#define CPUS_NS      (5 * GPC_SECOND_NS) /* CPUs are counted so often */
#define READERS_NS   (2 * GPC_SECOND_NS) /* a cut waits so long for readers */
#define TABLES_NS    GPC_SECOND_NS       /* and for unwind tables */
#define SYMBOL_BYTES (6u << 20)
#define TABLE_BYTES  (8u << 20) /* of unwind tables */
#define OPEN_FILES   512
#define MEM_FILES    256
#define KEEP_BYTES   (256u << 10) /* of an empty table */

static void on_cgroup(void *ctx, uint64_t process, uint64_t cgroup, const char *text)
{
	struct gpc_sampler *s = ctx;
	autolock(&s->lock);

	gpc_place_told(&s->place, process, cgroup, text);
}

/* ---- records --------------------------------------------------------------- */

static struct gpc_stream *stream_of(struct gpc_sampler *s, uint32_t ring)
{
	for (size_t i = 0; i < s->streams.n; i++)
		if (s->streams.at[i].is_open && s->streams.at[i].ring == ring)
			return &s->streams.at[i];
	return NULL;
}

static void count_lost(struct gpc_sampler *s, struct gpc_stream *st,
		       const struct gpc_perf_record *r)
{
	/* Where the processes are given, the samples' rings carry their side-band too. */
	bool is_sideband = !st || s->config.n_pids;

	if (st)
		st->lost += r->lost;
	gpc_warn(s->log, "source", "perf lost %llu %s: the machine is faster than we read",
		 (unsigned long long)r->lost, st ? "samples" : "process events");
	if (r->type == PERF_RECORD_LOST && is_sideband)
		gpc_table_distrust(s->table);
}

static void count_throttled(struct gpc_sampler *s, struct gpc_stream *st,
			    const struct gpc_perf_record *r)
{
	st->throttled++;
	gpc_warn(s->log, "source",
		 "the kernel throttles sampling on CPU %u (kernel.perf_cpu_time_max_percent): "
		 "there are fewer samples than asked for",
		 r->cpu);
}

static void on_record(void *ctx, const struct gpc_perf_record *r, uint32_t ring,
		      const struct gpc_pulled *pulled)
{
	struct gpc_sampler *s = ctx;
	struct gpc_stream *st = stream_of(s, ring);

	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		if (st)
			gpc_sampler_count(s, (uint32_t)(st - s->streams.at), r, pulled);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		count_lost(s, st, r);
		break;
	case PERF_RECORD_THROTTLE:
		if (st)
			count_throttled(s, st, r);
		break;
	default:
		s->events++;
		if (s->is_pulling && r->type == PERF_RECORD_FORK && r->pid == r->task.ppid)
			gpc_pulls_new_thread(s->pulls, (int32_t)r->pid, (int32_t)r->tid);
		if (s->is_pulling && r->type == PERF_RECORD_COMM) /* another name */
			gpc_pulls_new_thread(s->pulls, (int32_t)r->pid, (int32_t)r->tid);
		if (gpc_sideband_apply(s->table, r))
			s->kernel_changed = true;
		if (s->config.threads && r->type == PERF_RECORD_COMM)
			gpc_threads_renamed(&s->threads, (int32_t)r->tid, r->comm, s->window);
		break;
	}
}

static void on_raw(void *ctx, const void *bytes, size_t n, uint32_t ring,
		   const struct gpc_perf_format *format)
{
	struct gpc_sampler *s = ctx;

	gpc_rawfile_put(s->rawfile, bytes, n, ring, format);
}

/* ---- the thread ------------------------------------------------------------ */

static void drain(struct gpc_sampler *s, uint64_t until_ns)
{
	struct gpc_reader_visitor v = {.ctx = s,
				       .record = on_record,
				       .raw = s->rawfile ? on_raw : NULL};

	gpc_reader_drain(s->reader, until_ns, &v);
	gpc_sampler_count_late(s, false);
}

/* True when there was news of processes. */
static bool tick(struct gpc_sampler *s, bool is_woken, bool *is_waiting)
{
	uint64_t now = gpc_now_ns();
	uint64_t until = now - SLACK_NS;
	uint64_t events;
	autolock(&s->lock);

	events = s->events;
	if (is_woken)
		gpc_reader_woken(s->reader);
	gpc_sampler_check_pull(s);
	drain(s, until < s->limit_ns ? until : s->limit_ns);
	if (now >= s->cpus_due_ns) {
		gpc_reader_follow_cpus(s->reader);
		s->cpus_due_ns = now + CPUS_NS;
	}
	*is_waiting = s->late.n > 0;
	s->tick_ms = gpc_sampler_tick_ms(s);
	return s->events != events;
}

static void *run(void *arg)
{
	struct gpc_sampler *s = arg;
	struct pollfd fds[2] = {{.fd = s->stop_fd, .events = POLLIN},
				{.fd = gpc_reader_fd(s->reader), .events = POLLIN}};
	bool is_busy = false;

	while (!(fds[0].revents & POLLIN)) {
		/* While processes come and go the rings are read in batches, with
		 * one wait for each: waking up costs more than reading. */
		int n = is_busy ? poll(fds, 1, CALM_MS) : poll(fds, 2, s->tick_ms);
		bool has_news, is_waiting;

		if (n < 0 && errno != EINTR)
			break;
		has_news = tick(s, !is_busy && n > 0, &is_waiting);
		/* What woke us may be younger than the slack: look once more. Samples that
		 * wait for tables are looked at as soon as these may be there. */
		is_busy = is_waiting || (is_busy ? has_news : n > 0);
	}
	return NULL;
}

/* ---- life ------------------------------------------------------------------ */

static gpc_status build(struct gpc_sampler *s, struct gpc_err *err)
{
	struct gpc_images_limits limits = {.symbol_bytes = SYMBOL_BYTES, .max_files = OPEN_FILES};
	struct gpc_table_needs needs = gpc_sampler_needs(s);

	s->proc_fd = s->threads.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->native.recent = &s->rules;
	if (s->stop_fd < 0)
		return gpc_err_sys(err, "eventfd");
	gpc_try(gpc_images_new(&limits, s->log, &s->images, err));
	gpc_try(gpc_unwind_tables_new(s->images, TABLE_BYTES, s->log, &s->native.tables, err));
	gpc_try(gpc_kernel_syms_new("/proc/kallsyms", &s->kernel, err));
	gpc_try(gpc_table_new("/proc", s->images, &needs, s->log, &s->table, err));
	gpc_try(gpc_reader_new(s->log, &s->reader, err));
	gpc_try(gpc_opener_new(s->images, gpc_sampler_jit_file, s, s->log, &s->opener, err));
	if (s->config.placed)
		gpc_opener_set_cgroups(s->opener, on_cgroup);
	s->place = (struct gpc_place){.table = s->table,
				      .opener = s->opener,
				      .placed = s->config.placed,
				      .ctx = s->config.ctx};
	gpc_try(gpc_mem_new(MEM_FILES, NULL, &s->mem, err));
	gpc_try(gpc_pulls_new(s->mem, s->log, &s->pulls, err));
	if (s->config.raw_path) {
		gpc_pulls_keep_stacks(s->pulls);
		gpc_try(gpc_rawfile_new(s->config.raw_path, &s->rawfile, err));
	}
	return GPC_OK;
}

gpc_status gpc_sampler_new(const struct gpc_sampler_config *config, struct gpc_log *log,
			   struct gpc_sampler **ret, struct gpc_err *err)
{
	struct gpc_sampler *s = calloc(1, sizeof *s);
	gpc_status st;

	if (!s)
		return gpc_err_nomem(err);
	s->config = *config;
	s->log = log;
	s->limit_ns = UINT64_MAX;
	s->proc_fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	st = build(s, err);
	if (st < 0) {
		gpc_sampler_free(s);
		return st;
	}
	*ret = s;
	return GPC_OK;
}

bool gpc_sampler_free(struct gpc_sampler *s)
{
	uint64_t one = 1;
	bool is_free;

	if (!s)
		return true;
	if (s->is_running && write(s->stop_fd, &one, sizeof one) == sizeof one)
		pthread_join(s->thread, NULL);
	gpc_opener_free(s->opener);
	gpc_sampler_forget_late(s);
	gpc_unwind_tables_stop(s->native.tables);
	for (size_t i = 0; i < s->streams.n; i++) {
		gpc_stacks_free(s->streams.at[i].now);
		gpc_stacks_free(s->streams.at[i].aside);
	}
	vec_deinit(&s->streams);
	vec_deinit(&s->jits);
	gpc_reader_free(s->reader);
	is_free = gpc_pulls_free(s->pulls);
	if (is_free) {
		gpc_unwind_tables_free(s->native.tables);
		gpc_mem_free(s->mem);
	}
	gpc_table_free(s->table);
	gpc_kernel_syms_free(s->kernel);
	gpc_images_free(s->images);
	gpc_rawfile_free(s->rawfile);
	gpc_threads_deinit(&s->threads);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	pthread_mutex_destroy(&s->lock);
	/* A collector in which a reader hangs finds its memory through us. */
	if (is_free)
		free(s);
	return is_free;
}

static void open_sideband(struct gpc_sampler *s)
{
	struct gpc_perf_request req = {.name = "process events", .sideband = true, .wake_bytes = 1};
	struct gpc_err err;
	uint32_t ring;
	autolock(&s->lock);

	/* With --pids the sampling events carry it, for those processes only. */
	if (s->config.n_pids)
		return;
	if (gpc_reader_open(s->reader, &req, NULL, 0, &ring, &err) == GPC_OK)
		s->has_sideband = true;
	else
		gpc_warn(s->log, "source",
			 "process events cannot be had (%s): processes that live shorter than a "
			 "window may lack names",
			 err.text);
}

gpc_status gpc_sampler_start(struct gpc_sampler *s, uint64_t end_ns, struct gpc_err *err)
{
	s->limit_ns = end_ns;
	open_sideband(s);
	gpc_try(gpc_thread_start(&s->thread, "gpc-source", run, s, err));
	s->is_running = true;
	return GPC_OK;
}

bool gpc_sampler_has_sideband(const struct gpc_sampler *s)
{
	return s->has_sideband;
}

/* ---- streams --------------------------------------------------------------- */

/* Locked. */
static gpc_status add_stream(struct gpc_sampler *s, uint32_t ring,
			     const struct gpc_perf_request *req, uint32_t *ret, struct gpc_err *err)
{
	struct gpc_stream st = {.ring = ring,
				.is_open = true,
				.is_dense = gpc_sampler_is_dense(s, req, ring),
				.unwind = req->unwind};

	if (gpc_stacks_new(s->config.stack_bytes, &st.now, err) < 0 ||
	    gpc_stacks_new(s->config.stack_bytes, &st.aside, err) < 0 ||
	    !vec_push(&s->streams, st)) {
		gpc_stacks_free(st.now);
		gpc_stacks_free(st.aside);
		gpc_reader_close(s->reader, ring);
		return gpc_err_nomem(err);
	}
	*ret = (uint32_t)s->streams.n - 1;
	return GPC_OK;
}

/* Nothing is drained until the stream is known: its first samples count. */
static gpc_status open_one(struct gpc_sampler *s, const struct gpc_perf_request *wanted,
			   uint32_t *ret_stream, struct gpc_err *err)
{
	struct gpc_perf_request req = *wanted;
	uint32_t ring = 0;

	req.samples = true;
	gpc_sampler_ask_user_state(s, &req);
	req.sideband = req.inherit = s->config.n_pids > 0;
	gpc_try(gpc_perf_probe(&req, err));
	autolock(&s->lock);
	gpc_try(gpc_reader_open(s->reader, &req, s->config.pids, s->config.n_pids, &ring, err));
	return add_stream(s, ring, &req, ret_stream, err);
}

/* Samples that are pulled need distances that can be set (spacing.h). */
static bool is_second_best(const struct gpc_sampler *s, const struct gpc_perf_request *req)
{
	return s->has_pull && !gpc_perf_timer_ns(req);
}

gpc_status gpc_sampler_open(struct gpc_sampler *s, const struct gpc_perf_request *candidates,
			    uint32_t n, uint32_t *ret_stream, uint32_t *ret_index,
			    struct gpc_err *err)
{
	gpc_status st = gpc_err_set(err, GPC_E_CONFIG, "no event was asked for");

	for (uint32_t i = 0; i < 2 * n; i++) {
		const struct gpc_perf_request *req = &candidates[i % n];

		if (is_second_best(s, req) != (i >= n))
			continue;
		st = open_one(s, req, ret_stream, err);
		if (st == GPC_E_GONE || st == GPC_E_NOMEM)
			return st; /* whom to measure: no other event helps */
		if (st < 0) {
			gpc_debug(s->log, "source", "%s", err ? err->text : "");
			continue;
		}
		*ret_index = i % n;
		gpc_sampler_set_unwind(s, req->unwind);
		return GPC_OK;
	}
	return st;
}

void gpc_sampler_close(struct gpc_sampler *s, uint32_t stream)
{
	autolock(&s->lock);

	if (stream >= s->streams.n || !s->streams.at[stream].is_open)
		return;
	gpc_reader_close(s->reader, s->streams.at[stream].ring);
	s->streams.at[stream].is_open = false;
}

void gpc_sampler_stats(struct gpc_sampler *s, uint32_t stream, struct gpc_stream_stats *ret)
{
	struct gpc_reader_stats reader;
	const struct gpc_stream *st;
	autolock(&s->lock);

	memset(ret, 0, sizeof *ret);
	if (stream >= s->streams.n)
		return;
	st = &s->streams.at[stream];
	gpc_reader_stats(s->reader, st->ring, &reader);
	ret->samples = st->samples;
	ret->lost = st->lost + reader.dropped;
	ret->throttled = st->throttled;
	ret->cpus = reader.cpus;
	ret->no_kernel = reader.no_kernel;
	ret->ring_bytes = reader.ring_bytes;
}

/* ---- windows --------------------------------------------------------------- */

static void wait_until(uint64_t ns)
{
	struct timespec until = gpc_timespec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

void gpc_sampler_begin(struct gpc_sampler *s, uint64_t end_ns)
{
	autolock(&s->lock);

	s->limit_ns = end_ns;
}

uint64_t gpc_sampler_end_now(struct gpc_sampler *s)
{
	uint64_t now;
	autolock(&s->lock);

	/* Under the lock: whoever drains up to a later time sees the limit. */
	now = gpc_now_ns();
	if (now < s->limit_ns)
		s->limit_ns = now;
	return s->limit_ns;
}

/* Batched ones read every 100 ms; who hangs is given up in little more than a second. */
static void wait_for_readers(struct gpc_sampler *s, uint64_t end_ns)
{
	uint64_t until = gpc_now_ns() + READERS_NS;
	bool is_behind;

	do {
		pthread_mutex_lock(&s->lock);
		is_behind = gpc_reader_is_behind(s->reader, end_ns);
		pthread_mutex_unlock(&s->lock);
		if (is_behind)
			usleep(2000);
	} while (is_behind && gpc_now_ns() < until);
}

/* Until the samples that are to be unwound with tables still being built are. */
static void wait_for_tables(struct gpc_sampler *s, uint64_t end_ns)
{
	uint64_t until = gpc_now_ns() + TABLES_NS;
	bool is_waiting;

	do {
		pthread_mutex_lock(&s->lock);
		drain(s, end_ns);
		is_waiting = s->late.n > 0;
		pthread_mutex_unlock(&s->lock);
		if (is_waiting)
			usleep(2000);
	} while (is_waiting && gpc_now_ns() < until);
}

void gpc_sampler_cut(struct gpc_sampler *s, uint64_t end_ns, uint64_t next_end_ns,
		     struct gpc_names *names)
{
	wait_until(end_ns + SLACK_NS);
	wait_for_readers(s, end_ns);
	wait_for_tables(s, end_ns);
	autolock(&s->lock);

	drain(s, end_ns);
	gpc_sampler_count_late(s, true);
	gpc_pulls_set_names(s->pulls, names);
	s->epoch = gpc_names_epoch(names);
	for (size_t i = 0; i < s->streams.n; i++) {
		struct gpc_stream *st = &s->streams.at[i];
		struct gpc_stacks *cut = st->now;

		st->now = st->aside;
		st->aside = cut;
	}
	s->window++;
	s->window_samples = 0;
	s->limit_ns = next_end_ns;
	if (s->kernel_changed)
		gpc_kernel_syms_stale(s->kernel);
	s->kernel_changed = false;
}

struct gpc_stacks *gpc_sampler_take(struct gpc_sampler *s, uint32_t stream)
{
	autolock(&s->lock);

	return stream < s->streams.n ? s->streams.at[stream].aside : NULL;
}

void gpc_sampler_give_back(struct gpc_sampler *s, uint32_t stream)
{
	autolock(&s->lock);

	if (stream < s->streams.n)
		gpc_stacks_reset(s->streams.at[stream].aside, KEEP_BYTES);
}

static bool keep_image(void *ctx, uint32_t image)
{
	uint64_t unused;

	return gpc_u64map_get(ctx, image, &unused);
}

/* The window that runs may have counted frames of images that nobody maps any
 * more, or of whose mappings nothing is known since records were lost. */
static bool add_counted_images(const struct gpc_stacks *stacks, struct gpc_u64map *used)
{
	for (size_t i = 0; i < gpc_stacks_rows(stacks); i++) {
		struct gpc_stack_row row = gpc_stacks_row(stacks, i);

		for (uint32_t k = 0; k < row.n_frames; k++)
			if ((row.frames[k] & GPC_RAW_KIND) == GPC_RAW_FILE &&
			    !gpc_u64map_set(used, gpc_raw_image(row.frames[k]), 0))
				return false;
	}
	return true;
}

static bool find_used_images(struct gpc_sampler *s, struct gpc_u64map *used)
{
	for (size_t i = 0; i < s->streams.n; i++)
		if (!add_counted_images(s->streams.at[i].now, used))
			return false;
	return gpc_table_images(s->table, used);
}

void gpc_sampler_trim(struct gpc_sampler *s, uint64_t end_ns)
{
	struct gpc_u64map used = {0};
	bool is_known;

	pthread_mutex_lock(&s->lock);
	gpc_table_trim(s->table, s->window - 1, end_ns);
	gpc_threads_trim(&s->threads, s->window);
	is_known = find_used_images(s, &used);
	pthread_mutex_unlock(&s->lock);
	/* Not locked: it waits for who reads an image's file, and that may be on a server
	 * that is no more. What is mapped from here on is used in this window. */
	if (is_known)
		gpc_images_trim(s->images, keep_image, &used);
	gpc_sampler_trim_jits(s);
	gpc_unwind_tables_trim(s->native.tables);
	gpc_u64map_deinit(&used);
}

/* ---- the table ------------------------------------------------------------- */

void gpc_sampler_lock(struct gpc_sampler *s)
{
	pthread_mutex_lock(&s->lock);
}

void gpc_sampler_unlock(struct gpc_sampler *s)
{
	pthread_mutex_unlock(&s->lock);
}

struct gpc_table *gpc_sampler_table(struct gpc_sampler *s)
{
	return s->table;
}

struct gpc_images *gpc_sampler_images(struct gpc_sampler *s)
{
	return s->images;
}

struct gpc_kernel_syms *gpc_sampler_kernel(struct gpc_sampler *s)
{
	return s->kernel;
}

void gpc_sampler_settle(struct gpc_sampler *s, uint64_t timeout_ns)
{
	gpc_opener_settle(s->opener, timeout_ns);
}

void gpc_sampler_thread(struct gpc_sampler *s, uint64_t process, int32_t tid, char ret[16])
{
	autolock(&s->lock);

	snprintf(ret, 16, "%s", gpc_threads_name(&s->threads, process, tid));
}

uint64_t gpc_sampler_progress(struct gpc_sampler *s)
{
	autolock(&s->lock);

	return s->window_samples;
}
