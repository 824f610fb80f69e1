/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of this program's own stack, as perf would give it, with copies of the stack
 * and chains of every length: which of the two smart takes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "proc/table.h"
#include "source/frames.h"
#include "source/native.h"
#include "source/regs.h"

#define STACK_MAX 65528
#define CHAIN_MAX 128
#define DEPTH     12

struct world {
	struct gpc_images *images;
	struct gpc_table *table;
	const struct gpc_space *space;
	struct gpc_native native;
	struct gpc_perf_sample sample;
	uint64_t ips[CHAIN_MAX], regs[64];
	uint8_t stack[STACK_MAX];
	uint32_t chain; /* frames of the user part */
	struct gpc_pulled found;
};

static struct world w;

static void open_file(void *ctx, uint32_t image, const struct gpc_process *p,
		      const struct gpc_area *area)
{
	int fd = open(gpc_images_path(w.images, image), O_RDONLY | O_CLOEXEC);

	(void)ctx;
	(void)p;
	(void)area;
	if (fd >= 0)
		gpc_images_offer(w.images, image, fd);
}

static int set_up(void **state)
{
	struct gpc_images_limits limits = {1 << 20, 64};
	struct gpc_table_needs needs = {.file = open_file};
	struct gpc_process *p;
	(void)state;

	assert_int_equal(gpc_images_new(&limits, NULL, &w.images, NULL), GPC_OK);
	assert_int_equal(gpc_table_new("/proc", w.images, &needs, NULL, &w.table, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_tables_new(w.images, 8 << 20, NULL, &w.native.tables, NULL),
			 GPC_OK);
	p = gpc_table_sampled(w.table, getpid(), 0);
	assert_non_null(p);
	w.space = gpc_table_space(w.table, p);
	assert_true(w.space->n > 2);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	gpc_native_rest(&w.native);
	gpc_unwind_tables_free(w.native.tables);
	gpc_table_free(w.table);
	gpc_images_free(w.images);
	return 0;
}

/* In the order of perf. */
static uint64_t take_regs(const ucontext_t *c)
{
#ifdef __x86_64__
	static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
				    REG_RDI, REG_RBP, REG_RSP, REG_RIP};

	for (unsigned i = 0; i < 9; i++)
		w.regs[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
	for (unsigned i = 0; i < 8; i++)
		w.regs[12 + i] = (uint64_t)c->uc_mcontext.gregs[REG_R8 + (int)i];
	w.sample.n_regs = 20;
	return w.regs[7];
#else
	memcpy(w.regs, c->uc_mcontext.regs, sizeof c->uc_mcontext.regs);
	w.regs[31] = c->uc_mcontext.sp;
	w.regs[32] = c->uc_mcontext.pc;
	w.sample.n_regs = 33;
	return w.regs[31];
#endif
}

static uint32_t copy_stack(uint64_t sp)
{
	size_t n = STACK_MAX;
	ssize_t got;

	/* The stack ends somewhere. */
	for (got = -1; got < 0 && n > 0; n -= 8) {
		struct iovec to = {w.stack, n}, from = {(void *)(uintptr_t)sp, n};

		got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	}
	assert_true(got > 0);
	return (uint32_t)got & ~7u;
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *ctx)
{
	(void)ctx;
	if (w.chain < CHAIN_MAX - 3 && _Unwind_GetIP(c)) /* behind the root comes a 0 */
		w.ips[3 + w.chain++] = (uint64_t)_Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/* The chain is what the compiler's own unwinder finds. */
__attribute__((noinline)) static void leaf(void)
{
	ucontext_t c;
	uint64_t sp;

	w.chain = 0;
	_Unwind_Backtrace(on_frame, NULL);

	getcontext(&c);
	sp = take_regs(&c);
	w.sample.stack_bytes = copy_stack(sp);
	w.sample.stack = w.stack;
	w.sample.regs = w.regs;
	w.sample.ips = w.ips;
	w.ips[0] = (uint64_t)PERF_CONTEXT_KERNEL;
	w.ips[1] = UINT64_C(0xffffffff81000000);
	w.ips[2] = (uint64_t)PERF_CONTEXT_USER;
}

__attribute__((noinline)) static int descend(int left)
{
	if (!left)
		leaf();
	else
		descend(left - 1);
	__asm__ volatile("" ::: "memory"); /* a call is a call, not a jump or a loop */
	return left;
}

struct end {
	uint32_t n;
	bool is_complete;
};

static struct end unwind(enum gpc_unwind_mode mode, uint32_t stack_bytes, uint32_t chain)
{
	struct gpc_perf_sample s = w.sample;
	enum gpc_native_answer answer = GPC_NATIVE_LATER;
	struct end end;

	s.stack_bytes = stack_bytes;
	s.n_ips = 3 + chain;
	for (int i = 0; i < 5000 && answer == GPC_NATIVE_LATER; i++) {
		answer = gpc_native_unwind(&w.native, w.space, &s, mode, false, &w.found);
		if (answer == GPC_NATIVE_LATER)
			usleep(1000);
	}
	assert_int_equal(answer, GPC_NATIVE_DONE);
	end.is_complete = w.found.frames[w.found.n - 1] != GPC_RAW_CUT;
	end.n = w.found.n - !end.is_complete;
	return end;
}

static void complete_by_both(void **state)
{
	struct end by_dwarf, by_both;
	(void)state;

	descend(DEPTH);
	by_dwarf = unwind(GPC_UNWIND_DWARF, w.sample.stack_bytes, 0);
	assert_true(by_dwarf.is_complete);
	assert_int_equal(by_dwarf.n, w.chain);
	by_both = unwind(GPC_UNWIND_SMART, w.sample.stack_bytes, w.chain);
	assert_true(by_both.is_complete);
	assert_int_equal(by_both.n, w.chain);
	for (uint32_t i = 1; i < w.chain; i++)
		assert_int_equal(w.found.frames[i], w.ips[3 + i] - 1);
}

/* Never worse than either, whatever each has. */
static void the_better_of_the_two(void **state)
{
	unsigned by_chain = 0, by_stack = 0;
	(void)state;

	descend(DEPTH);
	for (uint32_t chain = 0; chain <= w.chain; chain++) {
		struct end of_chain = unwind(GPC_UNWIND_SMART, 0, chain);

		assert_int_equal(of_chain.is_complete, chain == w.chain);
		assert_int_equal(of_chain.n, chain ? chain : 1);
		for (uint32_t bytes = 0; bytes <= w.sample.stack_bytes; bytes += 488) {
			struct end of_stack = unwind(GPC_UNWIND_DWARF, bytes, 0);
			struct end best = unwind(GPC_UNWIND_SMART, bytes, chain);
			bool is_complete = of_chain.is_complete || of_stack.is_complete;

			assert_int_equal(best.is_complete, is_complete);
			if (is_complete)
				assert_int_equal(best.n, w.chain);
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
	w.ips[3 + 2] = 0x1234;
	end = unwind(GPC_UNWIND_SMART, 0, w.chain);
	assert_false(end.is_complete);
	assert_int_equal(end.n, 2);
}

static void modes_and_samples_without_a_user_part(void **state)
{
	struct gpc_perf_sample s;
	struct gpc_space nothing = {.refs = 1};
	(void)state;

	descend(1);
	s = w.sample;
	assert_int_equal(gpc_native_unwind(&w.native, w.space, &s, GPC_UNWIND_FP, true, &w.found),
			 GPC_NATIVE_CHAIN);
	assert_int_equal(gpc_native_unwind(&w.native, &nothing, &s, GPC_UNWIND_SMART, true,
					   &w.found),
			 GPC_NATIVE_CHAIN);
	s.n_regs = 0;
	assert_int_equal(gpc_native_unwind(&w.native, w.space, &s, GPC_UNWIND_SMART, true,
					   &w.found),
			 GPC_NATIVE_CHAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_by_both),
		cmocka_unit_test(the_better_of_the_two),
		cmocka_unit_test(garbage_in_the_chain),
		cmocka_unit_test(modes_and_samples_without_a_user_part),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
