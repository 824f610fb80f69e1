/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "plugin/spawn.h"
#include "plugin/worker.h"

#define SECOND GPC_SECOND_NS

/* What the worker's side does; counters are read by the test's thread. */
struct bench {
	struct gpc_worker *worker;
	int pipes[2][2];
	unsigned fired[4]; /* by token; atomic */
	uint32_t status;   /* of the child that ended; atomic */
	bool is_elsewhere; /* a callback ran on another thread */
	void (*then)(struct bench *b, const struct gpc_watch *watch);
};

static void on_watch(void *ctx, const struct gpc_watch *watch, uint32_t events)
{
	struct bench *b = ctx;

	if (!gpc_worker_is_me(b->worker))
		b->is_elsewhere = true;
	if (watch->kind == GPC_READY_CHILD)
		__atomic_store_n(&b->status, events, __ATOMIC_RELEASE);
	if (b->then)
		b->then(b, watch);
	__atomic_add_fetch(&b->fired[watch->token], 1, __ATOMIC_RELEASE);
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);

	for (int i = 0; i < 2; i++)
		assert_int_equal(pipe2(b->pipes[i], O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(gpc_worker_new("test-worker", b, &b->worker, NULL), GPC_OK);
	gpc_worker_on_watch(b->worker, on_watch);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	gpc_worker_free(b->worker);
	assert_false(b->is_elsewhere);
	for (int i = 0; i < 4; i++)
		close(b->pipes[i / 2][i % 2]);
	free(b);
	return 0;
}

static unsigned wait_fired(struct bench *b, unsigned token, unsigned n)
{
	for (int i = 0; i < 1000; i++) {
		if (__atomic_load_n(&b->fired[token], __ATOMIC_ACQUIRE) >= n)
			break;
		usleep(10000);
	}
	return __atomic_load_n(&b->fired[token], __ATOMIC_ACQUIRE);
}

/* ---- jobs -------------------------------------------------------------------- */

struct task {
	struct gpc_ticket ticket;
	void (*fn)(struct bench *b, struct task *t);
	unsigned *runs, *drops; /* atomic */
	int number;
	struct gpc_watch watch;
	gpc_status result;
};

static void drop_task(struct gpc_ticket *ticket)
{
	struct task *t = (struct task *)(void *)ticket;

	if (t->drops)
		__atomic_add_fetch(t->drops, 1, __ATOMIC_RELAXED);
	free(t);
}

static struct task *new_task(void (*fn)(struct bench *b, struct task *t), unsigned *runs,
			     unsigned *drops)
{
	struct task *t = calloc(1, sizeof *t);

	t->ticket = (struct gpc_ticket){.refs = 1, .drop = drop_task};
	t->fn = fn;
	t->runs = runs;
	t->drops = drops;
	return t;
}

static void run_task(void *ctx, struct gpc_ticket *ticket)
{
	struct task *t = (struct task *)(void *)ticket;

	if (t->fn)
		t->fn(ctx, t);
	if (t->runs)
		__atomic_add_fetch(t->runs, 1, __ATOMIC_RELEASE);
}

struct poster {
	struct bench *bench;
	unsigned *runs, *drops;
};

static void *post_many(void *arg)
{
	struct poster *p = arg;

	for (int i = 0; i < 500; i++) {
		struct task *t = new_task(NULL, p->runs, p->drops);

		if (i % 50 == 0)
			gpc_worker_call(p->bench->worker, run_task, &t->ticket,
					gpc_now_ns() + 20 * SECOND);
		else
			gpc_worker_post(p->bench->worker, run_task, &t->ticket);
	}
	return NULL;
}

static void test_posts_from_many_threads(void **state)
{
	struct bench *b = *state;
	unsigned runs = 0, drops = 0;
	struct poster p = {b, &runs, &drops};
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, post_many, &p);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	gpc_worker_free(b->worker); /* runs what is queued */
	b->worker = NULL;
	assert_int_equal(runs, 2000);
	assert_int_equal(drops, 2000);
}

static void note_order(struct bench *b, struct task *t)
{
	if (b->fired[0] == (unsigned)t->number)
		__atomic_add_fetch(&b->fired[0], 1, __ATOMIC_RELAXED);
}

static void test_jobs_of_one_thread_keep_their_order(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 1000; i++) {
		struct task *t = new_task(note_order, NULL, NULL);

		t->number = i;
		assert_true(gpc_worker_post(b->worker, run_task, &t->ticket));
	}
	assert_int_equal(wait_fired(b, 0, 1000), 1000);
}

static void block(struct bench *b, struct task *t)
{
	char byte;

	(void)t;
	while (read(b->pipes[0][0], &byte, 1) != 1)
		usleep(1000);
}

/* The caller lets go; the job goes on and its ticket is freed once, by the worker. */
static void test_call_that_takes_too_long(void **state)
{
	struct bench *b = *state;
	unsigned runs = 0, drops = 0;
	uint64_t begin = gpc_now_ns(), took;
	struct task *next;

	assert_false(gpc_worker_call(b->worker, run_task, &new_task(block, &runs, &drops)->ticket,
				     begin + SECOND / 20));
	took = gpc_now_ns() - begin;
	assert_true(took >= SECOND / 20 && took < 5 * SECOND);
	assert_int_equal(__atomic_load_n(&runs, __ATOMIC_ACQUIRE), 0);
	assert_int_equal(drops, 0);
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	next = new_task(NULL, &runs, &drops);
	assert_true(
		gpc_worker_call(b->worker, run_task, &next->ticket, gpc_now_ns() + 20 * SECOND));
	assert_int_equal(__atomic_load_n(&runs, __ATOMIC_ACQUIRE), 2);
	gpc_worker_free(b->worker);
	b->worker = NULL;
	assert_int_equal(drops, 2);
}

static void is_after_first(struct bench *b, struct task *t)
{
	t->result = (gpc_status)b->fired[1];
	b->fired[1]++;
}

static void test_some_go_first(void **state)
{
	struct bench *b = *state;
	struct task *normal = new_task(is_after_first, NULL, NULL);
	struct task *first = new_task(is_after_first, NULL, NULL);

	normal->ticket.refs = first->ticket.refs = 2;
	assert_true(gpc_worker_post(b->worker, run_task, &new_task(block, NULL, NULL)->ticket));
	assert_true(gpc_worker_post(b->worker, run_task, &normal->ticket));
	assert_true(gpc_worker_post_first(b->worker, run_task, &first->ticket));
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	assert_true(gpc_worker_wait(b->worker, &normal->ticket, gpc_now_ns() + 20 * SECOND));
	assert_int_equal(first->result, 0);
	assert_int_equal(normal->result, 1);
	assert_true(gpc_worker_call_first(b->worker, run_task, &new_task(NULL, NULL, NULL)->ticket,
					  gpc_now_ns() + 20 * SECOND));
	gpc_ticket_put(&normal->ticket);
	gpc_ticket_put(&first->ticket);
}

static void test_deadline_in_the_past(void **state)
{
	struct bench *b = *state;
	unsigned drops = 0;

	assert_false(
		gpc_worker_call(b->worker, run_task, &new_task(block, NULL, &drops)->ticket, 1));
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	gpc_worker_free(b->worker);
	b->worker = NULL;
	assert_int_equal(drops, 1);
}

static void test_who_am_i(void **state)
{
	struct bench *b = *state;

	assert_false(gpc_worker_is_me(b->worker));
	gpc_worker_free(NULL);
}

/* ---- watches, always from the worker ------------------------------------------- */

static void add_watch(struct bench *b, struct task *t)
{
	struct gpc_err err;

	t->result = gpc_worker_watch(b->worker, &t->watch, &err);
}

static gpc_status watch(struct bench *b, const struct gpc_watch *w)
{
	struct task *t = new_task(add_watch, NULL, NULL);
	gpc_status st;

	t->watch = *w;
	__atomic_add_fetch(&t->ticket.refs, 1, __ATOMIC_RELAXED);
	assert_true(gpc_worker_call(b->worker, run_task, &t->ticket, gpc_now_ns() + 20 * SECOND));
	st = t->result;
	gpc_ticket_put(&t->ticket);
	return st;
}

static void watch_pipe(struct bench *b, int i)
{
	struct gpc_watch w = {.fd = b->pipes[i][0],
			      .kind = GPC_READY_FD,
			      .events = EPOLLIN,
			      .token = (uint64_t)i};

	assert_int_equal(watch(b, &w), GPC_OK);
}

static bool has_token(void *arg, const struct gpc_watch *watch)
{
	return watch->token == *(const uint64_t *)arg;
}

static bool every(void *arg, const struct gpc_watch *watch)
{
	(void)arg;
	(void)watch;
	return true;
}

static void end_all(struct bench *b, struct task *t)
{
	(void)t;
	gpc_worker_unwatch(b->worker, every, NULL);
}

static void unwatch_all(struct bench *b)
{
	assert_true(gpc_worker_call(b->worker, run_task, &new_task(end_all, NULL, NULL)->ticket,
				    gpc_now_ns() + 20 * SECOND));
}

static void read_it(struct bench *b, const struct gpc_watch *watch)
{
	char bytes[16];

	(void)b;
	while (read(watch->fd, bytes, sizeof bytes) > 0)
		;
}

static void test_descriptor(void **state)
{
	struct bench *b = *state;

	b->then = read_it;
	watch_pipe(b, 0);
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	assert_int_equal(wait_fired(b, 0, 1), 1);
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	assert_int_equal(wait_fired(b, 0, 2), 2);
	unwatch_all(b);
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	usleep(50000);
	assert_int_equal(wait_fired(b, 0, 2), 2);
}

static void nap(struct bench *b, struct task *t)
{
	(void)b;
	(void)t;
	usleep(2000);
}

static void test_descriptor_between_jobs(void **state)
{
	struct bench *b = *state;
	unsigned runs = 0;

	b->then = read_it;
	watch_pipe(b, 0);
	for (int i = 0; i < 500; i++)
		gpc_worker_post(b->worker, run_task, &new_task(nap, &runs, NULL)->ticket);
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	assert_int_equal(wait_fired(b, 0, 1), 1);
	assert_true(__atomic_load_n(&runs, __ATOMIC_ACQUIRE) < 500);
	gpc_worker_free(b->worker);
	b->worker = NULL;
	assert_int_equal(runs, 500);
}

/* Both pipes are ready in the same round; whoever comes first ends both. */
static void end_both(struct bench *b, const struct gpc_watch *watch)
{
	(void)watch;
	gpc_worker_unwatch(b->worker, every, NULL);
}

static void test_unwatch_from_a_callback(void **state)
{
	struct bench *b = *state;

	b->then = end_both;
	/* No job in between: both are watched and ready before the worker waits. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(write(b->pipes[i][1], "x", 1), 1);
	for (int i = 0; i < 2; i++) {
		struct task *t = new_task(add_watch, NULL, NULL);

		t->watch = (struct gpc_watch){.fd = b->pipes[i][0],
					      .kind = GPC_READY_FD,
					      .events = EPOLLIN,
					      .token = (uint64_t)i};
		gpc_worker_post(b->worker, run_task, &t->ticket);
	}
	usleep(100000);
	unwatch_all(b);
	assert_true(wait_fired(b, 0, 0) + wait_fired(b, 1, 0) >= 1);
	assert_true(wait_fired(b, 0, 0) <= 1 && wait_fired(b, 1, 0) <= 1);
}

static void watch_the_other(struct bench *b, const struct gpc_watch *watch)
{
	struct gpc_watch other = {.fd = b->pipes[1][0],
				  .kind = GPC_READY_FD,
				  .events = EPOLLIN,
				  .token = 1};
	uint64_t mine = watch->token;

	if (mine == 0) {
		gpc_worker_watch(b->worker, &other, NULL);
		gpc_worker_unwatch(b->worker, has_token, &mine);
	} else {
		read_it(b, watch);
	}
}

static void test_watch_from_a_callback(void **state)
{
	struct bench *b = *state;

	b->then = watch_the_other;
	watch_pipe(b, 0);
	assert_int_equal(write(b->pipes[1][1], "x", 1), 1);
	assert_int_equal(write(b->pipes[0][1], "x", 1), 1);
	assert_int_equal(wait_fired(b, 1, 1), 1);
	assert_int_equal(wait_fired(b, 0, 1), 1);
}

static void test_timer(void **state)
{
	struct itimerspec spec = {gpc_timespec(SECOND / 100), gpc_timespec(SECOND / 100)};
	struct bench *b = *state;
	struct gpc_watch w = {.kind = GPC_READY_TIMER,
			      .events = EPOLLIN,
			      .token = 2,
			      .owns_fd = true};
	uint64_t begin = gpc_now_ns();

	w.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	timerfd_settime(w.fd, 0, &spec, NULL);
	assert_int_equal(watch(b, &w), GPC_OK);
	assert_true(wait_fired(b, 2, 5) >= 5);
	assert_true(gpc_now_ns() - begin >= 5 * SECOND / 100);
	unwatch_all(b);
	assert_int_equal(fcntl(w.fd, F_GETFD), -1); /* closed with its watch */
}

static void test_descriptor_that_cannot_be_watched(void **state)
{
	struct bench *b = *state;
	int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	struct gpc_watch w = {.fd = file, .kind = GPC_READY_FD, .events = EPOLLIN, .owns_fd = true};

	assert_int_equal(watch(b, &w), GPC_E_PERM); /* epoll takes no regular files */
	assert_int_equal(fcntl(file, F_GETFD), -1);
	w.owns_fd = false;
	w.fd = 9999;
	assert_int_equal(watch(b, &w), GPC_E_SYSTEM);
}

/* ---- children ----------------------------------------------------------------------- */

/* Programs end with the thread that started them: the worker must do it. */
static void start_child(struct bench *b, struct task *t)
{
	static const char *const scripts[] = {"exit 5", "exec sleep 1000"};
	const char *const argv[] = {"/bin/sh", "-c", scripts[t->number], NULL};
	struct gpc_spawn s = {.struct_size = sizeof s, .argv = argv, .fds = {-1, -1, -1}};

	t->result = gpc_spawn_start(&s, &t->watch.child, &t->watch.fd, NULL);
	if (t->result == GPC_OK)
		t->result = gpc_worker_watch(b->worker, &t->watch, NULL);
}

static int32_t start(struct bench *b, int script, uint64_t deadline_ns)
{
	struct task *t = new_task(start_child, NULL, NULL);
	int32_t pid;

	t->number = script;
	t->watch = (struct gpc_watch){.kind = GPC_READY_CHILD,
				      .events = EPOLLIN,
				      .token = 3,
				      .owns_fd = true,
				      .deadline_ns = deadline_ns};
	__atomic_add_fetch(&t->ticket.refs, 1, __ATOMIC_RELAXED);
	assert_true(gpc_worker_call(b->worker, run_task, &t->ticket, gpc_now_ns() + 20 * SECOND));
	assert_int_equal(t->result, GPC_OK);
	pid = t->watch.child;
	gpc_ticket_put(&t->ticket);
	return pid;
}

static void assert_reaped(int32_t pid)
{
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_child_that_ends(void **state)
{
	struct bench *b = *state;
	int32_t pid = start(b, 0, 0);

	assert_int_equal(wait_fired(b, 3, 1), 1);
	assert_true(WIFEXITED((int)b->status));
	assert_int_equal(WEXITSTATUS((int)b->status), 5);
	assert_reaped(pid);
}

static void test_child_past_its_deadline(void **state)
{
	struct bench *b = *state;
	uint64_t begin = gpc_now_ns();
	int32_t pid = start(b, 1, begin + SECOND / 10);

	assert_int_equal(wait_fired(b, 3, 1), 1);
	assert_true(gpc_now_ns() - begin >= SECOND / 10);
	assert_true(gpc_now_ns() - begin < 5 * SECOND);
	assert_true(WIFSIGNALED((int)b->status));
	assert_int_equal(WTERMSIG((int)b->status), SIGKILL);
	assert_reaped(pid);
}

/* epoll takes no regular files: such a child would never be heard of again. */
static void test_child_that_cannot_be_watched(void **state)
{
	struct bench *b = *state;
	pid_t pid = fork();
	struct gpc_watch w = {.fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC),
			      .kind = GPC_READY_CHILD,
			      .events = EPOLLIN,
			      .owns_fd = true};

	if (pid == 0)
		for (;;)
			pause();
	w.child = pid;
	assert_int_equal(watch(b, &w), GPC_E_PERM);
	assert_reaped(pid);
}

static void test_child_that_is_let_go(void **state)
{
	struct bench *b = *state;
	int32_t pid = start(b, 1, 0);

	assert_int_equal(kill(pid, 0), 0);
	unwatch_all(b);
	assert_reaped(pid);
	assert_int_equal(b->fired[3], 0);
}

static void test_child_at_the_end(void **state)
{
	struct bench *b = *state;
	int32_t pid = start(b, 1, 0);

	gpc_worker_free(b->worker);
	b->worker = NULL;
	assert_reaped(pid);
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_posts_from_many_threads),
		bench_test(test_jobs_of_one_thread_keep_their_order),
		bench_test(test_call_that_takes_too_long),
		bench_test(test_some_go_first),
		bench_test(test_deadline_in_the_past),
		bench_test(test_who_am_i),
		bench_test(test_descriptor),
		bench_test(test_descriptor_between_jobs),
		bench_test(test_unwatch_from_a_callback),
		bench_test(test_watch_from_a_callback),
		bench_test(test_timer),
		bench_test(test_descriptor_that_cannot_be_watched),
		bench_test(test_child_that_ends),
		bench_test(test_child_past_its_deadline),
		bench_test(test_child_that_cannot_be_watched),
		bench_test(test_child_that_is_let_go),
		bench_test(test_child_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
