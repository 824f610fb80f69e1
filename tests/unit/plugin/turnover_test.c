/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a window while a collector is busy: writing all the time, or with many
 * processes that wait to be attached. */
#include "host_bench.h"

#define LONG_NS   (20 * GPC_SECOND_NS)
#define ATTACHES  200
#define ATTACH_US 20000

/* ---- samples at any time -------------------------------------------------------- */

static void watch_pipe(struct bench *b)
{
	const struct gpc_host *h = b->fake.host;

	assert_int_equal(h->watch_fd(h, NULL, b->pipe[0], EPOLLIN, 1), GPC_OK);
}

/* A sample for each byte, its frame a name: the number of the window in which it came. */
static gpc_status write_sample(void *self, void *tctx, const struct gpc_ready *r,
			       struct gpc_writer *w)
{
	struct bench *b = self;
	struct gpc_sample s = {.target = 5, .value = 1, .event = 1, .cpu = -1};
	struct gpc_frame_desc desc = {.struct_size = sizeof desc};
	gpc_frame frame;
	char byte;

	(void)tctx;
	if (read(r->fd, &byte, 1) != 1)
		return GPC_E_SYSTEM;
	desc.function = w->str(w, &byte, 1);
	frame = w->frame(w, &desc);
	gpc_write(w, &s, &frame, 1);
	pthread_mutex_lock(&b->lock);
	b->fired[1]++;
	pthread_mutex_unlock(&b->lock);
	return GPC_OK;
}

static void push(struct bench *b, char byte, unsigned n)
{
	unsigned before = bench_fired(b, 1);

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(write(b->pipe[1], &byte, 1), 1);
	assert_int_equal(bench_wait(b, 1, before + n), before + n);
}

/* The window's only stack is byte's, and it has this value. */
static void assert_only(struct bench *b, struct gpc_names *names, char byte, uint64_t value)
{
	const struct gpc_stacks *s =
		gpc_instance_stacks(b->fake.instance, 1, gpc_names_epoch(names));
	struct gpc_frame_entry e;
	struct gpc_stack_row row;

	assert_non_null(s);
	assert_int_equal(gpc_stacks_rows(s), 1);
	row = gpc_stacks_row(s, 0);
	assert_int_equal(row.value, value);
	assert_true(gpc_names_entry(names, row.frames[0], &e));
	assert_int_equal(gpc_names_text(names, e.function, NULL)[0], byte);
}

/* Between the cut of a window and the end of its profile the next is being written: not
 * a sample of it may go, whichever names it has. */
static void test_nothing_is_lost_at_new_names(void **state)
{
	struct bench *b = *state;

	b->fake.collector.ready = write_sample;
	b->at_start = watch_pipe;
	bench_run(b);
	bench_on_worker(b, 5, NULL);
	for (char byte = 'a'; byte < 'e'; byte++) {
		struct gpc_window win = {.struct_size = sizeof win,
					 .deadline_ns = gpc_now_ns() + LONG_NS};
		struct gpc_names *next = gpc_names_new(gpc_names_epoch(b->names) + 1);

		push(b, byte, 4);
		assert_int_equal(gpc_instance_begin_window(b->fake.instance, &win, next, NULL),
				 GPC_OK);
		assert_int_equal(gpc_instance_end_window(b->fake.instance, &win, NULL), GPC_OK);
		push(b, (char)(byte + 1), 3);
		assert_only(b, b->names, byte, byte == 'a' ? 4 : 7);
		gpc_names_put(b->names);
		b->names = next;
	}
}

/* ---- many processes ---------------------------------------------------------------- */

static void sleep_a_while(struct bench *b, const struct gpc_target *t)
{
	(void)b;
	(void)t;
	usleep(ATTACH_US);
}

static void queue_attaches(struct bench *b)
{
	struct gpc_target_view *v;

	b->at_attach = sleep_a_while;
	for (uint64_t id = 1; id <= ATTACHES; id++) {
		v = bench_view(getpid(), id);
		gpc_instance_attach(b->fake.instance, v);
		gpc_target_put(v);
	}
}

static void test_attaches_that_wait_hold_up_no_window(void **state)
{
	struct bench *b = *state;
	struct gpc_window win = {.struct_size = sizeof win};
	struct gpc_target_view *v = bench_view(getpid(), ATTACHES + 1);

	bench_run(b);
	queue_attaches(b);
	win.deadline_ns = gpc_now_ns() + 2 * GPC_SECOND_NS;
	assert_int_equal(gpc_instance_window(b->fake.instance, &win, NULL), GPC_OK);
	assert_int_equal(gpc_instance_claim(b->fake.instance, v, win.deadline_ns), 60);
	assert_true(fake_get(&b->fake, attaches) < ATTACHES);
	gpc_target_put(v);
	assert_true(gpc_instance_settle(b->fake.instance, gpc_now_ns() + LONG_NS));
	assert_int_equal(gpc_instance_targets(b->fake.instance), ATTACHES);
}

static bool yes(void *ctx)
{
	(void)ctx;
	return true;
}

static void test_attaches_that_wait_are_not_done_at_the_end(void **state)
{
	struct bench *b = *state;
	unsigned before;

	bench_run(b);
	queue_attaches(b);
	gpc_instance_stop(b->fake.instance);
	assert_true(fake_get(&b->fake, attaches) < ATTACHES);
	assert_int_equal(fake_get(&b->fake, detaches), fake_get(&b->fake, attaches));
	gpc_instance_free(b->fake.instance);
	/* Nor once it is known that the end is near. */
	bench_run(b);
	before = fake_get(&b->fake, attaches);
	b->services.should_stop = yes;
	queue_attaches(b);
	assert_true(gpc_instance_settle(b->fake.instance, gpc_now_ns() + LONG_NS));
	assert_int_equal(fake_get(&b->fake, attaches), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_nothing_is_lost_at_new_names),
		bench_test(test_attaches_that_wait_hold_up_no_window),
		bench_test(test_attaches_that_wait_are_not_done_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
