/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "source/unwind.h"

#define BASE  UINT64_C(0x7ffd00001000)
#define WORDS 512

/* A stack that is replayed: memory says what it holds now, the copy what it held
 * when the sample was taken. */
struct world {
	uint64_t memory[WORDS], copy[WORDS];
	struct gpc_mem *mem;
	struct gpc_pull_sample sample;
	struct gpc_unwind_source src;
	unsigned reads;
};

static int64_t replay(void *ctx, uint64_t target, uint64_t addr, void *buf, uint64_t len)
{
	struct world *w = ctx;
	uint64_t at = addr - BASE, left;

	w->reads++;
	assert_int_equal(target, 77);
	if (addr < BASE || at >= sizeof w->memory)
		return GPC_E_CORRUPT;
	left = sizeof w->memory - at;
	if (len > left)
		len = left;
	memcpy(buf, (uint8_t *)w->memory + at, len);
	return (int64_t)len;
}

static void build(struct world *w)
{
	struct gpc_mem_replay r = {.ctx = w, .read = replay};

	memset(w, 0, sizeof *w);
	assert_int_equal(gpc_mem_new(4, &r, &w->mem, NULL), GPC_OK);
	w->sample = (struct gpc_pull_sample){.sp = BASE, .stack = (uint8_t *)w->copy};
	w->src = (struct gpc_unwind_source){w->mem, 77, &w->sample, NULL};
}

static void frame(uint64_t *stack, unsigned word, uint64_t fp, uint64_t ret)
{
	stack[word] = fp;
	stack[word + 1] = ret;
}

static struct gpc_step_state leaf(uint64_t fp)
{
	return (struct gpc_step_state){.is_leaf = 1, .pc = 0x1000, .sp = BASE, .fp = fp};
}

static void test_up(void **state)
{
	struct world w;
	struct gpc_step_state s = leaf(BASE + 16);

	(void)state;
	build(&w);
	frame(w.memory, 2, BASE + 80, 0x2000);
	frame(w.memory, 10, 0, 0x3000);
	assert_true(gpc_unwind_up(&w.src, &s));
	assert_int_equal(s.pc, 0x2000);
	assert_int_equal(s.sp, BASE + 32);
	assert_int_equal(s.fp, BASE + 80);
	assert_int_equal(s.is_leaf, 0);
	assert_true(gpc_unwind_up(&w.src, &s));
	assert_int_equal(s.pc, 0x3000);
	/* The outermost one has no caller. */
	assert_false(gpc_unwind_up(&w.src, &s));
	assert_int_equal(s.pc, 0x3000);
	gpc_mem_free(w.mem);
}

/* Words that follow each other are one read; what is beyond the piece is another. */
static void test_a_piece_at_a_time(void **state)
{
	struct gpc_unwind_piece piece = {.n = 0};
	struct world w;
	uint64_t word;

	(void)state;
	build(&w);
	w.src.piece = &piece;
	for (unsigned i = 0; i < WORDS; i++)
		w.memory[i] = 7000 + i;
	for (unsigned i = 0; i < WORDS; i++) {
		assert_true(gpc_unwind_read(&w.src, BASE + 8 * i, &word, sizeof word));
		assert_int_equal(word, 7000 + i);
	}
	assert_int_equal(w.reads, WORDS * 8 / sizeof piece.bytes);
	/* Below it; across its end; where nothing is. */
	assert_true(gpc_unwind_read(&w.src, BASE, &word, sizeof word));
	assert_int_equal(word, 7000);
	assert_true(gpc_unwind_read(&w.src, BASE + sizeof piece.bytes - 4, &word, sizeof word));
	assert_int_equal(word >> 32, 7000 + sizeof piece.bytes / 8);
	assert_false(gpc_unwind_read(&w.src, BASE + 8 * WORDS - 4, &word, sizeof word));
	assert_false(gpc_unwind_read(&w.src, BASE + 8 * WORDS, &word, sizeof word));
	gpc_mem_free(w.mem);
}

/* Generated code uses the register for something else; where to return to is
 * known all the same, and whoever knows that code goes on. */
static void test_a_callers_fp_that_is_none(void **state)
{
	static const uint64_t odd[] = {1, 0xbadf00d, BASE - 8, BASE + 16, UINT64_MAX, BASE + 83};

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct gpc_step_state s = leaf(BASE + 16);
		struct world w;

		build(&w);
		frame(w.memory, 2, odd[i], 0x2000);
		assert_true(gpc_unwind_up(&w.src, &s));
		assert_int_equal(s.pc, 0x2000);
		assert_int_equal(s.fp, odd[i]);
		assert_false(gpc_unwind_up(&w.src, &s));
		assert_int_equal(s.pc, 0x2000);
		gpc_mem_free(w.mem);
	}
}

static void test_no_plausible_frame(void **state)
{
	/* Below sp, unaligned, a megabyte away, at the end of memory, nowhere. */
	static const uint64_t odd[] = {
		BASE - 16, BASE + 20, BASE + (2u << 20), 0, BASE + WORDS * 8 - 8, UINT64_MAX - 7};
	struct world w;

	(void)state;
	build(&w);
	memset(w.memory, 0x11, sizeof w.memory);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct gpc_step_state s = leaf(odd[i]), before = s;

		assert_false(gpc_unwind_up(&w.src, &s));
		assert_memory_equal(&s, &before, sizeof s);
	}
	gpc_mem_free(w.mem);
	/* No place to return to. */
	build(&w);
	struct gpc_step_state s = leaf(BASE + 16);

	frame(w.memory, 2, BASE + 80, 0);
	assert_false(gpc_unwind_up(&w.src, &s));
	gpc_mem_free(w.mem);
}

static void test_the_copy_goes_first(void **state)
{
	struct world w;
	struct gpc_step_state s = leaf(BASE + 16);

	(void)state;
	build(&w);
	frame(w.memory, 2, BASE + 40, 0x9999); /* the thread has run on */
	frame(w.copy, 2, BASE + 80, 0x2000);
	w.sample.stack_bytes = 32;
	assert_true(gpc_unwind_up(&w.src, &s));
	assert_int_equal(s.pc, 0x2000);
	assert_int_equal(w.reads, 0);
	/* One byte less, and the copy does not hold it. */
	s = leaf(BASE + 16);
	w.sample.stack_bytes = 31;
	assert_true(gpc_unwind_up(&w.src, &s));
	assert_int_equal(s.pc, 0x9999);
	/* What lies below sp is not in it. */
	w.sample.stack_bytes = 4096;
	w.sample.sp = BASE + 24;
	s = leaf(BASE + 16);
	s.sp = BASE;
	assert_true(gpc_unwind_up(&w.src, &s));
	assert_int_equal(s.pc, 0x9999);
	gpc_mem_free(w.mem);
}

static void test_without_a_sample(void **state)
{
	struct world w;
	struct gpc_step_state s = leaf(BASE + 16);

	(void)state;
	build(&w);
	w.src.sample = NULL;
	frame(w.memory, 2, BASE + 80, 0x2000);
	assert_true(gpc_unwind_up(&w.src, &s));
	assert_int_equal(s.pc, 0x2000);
	gpc_mem_free(w.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up),
		cmocka_unit_test(test_a_piece_at_a_time),
		cmocka_unit_test(test_a_callers_fp_that_is_none),
		cmocka_unit_test(test_no_plausible_frame),
		cmocka_unit_test(test_the_copy_goes_first),
		cmocka_unit_test(test_without_a_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
