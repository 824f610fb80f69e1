/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record.h"
#include "source/sideband.h"

struct world {
	struct gpc_images *images;
	struct gpc_table *table;
	struct rec rec;
	uint64_t time;
	unsigned n_events;
	struct gpc_process_event last;
};

static void on_changed(void *ctx, const struct gpc_process *p, const struct gpc_process_event *ev)
{
	struct world *w = ctx;

	(void)p;
	w->n_events++;
	w->last = *ev;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct gpc_images_limits limits = {1 << 20, 16};
	struct gpc_table_needs needs = {.ctx = w, .changed = on_changed};

	assert_int_equal(gpc_images_new(&limits, NULL, &w->images, NULL), GPC_OK);
	assert_int_equal(gpc_table_new("/proc/self/task", w->images, &needs, NULL, &w->table, NULL),
			 GPC_OK);
	w->time = 100;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_table_free(w->table);
	gpc_images_free(w->images);
	free(w);
	return 0;
}

/* As it goes in life: bytes, decoded, applied. */
static bool apply(struct world *w)
{
	struct gpc_perf_format format = {.sample_type = REC_TYPE, .sample_id_all = true};
	struct rec_id id = {.pid = 1, .tid = 1, .time = w->time++};
	struct gpc_perf_record r;

	rec_trailer(&w->rec, REC_TYPE, &id);
	assert_true(gpc_perf_decode(w->rec.words, w->rec.n, &format, &r));
	return gpc_sideband_apply(w->table, &r);
}

static bool task(struct world *w, uint32_t type, const uint32_t ids[4])
{
	rec_begin(&w->rec, type, 0);
	for (int i = 0; i < 4; i++)
		rec_u32(&w->rec, ids[i]);
	rec_u64(&w->rec, 0);
	return apply(w);
}

/* pid, ppid, tid, ptid */
#define TASK(...) ((const uint32_t[4]){__VA_ARGS__})

static bool comm(struct world *w, uint32_t pid, uint32_t tid, const char *name, bool is_exec)
{
	rec_begin(&w->rec, PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	rec_u32(&w->rec, pid);
	rec_u32(&w->rec, tid);
	rec_text(&w->rec, name);
	return apply(w);
}

static bool mmap2(struct world *w, uint32_t pid, uint16_t misc, const char *path)
{
	rec_begin(&w->rec, PERF_RECORD_MMAP2, misc);
	rec_u32(&w->rec, pid);
	rec_u32(&w->rec, pid);
	rec_u64(&w->rec, 0x400000);
	rec_u64(&w->rec, 0x1000);
	rec_u64(&w->rec, 0x2000);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		rec_u32(&w->rec, 20);
		rec_bytes(&w->rec, "abcdefghijabcdefghij", 20);
	} else {
		rec_u32(&w->rec, 8);
		rec_u32(&w->rec, 1);
		rec_u64(&w->rec, 4242);
		rec_u64(&w->rec, 1);
	}
	rec_u64(&w->rec, 0);
	rec_text(&w->rec, path);
	return apply(w);
}

static void test_life_of_a_process(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;

	assert_false(task(w, PERF_RECORD_FORK, TASK(51, 50, 51, 50)));
	assert_false(comm(w, 51, 51, "tool", true));
	assert_false(mmap2(w, 51, PERF_RECORD_MISC_USER, "/bin/tool"));
	p = gpc_table_find(w->table, 51);
	assert_non_null(p);
	assert_string_equal(p->comm, "tool");
	assert_int_equal(p->ppid, 50);
	assert_int_equal(p->space->n, 1);
	assert_int_equal(p->space->areas[0].offset, 0x2000);
	assert_false(task(w, PERF_RECORD_EXIT, TASK(51, 50, 51, 50)));
	assert_int_equal(p->exit_ns, 103);
	assert_int_equal(w->last.kind, GPC_PROC_EXIT);
	assert_int_equal(w->last.time_ns, 103);
	assert_int_equal(w->n_events, 4);
}

static void test_threads_are_no_processes(void **state)
{
	struct world *w = *state;

	task(w, PERF_RECORD_FORK, TASK(51, 50, 51, 50));
	w->n_events = 0;
	task(w, PERF_RECORD_FORK, TASK(51, 51, 52, 51));
	task(w, PERF_RECORD_EXIT, TASK(51, 51, 52, 51));
	assert_int_equal(w->n_events, 0);
	assert_null(gpc_table_find(w->table, 52));
	assert_int_equal(gpc_table_find(w->table, 51)->exit_ns, 0);
}

/* A4.1: only an exec names a process. */
static void test_renaming_is_no_exec(void **state)
{
	struct world *w = *state;

	comm(w, 51, 51, "program", true);
	comm(w, 51, 51, "renamed", false);
	comm(w, 51, 52, "worker", false);
	assert_string_equal(gpc_table_find(w->table, 51)->comm, "program");
	assert_int_equal(gpc_table_find(w->table, 51)->exec_count, 0);
}

static void test_identities_of_files(void **state)
{
	struct world *w = *state;
	const struct gpc_space *s;

	comm(w, 51, 51, "a", true);
	comm(w, 52, 52, "b", true);
	comm(w, 53, 53, "c", true);
	mmap2(w, 51, PERF_RECORD_MISC_USER, "/lib/one.so");
	mmap2(w, 52, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, "/lib/two.so");
	mmap2(w, 53, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, "/copy/of/two.so");
	s = gpc_table_find(w->table, 51)->space;
	assert_int_not_equal(s->areas[0].image,
			     gpc_table_find(w->table, 52)->space->areas[0].image);
	/* The same build is the same file, whatever it is called. */
	assert_int_equal(gpc_table_find(w->table, 52)->space->areas[0].image,
			 gpc_table_find(w->table, 53)->space->areas[0].image);
}

static void test_kernel_mappings_and_symbols(void **state)
{
	struct world *w = *state;

	assert_true(mmap2(w, UINT32_MAX, PERF_RECORD_MISC_KERNEL, "/lib/modules/x.ko"));
	assert_int_equal(w->n_events, 0);
	rec_begin(&w->rec, PERF_RECORD_KSYMBOL, 0);
	rec_u64(&w->rec, 0xffffffffc0001000);
	rec_u64(&w->rec, 64);
	rec_text(&w->rec, "bpf_prog");
	assert_true(apply(w));
	rec_begin(&w->rec, 999, 0);
	assert_false(apply(w));
	assert_int_equal(w->n_events, 0);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_life_of_a_process),
		world_test(test_threads_are_no_processes),
		world_test(test_renaming_is_no_exec),
		world_test(test_identities_of_files),
		world_test(test_kernel_mappings_and_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
