/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.native-unwind/1 over this program's own stack, which is read as a target's. */
#include "own_stack.h"
#include "source/pull_impl.h"
#include "source/regs.h"

#define TARGET 7

struct world {
	struct gpc_mem *mem;
	struct gpc_pulls *pulls;
	struct gpc_target target;
	struct gpc_pull_sample sample;
	struct gpc_step_state state;
};

static const struct gpc_space *space_of(void *ctx, uint64_t target, uint32_t *jit)
{
	(void)ctx;
	*jit = 0;
	return target == TARGET ? own.space : NULL;
}

static void build(struct world *w, bool has_tables)
{
	struct gpc_pull_collector c = {.name = "own", .self = w, .target = &w->target};

	memset(w, 0, sizeof *w);
	w->target = (struct gpc_target){.struct_size = sizeof w->target,
					.id = TARGET,
					.pid = getpid(),
					.ns_pid = getpid()};
	assert_int_equal(gpc_mem_new(4, NULL, &w->mem, NULL), GPC_OK);
	assert_int_equal(gpc_pulls_new(w->mem, NULL, &w->pulls, NULL), GPC_OK);
	assert_int_equal(gpc_pulls_add(w->pulls, &c, NULL), GPC_OK);
	if (has_tables)
		gpc_pulls_set_unwind(w->pulls, own.tables, GPC_UNWIND_SMART);
	gpc_pulls_follow_code(w->pulls, space_of, NULL, true);
	gpc_pulls_follow_code(w->pulls, space_of, NULL, false); /* nothing new */
}

static void end(struct world *w)
{
	assert_true(gpc_pulls_remove(w->pulls, w, TARGET));
	assert_true(gpc_pulls_free(w->pulls));
	gpc_mem_free(w->mem);
}

static void start(struct world *w, uint32_t stack_bytes)
{
	struct gpc_user_regs regs = gpc_regs_pick(own.regs);

	w->sample = (struct gpc_pull_sample){.struct_size = sizeof w->sample,
					     .pc = regs.pc,
					     .sp = regs.sp,
					     .fp = regs.fp,
					     .regs = own.regs,
					     .regs_mask = gpc_regs_mask,
					     .n_regs = own.sample.n_regs,
					     .stack = own.stack,
					     .stack_bytes = stack_bytes};
	w->state = (struct gpc_step_state){.struct_size = sizeof w->state,
					   .is_leaf = 1,
					   .pc = regs.pc,
					   .sp = regs.sp,
					   .fp = regs.fp};
}

static bool up(struct world *w)
{
	return gpc_pulls_up(w->pulls, &w->target, &w->sample, &w->state);
}

static void wait_for_tables(void)
{
	const struct gpc_unwind_table *t;

	for (uint32_t i = 0; i < own.space->n; i++) {
		uint32_t image = own.space->areas[i].image;

		for (int tries = 0; image && tries < 5000; tries++) {
			enum gpc_code_state s = gpc_unwind_tables_get(own.tables, image, &t);

			if (s == GPC_CODE_KNOWN)
				gpc_unwind_tables_put(own.tables, image);
			if (s != GPC_CODE_WAITING)
				break;
			usleep(1000);
		}
	}
}

__attribute__((noinline)) static void here(void *ctx)
{
	struct world *w = ctx;

	leaf();
	/* leaf() has returned: its own frame is no more, and what lies below ours may be
	 * anything. The copy is of the moment. */
	start(w, own.sample.stack_bytes);
	for (uint32_t i = 1; i < own.chain; i++) {
		assert_true(up(w));
		assert_int_equal(w->state.pc, own.ips[3 + i]);
		assert_int_equal(w->state.is_leaf, 0);
	}
	assert_false(up(w));
	assert_int_equal(w->state.pc, own.ips[3 + own.chain - 1]);
}

__attribute__((noinline)) static int nest(int left, struct world *w)
{
	if (!left)
		here(w);
	else
		nest(left - 1, w);
	__asm__ volatile("" ::: "memory");
	return left;
}

static void to_the_root(void **state)
{
	struct world w;
	(void)state;

	wait_for_tables();
	build(&w, true);
	nest(6, &w);
	end(&w);
}

/* Without a copy frames are read from memory. That of leaf() is no more. */
__attribute__((noinline)) static void without_copy(struct world *w)
{
	leaf();
	start(w, own.sample.stack_bytes);
	assert_true(up(w));
	w->sample.stack_bytes = 0;
	for (uint32_t i = 2; i < own.chain; i++) {
		assert_true(up(w));
		assert_int_equal(w->state.pc, own.ips[3 + i]);
	}
}

static void beyond_the_copy(void **state)
{
	struct world w;
	(void)state;

	wait_for_tables();
	build(&w, true);
	without_copy(&w);
	end(&w);
}

/* A frame that a collector told of: only pc, sp and fp are known. */
__attribute__((noinline)) static void from_the_middle(struct world *w)
{
	leaf();
	start(w, own.sample.stack_bytes);
	assert_true(up(w));
	w->sample.regs = NULL;
	for (uint32_t i = 2; i < own.chain; i++) {
		assert_true(up(w));
		assert_int_equal(w->state.pc, own.ips[3 + i]);
	}
}

static void without_registers(void **state)
{
	struct world w;
	(void)state;

	wait_for_tables();
	build(&w, true);
	from_the_middle(&w);
	end(&w);
}

static void targets_that_are_not_pulled(void **state)
{
	struct world w;
	(void)state;

	build(&w, true);
	leaf();
	start(&w, own.sample.stack_bytes);
	w.target.id = TARGET + 1;
	w.state.fp = 1; /* no frame pointer, and no mappings */
	assert_false(up(&w));
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_root),
		cmocka_unit_test(beyond_the_copy),
		cmocka_unit_test(without_registers),
		cmocka_unit_test(targets_that_are_not_pulled),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
