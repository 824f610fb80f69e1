/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/io.h"
#include "child.h"
#include "proc/maps.h"
#include "proc/opener.h"

#define LONG_NS (20 * GPC_SECOND_NS)

/* A program of the test's own at work, and the mapping of its code. */
struct bench {
	char dir[40], path[64], map_path[64];
	struct gpc_images *images;
	struct gpc_opener *opener;
	pid_t pid;
	struct gpc_process process;
	struct gpc_area area;
	struct gpc_image_key key;
	uint32_t image;
	pthread_mutex_t lock; /* covers what follows */
	uint64_t map_of;
	enum gpc_jit_file kind;
	char map_text[64];
	unsigned n_maps;
};

static void on_jit_file(void *ctx, uint64_t process, enum gpc_jit_file kind, int fd)
{
	struct bench *b = ctx;

	pthread_mutex_lock(&b->lock);
	b->map_of = process;
	b->kind = kind;
	b->n_maps++;
	memset(b->map_text, 0, sizeof b->map_text);
	if (read(fd, b->map_text, sizeof b->map_text - 1) < 0)
		b->map_text[0] = '!';
	pthread_mutex_unlock(&b->lock);
	close(fd);
}

/* The executable mapping of path in the process, as the table would have it. */
static void find_mapping(struct bench *b)
{
	char name[40], *text = NULL;
	struct gpc_maps_line line;
	const char *at;
	size_t n = 0;

	snprintf(name, sizeof name, "/proc/%d/maps", b->pid);
	assert_int_equal(gpc_read_file(AT_FDCWD, name, 1 << 20, &text, &n, NULL), GPC_OK);
	for (at = text; gpc_maps_next(&at, text + n, &line);) {
		if (!(line.map.prot & GPC_MAP_EXEC) || line.path_len != strlen(b->path) ||
		    memcmp(line.path, b->path, line.path_len) != 0)
			continue;
		b->area = (struct gpc_area){.start = line.map.start,
					    .end = line.map.end,
					    .offset = line.map.offset};
		b->key = (struct gpc_image_key){.inode = line.map.inode,
						.dev_major = line.map.dev_major,
						.dev_minor = line.map.dev_minor};
	}
	free(text);
	assert_true(b->area.start != 0);
}

static int set_up(void **state)
{
	char *argv[] = {"prog", "1000", NULL};
	struct gpc_images_limits limits = {1 << 20, 16};
	struct bench *b = calloc(1, sizeof *b);

	pthread_mutex_init(&b->lock, NULL);
	strcpy(b->dir, "/tmp/gpc-opener-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	chmod(b->dir, 0755);
	snprintf(b->path, sizeof b->path, "%s/prog", b->dir);
	assert_int_equal(child_copy("/bin/sleep", b->path), 0);
	b->pid = child_exec(b->path, argv);
	assert_true(b->pid > 0);
	find_mapping(b);
	assert_int_equal(gpc_images_new(&limits, NULL, &b->images, NULL), GPC_OK);
	assert_int_equal(gpc_opener_new(b->images, on_jit_file, b, NULL, &b->opener, NULL), GPC_OK);
	b->process = (struct gpc_process){.id = 77, .pid = b->pid, .ppid = getpid()};
	b->image = gpc_images_add(b->images, &b->key, b->path);
	b->area.image = b->image;
	snprintf(b->map_path, sizeof b->map_path, "/tmp/perf-%d.map", b->pid);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	gpc_opener_free(b->opener);
	gpc_images_free(b->images);
	child_end(b->process.pid == b->pid ? b->pid : 0);
	unlink(b->path);
	unlink(b->map_path);
	assert_int_equal(rmdir(b->dir), 0);
	pthread_mutex_destroy(&b->lock);
	free(b);
	return 0;
}

/* Asks for the image's file and waits. */
static size_t files_after_asking(struct bench *b)
{
	struct gpc_images_stats stats;

	gpc_opener_file(b->opener, b->image, &b->process, &b->area);
	gpc_opener_settle(b->opener, LONG_NS);
	gpc_images_stats(b->images, &stats);
	assert_false(gpc_images_wants_file(b->images, b->image)); /* got, or given up */
	return stats.files;
}

static void kill_it(struct bench *b)
{
	child_end(b->pid);
	b->process.pid = 0x3fffffff; /* what a reused number would not be */
}

static void test_mapped_file(void **state)
{
	struct bench *b = *state;

	assert_int_equal(files_after_asking(b), 1);
	assert_int_equal(files_after_asking(b), 1); /* once is enough */
}

static void test_unlinked_binary(void **state)
{
	struct bench *b = *state;

	unlink(b->path);
	assert_int_equal(files_after_asking(b), 1);
}

/* The file of that name is another one now: its symbols would be lies. */
static void test_replaced_binary(void **state)
{
	struct bench *b = *state;
	struct gpc_symbol symbol;
	struct stat st;
	char other[64];

	snprintf(other, sizeof other, "%s/other", b->dir);
	assert_int_equal(child_copy("/bin/cat", other), 0);
	assert_int_equal(rename(other, b->path), 0);
	assert_int_equal(stat(b->path, &st), 0);
	assert_true(st.st_ino != b->key.inode);
	assert_int_equal(files_after_asking(b), 1); /* the mapped one, not that */
	/* Without the process nothing leads to the mapped one any more. */
	b->key.generation++;
	b->image = b->area.image = gpc_images_add(b->images, &b->key, b->path);
	kill_it(b);
	assert_int_equal(files_after_asking(b), 1);
	assert_int_equal(gpc_images_symbol(b->images, b->image, 0, &symbol), GPC_E_GONE);
}

/* Too late for its process; most files are where they were. */
static void test_process_has_gone(void **state)
{
	struct bench *b = *state;

	kill_it(b);
	assert_int_equal(files_after_asking(b), 1);
}

static void test_process_and_file_have_gone(void **state)
{
	struct bench *b = *state;
	struct gpc_symbol symbol;

	kill_it(b);
	unlink(b->path);
	assert_int_equal(files_after_asking(b), 0);
	assert_int_equal(gpc_images_symbol(b->images, b->image, 0, &symbol), GPC_E_GONE);
}

/* ---- perf maps ---------------------------------------------------------------------- */

static void write_map(struct bench *b, uid_t owner)
{
	FILE *f = fopen(b->map_path, "w");

	assert_non_null(f);
	fputs("1000 10 jitted\n", f);
	fclose(f);
	if (owner)
		assert_int_equal(chown(b->map_path, owner, owner), 0);
}

static unsigned maps_after_asking(struct bench *b)
{
	unsigned n;

	gpc_opener_perf_map(b->opener, &b->process);
	gpc_opener_settle(b->opener, LONG_NS);
	pthread_mutex_lock(&b->lock);
	n = b->n_maps;
	pthread_mutex_unlock(&b->lock);
	return n;
}

static void test_perf_map(void **state)
{
	struct bench *b = *state;

	assert_int_equal(maps_after_asking(b), 0); /* there is none */
	write_map(b, 0);
	assert_int_equal(maps_after_asking(b), 1);
	assert_int_equal(b->map_of, 77);
	assert_int_equal(b->kind, GPC_JIT_PERF_MAP);
	assert_string_equal(b->map_text, "1000 10 jitted\n");
}

/* Anybody can write into /tmp. */
static void test_perf_map_of_somebody_else(void **state)
{
	struct bench *b = *state;

	if (geteuid() != 0)
		skip();
	write_map(b, 65534);
	assert_int_equal(maps_after_asking(b), 0);
}

static void test_perf_map_that_is_no_file(void **state)
{
	struct bench *b = *state;

	assert_int_equal(mkfifo(b->map_path, 0600), 0);
	assert_int_equal(maps_after_asking(b), 0);
}

static int become_nobody(void *arg)
{
	(void)arg;
	return setgid(65534) < 0 || setuid(65534) < 0;
}

/* A runtime that has dropped its rights writes its map under its new user. */
static void test_perf_map_after_dropping_rights(void **state)
{
	struct bench *b = *state;
	pid_t pid = geteuid() == 0 ? child_start(become_nobody, NULL) : 0;
	unsigned n;

	if (!pid)
		skip();
	snprintf(b->map_path, sizeof b->map_path, "/tmp/perf-%d.map", pid);
	b->process.pid = pid;
	write_map(b, 65534);
	n = maps_after_asking(b);
	child_end(pid);
	b->process.pid = b->pid;
	assert_int_equal(n, 1);
}

/* ---- jitdump -------------------------------------------------------------------------- */

static unsigned dumps_after_asking(struct bench *b)
{
	struct gpc_area area = {.start = 0x1000, .end = 0x2000};

	gpc_opener_jitdump(b->opener, &b->process, &area, b->map_path);
	gpc_opener_settle(b->opener, LONG_NS);
	return b->n_maps;
}

static void test_jitdump(void **state)
{
	struct bench *b = *state;

	assert_int_equal(dumps_after_asking(b), 0);
	write_map(b, 0);
	assert_int_equal(dumps_after_asking(b), 1);
	assert_int_equal(b->map_of, 77);
	assert_int_equal(b->kind, GPC_JIT_DUMP);
}

static void test_jitdump_of_somebody_else(void **state)
{
	struct bench *b = *state;

	if (geteuid() != 0)
		skip();
	write_map(b, 65534);
	assert_int_equal(dumps_after_asking(b), 0);
}

/* ---- the queue ------------------------------------------------------------------------ */

static void test_end_with_much_in_the_queue(void **state)
{
	struct bench *b = *state;

	for (uint64_t k = 0; k < 6000; k++) {
		struct gpc_image_key key = {.inode = 1000000 + k, .dev_major = 99};
		uint32_t image = gpc_images_add(b->images, &key, "/nowhere/at/all");

		assert_true(image != 0);
		gpc_opener_file(b->opener, image, &b->process, &b->area);
	}
	gpc_opener_free(b->opener); /* with much in the queue */
	b->opener = NULL;
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_mapped_file),
		bench_test(test_unlinked_binary),
		bench_test(test_replaced_binary),
		bench_test(test_process_has_gone),
		bench_test(test_process_and_file_have_gone),
		bench_test(test_perf_map),
		bench_test(test_jitdump),
		bench_test(test_jitdump_of_somebody_else),
		bench_test(test_perf_map_of_somebody_else),
		bench_test(test_perf_map_that_is_no_file),
		bench_test(test_perf_map_after_dropping_rights),
		bench_test(test_end_with_much_in_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
