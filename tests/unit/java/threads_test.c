/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for threads in a JVM whose list is not as it should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "threads.h"

#define VARIABLE UINT64_C(0x10000)
#define LIST     UINT64_C(0x20000)
#define ENTRIES  UINT64_C(0x1000000)
#define COUNT    (UINT32_C(1) << 20)

struct world {
	struct gpc_host host;
	struct gpc_target target;
	struct layout layout;
	struct java_threads threads;
	struct jmem mem;
	uint64_t now, entry; /* entry: what stands at each place of the list */
	uint64_t reads, failed;
	uint32_t count; /* the list's length */
};

static uint64_t read_now(const struct gpc_host *h)
{
	return ((struct world *)h->impl)->now;
}

static int64_t read_mem(const struct gpc_host *h, const struct gpc_target *t, uint64_t addr,
			void *buf, uint64_t len)
{
	struct world *w = h->impl;
	uint64_t word = addr == VARIABLE ? LIST : addr == LIST ? w->count : ENTRIES;

	(void)t;
	w->reads++;
	if (addr >= ENTRIES && addr + len <= ENTRIES + 8 * (uint64_t)COUNT) {
		for (uint64_t i = 0; i < len / 8; i++)
			memcpy((uint8_t *)buf + 8 * i, &w->entry, 8);
		return (int64_t)len;
	}
	if (addr == VARIABLE || addr == LIST || addr == LIST + 8) {
		memcpy(buf, &word, len);
		return (int64_t)len;
	}
	w->failed++;
	return GPC_E_CORRUPT;
}

static void begin(struct world *w, uint64_t entry)
{
	memset(w, 0, sizeof *w);
	w->host = (struct gpc_host){.impl = w, .read_mem = read_mem, .now_ns = read_now};
	w->mem = (struct jmem){&w->host, &w->target};
	w->layout.at[S_THREADS_LIST] = VARIABLE;
	w->layout.field[F_LIST_THREADS] = 8;
	w->layout.field[F_OSTHREAD_ID] = 8;
	w->now = 1000000000;
	w->entry = entry;
	w->count = COUNT;
	assert_true(gpc_java_threads_init(&w->threads));
}

/* Each entry of a million leads to where nothing is: looking costs as much as when it
 * leads to a thread. */
static void bad_pointers_are_counted(void **state)
{
	struct world w;

	(void)state;
	begin(&w, UINT64_C(0x7f0000000000));
	for (int i = 1; i < 10; i++) {
		assert_int_equal(gpc_java_thread_of(&w.threads, &w.mem, &w.layout, 42), 0);
		assert_in_range(w.failed, 1, i * 300);
		w.now += 1000000000;
	}
	gpc_java_threads_deinit(&w.threads);
}

static void no_pointers_are_bounded_too(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 1);
	assert_int_equal(gpc_java_thread_of(&w.threads, &w.mem, &w.layout, 42), 0);
	assert_int_equal(w.failed, 0);
	assert_in_range(w.reads, 1, 100);
	gpc_java_threads_deinit(&w.threads);
}

/* A thread that is in no list (the collector's) is looked for less and less often. */
static void others_are_looked_for_less_often(void **state)
{
	uint64_t looks = 0, before;
	struct world w;

	(void)state;
	begin(&w, 1);
	w.count = 16;
	for (int i = 0; i < 400; i++) { /* every 10 ms, for 4 s */
		before = w.reads;
		assert_int_equal(gpc_java_thread_of(&w.threads, &w.mem, &w.layout, 42), 0);
		looks += w.reads > before;
		w.now += 10000000;
	}
	assert_in_range(looks, 8, 16);
	/* Another one is looked for at once. */
	before = w.reads;
	gpc_java_thread_of(&w.threads, &w.mem, &w.layout, 43);
	assert_true(w.reads > before);
	gpc_java_threads_deinit(&w.threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_pointers_are_counted),
		cmocka_unit_test(no_pointers_are_bounded_too),
		cmocka_unit_test(others_are_looked_for_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
