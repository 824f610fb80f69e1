/* SPDX-License-Identifier: Apache-2.0 */
/* Our own stack, unwound from registers and memory as a sample's is, and compared
 * with what the compiler's own unwinder finds. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "unwind/step.h"

#define FILES 64
#define MAX   128
#define DEEP  40

struct file {
	uint64_t start, end, bias;
	struct gpc_unwind_table *table;
};

struct world {
	struct file files[FILES];
	size_t n;
	struct gpc_unwind_view v;
	uint64_t mine[MAX];
	uint32_t n_mine;
	enum gpc_unwind_result result;
	uint64_t theirs[MAX];
	uint32_t n_theirs;
};

static struct world w;

static struct gpc_unwind_table *table_of(const char *path)
{
	struct gpc_elf_source source;
	struct gpc_unwind_table *t = NULL;
	struct gpc_elf elf;
	int fd = -1;

	if (strstr(path, "vdso")) {
		const ElfW(Ehdr) *h = (const void *)getauxval(AT_SYSINFO_EHDR);

		source = gpc_elf_source_memory(h, h->e_shoff + h->e_shnum * sizeof(ElfW(Shdr)));
	} else {
		fd = open(*path ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(gpc_elf_source_fd(fd, &source, NULL), GPC_OK);
	}
	assert_int_equal(gpc_elf_init(&elf, &source, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_table_build(&elf, NULL, &t, NULL), GPC_OK);
	gpc_elf_deinit(&elf);
	if (fd >= 0)
		close(fd);
	return t;
}

static int on_file(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X) || w.n == FILES)
			continue;
		w.files[w.n].bias = info->dlpi_addr;
		w.files[w.n].start = info->dlpi_addr + h->p_vaddr;
		w.files[w.n].end = w.files[w.n].start + h->p_memsz;
		w.files[w.n++].table = table_of(info->dlpi_name);
		break;
	}
	return 0;
}

static enum gpc_code_state look_up(void *ctx, uint64_t address, struct gpc_code *ret)
{
	(void)ctx;
	for (size_t i = 0; i < w.n; i++) {
		if (address < w.files[i].start || address >= w.files[i].end)
			continue;
		ret->table = w.files[i].table;
		ret->vaddr = address - w.files[i].bias;
		return GPC_CODE_KNOWN;
	}
	return GPC_CODE_NOWHERE;
}

static bool more(void *ctx, uint64_t addr, void *buf, uint32_t n)
{
	struct iovec to = {buf, n}, from = {(void *)(uintptr_t)addr, n};

	(void)ctx;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n;
}

static struct gpc_unwind_regs regs_of(const ucontext_t *c)
{
	struct gpc_unwind_regs r = {.is_exact = 1};
#ifdef __x86_64__
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15};

	for (unsigned i = 0; i < 16; i++)
		r.r[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
	r.pc = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	r.valid = 0xffff;
#else
	memcpy(r.r, c->uc_mcontext.regs, sizeof c->uc_mcontext.regs);
	r.r[31] = c->uc_mcontext.sp;
	r.pc = c->uc_mcontext.pc;
	r.valid = (UINT64_C(1) << 32) - 1;
#endif
	return r;
}

static void unwind_from(const ucontext_t *c)
{
	struct gpc_unwind_regs regs = regs_of(c);

	w.v = (struct gpc_unwind_view){.arch = gpc_unwind_arch_here(),
				       .find = look_up,
				       .mem = {.more = more}};
	w.result = gpc_unwind_walk(&w.v, &regs, w.mine, MAX, &w.n_mine);
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *ctx)
{
	(void)ctx;
	if (w.n_theirs < MAX && _Unwind_GetIP(c)) /* behind the root comes a 0 */
		w.theirs[w.n_theirs++] = (uint64_t)_Unwind_GetIP(c);
	return _URC_NO_REASON;
}

__attribute__((noinline)) static void leaf(void)
{
	ucontext_t c;

	w.n_theirs = 0;
	_Unwind_Backtrace(on_frame, NULL);
	getcontext(&c);
	unwind_from(&c);
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

/* Both begin in leaf(), at different places; from its caller on they are one. */
static void expect_same(void)
{
	assert_int_equal(w.result, GPC_UNWIND_END);
	assert_int_equal(w.n_mine, w.n_theirs);
	for (uint32_t i = 1; i < w.n_mine; i++)
		assert_int_equal(w.mine[i] + 1, w.theirs[i]);
}

static void like_the_compilers(void **state)
{
	(void)state;
	descend(3);
	expect_same();
	assert_true(w.n_mine > 6);
	descend(DEEP);
	expect_same();
	assert_true(w.n_mine > DEEP);
}

static void *in_thread(void *arg)
{
	descend(5);
	return arg;
}

static void to_the_root_of_a_thread(void **state)
{
	pthread_t thread;
	(void)state;

	assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	expect_same();
	assert_true(w.n_mine >= 8);
}

static void on_signal(int number)
{
	(void)number;
	descend(2);
}

__attribute__((noinline)) static int interrupted(void)
{
	return raise(SIGUSR1) + 1;
}

/* The compiler's unwinder has the signal's return address as it is; it is moved here. */
static void through_a_signal(void **state)
{
	struct sigaction action = {.sa_handler = on_signal};
	uint32_t same = 0;
	(void)state;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(interrupted(), 1);
	assert_int_equal(w.result, GPC_UNWIND_END);
	assert_int_equal(w.n_mine, w.n_theirs);
	for (uint32_t i = 1; i < w.n_mine; i++)
		same += w.mine[i] + 1 == w.theirs[i];
	/* All but the trampoline and what was interrupted, which no call left. */
	assert_int_equal(same, w.n_mine - 3);
}

static char coroutine_stack[256 * 1024];
static ucontext_t outside, inside;

static void in_coroutine(void)
{
	descend(2);
	__asm__ volatile("" ::: "memory");
}

static void coroutine(void **state)
{
	(void)state;
	getcontext(&inside);
	inside.uc_stack.ss_sp = coroutine_stack;
	inside.uc_stack.ss_size = sizeof coroutine_stack;
	inside.uc_link = &outside;
	makecontext(&inside, in_coroutine, 0);
	swapcontext(&outside, &inside);
	assert_int_equal(w.result, GPC_UNWIND_END);
	/* leaf, descend three times, in_coroutine, and where it began. */
	assert_int_equal(w.n_mine, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_the_compilers),
		cmocka_unit_test(to_the_root_of_a_thread),
		cmocka_unit_test(through_a_signal),
		cmocka_unit_test(coroutine),
	};
	int failed;

	dl_iterate_phdr(on_file, NULL);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < w.n; i++)
		gpc_unwind_table_free(w.files[i].table);
	return failed;
}
