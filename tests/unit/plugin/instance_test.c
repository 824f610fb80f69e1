/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../proc/child.h"
#include "collector.h"

#define LONG_NS (20 * GPC_SECOND_NS)

struct bench {
	struct fake fake;
	struct gpc_services services;
	struct gpc_names *names;
	uint32_t seq;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);

	fake_init(&b->fake, "fake", "python", "*");
	b->services.stack_bytes = 1 << 20;
	b->names = gpc_names_new(1);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	fake_set(&b->fake, is_stuck, false);
	gpc_instance_free(b->fake.instance);
	assert_int_equal(b->fake.attaches >= b->fake.detaches, true);
	gpc_names_put(b->names);
	free(b);
	return 0;
}

static void run(struct bench *b)
{
	struct gpc_err err = {0};

	if (fake_run(&b->fake, &b->services, b->names, &err) < 0)
		fail_msg("%s", err.text);
}

static gpc_status window(struct bench *b, uint64_t ns, struct gpc_err *err)
{
	struct gpc_window win = {.struct_size = sizeof win,
				 .seq = b->seq++,
				 .deadline_ns = gpc_now_ns() + ns};

	gpc_instance_settle(b->fake.instance, win.deadline_ns); /* what is attached goes first */
	return gpc_instance_window(b->fake.instance, &win, err);
}

static void good_window(struct bench *b)
{
	assert_int_equal(window(b, LONG_NS, NULL), GPC_OK);
}

/* Attaches to a real process under the number id. */
static void attach(struct bench *b, pid_t pid, uint64_t id)
{
	struct gpc_target_id target = {.pid = pid, .id = id};
	struct gpc_target_view *v = NULL;

	assert_int_equal(gpc_target_read(&target, &v, NULL), GPC_OK);
	gpc_instance_attach(b->fake.instance, v);
	gpc_target_put(v);
}

/* The value of all rows of a process, and how many rows it has. */
static uint64_t written(struct bench *b, uint64_t id, unsigned *n_rows)
{
	const struct gpc_stacks *s = gpc_instance_stacks(b->fake.instance, 1, 1);
	uint64_t sum = 0;

	*n_rows = 0;
	assert_non_null(s);
	for (size_t k = 0; k < gpc_stacks_rows(s); k++) {
		struct gpc_stack_row row = gpc_stacks_row(s, k);

		sum += row.process == id ? row.value : 0;
		*n_rows += row.process == id;
	}
	return sum;
}

static bool has_report(struct bench *b, uint64_t target, gpc_status code, const char *word)
{
	struct gpc_reports r;
	bool is_there = false;

	gpc_instance_take_reports(b->fake.instance, &r);
	for (size_t k = 0; k < r.list.n; k++)
		is_there |= r.list.at[k].target == target && r.list.at[k].code == code &&
			    strstr(r.list.at[k].detail, word);
	gpc_reports_deinit(&r);
	return is_there;
}

/* ---- life --------------------------------------------------------------------- */

static void test_life(void **state)
{
	struct bench *b = *state;

	run(b);
	assert_string_equal(gpc_instance_name(b->fake.instance), "fake");
	assert_ptr_equal(gpc_instance_of_host(b->fake.host), b->fake.instance);
	attach(b, getpid(), 5);
	good_window(b);
	assert_int_equal(gpc_instance_targets(b->fake.instance), 1);
	gpc_instance_stop(b->fake.instance);
	gpc_instance_stop(b->fake.instance);
	assert_int_equal(b->fake.stopped, 1);
	assert_int_equal(b->fake.detaches, 1);
	assert_int_equal(b->fake.destroyed, 0);
	gpc_instance_free(b->fake.instance);
	b->fake.instance = NULL;
	assert_int_equal(b->fake.destroyed, 1);
	gpc_instance_free(NULL);
}

static void test_cannot_be_created(void **state)
{
	struct bench *b = *state;
	struct gpc_err err = {0};

	b->fake.create_status = GPC_E_UNSUPPORTED;
	assert_int_equal(fake_run(&b->fake, &b->services, b->names, &err), GPC_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "fake"));
	assert_int_equal(b->fake.destroyed, 0);
	assert_null(b->fake.instance);
}

static void test_cannot_work_here(void **state)
{
	struct bench *b = *state;
	struct gpc_err err = {0};

	b->fake.probe_status = GPC_E_PERM;
	b->fake.why = "CAP_SOMETHING is missing";
	assert_int_equal(fake_run(&b->fake, &b->services, b->names, &err), GPC_E_PERM);
	assert_non_null(strstr(err.text, "CAP_SOMETHING is missing"));
	assert_int_equal(b->fake.destroyed, 1);
	assert_int_equal(b->fake.started, 0);
}

/* ---- what it writes --------------------------------------------------------------- */

static gpc_status write_value(struct gpc_writer *w, uint64_t target, uint16_t event, uint64_t value)
{
	struct gpc_sample s = {.target = target, .value = value, .event = event, .cpu = -1};
	gpc_frame frames[2] = {0x1000, 0x2000};

	return gpc_write(w, &s, frames, 2);
}

static gpc_status write_three(struct fake *f, uint64_t target, struct gpc_writer *w)
{
	(void)f;
	write_value(w, target, 1, 2);
	return write_value(w, target, 1, 1);
}

static void test_samples_of_each_window(void **state)
{
	struct bench *b = *state;
	unsigned rows;

	b->fake.write = write_three;
	run(b);
	attach(b, getpid(), 5);
	for (int i = 0; i < 3; i++) {
		good_window(b);
		assert_int_equal(written(b, 5, &rows), 3);
		assert_int_equal(rows, 1);
	}
	b->fake.write = NULL;
	good_window(b);
	assert_int_equal(written(b, 5, &rows), 0);
	assert_null(gpc_instance_stacks(b->fake.instance, 2, 1)); /* no such event */
	assert_null(gpc_instance_stacks(b->fake.instance, 1, 2)); /* another epoch of names */
}

static gpc_status write_nonsense(struct fake *f, uint64_t target, struct gpc_writer *w)
{
	struct gpc_sample empty = {.target = target, .value = 1, .event = 1};

	(void)f;
	write_value(w, 999, 1, 7);     /* nobody's */
	write_value(w, target, 42, 7); /* no such event */
	write_value(w, target, 1, 0);
	gpc_write(w, &empty, NULL, 0);
	return write_value(w, target, 1, 1);
}

static void test_records_of_unknown_processes_and_events(void **state)
{
	struct bench *b = *state;
	unsigned rows;

	b->fake.write = write_nonsense;
	run(b);
	attach(b, getpid(), 5);
	good_window(b);
	assert_int_equal(written(b, 5, &rows), 1);
	assert_int_equal(written(b, 999, &rows), 0);
	assert_true(has_report(b, 0, GPC_E_CORRUPT, "refused records: 4"));
}

static gpc_status write_broken(struct fake *f, uint64_t target, struct gpc_writer *w)
{
	struct gpc_record *head;

	(void)f;
	write_value(w, target, 1, 4);
	head = (struct gpc_record *)(void *)w->pos;
	*head = (struct gpc_record){.type = GPC_REC_SAMPLE, .size = 4};
	w->pos += 8;
	return GPC_OK;
}

static void test_broken_records_are_told(void **state)
{
	struct bench *b = *state;
	unsigned rows;

	b->fake.write = write_broken;
	run(b);
	attach(b, getpid(), 5);
	good_window(b);
	assert_int_equal(written(b, 5, &rows), 4); /* what came before is good */
	assert_true(has_report(b, 0, GPC_E_CORRUPT, "record"));
	b->fake.write = write_three;
	good_window(b);
	assert_int_equal(written(b, 5, &rows), 3);
}

static gpc_status write_much(struct fake *f, uint64_t target, struct gpc_writer *w)
{
	(void)f;
	for (int i = 0; i < 100; i++)
		write_value(w, target, 1, 1);
	return GPC_OK;
}

static void test_budget_of_records(void **state)
{
	struct bench *b = *state;
	unsigned rows;
	uint64_t kept;

	b->fake.write = write_much;
	b->services.record_bytes = 64 * 10; /* a sample of two frames has 64 bytes */
	run(b);
	attach(b, getpid(), 5);
	for (int i = 0; i < 2; i++) { /* begins anew with each window */
		char word[64];

		good_window(b);
		kept = written(b, 5, &rows);
		assert_true(kept > 0 && kept <= 10);
		snprintf(word, sizeof word, "refused records: %d", (int)(100 - kept));
		assert_true(has_report(b, 0, GPC_E_BUDGET, word));
	}
}

static void test_window_that_fails(void **state)
{
	struct bench *b = *state;

	b->fake.window_status = GPC_E_BUSY;
	run(b);
	attach(b, getpid(), 5);
	good_window(b);
	assert_true(has_report(b, 5, GPC_E_BUSY, ""));
	good_window(b);
	assert_true(has_report(b, 5, GPC_E_BUSY, ""));
}

/* ---- deadlines ------------------------------------------------------------------------ */

static void test_window_that_does_not_come_back(void **state)
{
	struct bench *b = *state;
	struct gpc_err err = {0};
	uint64_t begin = gpc_now_ns();
	unsigned rows;

	b->fake.write = write_three;
	run(b);
	attach(b, getpid(), 5);
	fake_set(&b->fake, is_stuck, true);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(window(b, 50 * GPC_MS_NS, &err), GPC_E_TIMEOUT);
		assert_non_null(strstr(err.text, "fake"));
	}
	assert_true(gpc_now_ns() - begin < 5 * GPC_SECOND_NS);
	fake_set(&b->fake, is_stuck, false);
	/* It recovers, and what came late is not counted for this window too. */
	good_window(b);
	assert_int_equal(written(b, 5, &rows), 3);
	assert_int_equal(b->fake.windows, 3);
}

static void test_claim_that_does_not_come_back(void **state)
{
	struct bench *b = *state;
	struct gpc_target_id id = {.pid = getpid(), .id = 5};
	struct gpc_target_view *v = NULL;

	run(b);
	assert_int_equal(gpc_target_read(&id, &v, NULL), GPC_OK);
	assert_int_equal(gpc_instance_claim(b->fake.instance, v, gpc_now_ns() + LONG_NS), 60);
	fake_set(&b->fake, is_stuck, true);
	assert_int_equal(gpc_instance_claim(b->fake.instance, v, gpc_now_ns() + GPC_SECOND_NS / 20),
			 -1);
	gpc_target_put(v);
	fake_set(&b->fake, is_stuck, false);
}

static void test_without_claim_the_match_decides(void **state)
{
	struct bench *b = *state;

	b->fake.collector.claim = NULL;
	run(b);
	assert_int_equal(gpc_instance_claim(b->fake.instance, NULL, 0), 50);
}

/* ---- attaching -------------------------------------------------------------------------- */

/* Tried again after 2, 4, 8 windows; told of in every one. */
static void test_backing_off(void **state)
{
	static const unsigned tries[] = {1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4};
	struct bench *b = *state;

	b->fake.attach_status = GPC_E_BUSY;
	run(b);
	attach(b, getpid(), 5);
	for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
		if (k)
			good_window(b);
		/* It is tried after the window; one try too many shows at the next one. */
		fake_wait_for(&b->fake, attaches, tries[k]);
		assert_int_equal(fake_get(&b->fake, attaches), tries[k]);
		assert_true(k == 0 || has_report(b, 5, GPC_E_BUSY, ""));
	}
	fake_set(&b->fake, attach_status, GPC_OK);
	for (int i = 0; i < 16; i++)
		good_window(b);
	fake_wait_for(&b->fake, attaches, 5);
	good_window(b);
	assert_int_equal(gpc_instance_targets(b->fake.instance), 1);
	assert_int_equal(fake_get(&b->fake, attaches), 5);
}

/* After an exec the old image is nothing to attach to, though its pid lives. */
static void test_no_more_tries_after_detach(void **state)
{
	struct bench *b = *state;

	b->fake.attach_status = GPC_E_BUSY;
	run(b);
	attach(b, getpid(), 5);
	gpc_instance_detach(b->fake.instance, 5);
	gpc_instance_settle(b->fake.instance, gpc_now_ns() + LONG_NS);
	fake_set(&b->fake, attach_status, GPC_OK);
	for (int i = 0; i < 5; i++)
		good_window(b);
	assert_int_equal(fake_get(&b->fake, attaches), 1);
	assert_int_equal(gpc_instance_targets(b->fake.instance), 0);
}

static void test_process_that_ended_is_not_tried_again(void **state)
{
	struct bench *b = *state;
	pid_t pid = child_start(NULL, NULL);
	struct gpc_target_id id = {.pid = pid, .id = 5};
	struct gpc_target_view *v = NULL;

	b->fake.attach_status = GPC_E_BUSY;
	run(b);
	assert_int_equal(gpc_target_read(&id, &v, NULL), GPC_OK);
	child_end(pid);
	gpc_instance_attach(b->fake.instance, v);
	gpc_target_put(v);
	for (int i = 0; i < 5; i++)
		good_window(b);
	assert_int_equal(fake_get(&b->fake, attaches), 1);
	assert_true(has_report(b, 5, GPC_E_GONE, ""));
}

static void test_limit_of_targets(void **state)
{
	struct bench *b = *state;
	pid_t other = child_start(NULL, NULL);

	b->services.max_targets = 1;
	run(b);
	attach(b, getpid(), 5);
	attach(b, getpid(), 5); /* the same again is nothing */
	attach(b, other, 6);
	good_window(b);
	assert_int_equal(fake_get(&b->fake, attaches), 1);
	assert_true(has_report(b, 6, GPC_E_SKIPPED, "--max-processes"));
	/* The place becomes free. */
	gpc_instance_detach(b->fake.instance, 5);
	for (int i = 0; i < 3; i++)
		good_window(b);
	assert_int_equal(fake_get(&b->fake, attaches), 2);
	assert_int_equal(fake_get(&b->fake, attached_to), 6);
	child_end(other);
}

static void test_detach(void **state)
{
	struct bench *b = *state;
	unsigned rows;

	b->fake.write = write_three;
	run(b);
	attach(b, getpid(), 5);
	attach(b, getpid(), 6);
	gpc_instance_detach(b->fake.instance, 5);
	gpc_instance_detach(b->fake.instance, 5);
	good_window(b);
	assert_int_equal(b->fake.detaches, 1);
	assert_int_equal(b->fake.detached_from, 5);
	assert_int_equal(written(b, 5, &rows), 0);
	assert_int_equal(written(b, 6, &rows), 3);
}

/* ---- names and events -------------------------------------------------------------------- */

static void test_new_epoch_of_names(void **state)
{
	struct bench *b = *state;
	struct gpc_window win = {.struct_size = sizeof win, .deadline_ns = gpc_now_ns() + LONG_NS};
	struct gpc_names *next = gpc_names_new(2);

	b->fake.write = write_three;
	run(b);
	attach(b, getpid(), 5);
	good_window(b);
	assert_int_equal(gpc_instance_begin_window(b->fake.instance, &win, next, NULL), GPC_OK);
	gpc_names_put(next);
	assert_int_equal(gpc_instance_end_window(b->fake.instance, &win, NULL), GPC_OK);
	assert_int_equal(gpc_stacks_total(gpc_instance_stacks(b->fake.instance, 1, 1)), 3);
	assert_null(gpc_instance_stacks(b->fake.instance, 1, 2));
	good_window(b);
	assert_false(gpc_instance_is_done(b->fake.instance, 1));
	assert_int_equal(gpc_stacks_total(gpc_instance_stacks(b->fake.instance, 1, 2)), 3);
}

static void on_event(void *self, const struct gpc_process_event *ev)
{
	struct fake *f = self;

	snprintf(f->last_path, sizeof f->last_path, "%s", ev->path);
	fake_add(f, events_seen);
}

static void tell(struct bench *b, uint32_t kind, const char *path)
{
	char copy[32];
	struct gpc_process_event ev = {.struct_size = sizeof ev, .kind = kind, .pid = 1};

	snprintf(copy, sizeof copy, "%s", path);
	ev.path = copy;
	gpc_instance_tell(b->fake.instance, &ev);
	memset(copy, 'x', sizeof copy - 1); /* it was only borrowed */
}

static void test_process_events(void **state)
{
	struct bench *b = *state;

	run(b);
	tell(b, GPC_PROC_EXEC, "nobody asked");
	assert_int_equal(gpc_instance_subscribe(b->fake.instance, GPC_PROC_EXEC, NULL),
			 GPC_E_CONFIG);
	assert_int_equal(gpc_instance_subscribe(b->fake.instance, GPC_PROC_EXEC | GPC_PROC_EXIT,
						on_event),
			 GPC_OK);
	tell(b, GPC_PROC_FORK, "not this");
	tell(b, GPC_PROC_EXIT, "");
	tell(b, GPC_PROC_EXEC, "program");
	good_window(b);
	assert_int_equal(b->fake.events_seen, 2);
	assert_string_equal(b->fake.last_path, "program");
	assert_int_equal(gpc_instance_subscribe(b->fake.instance, 0, NULL), GPC_OK);
	tell(b, GPC_PROC_EXEC, "no more");
	good_window(b);
	assert_int_equal(b->fake.events_seen, 2);
}

/* A stuck worker must not make us queue without end. */
static void test_events_that_pile_up(void **state)
{
	struct bench *b = *state;

	run(b);
	attach(b, getpid(), 5);
	gpc_instance_subscribe(b->fake.instance, GPC_PROC_MMAP, on_event);
	fake_set(&b->fake, is_stuck, true);
	assert_int_equal(window(b, 10 * GPC_MS_NS, NULL), GPC_E_TIMEOUT);
	for (int i = 0; i < 10000; i++)
		tell(b, GPC_PROC_MMAP, "/x");
	fake_set(&b->fake, is_stuck, false);
	good_window(b);
	assert_int_equal(b->fake.events_seen, 4096);
	tell(b, GPC_PROC_MMAP, "/y");
	good_window(b);
	assert_int_equal(b->fake.events_seen, 4097);
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_life),
		bench_test(test_cannot_be_created),
		bench_test(test_cannot_work_here),
		bench_test(test_samples_of_each_window),
		bench_test(test_records_of_unknown_processes_and_events),
		bench_test(test_broken_records_are_told),
		bench_test(test_budget_of_records),
		bench_test(test_window_that_fails),
		bench_test(test_window_that_does_not_come_back),
		bench_test(test_claim_that_does_not_come_back),
		bench_test(test_without_claim_the_match_decides),
		bench_test(test_backing_off),
		bench_test(test_no_more_tries_after_detach),
		bench_test(test_process_that_ended_is_not_tried_again),
		bench_test(test_limit_of_targets),
		bench_test(test_detach),
		bench_test(test_new_epoch_of_names),
		bench_test(test_process_events),
		bench_test(test_events_that_pile_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
