/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of the test's own stack, as perf would give it, and the files it maps. */
#ifndef GPC_TEST_SOURCE_OWN_STACK_H
#define GPC_TEST_SOURCE_OWN_STACK_H

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
#include "source/native.h"

#define STACK_MAX 65528
#define CHAIN_MAX 128

struct own {
	struct gpc_images *images;
	struct gpc_table *table;
	const struct gpc_space *space;
	struct gpc_unwind_tables *tables;
	struct gpc_perf_sample sample;
	uint64_t ips[CHAIN_MAX], regs[64];
	uint8_t stack[STACK_MAX];
	uint32_t chain; /* frames of the user part */
};

static struct own own;

static void open_file(void *ctx, uint32_t image, const struct gpc_process *p,
		      const struct gpc_area *area)
{
	int fd = open(gpc_images_path(own.images, image), O_RDONLY | O_CLOEXEC);

	(void)ctx;
	(void)p;
	(void)area;
	if (fd >= 0)
		gpc_images_offer(own.images, image, fd);
}

static inline int set_up(void **state)
{
	struct gpc_images_limits limits = {1 << 20, 64};
	struct gpc_table_needs needs = {.file = open_file};
	struct gpc_process *p;
	(void)state;

	assert_int_equal(gpc_images_new(&limits, NULL, &own.images, NULL), GPC_OK);
	assert_int_equal(gpc_table_new("/proc", own.images, &needs, NULL, &own.table, NULL),
			 GPC_OK);
	assert_int_equal(gpc_unwind_tables_new(own.images, 8 << 20, NULL, &own.tables, NULL),
			 GPC_OK);
	p = gpc_table_sampled(own.table, getpid(), 0);
	assert_non_null(p);
	own.space = gpc_table_space(own.table, p);
	assert_true(own.space->n > 2);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	gpc_unwind_tables_free(own.tables);
	gpc_table_free(own.table);
	gpc_images_free(own.images);
	return 0;
}

/* In the order of perf. */
static uint64_t take_regs(const ucontext_t *c)
{
#ifdef __x86_64__
	static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
				    REG_RDI, REG_RBP, REG_RSP, REG_RIP};

	for (unsigned i = 0; i < 9; i++)
		own.regs[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
	for (unsigned i = 0; i < 8; i++)
		own.regs[12 + i] = (uint64_t)c->uc_mcontext.gregs[REG_R8 + (int)i];
	own.sample.n_regs = 20;
	return own.regs[7];
#else
	memcpy(own.regs, c->uc_mcontext.regs, sizeof c->uc_mcontext.regs);
	own.regs[31] = c->uc_mcontext.sp;
	own.regs[32] = c->uc_mcontext.pc;
	own.sample.n_regs = 33;
	return own.regs[31];
#endif
}

static uint32_t copy_stack(uint64_t sp)
{
	size_t n = STACK_MAX;
	ssize_t got;

	/* The stack ends somewhere. */
	for (got = -1; got < 0 && n > 0; n -= 8) {
		struct iovec to = {own.stack, n}, from = {(void *)(uintptr_t)sp, n};

		got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	}
	assert_true(got > 0);
	return (uint32_t)got & ~7u;
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *ctx)
{
	(void)ctx;
	if (own.chain < CHAIN_MAX - 3 && _Unwind_GetIP(c)) /* behind the root comes a 0 */
		own.ips[3 + own.chain++] = (uint64_t)_Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/* The chain is what the compiler's own unwinder finds. */
__attribute__((noinline)) static void leaf(void)
{
	ucontext_t c;
	uint64_t sp;

	own.chain = 0;
	_Unwind_Backtrace(on_frame, NULL);

	getcontext(&c);
	sp = take_regs(&c);
	own.sample.stack_bytes = copy_stack(sp);
	own.sample.stack = own.stack;
	own.sample.regs = own.regs;
	own.sample.ips = own.ips;
	own.ips[0] = (uint64_t)PERF_CONTEXT_KERNEL;
	own.ips[1] = UINT64_C(0xffffffff81000000);
	own.ips[2] = (uint64_t)PERF_CONTEXT_USER;
}

__attribute__((noinline, unused)) static int descend(int left)
{
	if (!left)
		leaf();
	else
		descend(left - 1);
	__asm__ volatile("" ::: "memory"); /* a call is a call, not a jump or a loop */
	return left;
}

#endif
