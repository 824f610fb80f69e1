/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "source/fold.h"
#include "source/frames.h"

#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define KTEXT  UINT64_C(0xffffffff81000000)
#define FILE_1 (UINT64_C(1) << GPC_RAW_OFFSET_BITS | GPC_RAW_FILE)

/* One process: a file at 0x400000 (offset 0x1000), JIT code at 0x7000000, the
 * vdso at 0x8000000. */
struct world {
	struct gpc_images *images;
	struct gpc_table *table;
	struct gpc_process *process;
	struct gpc_folded out;
	uint32_t asked, n_asked; /* for the file of that image; so often */
};

static void on_file(void *ctx, uint32_t image, const struct gpc_process *p,
		    const struct gpc_area *area)
{
	struct world *w = ctx;

	assert_int_equal(p->pid, 50);
	assert_int_equal(area->image, image);
	w->asked = image;
	w->n_asked++;
}

static void map(struct world *w, uint64_t start, uint64_t inode, const char *path)
{
	struct gpc_table_mmap m = {.pid = 50,
				   .start = start,
				   .length = 0x10000,
				   .offset = inode ? 0x1000 : 0,
				   .key = {.inode = inode},
				   .path = path};

	gpc_table_mmap(w->table, &m);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct gpc_images_limits limits = {1 << 20, 0};
	struct gpc_table_needs needs = {.ctx = w, .file = on_file};

	assert_int_equal(gpc_images_new(&limits, NULL, &w->images, NULL), GPC_OK);
	assert_int_equal(gpc_table_new("/proc/self/task", w->images, &needs, NULL, &w->table, NULL),
			 GPC_OK);
	gpc_table_exec(w->table, 50, "x");
	map(w, 0x400000, 7, "/bin/x");
	map(w, 0x7000000, 0, "//anon");
	map(w, 0x8000000, 0, "[vdso]");
	w->process = gpc_table_sampled(w->table, 50, 1);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_table_free(w->table);
	gpc_images_free(w->images);
	free(w);
	return 0;
}

static void fold(struct world *w, uint64_t ip, const uint64_t *ips, uint32_t n)
{
	struct gpc_perf_sample s = {.ip = ip, .ips = ips, .n_ips = n};

	memset(&w->out, 0xa5, sizeof w->out);
	gpc_fold(w->table, w->process, NULL, &s, NULL, &w->out);
}

#define check(w, ip, chain, expected)                                             \
	do {                                                                      \
		fold(w, ip, chain, sizeof chain / sizeof *chain);                 \
		assert_int_equal((w)->out.n, sizeof expected / sizeof *expected); \
		assert_memory_equal((w)->out.frames, expected, sizeof expected);  \
	} while (0)

/* The interrupted address stays; a return address is moved into its call. */
static void test_kernel_and_user(void **state)
{
	static const uint64_t chain[] = {KERNEL, KTEXT + 100, KTEXT + 200,
					 USER,   0x400010,    0x400020};
	static const uint64_t frames[] = {KTEXT + 100, KTEXT + 199, FILE_1 | 0x1010,
					  FILE_1 | 0x101f};
	struct world *w = *state;

	check(w, KTEXT + 100, chain, frames);
	assert_false(w->out.has_jit);
}

static void test_jit_and_vdso(void **state)
{
	static const uint64_t chain[] = {USER, 0x8000010, 0x7000020, 0x400020};
	static const uint64_t frames[] = {GPC_RAW_VDSO | 0x10, 0x700001f, FILE_1 | 0x101f};
	struct world *w = *state;

	check(w, 0x8000010, chain, frames);
	assert_true(w->out.has_jit);
}

/* What runs is code, wherever it lies; a caller may be garbage. */
static void test_code_that_no_mapping_covers(void **state)
{
	static const uint64_t runs[] = {USER, 0x5000010, 0x400020};
	static const uint64_t calls[] = {USER, 0x400010, 0x5000010};
	struct world *w = *state;

	fold(w, runs[1], runs, 3);
	assert_true(w->out.has_jit);
	fold(w, calls[1], calls, 3);
	assert_false(w->out.has_jit);
	assert_int_equal(w->out.frames[1], 0x500000f);
}

/* A call that is the last instruction of one mapping returns into the next. */
static void test_return_address_at_a_boundary(void **state)
{
	static const uint64_t chain[] = {USER, 0x400000, 0x410000};
	static const uint64_t frames[] = {FILE_1 | 0x1000, FILE_1 | 0x10fff};
	struct world *w = *state;

	check(w, 0x400000, chain, frames);
	assert_false(w->out.has_jit);
}

/* Frame pointers that are none give addresses of all kinds. None of them may
 * look like a kernel address, a file or a name. */
static void test_garbage_in_the_user_part(void **state)
{
	static const uint64_t garbage[] = {
		KTEXT,
		(UINT64_C(1) << 56) + 1,
		GPC_RAW_FILE | 5,
		GPC_RAW_VDSO | 5,
		GPC_FRAME_TAG | 5,
		(uint64_t)PERF_CONTEXT_MAX - 1,
		UINT64_C(0x8000000000000000),
		0,
		1,
	};
	struct world *w = *state;

	for (size_t k = 0; k < sizeof garbage / sizeof *garbage; k++) {
		uint64_t chain[] = {USER, 0x400010, garbage[k]};

		fold(w, 0x400010, chain, 3);
		assert_int_equal(w->out.n, 2);
		assert_int_equal(w->out.frames[1], 0);
		assert_false(w->out.has_jit);
	}
}

static void test_unknown_contexts_are_left_out(void **state)
{
	static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_HV,
					 0x1111,
					 (uint64_t)PERF_CONTEXT_GUEST_KERNEL,
					 KTEXT,
					 (uint64_t)PERF_CONTEXT_GUEST_USER,
					 0x400010,
					 (uint64_t)PERF_CONTEXT_GUEST,
					 0x400020,
					 USER,
					 0x400030};
	static const uint64_t frames[] = {FILE_1 | 0x1030};
	struct world *w = *state;

	check(w, 0x400030, chain, frames);
}

static void test_no_marker_at_all(void **state)
{
	static const uint64_t chain[] = {0x400010, 0x400020};
	static const uint64_t frames[] = {FILE_1 | 0x1030};
	struct world *w = *state;

	check(w, 0x400030, chain, frames); /* what the addresses are nobody knows */
}

/* Without a chain the sample still counts somewhere. */
static void test_no_chain(void **state)
{
	static const uint64_t only_markers[] = {KERNEL, USER};
	static const uint64_t user[] = {FILE_1 | 0x1030}, kernel[] = {KTEXT};
	struct world *w = *state;

	fold(w, 0x400030, NULL, 0);
	assert_int_equal(w->out.n, 1);
	assert_int_equal(w->out.frames[0], user[0]);
	check(w, KTEXT, only_markers, kernel);
	fold(w, 0, NULL, 0);
	assert_int_equal(w->out.n, 1);
}

/* Each part has a first frame of its own. */
static void test_markers_only_between(void **state)
{
	static const uint64_t chain[] = {KERNEL, USER, 0x400010, USER, 0x400010};
	static const uint64_t frames[] = {FILE_1 | 0x1010, FILE_1 | 0x1010};
	struct world *w = *state;

	check(w, KTEXT, chain, frames);
}

static void test_longest_chain(void **state)
{
	uint64_t *chain = calloc(GPC_FOLD_MAX + 100, sizeof *chain);
	struct world *w = *state;

	chain[0] = USER;
	for (int i = 1; i < GPC_FOLD_MAX + 100; i++)
		chain[i] = 0x400001;
	fold(w, 0x400001, chain, GPC_FOLD_MAX + 100);
	assert_int_equal(w->out.n, GPC_FOLD_MAX);
	assert_int_equal(w->out.frames[GPC_FOLD_MAX - 1], FILE_1 | 0x1000);
	free(chain);
}

/* ---- frames.h ------------------------------------------------------------------- */

static void test_limits_of_raw_frames(void **state)
{
	struct gpc_area a = {.start = 0x1000,
			     .end = UINT64_C(1) << 56,
			     .image = GPC_RAW_IMAGE_MAX,
			     .kind = GPC_AREA_FILE};
	uint64_t raw = gpc_raw_of(&a, 0x1000 + GPC_RAW_OFFSET_MAX);

	(void)state;
	assert_int_equal(raw & GPC_RAW_KIND, GPC_RAW_FILE);
	assert_int_equal(gpc_raw_image(raw), GPC_RAW_IMAGE_MAX);
	assert_int_equal(gpc_raw_offset(raw), GPC_RAW_OFFSET_MAX);
	/* What does not fit stays an address: nameless, but not wrong. */
	assert_int_equal(gpc_raw_of(&a, 0x1001 + GPC_RAW_OFFSET_MAX), 0x1001 + GPC_RAW_OFFSET_MAX);
	a.image = GPC_RAW_IMAGE_MAX + 1;
	assert_int_equal(gpc_raw_of(&a, 0x2000), 0x2000);
	a.image = 0;
	assert_int_equal(gpc_raw_of(&a, 0x2000), 0x2000);
	a.kind = GPC_AREA_ANON;
	a.image = 5;
	assert_int_equal(gpc_raw_of(&a, 0x2000), 0x2000);
	assert_int_equal(gpc_raw_of(NULL, 0x2000), 0x2000);
	a.kind = GPC_AREA_VDSO;
	assert_int_equal(gpc_raw_of(&a, 0x1234), GPC_RAW_VDSO | 0x234);
	assert_int_equal(gpc_raw_of(&a, 0x1001 + GPC_RAW_OFFSET_MAX), 0x1001 + GPC_RAW_OFFSET_MAX);
}

static void test_kinds_are_apart(void **state)
{
	struct gpc_area a = {.start = 0,
			     .end = UINT64_MAX,
			     .image = 0xfffff,
			     .kind = GPC_AREA_FILE};
	uint64_t raw = gpc_raw_of(&a, GPC_RAW_OFFSET_MAX);

	(void)state;
	assert_int_not_equal(raw & GPC_FRAME_MASK, GPC_FRAME_TAG);
	assert_int_not_equal(raw & GPC_RAW_KIND, GPC_RAW_KERNEL);
	assert_int_equal(KTEXT & GPC_RAW_KIND, GPC_RAW_KERNEL);
	assert_int_not_equal(GPC_FRAME_TAG & GPC_RAW_KIND, GPC_RAW_KERNEL);
}

/* Its file was refused while it was mapped: who runs its code asks again, once a window. */
static void test_file_that_was_refused(void **state)
{
	static const uint64_t chain[] = {USER, 0x400010, 0x400020};
	struct gpc_image_key key = {0};
	struct world *w = *state;
	uint32_t image;
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(fstat(fd, &st), 0);
	key.inode = st.st_ino;
	map(w, 0x400000, st.st_ino, "/bin/x");
	image = gpc_images_add(w->images, &key, "/bin/x");
	assert_int_equal(w->asked, image);
	w->n_asked = 0;
	assert_false(gpc_images_offer(w->images, image, fd)); /* none may be open */
	for (uint32_t window = 1; window < 4; window++) {
		fold(w, chain[1], chain, 3);
		fold(w, chain[1], chain, 3);
		assert_int_equal(w->n_asked, window - 1);
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		gpc_images_offer(w->images, image, fd);
		gpc_images_trim(w->images, NULL, NULL);
		gpc_images_add(w->images, &key, "/bin/x");
	}
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_kernel_and_user),
		world_test(test_jit_and_vdso),
		world_test(test_code_that_no_mapping_covers),
		world_test(test_return_address_at_a_boundary),
		world_test(test_garbage_in_the_user_part),
		world_test(test_unknown_contexts_are_left_out),
		world_test(test_no_marker_at_all),
		world_test(test_no_chain),
		world_test(test_markers_only_between),
		world_test(test_longest_chain),
		world_test(test_file_that_was_refused),
		cmocka_unit_test(test_limits_of_raw_frames),
		cmocka_unit_test(test_kinds_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
