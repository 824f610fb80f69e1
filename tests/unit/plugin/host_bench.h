/* SPDX-License-Identifier: Apache-2.0 */
/* A collector that does with its host table what the test says: in start(),
 * which is the test's thread, and in attach(), which is the worker. What it is
 * told by ready() and by the log is kept. */
#ifndef GPC_TESTS_HOST_BENCH_H
#define GPC_TESTS_HOST_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "../proc/child.h"
#include "collector.h"

#define TOKENS 4

struct bench {
	struct fake fake; /* the collector's self: it comes first */
	struct gpc_services services;
	struct gpc_names *names;
	struct gpc_log log;
	uint32_t seq;
	int pipe[2], fds[2], file;
	void (*at_start)(struct bench *b);
	void (*at_attach)(struct bench *b, const struct gpc_target *t);
	gpc_status answer;    /* what the host said last */
	pthread_mutex_t lock; /* covers what follows */
	unsigned fired[TOKENS];
	struct gpc_ready ready[TOKENS]; /* the last ones */
	uint64_t ready_for[TOKENS];     /* their tctx: the target's id */
	unsigned lines;
	struct gpc_log_line line; /* the last one */
	char text[256], module[32];
};

static inline void bench_line(void *ctx, const struct gpc_log_line *line)
{
	struct bench *b = ctx;

	pthread_mutex_lock(&b->lock);
	b->lines++;
	b->line = *line;
	snprintf(b->text, sizeof b->text, "%s", line->message);
	snprintf(b->module, sizeof b->module, "%s", line->module);
	pthread_mutex_unlock(&b->lock);
}

static inline gpc_status bench_start(void *self, const struct gpc_session *s)
{
	struct bench *b = self;

	if (b->at_start)
		b->at_start(b);
	return fake_start(self, s);
}

static inline gpc_status bench_attach(void *self, const struct gpc_target *t, void **tctx)
{
	struct bench *b = self;

	if (b->at_attach)
		b->at_attach(b, t);
	return fake_attach(self, t, tctx);
}

static inline gpc_status bench_ready(void *self, void *tctx, const struct gpc_ready *r,
				     struct gpc_writer *w)
{
	struct bench *b = self;
	char bytes[16];

	(void)w;
	if (r->kind == GPC_READY_FD && read(r->fd, bytes, sizeof bytes) < 0)
		return GPC_E_SYSTEM;
	pthread_mutex_lock(&b->lock);
	b->ready[r->token] = *r;
	b->ready_for[r->token] = (uintptr_t)tctx;
	b->fired[r->token]++;
	pthread_mutex_unlock(&b->lock);
	return GPC_OK;
}

static inline int bench_set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);

	fake_init(&b->fake, "fake", "python", "*");
	b->fake.collector.start = bench_start;
	b->fake.collector.attach = bench_attach;
	b->fake.collector.ready = bench_ready;
	b->fake.log = &b->log;
	pthread_mutex_init(&b->lock, NULL);
	gpc_log_init(&b->log, GPC_DEBUG, bench_line, b);
	assert_int_equal(gpc_mem_new(8, NULL, &b->services.mem, NULL), GPC_OK);
	assert_int_equal(pipe2(b->pipe, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(b->fds, O_CLOEXEC | O_NONBLOCK), 0);
	b->file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	b->services.stack_bytes = 1 << 20;
	b->names = gpc_names_new(1);
	*state = b;
	return 0;
}

static inline int bench_tear_down(void **state)
{
	struct bench *b = *state;

	gpc_instance_free(b->fake.instance);
	gpc_names_put(b->names);
	gpc_mem_free(b->services.mem);
	gpc_log_deinit(&b->log);
	pthread_mutex_destroy(&b->lock);
	close(b->pipe[0]);
	close(b->pipe[1]);
	close(b->fds[0]);
	close(b->fds[1]);
	close(b->file);
	free(b);
	return 0;
}

static inline const struct gpc_host *bench_run(struct bench *b)
{
	struct gpc_err err = {0};

	if (fake_run(&b->fake, &b->services, b->names, &err) < 0)
		fail_msg("%s", err.text);
	return b->fake.host;
}

static inline struct gpc_target_view *bench_view(pid_t pid, uint64_t id)
{
	struct gpc_target_id target = {.pid = pid, .id = id};
	struct gpc_target_view *v = NULL;

	assert_int_equal(gpc_target_read(&target, &v, NULL), GPC_OK);
	return v;
}

/* Lets the worker do all that was asked of it before, and runs a window. */
static inline void bench_settle(struct bench *b)
{
	struct gpc_window win = {.struct_size = sizeof win,
				 .seq = b->seq++,
				 .deadline_ns = gpc_now_ns() + 20 * GPC_SECOND_NS};

	assert_true(gpc_instance_settle(b->fake.instance, win.deadline_ns));
	assert_int_equal(gpc_instance_window(b->fake.instance, &win, NULL), GPC_OK);
}

/* Has fn run on the worker, for a target that is this process, under the number id. */
static inline void bench_on_worker(struct bench *b, uint64_t id,
				   void (*fn)(struct bench *b, const struct gpc_target *t))
{
	struct gpc_target_view *v = bench_view(getpid(), id);

	b->at_attach = fn;
	gpc_instance_attach(b->fake.instance, v);
	gpc_target_put(v);
	bench_settle(b);
	assert_int_equal(fake_get(&b->fake, attached_to), id);
}

static inline unsigned bench_fired(struct bench *b, unsigned token)
{
	unsigned n;

	pthread_mutex_lock(&b->lock);
	n = b->fired[token];
	pthread_mutex_unlock(&b->lock);
	return n;
}

/* Waits up to ten seconds for ready() to have had this token so often. */
static inline unsigned bench_wait(struct bench *b, unsigned token, unsigned n)
{
	for (int i = 0; i < 1000 && bench_fired(b, token) < n; i++)
		usleep(10000);
	return bench_fired(b, token);
}

/* Copies what came last with a token. */
static inline struct gpc_ready bench_ready_of(struct bench *b, unsigned token, uint64_t *tctx)
{
	struct gpc_ready r;

	pthread_mutex_lock(&b->lock);
	r = b->ready[token];
	*tctx = b->ready_for[token];
	pthread_mutex_unlock(&b->lock);
	return r;
}

/* How often a trouble was reported since the last call; 0: never. */
static inline unsigned bench_reported(struct bench *b, uint64_t target, gpc_status code,
				      const char *word)
{
	struct gpc_reports r;
	unsigned n = 0;

	gpc_instance_take_reports(b->fake.instance, &r);
	for (size_t k = 0; k < r.list.n; k++)
		if (r.list.at[k].target == target && r.list.at[k].code == code &&
		    strstr(r.list.at[k].detail, word))
			n += r.list.at[k].count;
	gpc_reports_deinit(&r);
	return n;
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, bench_set_up, bench_tear_down)

#endif
