/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of this program's own stack with copies of the stack and chains of every
 * length: which of the two smart takes. */
#include "own_stack.h"
#include "source/frames.h"

#define DEPTH 12

static struct gpc_native native;
static struct gpc_pulled found;
static struct gpc_native_rules rules;

static int begin(void **state)
{
	set_up(state);
	native.tables = own.tables;
	memset(&rules, 0, sizeof rules);
	native.recent = &rules;
	return 0;
}

static int finish(void **state)
{
	gpc_native_rest(&native);
	return tear_down(state);
}

struct end {
	uint32_t n;
	bool is_complete;
};

static enum gpc_native_answer ask(const struct gpc_space *space, const struct gpc_perf_sample *s,
				  enum gpc_unwind_mode mode, bool is_last)
{
	struct gpc_native_question q = {.sample = s,
					.space = space,
					.mode = mode,
					.is_last = is_last};

	return gpc_native_unwind(&native, &q, &found);
}

static struct end unwind(enum gpc_unwind_mode mode, uint32_t stack_bytes, uint32_t chain)
{
	struct gpc_perf_sample s = own.sample;
	enum gpc_native_answer answer = GPC_NATIVE_LATER;
	struct end end;

	s.stack_bytes = stack_bytes;
	s.n_ips = 3 + chain;
	for (int i = 0; i < 5000 && answer == GPC_NATIVE_LATER; i++) {
		answer = ask(own.space, &s, mode, false);
		if (answer == GPC_NATIVE_LATER)
			usleep(1000);
	}
	assert_int_equal(answer, GPC_NATIVE_DONE);
	end.is_complete = found.frames[found.n - 1] != GPC_RAW_CUT;
	end.n = found.n - !end.is_complete;
	return end;
}

static void complete_by_both(void **state)
{
	struct end by_dwarf, by_both;
	(void)state;

	descend(DEPTH);
	by_dwarf = unwind(GPC_UNWIND_DWARF, own.sample.stack_bytes, 0);
	assert_true(by_dwarf.is_complete);
	assert_int_equal(by_dwarf.n, own.chain);
	by_both = unwind(GPC_UNWIND_SMART, own.sample.stack_bytes, own.chain);
	assert_true(by_both.is_complete);
	assert_int_equal(by_both.n, own.chain);
	for (uint32_t i = 1; i < own.chain; i++)
		assert_int_equal(found.frames[i], own.ips[3 + i] - 1);
}

/* With and without memory of earlier samples, and with a memory that is wrong. */
static void rules_that_are_remembered(void **state)
{
	struct gpc_pulled *cold = calloc(1, sizeof *cold);
	unsigned known = 0;
	(void)state;

	assert_non_null(cold);
	descend(DEPTH);
	native.recent = NULL;
	unwind(GPC_UNWIND_DWARF, own.sample.stack_bytes, 0);
	cold->n = found.n;
	memcpy(cold->frames, found.frames, found.n * sizeof *found.frames);
	native.recent = &rules;
	for (int i = 0; i < 2; i++) {
		unwind(GPC_UNWIND_DWARF, own.sample.stack_bytes, 0);
		assert_int_equal(found.n, cold->n);
		assert_memory_equal(found.frames, cold->frames, found.n * sizeof *found.frames);
	}
	for (int i = 0; i < GPC_NATIVE_RULES; i++) {
		known += rules.at[i].image != 0;
		rules.at[i].rule = UINT16_MAX;
	}
	assert_true(known >= 3);
	assert_true(unwind(GPC_UNWIND_DWARF, own.sample.stack_bytes, 0).n <= cold->n);
	memset(&rules, 0, sizeof rules);
	free(cold);
}

/* Code that the process made, of which its file will tell. */
static void code_whose_file_is_being_opened(void **state)
{
	struct gpc_space *made = gpc_space_new();
	struct gpc_area all = {.start = 4096, .end = UINT64_C(1) << 47, .kind = GPC_AREA_ANON};
	struct gpc_native_question q = {.space = made,
					.mode = GPC_UNWIND_DWARF,
					.awaits_jit = true};
	(void)state;

	descend(DEPTH);
	assert_true(gpc_space_map(&made, &all));
	q.space = made;
	q.sample = &own.sample;
	assert_int_equal(gpc_native_unwind(&native, &q, &found), GPC_NATIVE_LATER);
	q.is_last = true;
	assert_int_equal(gpc_native_unwind(&native, &q, &found), GPC_NATIVE_DONE);
	q.awaits_jit = q.is_last = false;
	assert_int_equal(gpc_native_unwind(&native, &q, &found), GPC_NATIVE_DONE);
	gpc_space_put(made);
}

/* Never worse than either, whatever each has. */
static void the_better_of_the_two(void **state)
{
	unsigned by_chain = 0, by_stack = 0;
	(void)state;

	descend(DEPTH);
	for (uint32_t chain = 0; chain <= own.chain; chain++) {
		struct end of_chain = unwind(GPC_UNWIND_SMART, 0, chain);

		assert_int_equal(of_chain.is_complete, chain == own.chain);
		assert_int_equal(of_chain.n, chain ? chain : 1);
		for (uint32_t bytes = 0; bytes <= own.sample.stack_bytes; bytes += 488) {
			struct end of_stack = unwind(GPC_UNWIND_DWARF, bytes, 0);
			struct end best = unwind(GPC_UNWIND_SMART, bytes, chain);
			bool is_complete = of_chain.is_complete || of_stack.is_complete;

			assert_int_equal(best.is_complete, is_complete);
			if (is_complete)
				assert_int_equal(best.n, own.chain);
			else
				assert_int_equal(best.n,
						 of_chain.n > of_stack.n ? of_chain.n : of_stack.n);
			by_chain += of_chain.n > of_stack.n;
			by_stack += of_stack.n > of_chain.n;
		}
	}
	assert_true(by_chain > 10 && by_stack > 10);
}

static void garbage_in_the_chain(void **state)
{
	struct end end;
	(void)state;

	descend(2);
	own.ips[3 + 2] = 0x1234;
	end = unwind(GPC_UNWIND_SMART, 0, own.chain);
	assert_false(end.is_complete);
	assert_int_equal(end.n, 2);
}

static void modes_and_samples_without_a_user_part(void **state)
{
	struct gpc_perf_sample s;
	struct gpc_space nothing = {.refs = 1};
	(void)state;

	descend(1);
	s = own.sample;
	assert_int_equal(ask(own.space, &s, GPC_UNWIND_FP, true), GPC_NATIVE_CHAIN);
	assert_int_equal(ask(&nothing, &s, GPC_UNWIND_SMART, true), GPC_NATIVE_CHAIN);
	s.n_regs = 0;
	assert_int_equal(ask(own.space, &s, GPC_UNWIND_SMART, true), GPC_NATIVE_CHAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_by_both),
		cmocka_unit_test(rules_that_are_remembered),
		cmocka_unit_test(code_whose_file_is_being_opened),
		cmocka_unit_test(the_better_of_the_two),
		cmocka_unit_test(garbage_in_the_chain),
		cmocka_unit_test(modes_and_samples_without_a_user_part),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
