/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of code that a process makes, from a jitdump file that grows. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "frame.h"
#include "sym/jitfile.h"
#include "unwind/tables.h"

#define RSP 7

struct world {
	struct gpc_images *images;
	struct gpc_unwind_tables *tables;
	int fd;
	uint32_t number;
	size_t written;
	struct jitfile file;
};

static void begin(struct world *w, size_t max_bytes)
{
	struct gpc_images_limits limits = {1 << 20, 16};

	assert_int_equal(gpc_images_new(&limits, NULL, &w->images, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_tables_new(w->images, max_bytes, NULL, &w->tables, NULL),
			 GPC_OK);
	w->fd = memfd_create("jit", MFD_CLOEXEC);
	w->written = 0;
	w->number = gpc_unwind_tables_add_jit(w->tables, dup(w->fd));
	assert_int_not_equal(w->number, 0);
	jit_begin(&w->file);
}

static void flush(struct world *w)
{
	size_t n = w->file.n - w->written;

	assert_int_equal(write(w->fd, w->file.bytes + w->written, n), n);
	w->written = w->file.n;
}

static void end(struct world *w)
{
	gpc_unwind_tables_free(w->tables);
	gpc_images_free(w->images);
	close(w->fd);
}

/* A function of so many bytes whose frame grows by so much at its second byte. The
 * .eh_frame is to be thought so far behind its begin. */
static void put_function(struct world *w, uint64_t at, uint8_t size, uint8_t frame,
			 uint32_t distance)
{
	const uint8_t ops[] = {0x41, 0x0e, (uint8_t)(8 + frame)};
	struct frame f = {.n = 0};

	put_cie(&f, "zR", 0x1b);
	open_entry(&f);
	put32(&f, (uint32_t)f.n);
	put32(&f, (uint32_t) - (distance + f.n));
	put32(&f, size);
	put8(&f, 0);
	put(&f, ops, sizeof ops);
	close_entry(&f);
	put32(&f, 0);
	jit_put_frames(&w->file, f.bytes, f.n, 0);
	jit_put_load(&w->file, at, size, at, "function");
}

static enum gpc_code_state get(struct world *w, const struct gpc_unwind_table **ret)
{
	enum gpc_code_state state = GPC_CODE_WAITING;

	for (int i = 0; i < 5000 && state == GPC_CODE_WAITING; i++) {
		state = gpc_unwind_tables_get(w->tables, w->number, ret);
		if (state == GPC_CODE_WAITING)
			usleep(1000);
	}
	return state;
}

/* Waits for what the file says now. */
static void renew(struct world *w)
{
	uint64_t turn = gpc_unwind_tables_turn(w->tables);

	for (int i = 0; i < 5000 && turn == gpc_unwind_tables_turn(w->tables); i++) {
		(void)gpc_unwind_tables_renew(w->tables, w->number, gpc_now_ns());
		usleep(1000);
	}
	assert_int_not_equal(turn, gpc_unwind_tables_turn(w->tables));
}

/* 0: nothing is known there. */
static int cfa_at(struct world *w, uint64_t address)
{
	const struct gpc_unwind_table *t = NULL;
	const struct gpc_packed_rule *rule;
	uint64_t vaddr = 0;
	int ret = 0;

	assert_int_equal(get(w, &t), GPC_CODE_KNOWN);
	assert_true(gpc_unwind_table_vaddr(t, address, &vaddr));
	assert_int_equal(vaddr, address);
	rule = gpc_unwind_table_find(t, address);
	if (rule) {
		assert_int_equal(rule->cfa_reg, RSP);
		ret = rule->cfa;
	}
	gpc_unwind_tables_put(w->tables, w->number);
	return ret;
}

/* Runtimes differ in how far behind the code they think .eh_frame. */
static void functions_stand_where_they_are(void **state)
{
	static struct world w;
	(void)state;

	begin(&w, 1 << 20);
	put_function(&w, 0x7f0000001000, 30, 16, 30);
	put_function(&w, 0x7f0000002000, 30, 32, 32);
	put_function(&w, 0x7f0000003000, 30, 64, 4096);
	flush(&w);
	assert_int_equal(cfa_at(&w, 0x7f0000000fff), 0);
	assert_int_equal(cfa_at(&w, 0x7f0000001000), 8);
	assert_int_equal(cfa_at(&w, 0x7f0000001001), 24);
	assert_int_equal(cfa_at(&w, 0x7f000000101d), 24);
	assert_int_equal(cfa_at(&w, 0x7f000000101e), 0);
	assert_int_equal(cfa_at(&w, 0x7f0000002001), 40);
	assert_int_equal(cfa_at(&w, 0x7f0000003001), 72);
	end(&w);
}

static void code_comes_and_moves(void **state)
{
	static struct world w;
	(void)state;

	begin(&w, 1 << 20);
	flush(&w); /* nothing but the header */
	assert_int_equal(cfa_at(&w, 0x1001), 0);
	put_function(&w, 0x1000, 30, 16, 32);
	flush(&w);
	renew(&w);
	assert_int_equal(cfa_at(&w, 0x1001), 24);
	jit_put_move(&w.file, 0x1000, 0x5000, 30, 0x1000);
	put_function(&w, 0x1000, 10, 32, 32);
	flush(&w);
	renew(&w);
	assert_int_equal(cfa_at(&w, 0x1001), 40);
	assert_int_equal(cfa_at(&w, 0x100a), 24); /* what it left of the one before */
	assert_int_equal(cfa_at(&w, 0x5000), 8);
	assert_int_equal(cfa_at(&w, 0x5001), 24);
	end(&w);
}

/* Who looks at a table keeps it while a newer one comes. */
static void table_in_use(void **state)
{
	const struct gpc_unwind_table *old = NULL;
	struct gpc_unwind_tables_stats stats;
	static struct world w;
	(void)state;

	begin(&w, 1 << 20);
	put_function(&w, 0x1000, 30, 16, 32);
	flush(&w);
	assert_int_equal(get(&w, &old), GPC_CODE_KNOWN);
	put_function(&w, 0x2000, 30, 16, 32);
	flush(&w);
	renew(&w);
	assert_int_equal(cfa_at(&w, 0x2001), 24);
	assert_null(gpc_unwind_table_find(old, 0x2001));
	assert_non_null(gpc_unwind_table_find(old, 0x1001));
	gpc_unwind_tables_stats(w.tables, &stats);
	assert_int_equal(stats.tables, 1);
	/* Its process ends meanwhile. */
	gpc_unwind_tables_remove_jit(w.tables, w.number);
	assert_false(gpc_unwind_tables_renew(w.tables, w.number, gpc_now_ns()));
	assert_non_null(gpc_unwind_table_find(old, 0x1001));
	gpc_unwind_tables_put(w.tables, w.number);
	gpc_unwind_tables_trim(w.tables);
	gpc_unwind_tables_stats(w.tables, &stats);
	assert_int_equal(stats.tables, 0);
	assert_int_equal(stats.bytes, 0);
	assert_int_equal(gpc_unwind_tables_get(w.tables, w.number, &old), GPC_CODE_PLAIN);
	end(&w);
}

/* A sample waits for a look at the file that is younger than itself, not for more. */
static void what_was_not_told_by_then(void **state)
{
	static struct world w;
	uint64_t taken;
	(void)state;

	begin(&w, 1 << 20);
	put_function(&w, 0x1000, 30, 16, 32);
	flush(&w);
	assert_int_equal(cfa_at(&w, 0x1001), 24);
	taken = gpc_now_ns();
	assert_true(gpc_unwind_tables_renew(w.tables, w.number, taken));
	renew(&w);
	assert_false(gpc_unwind_tables_renew(w.tables, w.number, taken));
	end(&w);
}

/* Tables that go for want of room are made again from what is known of the file. */
static void budget(void **state)
{
	const struct gpc_unwind_table *t = NULL;
	struct gpc_unwind_tables_stats stats;
	static struct world w;
	(void)state;

	begin(&w, 1);
	put_function(&w, 0x1000, 30, 16, 32);
	flush(&w);
	assert_int_equal(cfa_at(&w, 0x1001), 24);
	for (int i = 0; i < 5000 && !t; i++)
		if (gpc_unwind_tables_get(w.tables, GPC_UNWIND_VDSO, &t) != GPC_CODE_KNOWN)
			usleep(1000);
	gpc_unwind_tables_put(w.tables, GPC_UNWIND_VDSO);
	gpc_unwind_tables_stats(w.tables, &stats);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(cfa_at(&w, 0x1001), 24);
	end(&w);
}

static void no_jitdump_file(void **state)
{
	const struct gpc_unwind_table *t = NULL;
	static struct world w;
	(void)state;

	begin(&w, 1 << 20);
	w.file.bytes[0] ^= 1;
	put_function(&w, 0x1000, 30, 16, 32);
	flush(&w);
	assert_int_equal(get(&w, &t), GPC_CODE_PLAIN);
	assert_false(gpc_unwind_tables_renew(w.tables, w.number, gpc_now_ns()));
	end(&w);
}

static void *ask(void *arg)
{
	struct world *w = arg;
	const struct gpc_unwind_table *t = NULL;

	for (int i = 0; i < 2000; i++) {
		if (gpc_unwind_tables_get(w->tables, w->number, &t) != GPC_CODE_KNOWN)
			continue;
		(void)gpc_unwind_table_find(t, 0x1001);
		(void)gpc_unwind_tables_renew(w->tables, w->number, gpc_now_ns());
		gpc_unwind_tables_put(w->tables, w->number);
	}
	return NULL;
}

static void several_threads(void **state)
{
	static struct world w;
	pthread_t threads[3];
	(void)state;

	begin(&w, 1 << 20);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &w), 0);
	for (uint64_t i = 0; i < 100; i++) {
		put_function(&w, 0x1000 + i * 64, 30, 16, 32);
		flush(&w);
		usleep(500);
	}
	gpc_unwind_tables_remove_jit(w.tables, w.number);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	gpc_unwind_tables_trim(w.tables);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_stand_where_they_are),
		cmocka_unit_test(code_comes_and_moves),
		cmocka_unit_test(table_in_use),
		cmocka_unit_test(what_was_not_told_by_then),
		cmocka_unit_test(budget),
		cmocka_unit_test(no_jitdump_file),
		cmocka_unit_test(several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
