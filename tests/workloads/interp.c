/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter that keeps its frames on the heap. Function 2n (f2n) spins,
 * calls function 2n + 1 within the same C frame, and spins again; function 2n + 1
 * spins, calls function 2n + 2 through C (native_fn), and spins again. Each
 * function spins in a C function of its own (spin_n), so that the leaf of a native
 * stack tells which function was executed, and so the whole stack.
 *
 * Options are words NAME=N: levels (of C), ms (of CPU for each spin), threads,
 * idle (threads), seconds (of CPU for each busy thread; 0: for ever), churn=1
 * (each thread runs the program once and ends, another follows), exec (the
 * process becomes itself after so many ms), flat=1 (function 0 calls 1, 2, ... in
 * turn), wait=1 (begins at a line of standard input), hang=PATH (a page of that
 * file is published in interp_hang), owed=1 (a page that userfaultfd owes is). */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../plugins/testpull/interp.h"
#include "truth.h"

#define FRAMES_MAX 512

enum { SPIN, CALL, CALL_C, RETURN };

struct options {
	long levels, ms, threads, idle, seconds, churn, exec, flat, wait, owed;
	const char *hang;
};

struct state {
	struct interp_thread *shared;
	struct interp_frame *frames; /* FRAMES_MAX */
	uint64_t random;
};

struct interp_thread interp_threads[INTERP_SLOTS] __attribute__((visibility("default")));
extern const char __start_interp_text[], __stop_interp_text[];
const char *interp_range[2]
	__attribute__((visibility("default"))) = {__start_interp_text, __stop_interp_text};
uint64_t interp_hang __attribute__((visibility("default")));

static struct options options = {.levels = 1, .ms = 1, .threads = 1};
static uint64_t rounds_per_ms;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- spins: each has a constant of its own, or the linker makes one of all ----- */

#define SPIN_FN(n)                                                      \
	NOINLINE uint64_t spin_##n(uint64_t rounds);                    \
	uint64_t spin_##n(uint64_t rounds)                              \
	{                                                               \
		volatile uint64_t start = rounds;                       \
		uint64_t x = start;                                     \
                                                                        \
		while (rounds--)                                        \
			x = x * 6364136223846793005u + (2 * n##u + 1u); \
		return x;                                               \
	}
#define TEN(with, t)                                                                            \
	with(t##0) with(t##1) with(t##2) with(t##3) with(t##4) with(t##5) with(t##6) with(t##7) \
		with(t##8) with(t##9)
#define ALL(with)                                                                             \
	with(0) with(1) with(2) with(3) with(4) with(5) with(6) with(7) with(8) with(9)       \
		TEN(with, 1) TEN(with, 2) TEN(with, 3) TEN(with, 4) TEN(with, 5) TEN(with, 6) \
			TEN(with, 7) TEN(with, 8) TEN(with, 9) TEN(with, 10) TEN(with, 11)    \
				with(120) with(121) with(122) with(123) with(124) with(125)   \
					with(126) with(127)
#define NAME_OF(n) spin_##n,

ALL(SPIN_FN)
static uint64_t (*const spins[INTERP_FUNCTIONS])(uint64_t) = {ALL(NAME_OF)};

/* ---- the interpreter -------------------------------------------------------------- */

/* Alone in a section, so that its range is known. */
NOINLINE __attribute__((section("interp_text"))) uint64_t interp_eval(struct state *s,
								      uint32_t function);
NOINLINE uint64_t native_fn(struct state *s, uint32_t function);

static void push(struct state *s, uint32_t function, uint32_t is_entry)
{
	struct interp_frame *top = (struct interp_frame *)(uintptr_t)s->shared->top;
	struct interp_frame *f = top ? top + 1 : s->frames;

	if (f == s->frames + FRAMES_MAX)
		abort();
	*f = (struct interp_frame){.up = (uintptr_t)top,
				   .function = function,
				   .is_entry = is_entry};
	__atomic_store_n(&s->shared->top, (uintptr_t)f, __ATOMIC_RELEASE);
}

/* The program: what function does at its step; *arg is what it calls. */
static int op_of(uint32_t function, uint32_t at, uint32_t *arg)
{
	uint32_t last = options.flat ? 0 : (uint32_t)options.levels * 2 - 1;

	*arg = function + 1;
	if (options.flat && function == 0) {
		*arg = at + 1;
		return at + 1 < INTERP_FUNCTIONS ? CALL : RETURN;
	}
	if (at == 0 || (at == 2 && !options.flat))
		return SPIN;
	if (at == 1 && !options.flat && function < last)
		return function % 2 ? CALL_C : CALL;
	return at >= 3 || options.flat ? RETURN : SPIN;
}

/* Half to one and a half of the time, so that no step keeps time with a clock. */
static uint64_t some_rounds(struct state *s)
{
	uint64_t all = rounds_per_ms * (uint64_t)options.ms;

	return options.flat ? all : all / 2 + truth_random(&s->random) % (all + 1);
}

uint64_t interp_eval(struct state *s, uint32_t function)
{
	uint64_t sum = 0;

	push(s, function, 1);
	for (;;) {
		struct interp_frame *f = (struct interp_frame *)(uintptr_t)s->shared->top;
		uint32_t arg, is_entry = f->is_entry;

		switch (op_of(f->function, f->at++, &arg)) {
		case SPIN:
			sum += spins[f->function](some_rounds(s));
			break;
		case CALL:
			push(s, arg, 0);
			break;
		case CALL_C:
			sum += native_fn(s, arg);
			break;
		case RETURN:
			__atomic_store_n(&s->shared->top, f->up, __ATOMIC_RELEASE);
			if (is_entry)
				return sum;
			break;
		}
	}
}

uint64_t native_fn(struct state *s, uint32_t function)
{
	volatile uint64_t more = interp_eval(s, function);

	return more + 1;
}

/* ---- threads ---------------------------------------------------------------------- */

static struct interp_thread *take_slot(void)
{
	int32_t tid = (int32_t)syscall(SYS_gettid);
	struct interp_thread *found = NULL;

	pthread_mutex_lock(&lock);
	for (int32_t i = 0; i < INTERP_NEAR && !found; i++) {
		struct interp_thread *t = &interp_threads[(tid + i) % INTERP_SLOTS];

		if (!t->tid)
			found = t;
	}
	if (!found)
		abort();
	found->top = 0;
	__atomic_store_n(&found->tid, tid, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return found;
}

NOINLINE void interp_main(struct state *s)
{
	uint64_t end = (uint64_t)options.seconds * 1000000000u;
	volatile uint64_t sum = 0;

	do
		sum += interp_eval(s, 0);
	while (!options.churn && (!end || truth_clock(CLOCK_THREAD_CPUTIME_ID) < end));
}

static void *busy(void *arg)
{
	struct state s = {.shared = take_slot(), .random = truth_clock(CLOCK_MONOTONIC) * 2 + 1};

	s.frames = calloc(FRAMES_MAX, sizeof *s.frames);
	if (!s.frames)
		abort();
	interp_main(&s);
	__atomic_store_n(&s.shared->tid, 0, __ATOMIC_RELEASE);
	free(s.frames);
	return arg;
}

static void *idle(void *arg)
{
	take_slot();
	for (;;)
		pause();
	return arg;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	if (pthread_create(&thread, &attr, run, NULL) != 0)
		abort();
	pthread_attr_destroy(&attr);
	return thread;
}

/* One after another, or those of options.threads at once. */
static void run_threads(void)
{
	pthread_t threads[1024];

	do {
		for (long i = 0; i < options.threads; i++)
			threads[i] = start(busy);
		for (long i = 0; i < options.threads; i++)
			pthread_join(threads[i], NULL);
	} while (options.churn);
}

static char **arguments;

static void *become_again(void *arg)
{
	usleep((useconds_t)options.exec * 1000);
	execv("/proc/self/exe", arguments);
	abort();
	return arg;
}

/* ---- options ---------------------------------------------------------------------- */

static long *option(const char *name, size_t n)
{
	static const struct {
		const char *name;
		long *at;
	} all[] = {{"levels", &options.levels},   {"ms", &options.ms},
		   {"threads", &options.threads}, {"idle", &options.idle},
		   {"seconds", &options.seconds}, {"churn", &options.churn},
		   {"exec", &options.exec},       {"flat", &options.flat},
		   {"wait", &options.wait},       {"owed", &options.owed}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strlen(all[i].name) == n && memcmp(all[i].name, name, n) == 0)
			return all[i].at;
	fprintf(stderr, "no option %s\n", name);
	exit(2);
}

static void read_options(char **argv)
{
	while (*++argv) {
		size_t n = strcspn(*argv, "=");

		if (!(*argv)[n])
			exit(2);
		if (n == 4 && memcmp(*argv, "hang", 4) == 0)
			options.hang = *argv + 5;
		else
			*option(*argv, n) = atol(*argv + n + 1);
	}
	if (options.levels < 1 || options.levels * 2 > INTERP_FUNCTIONS || options.threads > 1024)
		exit(2);
}

static void publish_hanging_page(void)
{
	int fd = open(options.hang, O_RDONLY);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		exit(3);
	__atomic_store_n(&interp_hang, (uintptr_t)page, __ATOMIC_RELEASE);
}

static void publish_owed_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.range = {(uintptr_t)page, 4096},
				      .mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (page == MAP_FAILED || fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &reg) < 0)
		exit(4);
	__atomic_store_n(&interp_hang, (uintptr_t)page, __ATOMIC_RELEASE);
}

/* By the CPU's clock: the machine may have other work. */
static void calibrate(void)
{
	const uint64_t rounds = 4000000;
	uint64_t begin, used, best = UINT64_MAX;
	volatile uint64_t sum = 0;

	for (int i = 0; i < 5; i++) {
		begin = truth_clock(CLOCK_THREAD_CPUTIME_ID);
		sum += spins[1](rounds);
		used = truth_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (used < best)
			best = used;
	}
	rounds_per_ms = rounds * 1000000u / (best + 1);
}

int main(int argc, char **argv)
{
	(void)argc;
	arguments = argv;
	read_options(argv);
	calibrate();
	if (options.hang)
		publish_hanging_page();
	if (options.owed)
		publish_owed_page();
	if (options.wait && getchar() == EOF)
		return 2;
	for (long i = 0; i < options.idle; i++)
		start(idle);
	if (options.exec)
		start(become_again);
	run_threads();
	return 0;
}
