/* SPDX-License-Identifier: Apache-2.0 */
/* The host table as a collector sees it: descriptors, timers and programs that
 * it waits for, from start() and from its worker. */
#include <errno.h>

#include "host_bench.h"

#define HOUR_NS  (3600 * GPC_SECOND_NS)
#define QUIET_US 60000 /* nothing more comes in this time, if nothing is to come */

static void ring(struct bench *b)
{
	assert_int_equal(write(b->pipe[1], "x", 1), 1);
}

static void assert_quiet(struct bench *b, unsigned token, unsigned n)
{
	usleep(QUIET_US);
	bench_settle(b);
	assert_int_equal(bench_fired(b, token), n);
}

/* ---- descriptors ----------------------------------------------------------------- */

static void watch_as_1(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	b->answer = h->watch_fd(h, t, b->pipe[0], EPOLLIN, 1);
}

static void watch_at_start(struct bench *b)
{
	watch_as_1(b, NULL);
}

static void watch_as_2(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	(void)t;
	b->answer = h->watch_fd(h, NULL, b->pipe[0], EPOLLIN, 2);
}

static void watch_no_more(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	(void)t;
	b->answer = h->watch_fd(h, NULL, b->pipe[0], 0, 0);
}

static void test_descriptor_of_the_collector(void **state)
{
	struct bench *b = *state;
	struct gpc_ready r;
	uint64_t tctx;

	b->at_start = watch_at_start;
	bench_run(b);
	assert_int_equal(b->answer, GPC_OK);
	ring(b);
	assert_int_equal(bench_wait(b, 1, 1), 1);
	r = bench_ready_of(b, 1, &tctx);
	assert_int_equal(r.kind, GPC_READY_FD);
	assert_int_equal(r.fd, b->pipe[0]);
	assert_int_equal(r.events, EPOLLIN);
	assert_int_equal(tctx, 0);
	/* Watched once more, the new token counts. */
	bench_on_worker(b, 5, watch_as_2);
	assert_int_equal(b->answer, GPC_OK);
	ring(b);
	assert_int_equal(bench_wait(b, 2, 1), 1);
	assert_quiet(b, 1, 1);
	bench_on_worker(b, 6, watch_no_more);
	assert_int_equal(b->answer, GPC_OK);
	ring(b);
	assert_quiet(b, 2, 1);
	assert_true(fcntl(b->pipe[0], F_GETFD) >= 0); /* it stays the caller's */
}

static void test_descriptor_of_a_target(void **state)
{
	struct bench *b = *state;
	uint64_t tctx;

	bench_run(b);
	bench_on_worker(b, 5, watch_as_1);
	assert_int_equal(b->answer, GPC_OK);
	ring(b);
	assert_int_equal(bench_wait(b, 1, 1), 1);
	bench_ready_of(b, 1, &tctx);
	assert_int_equal(tctx, 5);
	gpc_instance_detach(b->fake.instance, 5);
	bench_settle(b);
	ring(b);
	assert_quiet(b, 1, 1);
	assert_true(fcntl(b->pipe[0], F_GETFD) >= 0);
}

static void watch_two_end_one(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	assert_int_equal(h->watch_fd(h, t, b->pipe[0], EPOLLIN, 1), GPC_OK);
	assert_int_equal(h->watch_fd(h, t, b->fds[0], EPOLLIN, 2), GPC_OK);
	assert_int_equal(h->watch_fd(h, t, b->fds[0], 0, 2), GPC_OK);
}

static void test_descriptors_end_one_by_one(void **state)
{
	struct bench *b = *state;

	bench_run(b);
	bench_on_worker(b, 5, watch_two_end_one);
	ring(b);
	assert_int_equal(write(b->fds[1], "x", 1), 1);
	assert_int_equal(bench_wait(b, 1, 1), 1);
	assert_quiet(b, 2, 0);
}

static void watch_a_file(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	b->answer = h->watch_fd(h, t, b->file, EPOLLIN, 1);
}

static void watch_a_file_at_start(struct bench *b)
{
	watch_a_file(b, NULL);
}

/* epoll takes no regular files. */
static void test_descriptor_that_cannot_be_watched(void **state)
{
	struct bench *b = *state;

	bench_run(b);
	bench_on_worker(b, 5, watch_a_file);
	assert_int_equal(b->answer, GPC_E_PERM);
	assert_int_equal(bench_reported(b, 0, GPC_E_PERM, "watch descriptor"), 1);
}

/* It is the worker that watches: from elsewhere trouble is known only later. */
static void test_descriptor_that_cannot_be_watched_from_start(void **state)
{
	struct bench *b = *state;

	b->at_start = watch_a_file_at_start;
	bench_run(b);
	assert_int_equal(b->answer, GPC_OK);
	bench_settle(b);
	assert_int_equal(bench_reported(b, 0, GPC_E_PERM, "watch descriptor"), 1);
}

/* ---- timers ------------------------------------------------------------------------- */

static void set_timers(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	assert_int_equal(h->set_timer(h, t, 5 * GPC_MS_NS, 1), GPC_OK);
	assert_int_equal(h->set_timer(h, NULL, 5 * GPC_MS_NS, 2), GPC_OK);
	assert_int_equal(h->set_timer(h, NULL, HOUR_NS, 3), GPC_OK);
}

static void set_timers_at_start(struct bench *b)
{
	set_timers(b, NULL);
}

static void slow_down_1_end_2(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	(void)t;
	b->answer = h->set_timer(h, NULL, HOUR_NS, 1);
	assert_int_equal(h->set_timer(h, NULL, 0, 2), GPC_OK);
}

static void test_timers(void **state)
{
	struct bench *b = *state;
	uint64_t begin = gpc_now_ns(), tctx;
	unsigned n1, n2;

	b->at_start = set_timers_at_start;
	bench_run(b);
	assert_true(bench_wait(b, 1, 4) >= 4);
	assert_true(gpc_now_ns() - begin >= 4 * 5 * GPC_MS_NS);
	assert_true(bench_wait(b, 2, 4) >= 4);
	assert_int_equal(bench_ready_of(b, 1, &tctx).kind, GPC_READY_TIMER);
	assert_int_equal(tctx, 0);
	bench_on_worker(b, 5, slow_down_1_end_2);
	assert_int_equal(b->answer, GPC_OK);
	n1 = bench_fired(b, 1);
	n2 = bench_fired(b, 2);
	assert_quiet(b, 1, n1);
	assert_quiet(b, 2, n2);
	assert_int_equal(bench_fired(b, 3), 0);
}

static void test_timer_of_a_target(void **state)
{
	struct bench *b = *state;
	unsigned n1, n2;
	uint64_t tctx;

	bench_run(b);
	bench_on_worker(b, 5, set_timers);
	assert_true(bench_wait(b, 1, 2) >= 2);
	bench_ready_of(b, 1, &tctx);
	assert_int_equal(tctx, 5);
	gpc_instance_detach(b->fake.instance, 5);
	bench_settle(b);
	n1 = bench_fired(b, 1);
	n2 = bench_fired(b, 2);
	assert_true(bench_wait(b, 2, n2 + 4) >= n2 + 4); /* the collector's own goes on */
	assert_int_equal(bench_fired(b, 1), n1);
}

static void set_timer_1(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	b->answer = h->set_timer(h, t, 5 * GPC_MS_NS, 1);
}

static void end_timer_1(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;

	set_timer_1(b, t);
	b->answer = h->set_timer(h, t, 0, 1);
}

/* Each target has tokens of its own. */
static void test_timers_of_two_targets(void **state)
{
	struct bench *b = *state;
	unsigned n;
	uint64_t tctx;

	bench_run(b);
	bench_on_worker(b, 5, set_timer_1);
	bench_on_worker(b, 6, end_timer_1);
	n = bench_fired(b, 1);
	assert_true(bench_wait(b, 1, n + 4) >= n + 4);
	bench_ready_of(b, 1, &tctx);
	assert_int_equal(tctx, 5);
}

/* ---- programs ------------------------------------------------------------------------- */

static gpc_status spawn(struct bench *b, const struct gpc_target *t, const char *script,
			uint64_t deadline_ns)
{
	const struct gpc_host *h = b->fake.host;
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct gpc_spawn s = {.struct_size = sizeof s,
			      .argv = argv,
			      .target = t,
			      .token = 1,
			      .deadline_ns = deadline_ns,
			      .fds = {-1, b->pipe[1], -1}};

	return h->spawn(h, &s);
}

static void spawn_that_ends(struct bench *b, const struct gpc_target *t)
{
	b->answer = spawn(b, t, "echo 42; exit 5", 0);
}

static void spawn_that_stays(struct bench *b, const struct gpc_target *t)
{
	b->answer = spawn(b, t, "echo $$; exec sleep 1000", 0);
}

static void spawn_with_deadline(struct bench *b, const struct gpc_target *t)
{
	b->answer = spawn(b, t, "exec sleep 1000", gpc_now_ns() + 50 * GPC_MS_NS);
}

static void spawn_at_start(struct bench *b)
{
	spawn_that_stays(b, NULL);
}

/* The number that the program writes into the pipe; 0: none. */
static int read_number(struct bench *b)
{
	char text[32] = "";

	for (int i = 0; i < 1000; i++) {
		if (read(b->pipe[0], text, sizeof text - 1) > 0)
			break;
		usleep(10000);
	}
	return atoi(text);
}

static void assert_no_more(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(kill(pid, 0), -1);
}

static void test_program_that_ends(void **state)
{
	struct bench *b = *state;
	struct gpc_ready r;
	uint64_t tctx;

	bench_run(b);
	bench_on_worker(b, 5, spawn_that_ends);
	assert_int_equal(b->answer, GPC_OK);
	assert_int_equal(read_number(b), 42);
	assert_int_equal(bench_wait(b, 1, 1), 1);
	r = bench_ready_of(b, 1, &tctx);
	assert_int_equal(r.kind, GPC_READY_CHILD);
	assert_true(WIFEXITED(r.status));
	assert_int_equal(WEXITSTATUS(r.status), 5);
	assert_int_equal(tctx, 5);
	assert_true(r.child > 0);
	assert_no_more(r.child);
}

static void test_program_that_is_late(void **state)
{
	struct bench *b = *state;
	struct gpc_ready r;
	uint64_t tctx;

	bench_run(b);
	bench_on_worker(b, 5, spawn_with_deadline);
	assert_int_equal(bench_wait(b, 1, 1), 1);
	r = bench_ready_of(b, 1, &tctx);
	assert_true(WIFSIGNALED(r.status));
	assert_int_equal(WTERMSIG(r.status), SIGKILL);
	assert_no_more(r.child);
}

static void test_program_of_a_target_ends_with_it(void **state)
{
	struct bench *b = *state;
	pid_t pid;

	bench_run(b);
	bench_on_worker(b, 5, spawn_that_stays);
	pid = read_number(b);
	assert_true(pid > 0);
	assert_int_equal(kill(pid, 0), 0);
	gpc_instance_detach(b->fake.instance, 5);
	bench_settle(b);
	assert_no_more(pid);
}

static void *start_elsewhere(void *arg)
{
	bench_run(arg);
	return NULL;
}

/* The thread that starts the core is the embedder's and may end soon. */
static void test_program_outlives_the_thread_that_started_us(void **state)
{
	struct bench *b = *state;
	pthread_t thread;
	pid_t pid;

	b->at_start = spawn_at_start;
	assert_int_equal(pthread_create(&thread, NULL, start_elsewhere, b), 0);
	pthread_join(thread, NULL);
	assert_int_equal(b->answer, GPC_OK);
	pid = read_number(b);
	assert_true(pid > 0);
	assert_quiet(b, 1, 0);
	assert_int_equal(kill(pid, 0), 0);
	gpc_instance_stop(b->fake.instance);
	assert_no_more(pid);
}

static void spawn_nothing(struct bench *b, const struct gpc_target *t)
{
	const struct gpc_host *h = b->fake.host;
	const char *const argv[] = {"/no/such/program", NULL};
	struct gpc_spawn s = {.struct_size = sizeof s,
			      .argv = argv,
			      .target = t,
			      .fds = {-1, -1, -1}};

	b->answer = h->spawn(h, &s);
}

static void spawn_nothing_at_start(struct bench *b)
{
	spawn_nothing(b, NULL);
}

static void test_program_that_is_not_there(void **state)
{
	struct bench *b = *state;

	b->at_start = spawn_nothing_at_start;
	bench_run(b);
	assert_true(b->answer < 0);
	assert_int_equal(bench_reported(b, 0, b->answer, "/no/such/program"), 1);
	bench_on_worker(b, 5, spawn_nothing);
	assert_true(b->answer < 0);
	assert_int_equal(bench_reported(b, 5, b->answer, "/no/such/program"), 1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie is left */
}

/* ---- a collector with nothing that could be told ------------------------------------- */

static void wait_in_vain(struct bench *b)
{
	const struct gpc_host *h = b->fake.host;

	assert_int_equal(h->watch_fd(h, NULL, b->pipe[0], EPOLLIN, 1), GPC_E_CONFIG);
	assert_int_equal(h->set_timer(h, NULL, GPC_MS_NS, 1), GPC_E_CONFIG);
	assert_int_equal(spawn(b, NULL, "exit 0", 0), GPC_E_CONFIG);
	/* There is nothing to end. */
	assert_int_equal(h->watch_fd(h, NULL, b->pipe[0], 0, 1), GPC_OK);
	assert_int_equal(h->set_timer(h, NULL, 0, 1), GPC_OK);
}

static void test_without_worker_callbacks(void **state)
{
	struct bench *b = *state;

	b->fake.collector.scope = GPC_SCOPE_SYSTEM;
	b->fake.collector.ready = NULL;
	b->fake.collector.window = NULL;
	b->at_start = wait_in_vain;
	bench_run(b);
	assert_int_equal(b->fake.started, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_descriptor_of_the_collector),
		bench_test(test_descriptor_of_a_target),
		bench_test(test_descriptors_end_one_by_one),
		bench_test(test_descriptor_that_cannot_be_watched),
		bench_test(test_descriptor_that_cannot_be_watched_from_start),
		bench_test(test_timers),
		bench_test(test_timer_of_a_target),
		bench_test(test_timers_of_two_targets),
		bench_test(test_program_that_ends),
		bench_test(test_program_that_is_late),
		bench_test(test_program_of_a_target_ends_with_it),
		bench_test(test_program_outlives_the_thread_that_started_us),
		bench_test(test_program_that_is_not_there),
		bench_test(test_without_worker_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
