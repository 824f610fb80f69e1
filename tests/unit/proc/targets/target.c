/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose threads and memory are known, for tests that read them from
 * outside: target THREADS [LIBRARY]. It tells in lines of standard output what is
 * where, says "ready", and then ends one thread for each line that it is given.
 * Every second thread, the main one not, uses the library's variable. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAP_BYTES  (300 * 1024 + 77)
#define ZERO_BYTES  (8 << 20)
#define THREADS_MAX 64

#ifndef FILLER
#define FILLER 8
#endif

extern __thread char target_filler[FILLER];
__thread char target_filler[FILLER];
extern __thread uint64_t target_variable;
__thread uint64_t target_variable = 7;
extern const char target_needle[];
const char target_needle[] = "a needle that stands here only";
extern uint64_t target_data[4];
uint64_t target_data[4] = {0x1122334455667788u, 2, 3, 4};
int target_function(int x);

static void *(*library_variable)(void);
#ifdef LINKED
void *linked_variable(void);
#else
static void *linked_variable(void)
{
	return NULL;
}
#endif

int target_function(int x)
{
	return x * 3 + (int)target_data[1];
}

static void tell_thread(int is_user)
{
	target_filler[0] = 1;
	printf("thread %ld %p %p %p %p %p\n", (long)syscall(SYS_gettid), (void *)pthread_self(),
	       __builtin_thread_pointer(), (void *)&target_variable, linked_variable(),
	       is_user && library_variable ? library_variable() : NULL);
	fflush(stdout);
}

struct thread {
	pthread_t thread;
	int index, go[2];
	pthread_barrier_t *told;
};

static void *run(void *arg)
{
	struct thread *t = arg;
	char byte;

	tell_thread(t->index % 2);
	pthread_barrier_wait(t->told);
	while (read(t->go[0], &byte, 1) < 0)
		;
	return NULL;
}

static void tell_block(const char *name, uint8_t *block, size_t n, int is_pattern)
{
	for (size_t i = 0; i < n; i++)
		block[i] = is_pattern ? (uint8_t)(i * 31 + (i >> 8)) : 0;
	printf("block %s %p %zu\n", name, (void *)block, n);
}

static void *shared(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

/* Pages, one of which in the middle nobody can read, as guards of stacks may be
 * (MADV_GUARD_INSTALL, Linux 6.13). */
static void make_guarded(void)
{
	uint8_t *at = shared(64 * 4096);

	memset(at, 'g', 64 * 4096);
	madvise(at + 20 * 4096, 4096, 102);
}

int main(int argc, char **argv)
{
	static struct thread threads[THREADS_MAX];
	pthread_barrier_t told;
	int n = argc > 1 ? atoi(argv[1]) : 0, next = 0;
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;

	if (n > THREADS_MAX || (argc > 2 && !library))
		return 2;
	if (library)
		library_variable = (void *(*)(void))(uintptr_t)dlsym(library, "library_variable");
	tell_thread(0);
	tell_block("heap", malloc(HEAP_BYTES), HEAP_BYTES, 1);
	tell_block("shared", shared(HEAP_BYTES), HEAP_BYTES, 1);
	tell_block("zeros", malloc(ZERO_BYTES), ZERO_BYTES, 0);
	make_guarded();
	pthread_barrier_init(&told, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		threads[i].index = i;
		threads[i].told = &told;
		if (pipe(threads[i].go) < 0 ||
		    pthread_create(&threads[i].thread, NULL, run, &threads[i]) != 0)
			return 3;
	}
	pthread_barrier_wait(&told);
	printf("place function %p\nplace data %p\nplace needle %p\n",
	       (void *)(uintptr_t)target_function, (void *)target_data, (void *)target_needle);
	printf("ready\n");
	fflush(stdout);
	while (next < n && getchar() != EOF) {
		close(threads[next].go[1]);
		pthread_join(threads[next++].thread, NULL);
		printf("ended\n");
		fflush(stdout);
	}
	for (;;)
		pause();
}
