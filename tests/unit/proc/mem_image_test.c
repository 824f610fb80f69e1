/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../../plugins/testpull/interp.h"
#include "base/io.h"
#include "proc/mem_image.h"
#include "proc/modules.h"
#include "targets.h"

#define ALL (UINT64_C(256) << 20)

struct world {
	struct told told;
	struct gpc_mem *mem;
	char folder[40], path[80], stacks[80];
	struct gpc_capture_facts facts;
};

static gpc_status capture(struct world *w, uint64_t max_bytes, struct gpc_err *err)
{
	struct gpc_capture c = {.target = &w->told.view->target,
				.mem = w->mem,
				.max_bytes = max_bytes,
				.stacks_path = w->stacks};

	return gpc_mem_image_capture(&c, w->path, &w->facts, err);
}

static void be_given_stacks(const struct world *w)
{
	FILE *f = fopen(w->stacks, "w");

	assert_non_null(f);
	fputs("thread 1\n  main\n  \303\244\n", f);
	fclose(f);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	char program[] = TARGETS "/target", library[] = TARGETS "/libopened.so";
	char *argv[] = {program, "5", library, NULL};
	struct gpc_err err;

	*state = w;
	if (!told_start(&w->told, argv)) {
		told_end(&w->told);
		return -1;
	}
	strcpy(w->folder, "/tmp/gpc-image-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->path, sizeof w->path, "%s/image", w->folder);
	snprintf(w->stacks, sizeof w->stacks, "%s/stacks", w->folder);
	be_given_stacks(w);
	usleep(50000); /* until its threads wait */
	assert_int_equal(gpc_mem_new(4, NULL, &w->mem, NULL), GPC_OK);
	if (capture(w, ALL, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	unlink(w->path);
	unlink(w->stacks);
	rmdir(w->folder);
	gpc_mem_free(w->mem);
	told_end(&w->told);
	free(w);
	return 0;
}

static struct gpc_mem_image *load(const struct world *w)
{
	struct gpc_mem_image *image = NULL;
	struct gpc_err err;

	if (gpc_mem_image_load(w->path, ALL, &image, &err) < 0)
		fail_msg("%s", err.text);
	return image;
}

/* ---- what is in it ------------------------------------------------------------- */

static void check_block(const struct gpc_mem_image *image, const struct said_block *b,
			bool is_pattern)
{
	uint8_t *copy = malloc(b->n);
	size_t wrong = 0;

	assert_non_null(copy);
	assert_int_equal(gpc_mem_image_read(image, (uintptr_t)b->at, copy, b->n), b->n);
	for (size_t i = 0; i < b->n; i++)
		wrong += copy[i] != (is_pattern ? (uint8_t)(i * 31 + (i >> 8)) : 0);
	assert_int_equal(wrong, 0);
	free(copy);
}

static void test_memory_is_kept(void **state)
{
	struct world *w = *state;
	struct gpc_mem_image *image = load(w);

	check_block(image, told_block(&w->told, "heap"), true);
	check_block(image, told_block(&w->told, "shared"), true);
	check_block(image, told_block(&w->told, "zeros"), false);
	gpc_mem_image_free(image);
}

/* Page for page as it is in the process, where that waits and so does not change. */
static void test_every_page_is_as_in_the_process(void **state)
{
	struct world *w = *state;
	struct gpc_mem_image *image = load(w);
	const struct gpc_target *t = &w->told.view->target;
	uint8_t live[4096], kept[4096];
	unsigned pages = 0;

	for (uint32_t k = 0; k < t->n_maps; k++)
		for (uint64_t at = t->maps[k].start; at < t->maps[k].end; at += 4096) {
			bool is_left_out = strncmp(t->maps[k].path, "[v", 2) == 0;
			bool is_live = !is_left_out && t->maps[k].prot & GPC_MAP_READ &&
				       gpc_mem_read(w->mem, t->id, t->pid, at, live, 4096) == 4096;

			assert_int_equal(gpc_mem_image_read(image, at, kept, 4096),
					 is_live ? 4096 : GPC_E_CORRUPT);
			if (is_live)
				assert_memory_equal(live, kept, 4096);
			pages += is_live;
		}
	assert_int_equal(pages * UINT64_C(4096), w->facts.bytes);
	assert_true(pages > 2000);
	gpc_mem_image_free(image);
}

static void test_the_process_as_it_was(void **state)
{
	struct world *w = *state;
	struct gpc_mem_image *image = load(w);
	const struct gpc_target *t = gpc_mem_image_target(image), *was = &w->told.view->target;

	assert_int_equal(t->pid, was->pid);
	assert_int_equal(t->ns_pid, was->ns_pid);
	assert_int_equal(t->machine, was->machine);
	assert_string_equal(t->comm, "target");
	assert_string_equal(t->exe, TARGETS "/target");
	assert_int_equal(t->n_maps, was->n_maps);
	assert_int_equal(w->facts.mappings, was->n_maps);
	for (uint32_t k = 0; k < t->n_maps; k++) {
		assert_int_equal(t->maps[k].start, was->maps[k].start);
		assert_int_equal(t->maps[k].end, was->maps[k].end);
		assert_int_equal(t->maps[k].offset, was->maps[k].offset);
		assert_int_equal(t->maps[k].prot, was->maps[k].prot);
		assert_int_equal(t->maps[k].inode, was->maps[k].inode);
		assert_string_equal(t->maps[k].path, was->maps[k].path);
	}
	assert_string_equal(gpc_mem_image_stacks(image), "thread 1\n  main\n  \303\244\n");
	gpc_mem_image_free(image);
}

static const struct gpc_map *mapping_of(const struct gpc_target *t, uint64_t addr)
{
	for (uint32_t k = 0; k < t->n_maps; k++)
		if (addr >= t->maps[k].start && addr < t->maps[k].end)
			return &t->maps[k];
	fail_msg("%#llx is not mapped", (unsigned long long)addr);
	return NULL;
}

static void test_threads_that_wait(void **state)
{
	struct world *w = *state;
	struct gpc_mem_image *image = load(w);
	const struct gpc_target *t = gpc_mem_image_target(image);

	assert_int_equal(gpc_mem_image_threads(image), 6);
	assert_int_equal(w->facts.threads, 6);
	assert_null(gpc_mem_image_thread(image, 6));
	for (uint32_t k = 0; k < 6; k++) {
		const struct gpc_mem_image_thread *th = gpc_mem_image_thread(image, k);
		const struct gpc_map *code = mapping_of(t, th->pc);
		bool is_said = false;
		uint64_t top = 0;

		for (unsigned i = 0; i < w->told.n_threads; i++)
			is_said |= w->told.threads[i].tid == th->tid;
		assert_true(is_said);
		assert_int_equal(th->ns_tid, th->tid);
		assert_string_equal(th->comm, "target");
		assert_int_equal(th->state, 'S');
		assert_true(code->prot & GPC_MAP_EXEC && strstr(code->path, "libc"));
		assert_true(mapping_of(t, th->sp)->prot & GPC_MAP_WRITE);
		assert_int_equal(gpc_mem_image_read(image, th->sp, &top, 8), 8);
	}
	gpc_mem_image_free(image);
}

static void test_reads_at_edges(void **state)
{
	struct world *w = *state;
	struct gpc_mem_image *image = load(w);
	const struct gpc_target *t = gpc_mem_image_target(image);
	uint64_t end = t->maps[0].end;
	uint8_t buf[64];

	for (uint32_t k = 1; k < t->n_maps && t->maps[k].start == end; k++)
		end = t->maps[k].end;
	assert_int_equal(gpc_mem_image_read(image, end - 10, buf, 64), 10);
	assert_int_equal(gpc_mem_image_read(image, end, buf, 64), GPC_E_CORRUPT);
	assert_int_equal(gpc_mem_image_read(image, 0, buf, 64), GPC_E_CORRUPT);
	assert_int_equal(gpc_mem_image_read(image, UINT64_MAX - 3, buf, 64), GPC_E_CORRUPT);
	assert_int_equal(gpc_mem_image_read(image, end - 10, buf, 0), 0);
	gpc_mem_image_free(image);
}

/* ---- the file ------------------------------------------------------------------- */

static void test_file_is_the_owners_and_new(void **state)
{
	struct world *w = *state;
	struct gpc_err err;
	struct stat before, after;

	assert_int_equal(stat(w->path, &before), 0);
	assert_int_equal(before.st_mode & 07777, 0600);
	assert_true(capture(w, ALL, &err) < 0);
	assert_non_null(strstr(err.text, strerror(EEXIST)));
	assert_int_equal(stat(w->path, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	assert_int_equal(after.st_ino, before.st_ino);
}

static void test_link_is_not_followed(void **state)
{
	struct world *w = *state;

	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(symlink(w->stacks, w->path), 0);
	assert_true(capture(w, ALL, NULL) < 0);
	be_given_stacks(w);
}

static void test_bound_on_memory(void **state)
{
	struct world *w = *state;
	uint64_t all = w->facts.bytes + w->facts.skipped_bytes, max = 1 << 20;
	struct gpc_mem_image *image = NULL;

	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(capture(w, max, NULL), GPC_OK);
	assert_true(w->facts.bytes <= max && w->facts.bytes > max - 65536);
	assert_int_equal(w->facts.bytes + w->facts.skipped_bytes, all);
	assert_int_equal(gpc_mem_image_load(w->path, w->facts.bytes - 1, &image, NULL),
			 GPC_E_BUDGET);
	assert_null(image);
	assert_int_equal(gpc_mem_image_load(w->path, w->facts.bytes, &image, NULL), GPC_OK);
	gpc_mem_image_free(image);
}

static void test_stacks_that_cannot_be_read(void **state)
{
	struct world *w = *state;
	struct gpc_err err;

	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(unlink(w->stacks), 0);
	assert_true(capture(w, ALL, &err) < 0);
	assert_non_null(strstr(err.text, "stacks"));
	/* Nothing half made is left. */
	assert_int_equal(access(w->path, F_OK), -1);
}

static void test_process_that_ended(void **state)
{
	struct world *w = *state;

	assert_int_equal(unlink(w->path), 0);
	child_end(w->told.pid);
	w->told.pid = 0;
	assert_true(capture(w, ALL, NULL) < 0);
	assert_int_equal(access(w->path, F_OK), -1);
}

static void rewrite(const struct world *w, const char *bytes, size_t n)
{
	FILE *f = fopen(w->path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static gpc_status load_again(const struct world *w, struct gpc_mem_image **ret)
{
	struct gpc_err err = {0};
	gpc_status st;

	*ret = NULL;
	st = gpc_mem_image_load(w->path, ALL, ret, &err);
	assert_true((st == GPC_OK) == (*ret != NULL));
	assert_true((st == GPC_OK) != (err.text[0] != 0));
	return st;
}

static void check_same(const struct gpc_mem_image *a, const struct gpc_mem_image *b)
{
	const struct gpc_target *t = gpc_mem_image_target(a);
	uint8_t in_a[4096] = {0}, in_b[4096] = {0};

	assert_int_equal(t->n_maps, gpc_mem_image_target(b)->n_maps);
	assert_string_equal(gpc_mem_image_stacks(a), gpc_mem_image_stacks(b));
	for (uint32_t k = 0; k < t->n_maps; k++) {
		assert_int_equal(t->maps[k].start, gpc_mem_image_target(b)->maps[k].start);
		for (uint64_t at = t->maps[k].start; at < t->maps[k].end; at += 4096) {
			int64_t got = gpc_mem_image_read(a, at, in_a, 4096);

			assert_int_equal(gpc_mem_image_read(b, at, in_b, 4096), got);
			assert_memory_equal(in_a, in_b, 4096);
		}
	}
}

/* A small one: many loads. */
static char *small_file(struct world *w, size_t *n)
{
	char *bytes = NULL;

	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(capture(w, 200000, NULL), GPC_OK);
	assert_int_equal(gpc_read_file(AT_FDCWD, w->path, 64 << 20, &bytes, n, NULL), GPC_OK);
	return bytes;
}

static void test_cut_at_any_length(void **state)
{
	struct world *w = *state;
	struct gpc_mem_image *image;
	size_t n = 0;
	char *bytes = small_file(w, &n);

	for (size_t cut = 0; cut < n; cut += cut + 40 < n && cut > 40 ? n / 300 + 1 : 1) {
		rewrite(w, bytes, cut);
		if (load_again(w, &image) == GPC_OK)
			fail_msg("cut to %zu of %zu bytes it is taken for whole", cut, n);
	}
	rewrite(w, bytes, n);
	assert_int_equal(load_again(w, &image), GPC_OK);
	gpc_mem_image_free(image);
	free(bytes);
}

/* Some bits of zstd mean nothing: then nothing is changed either. */
static void test_no_damage_goes_unnoticed(void **state)
{
	struct world *w = *state;
	unsigned refused = 0;
	size_t n = 0;
	char *bytes = small_file(w, &n);
	struct gpc_mem_image *whole = load(w), *image;

	for (size_t k = 0; k < 400; k++) {
		size_t at = k < 40 ? k : k * (n - 1) / 399;

		bytes[at] = (char)(bytes[at] ^ (1 << k % 8));
		rewrite(w, bytes, n);
		bytes[at] = (char)(bytes[at] ^ (1 << k % 8));
		if (load_again(w, &image) == GPC_OK)
			check_same(image, whole);
		else
			refused++;
		gpc_mem_image_free(image);
	}
	assert_true(refused > 300);
	gpc_mem_image_free(whole);
	free(bytes);
}

static void test_what_follows_the_end(void **state)
{
	struct world *w = *state;
	struct gpc_mem_image *image;
	size_t n = 0;
	char *bytes = small_file(w, &n), *longer = malloc(n + 1);

	assert_non_null(longer);
	memcpy(longer, bytes, n);
	longer[n] = '!';
	rewrite(w, longer, n + 1);
	assert_int_equal(load_again(w, &image), GPC_E_CORRUPT);
	free(bytes);
	free(longer);
}

/* ---- a walk of frames on the heap ------------------------------------------------- */

struct walked {
	int n;
	uint32_t functions[300];
};

static bool read_all(struct gpc_mem *mem, const struct gpc_target *t, uint64_t addr, void *buf,
		     uint64_t n)
{
	return gpc_mem_read(mem, t->id, t->pid, addr, buf, n) == (int64_t)n;
}

/* Of all threads, one after another. */
static void walk(struct gpc_mem *mem, const struct gpc_target *t, uint64_t table,
		 struct walked *ret)
{
	struct interp_thread th;
	struct interp_frame f;

	for (unsigned i = 0; i < INTERP_SLOTS; i++) {
		assert_true(read_all(mem, t, table + i * sizeof th, &th, sizeof th));
		if (th.tid && ret->n < 300)
			ret->functions[ret->n++] = 1000; /* a thread begins */
		for (uint64_t at = th.tid ? th.top : 0; at && ret->n < 300; at = f.up) {
			assert_true(read_all(mem, t, at, &f, sizeof f));
			ret->functions[ret->n++] = f.function;
		}
	}
}

static void check_walk(struct world *w, uint64_t table)
{
	struct gpc_mem_image *image = load(w);
	struct gpc_mem_replay replay = gpc_mem_image_replay(image);
	struct walked live = {0}, kept = {0};
	struct gpc_mem *mem = NULL;
	int threads = 0;

	walk(w->mem, &w->told.view->target, table, &live);
	child_end(w->told.pid);
	w->told.pid = 0;
	assert_int_equal(gpc_mem_new(4, &replay, &mem, NULL), GPC_OK);
	walk(mem, gpc_mem_image_target(image), table, &kept);
	assert_int_equal(kept.n, live.n);
	assert_memory_equal(kept.functions, live.functions, sizeof live.functions);
	for (int i = 0; i < kept.n; i++)
		threads += kept.functions[i] == 1000;
	/* Two busy ones, three idle ones; the busy ones deep in their program, whose
	 * function n is called by function n - 1. */
	assert_int_equal(threads, 5);
	assert_true(kept.n > threads + 2);
	for (int i = 1; i < kept.n; i++)
		if (kept.functions[i] != 1000 && kept.functions[i - 1] != 1000)
			assert_int_equal(kept.functions[i], kept.functions[i - 1] - 1);
	gpc_mem_free(mem);
	gpc_mem_image_free(image);
}

static void test_replay_of_a_walk(void **state)
{
	struct world *w = *state;
	char program[] = TARGETS "/interp";
	char *argv[] = {program, "levels=40", "threads=2", "idle=3", "ms=20", NULL};
	struct gpc_target_id id = {.id = 6};
	struct gpc_module_file exe;
	struct gpc_place table;

	told_end(&w->told);
	memset(&w->told, 0, sizeof w->told);
	assert_int_equal(unlink(w->path), 0);
	id.pid = w->told.pid = child_exec(program, argv);
	assert_true(id.pid > 0);
	usleep(700000);
	kill(id.pid, SIGSTOP); /* so that both walks are of one moment */
	waitpid(id.pid, NULL, WUNTRACED);
	assert_int_equal(gpc_target_read(&id, &w->told.view, NULL), GPC_OK);
	assert_int_equal(gpc_module_open(&w->told.view->target, NULL, &exe, NULL), GPC_OK);
	assert_int_equal(gpc_module_symbol(&exe, "interp_threads", &table, NULL), GPC_OK);
	close(exe.fd);
	assert_int_equal(capture(w, ALL, NULL), GPC_OK);
	check_walk(w, table.start);
}

#define ON_A_PROCESS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_PROCESS(test_memory_is_kept),
		ON_A_PROCESS(test_every_page_is_as_in_the_process),
		ON_A_PROCESS(test_the_process_as_it_was),
		ON_A_PROCESS(test_threads_that_wait),
		ON_A_PROCESS(test_reads_at_edges),
		ON_A_PROCESS(test_file_is_the_owners_and_new),
		ON_A_PROCESS(test_link_is_not_followed),
		ON_A_PROCESS(test_bound_on_memory),
		ON_A_PROCESS(test_stacks_that_cannot_be_read),
		ON_A_PROCESS(test_process_that_ended),
		ON_A_PROCESS(test_cut_at_any_length),
		ON_A_PROCESS(test_no_damage_goes_unnoticed),
		ON_A_PROCESS(test_what_follows_the_end),
		ON_A_PROCESS(test_replay_of_a_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
