/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "unwind/tables.h"

struct world {
	struct gpc_images *images;
	struct gpc_unwind_tables *tables;
};

static void begin(struct world *w, size_t max_bytes)
{
	struct gpc_images_limits limits = {1 << 20, 16};

	assert_int_equal(gpc_images_new(&limits, NULL, &w->images, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_tables_new(w->images, max_bytes, NULL, &w->tables, NULL),
			 GPC_OK);
}

static void end(struct world *w)
{
	gpc_unwind_tables_free(w->tables);
	gpc_images_free(w->images);
}

static uint32_t add(struct world *w, const char *path)
{
	struct stat st;
	struct gpc_image_key key = {0};

	assert_int_equal(stat(path, &st), 0);
	key.inode = st.st_ino;
	key.dev_major = major(st.st_dev);
	key.dev_minor = minor(st.st_dev);
	return gpc_images_add(w->images, &key, path);
}

static void offer(struct world *w, uint32_t image, const char *path)
{
	assert_true(gpc_images_offer(w->images, image, open(path, O_RDONLY | O_CLOEXEC)));
}

static enum gpc_code_state get(struct world *w, uint32_t image, const struct gpc_unwind_table **ret)
{
	enum gpc_code_state state = GPC_CODE_WAITING;

	for (int i = 0; i < 5000 && state == GPC_CODE_WAITING; i++) {
		state = gpc_unwind_tables_get(w->tables, image, ret);
		if (state == GPC_CODE_WAITING)
			usleep(1000);
	}
	return state;
}

static const char *c_library(void)
{
	Dl_info info;

	assert_true(dladdr((void *)(uintptr_t)getchar, &info));
	return info.dli_fname;
}

static void built_when_the_file_is_there(void **state)
{
	const struct gpc_unwind_table *t = NULL;
	struct gpc_unwind_tables_stats stats;
	struct world w;
	uint32_t image;
	(void)state;

	begin(&w, 1 << 20);
	image = add(&w, "/proc/self/exe");
	for (int i = 0; i < 20; i++) {
		assert_int_equal(gpc_unwind_tables_get(w.tables, image, &t), GPC_CODE_WAITING);
		usleep(1000);
	}
	offer(&w, image, "/proc/self/exe");
	assert_int_equal(get(&w, image, &t), GPC_CODE_KNOWN);
	assert_true(t->n_rows > 10);
	gpc_unwind_tables_put(w.tables, image);
	gpc_unwind_tables_stats(w.tables, &stats);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(stats.bytes, t->bytes);
	assert_int_equal(stats.built, 1);
	end(&w);
}

static void no_file_no_table(void **state)
{
	const struct gpc_unwind_table *t = NULL;
	struct world w;
	uint32_t image, text;
	(void)state;

	begin(&w, 1 << 20);
	image = add(&w, "/proc/self/exe");
	gpc_images_give_up(w.images, image);
	assert_int_equal(get(&w, image, &t), GPC_CODE_PLAIN);
	gpc_unwind_tables_trim(w.tables);
	assert_int_equal(get(&w, image, &t), GPC_CODE_PLAIN);
	text = add(&w, "/etc/passwd");
	offer(&w, text, "/etc/passwd");
	assert_int_equal(get(&w, text, &t), GPC_CODE_PLAIN);
	/* Seen again, its file is opened after all: nobody waits, but it is found. */
	assert_int_equal(add(&w, "/proc/self/exe"), image);
	offer(&w, image, "/proc/self/exe");
	assert_int_equal(get(&w, image, &t), GPC_CODE_PLAIN);
	for (int i = 0; i < 500 && !t; i++) {
		usleep(10000);
		(void)get(&w, image, &t);
	}
	assert_non_null(t);
	gpc_unwind_tables_put(w.tables, image);
	end(&w);
}

static void vdso(void **state)
{
	const struct gpc_unwind_table *t = NULL;
	struct world w;
	(void)state;

	begin(&w, 1 << 20);
	assert_int_equal(get(&w, GPC_UNWIND_VDSO, &t), GPC_CODE_KNOWN);
	assert_true(t->n_rows > 0);
	gpc_unwind_tables_put(w.tables, GPC_UNWIND_VDSO);
	end(&w);
}

/* Asks for both in turn until one more was built. */
static uint64_t next_built(struct world *w, const uint32_t images[2],
			   struct gpc_unwind_tables_stats *ret)
{
	const struct gpc_unwind_table *table;
	uint64_t built;

	gpc_unwind_tables_stats(w->tables, ret);
	built = ret->built;
	for (int i = 0; ret->built == built; i++) {
		if (get(w, images[i % 2], &table) == GPC_CODE_KNOWN)
			gpc_unwind_tables_put(w->tables, images[i % 2]);
		gpc_unwind_tables_stats(w->tables, ret);
	}
	return gpc_now_ns();
}

/* Room for one, and two are asked for in turn: each time they rest for a multiple of what
 * building took. */
static void tables_that_push_each_other_out(void **state)
{
	const struct gpc_unwind_table *table;
	struct gpc_unwind_tables_stats first, then, last;
	uint64_t begin_ns, end_ns;
	struct world w;
	uint32_t images[2];
	(void)state;

	begin(&w, 1);
	images[0] = add(&w, "/proc/self/exe");
	images[1] = add(&w, c_library());
	offer(&w, images[0], "/proc/self/exe");
	offer(&w, images[1], c_library());
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get(&w, images[i], &table), GPC_CODE_KNOWN);
		gpc_unwind_tables_put(w.tables, images[i]);
	}
	gpc_unwind_tables_stats(w.tables, &first);
	begin_ns = next_built(&w, images, &then);
	(void)next_built(&w, images, &then);
	end_ns = next_built(&w, images, &last);
	assert_true(then.build_ns > first.build_ns);
	assert_true((then.build_ns - first.build_ns) * 10 < end_ns - begin_ns);
	end(&w);
}

/* Room for one: the other goes, but never one that is in use. */
static void budget(void **state)
{
	const struct gpc_unwind_table *exe = NULL, *libc = NULL, *again = NULL;
	struct gpc_unwind_tables_stats stats;
	struct world w;
	uint32_t a, b;
	(void)state;

	begin(&w, 1);
	a = add(&w, "/proc/self/exe");
	b = add(&w, c_library());
	offer(&w, a, "/proc/self/exe");
	offer(&w, b, c_library());
	assert_int_equal(get(&w, a, &exe), GPC_CODE_KNOWN);
	assert_int_equal(get(&w, b, &libc), GPC_CODE_KNOWN);
	gpc_unwind_tables_stats(w.tables, &stats);
	assert_int_equal(stats.tables, 2);
	assert_int_equal(stats.evicted, 0);
	assert_true(exe->n_rows > 0 && libc->n_rows > 10000);
	gpc_unwind_tables_put(w.tables, a);
	gpc_unwind_tables_put(w.tables, b);
	assert_int_equal(get(&w, GPC_UNWIND_VDSO, &again), GPC_CODE_KNOWN);
	gpc_unwind_tables_put(w.tables, GPC_UNWIND_VDSO);
	gpc_unwind_tables_stats(w.tables, &stats);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(stats.evicted, 2);
	assert_int_equal(get(&w, a, &again), GPC_CODE_KNOWN);
	gpc_unwind_tables_put(w.tables, a);
	end(&w);
}

static void forgotten_images(void **state)
{
	const struct gpc_unwind_table *t = NULL;
	struct gpc_unwind_tables_stats stats;
	struct world w;
	uint32_t image;
	(void)state;

	begin(&w, 1 << 20);
	image = add(&w, "/proc/self/exe");
	offer(&w, image, "/proc/self/exe");
	assert_int_equal(get(&w, image, &t), GPC_CODE_KNOWN);
	gpc_unwind_tables_put(w.tables, image);
	for (int i = 0; i < 4; i++)
		gpc_images_trim(w.images, NULL, NULL);
	assert_null(gpc_images_path(w.images, image));
	gpc_unwind_tables_trim(w.tables);
	gpc_unwind_tables_stats(w.tables, &stats);
	assert_int_equal(stats.tables, 0);
	assert_int_equal(stats.bytes, 0);
	end(&w);
}

static void *ask(void *arg)
{
	struct world *w = arg;
	const struct gpc_unwind_table *t = NULL;

	for (int i = 0; i < 300; i++) {
		uint32_t image = 1 + (uint32_t)i % 2;

		if (gpc_unwind_tables_get(w->tables, image, &t) != GPC_CODE_KNOWN)
			continue;
		assert_true(t->n_rows > 0);
		gpc_unwind_tables_put(w->tables, image);
	}
	return NULL;
}

static void several_threads(void **state)
{
	pthread_t threads[3];
	struct world w;
	(void)state;

	begin(&w, 1);
	assert_int_equal(add(&w, "/proc/self/exe"), 1);
	assert_int_equal(add(&w, c_library()), 2);
	offer(&w, 1, "/proc/self/exe");
	offer(&w, 2, c_library());
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &w), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_when_the_file_is_there),
		cmocka_unit_test(no_file_no_table),
		cmocka_unit_test(vdso),
		cmocka_unit_test(tables_that_push_each_other_out),
		cmocka_unit_test(budget),
		cmocka_unit_test(forgotten_images),
		cmocka_unit_test(several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
