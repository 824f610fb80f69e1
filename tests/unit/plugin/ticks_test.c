/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "plugin/ticks.h"
#include "proc/running.h"

#define HZ 499

/* A child that works, sleeps, or works in a second thread while its first sleeps. */
enum work { WORKS, SLEEPS, SECOND_THREAD };

struct child {
	enum work work;
	pid_t pid;
	int32_t *tid; /* shared: of the second thread */
	struct gpc_target target;
	unsigned samples, of_second, strange; /* atomic */
};

struct bench {
	struct gpc_ticks *ticks;
	struct gpc_names *names;
	struct gpc_batch_writer *writer;
	struct gpc_tick_api api;
	unsigned records, torn; /* atomic */
	bool is_hinting;
};

static void spin(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void *second(void *arg)
{
	int32_t *tid = arg;

	usleep(100000); /* it must be found when it begins */
	__atomic_store_n(tid, (int32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	spin();
	return NULL;
}

static void child_run(const struct child *c)
{
	pthread_t thread;

	if (c->work == WORKS)
		spin();
	if (c->work == SECOND_THREAD)
		pthread_create(&thread, NULL, second, c->tid);
	for (;;)
		pause();
}

static void child_start(struct child *c, enum work work)
{
	*c = (struct child){.work = work};
	c->tid = mmap(NULL, sizeof *c->tid, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(c->tid != MAP_FAILED);
	c->pid = fork();
	if (!c->pid)
		child_run(c);
	c->target = (struct gpc_target){.struct_size = sizeof c->target,
					.pid = c->pid,
					.ns_pid = c->pid,
					.id = (uint64_t)c->pid};
}

static void child_end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	munmap(c->tid, sizeof *c->tid);
}

/* Nonsense is foreign, too. */
static uint32_t hints(void *self, void *tctx, int32_t *ns_tids, uint32_t room)
{
	const struct child *c = tctx;
	const struct bench *b = self;

	assert_true(room >= 4);
	if (!b->is_hinting)
		return 0;
	ns_tids[0] = -1;
	ns_tids[1] = 0;
	ns_tids[2] = 0x7FFFFFFF;
	ns_tids[3] = c->pid;
	return 4;
}

static gpc_status on_tick(void *self, void *tctx, const struct gpc_pull_sample *s,
			  struct gpc_writer *w)
{
	struct bench *b = self;
	struct child *c = tctx;
	struct gpc_sample sample = {.target = c->target.id, .value = 1, .event = 1};
	int32_t tid = __atomic_load_n(c->tid, __ATOMIC_ACQUIRE);
	gpc_frame frame;

	__atomic_add_fetch(&c->samples, 1, __ATOMIC_RELAXED);
	if (tid && s->tid == tid)
		__atomic_add_fetch(&c->of_second, 1, __ATOMIC_RELAXED);
	else if (s->tid != c->pid)
		__atomic_add_fetch(&c->strange, 1, __ATOMIC_RELAXED);
	if (gpc_ticks_target(b->ticks) != c->target.id || s->ns_tid != s->tid)
		__atomic_add_fetch(&c->strange, 1, __ATOMIC_RELAXED);
	/* The first ones. */
	if (c->samples <= b->torn)
		return GPC_E_CORRUPT;
	frame = w->frame(w, &(struct gpc_frame_desc){.struct_size = sizeof(struct gpc_frame_desc),
						     .function = w->str(w, "f", 1)});
	return gpc_write(w, &sample, &frame, 1);
}

static void on_batch(void *ctx, const uint8_t *records, size_t n)
{
	struct bench *b = ctx;

	(void)records;
	assert_true(n > 0);
	__atomic_add_fetch(&b->records, 1, __ATOMIC_RELAXED);
}

static struct gpc_ticks *start(struct bench *b, bool is_hinting)
{
	struct gpc_batch_sink sink = {.ctx = b, .batch = on_batch};
	struct gpc_ticks_setup setup = {.api = &b->api,
					.self = b,
					.every_ns = GPC_SECOND_NS / HZ,
					.permille = 500,
					.is_realtime = true,
					.name = "test"};
	struct gpc_err err = {0};

	memset(b, 0, sizeof *b);
	b->is_hinting = is_hinting;
	b->api = (struct gpc_tick_api){.struct_size = sizeof b->api,
				       .threads = hints,
				       .tick = on_tick};
	b->names = gpc_names_new(1);
	assert_int_equal(gpc_batch_writer_new(b->names, NULL, 0, 0, &sink, &b->writer, &err),
			 GPC_OK);
	setup.writer = b->writer;
	assert_int_equal(gpc_ticks_new(&setup, &b->ticks, &err), GPC_OK);
	return b->ticks;
}

static void end(struct bench *b)
{
	gpc_ticks_free(b->ticks);
	gpc_batch_writer_free(b->writer);
	gpc_names_put(b->names);
}

/* Until it has used so much CPU; the machine may be busy. */
static void work_for(const struct child *c, uint64_t ns)
{
	uint64_t from = gpc_process_cpu_ns(c->pid), until = gpc_now_ns() + 60 * GPC_SECOND_NS;

	while (gpc_process_cpu_ns(c->pid) < from + ns && gpc_now_ns() < until)
		usleep(2000);
}

#define get(c, member) __atomic_load_n(&(c).member, __ATOMIC_RELAXED)

/* As many samples as it used CPU; one that sleeps or stands still has none. */
static void test_only_who_runs(void **state)
{
	struct bench b;
	struct child works, sleeps;
	unsigned expected = HZ / 2, before;

	(void)state;
	child_start(&works, WORKS);
	child_start(&sleeps, SLEEPS);
	start(&b, true);
	assert_int_equal(gpc_ticks_add(b.ticks, &works.target, &works), GPC_OK);
	assert_int_equal(gpc_ticks_add(b.ticks, &sleeps.target, &sleeps), GPC_OK);
	work_for(&works, GPC_SECOND_NS / 2);
	before = get(works, samples);
	if (geteuid() == 0)
		assert_in_range(before, expected / 2, expected * 3 / 2);
	assert_int_equal(get(sleeps, samples), 0);
	assert_int_equal(get(works, strange), 0);
	kill(works.pid, SIGSTOP);
	usleep(50000);
	before = get(works, samples);
	usleep(100000);
	assert_int_equal(get(works, samples), before);
	kill(works.pid, SIGCONT);
	work_for(&works, GPC_SECOND_NS / 10);
	assert_true(get(works, samples) > before || geteuid() != 0);
	gpc_ticks_remove(b.ticks, works.target.id);
	before = get(works, samples);
	work_for(&works, GPC_SECOND_NS / 20);
	assert_int_equal(get(works, samples), before);
	assert_true(get(b, records) >= before);
	end(&b); /* with a process still there */
	child_end(&works);
	child_end(&sleeps);
}

/* What the collector could not read is counted. */
static void test_counts(void **state)
{
	struct gpc_ticks_stats stats;
	struct bench b;
	struct child c;

	(void)state;
	child_start(&c, WORKS);
	start(&b, true);
	gpc_ticks_stats(b.ticks, &stats);
	assert_int_equal(stats.asked, 0);
	b.torn = 5;
	assert_int_equal(gpc_ticks_add(b.ticks, &c.target, &c), GPC_OK);
	work_for(&c, GPC_SECOND_NS / 4);
	gpc_ticks_remove(b.ticks, c.target.id);
	gpc_ticks_stats(b.ticks, &stats);
	assert_int_equal(stats.asked, get(c, samples));
	assert_true(stats.failed == 5 || (geteuid() != 0 && stats.failed == stats.asked));
	assert_true(stats.exact == (geteuid() == 0 ? stats.asked : 0));
	end(&b);
	child_end(&c);
}

/* A thread that nobody names is found by what it uses. */
static void test_thread_that_nobody_names(void **state)
{
	struct bench b;
	struct child c;

	(void)state;
	child_start(&c, SECOND_THREAD);
	start(&b, false);
	assert_int_equal(gpc_ticks_add(b.ticks, &c.target, &c), GPC_OK);
	work_for(&c, GPC_SECOND_NS);
	if (geteuid() == 0)
		assert_true(get(c, of_second) > HZ / 4);
	assert_int_equal(get(c, strange), 0);
	end(&b);
	child_end(&c);
}

/* Processes come and go while it ticks; some have gone before they are removed. */
static void test_coming_and_going(void **state)
{
	struct bench b;
	struct child children[8];

	(void)state;
	start(&b, true);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 8; i++) {
			child_start(&children[i], WORKS);
			assert_int_equal(gpc_ticks_add(b.ticks, &children[i].target, &children[i]),
					 GPC_OK);
		}
		usleep(50000);
		for (unsigned i = 0; i < 8; i++) {
			if (i % 2)
				child_end(&children[i]);
			gpc_ticks_remove(b.ticks, children[i].target.id);
			if (i % 2 == 0)
				child_end(&children[i]);
			assert_int_equal(get(children[i], strange), 0);
		}
	}
	gpc_ticks_remove(b.ticks, 12345);
	end(&b);
	gpc_ticks_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_who_runs),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_thread_that_nobody_names),
		cmocka_unit_test(test_coming_and_going),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
