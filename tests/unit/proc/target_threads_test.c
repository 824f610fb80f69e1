/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proc/target_threads.h"
#include "targets.h"

#define THREADS "20"

struct world {
	struct told told;
	struct gpc_mem *mem;
	struct gpc_target_threads *th;
};

static int begin(void **state, const char *program, const char *library)
{
	struct world *w = calloc(1, sizeof *w);
	char path[400], opened[400], *argv[] = {path, THREADS, library ? opened : NULL, NULL};
	struct gpc_err err;

	snprintf(path, sizeof path, TARGETS "/%s", program);
	snprintf(opened, sizeof opened, TARGETS "/%s", library ? library : "");
	*state = w;
	if (!told_start(&w->told, argv))
		return -1;
	assert_int_equal(w->told.n_threads, 21);
	assert_int_equal(gpc_mem_new(4, NULL, &w->mem, &err), GPC_OK);
	if (gpc_target_threads_open(&w->told.view->target, w->mem, &w->th, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int begin_glibc(void **state)
{
	return begin(state, "target", "libopened.so");
}

static int begin_fixed(void **state)
{
	return begin(state, "fixed", NULL);
}

/* musl-gcc may not be there: then there is no program either. */
static int begin_musl(void **state)
{
	*state = NULL;
	return access(TARGETS "/musl", X_OK) == 0 ? begin(state, "musl", NULL) : 0;
}

static int begin_musl_large(void **state)
{
	*state = NULL;
	return access(TARGETS "/musl-large", X_OK) == 0 ? begin(state, "musl-large", NULL) : 0;
}

static int end(void **state)
{
	struct world *w = *state;

	if (!w)
		return 0;
	gpc_target_threads_free(w->th);
	gpc_mem_free(w->mem);
	told_end(&w->told);
	free(w);
	return 0;
}

static uint64_t pointer_of(const struct world *w, int tid)
{
	struct gpc_err err;
	uint64_t pointer = 0;

	if (gpc_target_threads_pointer(w->th, tid, &pointer, &err) < 0)
		fail_msg("%s", err.text);
	return pointer;
}

static struct gpc_tls_variable variable(const struct world *w, const char *glob, const char *symbol)
{
	struct gpc_tls_variable v = {0};
	struct gpc_err err;

	if (gpc_target_threads_variable(w->th, glob, symbol, &v, &err) < 0)
		fail_msg("%s", err.text);
	return v;
}

static void check_pointers(const struct world *w)
{
	for (unsigned i = 0; i < w->told.n_threads; i++) {
		const struct said_thread *said = &w->told.threads[i];
		int32_t tid = 0;

		assert_int_equal(pointer_of(w, said->tid), (uintptr_t)said->pointer);
		assert_int_equal(gpc_target_threads_tid(w->th, (uintptr_t)said->self, &tid, NULL),
				 GPC_OK);
		assert_int_equal(tid, said->tid);
	}
}

/* where: offset in struct said_thread of what the thread said. */
static void check_addresses(const struct world *w, const struct gpc_tls_variable *v, size_t where)
{
	for (unsigned i = 0; i < w->told.n_threads; i++) {
		const struct said_thread *said = &w->told.threads[i];
		void *truth = *(void *const *)(const void *)((const char *)said + where);
		uint64_t addr = 1;
		gpc_status st =
			gpc_target_threads_address(w->th, v, pointer_of(w, said->tid), &addr, NULL);

		assert_int_equal(st, truth ? GPC_OK : GPC_E_GONE);
		assert_int_equal(addr, truth ? (uintptr_t)truth : 1);
	}
}

static void test_pointers(void **state)
{
	const struct world *w = *state;

	if (!w)
		skip(); /* no musl-gcc */
	check_pointers(w);
}

static void test_variable_of_the_executable(void **state)
{
	const struct world *w = *state;
	struct gpc_tls_variable v;

	if (!w)
		skip(); /* no musl-gcc */
	v = variable(w, NULL, "target_variable");
	check_addresses(w, &v, offsetof(struct said_thread, variable));
}

static void test_variable_of_a_linked_library(void **state)
{
	const struct world *w = *state;
	struct gpc_tls_variable v = variable(w, "liblinked*", "linked_tls");

	assert_non_null(w->told.threads[0].linked);
	check_addresses(w, &v, offsetof(struct said_thread, linked));
}

/* Half of the threads use it; the others have no block. */
static void test_variable_of_an_opened_library(void **state)
{
	const struct world *w = *state;
	struct gpc_tls_variable v = variable(w, "libopened*", "library_tls");
	unsigned used = 0;

	for (unsigned i = 0; i < w->told.n_threads; i++)
		used += w->told.threads[i].library != NULL;
	assert_int_equal(used, 10);
	check_addresses(w, &v, offsetof(struct said_thread, library));
}

/* A thread's list of modules may be shorter than the number of the module. */
static void test_module_beyond_a_threads_list(void **state)
{
	const struct world *w = *state;
	struct gpc_tls_variable v = {.module = 5000, .offset = 16};
	uint64_t addr;

	if (!w)
		skip(); /* no musl-gcc */
	for (unsigned i = 0; i < w->told.n_threads; i++)
		assert_int_equal(gpc_target_threads_address(w->th, &v,
							    (uintptr_t)w->told.threads[i].pointer,
							    &addr, NULL),
				 GPC_E_GONE);
}

static void test_thread_that_ended(void **state)
{
	struct world *w = *state;
	uint64_t pointer = 1;
	int gone = 0;
	char line[32];

	if (!w)
		skip(); /* no musl-gcc */
	gone = w->told.threads[0].tid;
	/* One ends; which, tells /proc. */
	assert_int_equal(write(w->told.to, "\n", 1), 1);
	assert_non_null(fgets(line, sizeof line, w->told.from));
	assert_string_equal(line, "ended\n");
	for (unsigned i = 1; i < w->told.n_threads; i++) {
		char path[80];

		snprintf(path, sizeof path, "/proc/%d/task/%d", w->told.pid,
			 w->told.threads[i].tid);
		if (access(path, F_OK) < 0)
			gone = w->told.threads[i].tid;
		else
			assert_int_equal(pointer_of(w, w->told.threads[i].tid),
					 (uintptr_t)w->told.threads[i].pointer);
	}
	assert_int_not_equal(gone, w->told.pid);
	assert_int_equal(gpc_target_threads_pointer(w->th, gone, &pointer, NULL), GPC_E_GONE);
	assert_int_equal(gpc_target_threads_pointer(w->th, 1 << 29, &pointer, NULL), GPC_E_GONE);
	assert_int_equal(pointer, 1);
}

static void test_what_is_not_there(void **state)
{
	const struct world *w = *state;
	struct gpc_tls_variable v = {.module = 77};
	struct gpc_err err;

	assert_int_equal(gpc_target_threads_variable(w->th, NULL, "no_such_name", &v, &err),
			 GPC_E_GONE);
	assert_int_equal(gpc_target_threads_variable(w->th, "nowhere*", "x", &v, &err), GPC_E_GONE);
	assert_int_equal(v.module, 77);
}

static void test_neither_library(void **state)
{
	struct gpc_map map = {.start = 4096, .end = 8192, .path = "/bin/static", .inode = 1};
	struct gpc_target t = {.struct_size = sizeof t,
			       .pid = getpid(),
			       .ns_pid = getpid(),
			       .id = 9,
			       .exe = "/bin/static",
			       .machine = 62,
			       .maps = &map,
			       .n_maps = 1,
			       .map_stride = sizeof map};
	struct gpc_target_threads *th = NULL;
	struct gpc_mem *mem = NULL;
	struct gpc_err err;

	(void)state;
	assert_int_equal(gpc_mem_new(4, NULL, &mem, &err), GPC_OK);
	assert_int_equal(gpc_target_threads_open(&t, mem, &th, &err), GPC_E_UNSUPPORTED);
	assert_null(th);
	gpc_mem_free(mem);
}

#define WITH(test, set_up)                                      \
	{                                                       \
#test " (" #set_up ")", test, set_up, end, NULL \
	}

static int64_t read_zeros(void *ctx, uint64_t target, uint64_t addr, void *buf, uint64_t len)
{
	(void)target;
	(void)addr;
	++*(uint64_t *)ctx;
	memset(buf, 0, len);
	return (int64_t)len;
}

/* Behind musl's data lie terabytes that were reserved and never touched. */
static void test_reserved_behind_musl(void **state)
{
	const struct gpc_map maps[] = {
		{.start = 0x7f0000000000,
		 .end = 0x7f0000002000,
		 .prot = GPC_MAP_READ | GPC_MAP_WRITE,
		 .path = "/lib/ld-musl-x86_64.so.1"},
		{.start = 0x7f0000002000,
		 .end = 0x7ff000000000,
		 .prot = GPC_MAP_READ | GPC_MAP_WRITE,
		 .path = ""},
	};
	const struct gpc_target t = {.struct_size = sizeof t,
				     .machine = 62,
				     .id = 1,
				     .pid = 1,
				     .ns_pid = 1,
				     .maps = maps,
				     .n_maps = 2,
				     .map_stride = sizeof *maps};
	uint64_t reads = 0;
	struct gpc_mem_replay replay = {&reads, read_zeros};
	struct gpc_target_threads *th;
	struct gpc_mem *mem;

	(void)state;
	assert_int_equal(gpc_mem_new(4, &replay, &mem, NULL), GPC_OK);
	assert_int_equal(gpc_target_threads_open(&t, mem, &th, NULL), GPC_E_UNSUPPORTED);
	assert_in_range(reads, 1, 40000); /* of 4 KB */
	gpc_mem_free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_pointers, begin_glibc),
		WITH(test_variable_of_the_executable, begin_glibc),
		WITH(test_variable_of_a_linked_library, begin_glibc),
		WITH(test_variable_of_an_opened_library, begin_glibc),
		WITH(test_module_beyond_a_threads_list, begin_glibc),
		WITH(test_thread_that_ended, begin_glibc),
		WITH(test_what_is_not_there, begin_glibc),
		WITH(test_pointers, begin_fixed),
		WITH(test_variable_of_the_executable, begin_fixed),
		cmocka_unit_test(test_reserved_behind_musl),
		WITH(test_pointers, begin_musl),
		WITH(test_variable_of_the_executable, begin_musl),
		WITH(test_module_beyond_a_threads_list, begin_musl),
		WITH(test_thread_that_ended, begin_musl),
		WITH(test_pointers, begin_musl_large),
		WITH(test_variable_of_the_executable, begin_musl_large),
		cmocka_unit_test(test_neither_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
