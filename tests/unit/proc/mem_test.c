/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/mem.h"

#define PAGE 4096

/* A child with two pages, a hole behind them, and the same in its parent, so that
 * the addresses are known. It becomes another program when told to. */
struct world {
	uint8_t *pages;
	pid_t child;
	int tell;
	struct gpc_mem *mem;
};

static void be_read(const struct world *w, int told)
{
	char c;

	memset(w->pages, 'c', PAGE);
	memset(w->pages + PAGE, 'd', PAGE);
	if (write(told, "r", 1) == 1 && read(w->tell, &c, 1) == 1)
		execl("/bin/sleep", "sleep", "60", NULL);
	_exit(0);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	int up[2], down[2];
	char c;

	assert_non_null(w);
	w->pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(w->pages, MAP_FAILED);
	munmap(w->pages + 2 * PAGE, PAGE);
	memset(w->pages, 'p', 2 * PAGE);
	assert_int_equal(pipe(up) | pipe(down), 0);
	w->child = fork();
	if (!w->child) {
		close(down[1]);
		close(up[0]);
		w->tell = down[0];
		be_read(w, up[1]);
	}
	close(down[0]);
	close(up[1]);
	w->tell = down[1];
	assert_int_equal(read(up[0], &c, 1), 1);
	close(up[0]);
	assert_int_equal(gpc_mem_new(4, NULL, &w->mem, NULL), GPC_OK);
	*state = w;
	return 0;
}

static void end_child(struct world *w)
{
	if (w->child)
		kill(w->child, SIGKILL);
	if (w->child)
		waitpid(w->child, NULL, 0);
	w->child = 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	end_child(w);
	close(w->tell);
	gpc_mem_free(w->mem);
	munmap(w->pages, 2 * PAGE);
	free(w);
	return 0;
}

static uint64_t address(const struct world *w, size_t at)
{
	return (uintptr_t)w->pages + at;
}

static int64_t read_at(struct world *w, int32_t pid, uint64_t addr, uint8_t *buf, uint64_t len)
{
	return gpc_mem_read(w->mem, 9, pid, addr, buf, len);
}

static void test_reads(void **state)
{
	struct world *w = *state;
	uint8_t buf[3 * PAGE] = {0};

	assert_int_equal(read_at(w, w->child, address(w, PAGE - 2), buf, 4), 4);
	assert_memory_equal(buf, "ccdd", 4);
	/* Open now: the number is needed no more. */
	assert_int_equal(read_at(w, 0, address(w, 0), buf, 1), 1);
	/* Short at the end of a mapping, nothing behind it. */
	assert_int_equal(read_at(w, 0, address(w, PAGE), buf, 2 * PAGE), PAGE);
	assert_int_equal(read_at(w, 0, address(w, 2 * PAGE), buf, 1), GPC_E_CORRUPT);
	assert_int_equal(read_at(w, 0, 0, buf, 8), GPC_E_CORRUPT);
	assert_int_equal(read_at(w, 0, UINT64_MAX - 3, buf, 8), GPC_E_CORRUPT);
	assert_int_equal(read_at(w, 0, UINT64_C(1) << 63, buf, 8), GPC_E_CORRUPT);
	assert_int_equal(read_at(w, 0, address(w, 0), buf, 0), 0);
}

static void test_what_is_not_open_is_not_opened_without_a_pid(void **state)
{
	struct world *w = *state;
	uint8_t buf[8];

	assert_int_equal(read_at(w, 0, address(w, 0), buf, 8), GPC_E_GONE);
	assert_int_equal(gpc_mem_open(w->mem, 9, w->child, NULL), GPC_OK);
	assert_int_equal(read_at(w, 0, address(w, 0), buf, 8), 8);
	gpc_mem_close(w->mem, 9);
	assert_int_equal(read_at(w, 0, address(w, 0), buf, 8), GPC_E_GONE);
	gpc_mem_close(w->mem, 9);
}

/* A descriptor is of one image: the next one's memory is never read for it. */
static void test_after_an_exec_there_is_nothing(void **state)
{
	struct world *w = *state;
	uint8_t buf[8];
	int64_t n = 8;

	assert_int_equal(gpc_mem_open(w->mem, 9, w->child, NULL), GPC_OK);
	assert_int_equal(write(w->tell, "x", 1), 1);
	for (int i = 0; i < 500 && n == 8; i++) {
		usleep(10000);
		n = read_at(w, w->child, address(w, 0), buf, 8);
	}
	assert_int_equal(n, GPC_E_GONE);
	gpc_mem_close(w->mem, 9);
}

static void test_gone(void **state)
{
	struct world *w = *state;
	uint8_t buf[8];
	struct gpc_err err;
	pid_t pid = w->child;

	assert_int_equal(gpc_mem_open(w->mem, 9, pid, NULL), GPC_OK);
	end_child(w);
	assert_int_equal(read_at(w, 0, address(w, 0), buf, 8), GPC_E_GONE);
	gpc_mem_close(w->mem, 9);
	assert_int_equal(read_at(w, pid, address(w, 0), buf, 8), GPC_E_GONE);
	assert_int_equal(gpc_mem_open(w->mem, 9, pid, &err), GPC_E_GONE);
}

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += dup2(fd, fd) == fd;
	return n;
}

static void test_descriptors_are_bounded(void **state)
{
	struct world *w = *state;
	unsigned before = open_files();
	uint8_t buf[8];

	assert_int_equal(gpc_mem_open(w->mem, 1, w->child, NULL), GPC_OK);
	for (uint64_t target = 2; target < 50; target++)
		assert_int_equal(gpc_mem_read(w->mem, target, w->child, address(w, 0), buf, 8), 8);
	assert_true(open_files() <= before + 4);
	/* The one that is kept was not let go of, the latest neither. */
	assert_int_equal(gpc_mem_read(w->mem, 1, 0, address(w, 0), buf, 8), 8);
	assert_int_equal(gpc_mem_read(w->mem, 49, 0, address(w, 0), buf, 8), 8);
	assert_int_equal(gpc_mem_read(w->mem, 2, 0, address(w, 0), buf, 8), GPC_E_GONE);
	gpc_mem_close(w->mem, 1);
}

static void test_gather(void **state)
{
	struct world *w = *state;
	uint8_t a[4] = {0}, b[4] = {0}, c[4] = {0};
	struct gpc_mem_range ranges[] = {{address(w, 0), 4, a},
					 {address(w, 2 * PAGE - 2), 4, b},
					 {address(w, PAGE), 4, c}};

	assert_int_equal(gpc_mem_gather(w->mem, 9, w->child, ranges, 1), 4);
	assert_memory_equal(a, "cccc", 4);
	/* Filled in order up to the first that is not whole. */
	assert_int_equal(gpc_mem_gather(w->mem, 9, w->child, ranges, 3), 6);
	assert_memory_equal(b, "dd\0\0", 4);
	assert_memory_equal(c, "\0\0\0\0", 4);
	ranges[0].addr = 0;
	assert_int_equal(gpc_mem_gather(w->mem, 9, w->child, ranges, 3), GPC_E_CORRUPT);
}

static int64_t replay(void *ctx, uint64_t target, uint64_t addr, void *buf, uint64_t len)
{
	assert_int_equal(target, 5);
	if (addr != 0x1000)
		return GPC_E_CORRUPT;
	memcpy(buf, ctx, len < 4 ? len : 4);
	return len < 4 ? (int64_t)len : 4;
}

static void test_replay(void **state)
{
	struct gpc_mem_replay r = {.ctx = (void *)"abcd", .read = replay};
	struct gpc_mem *mem = NULL;
	uint8_t a[4], b[4];
	struct gpc_mem_range ranges[] = {{0x1000, 4, a}, {0x1000, 2, b}, {0x2000, 4, b}};

	(void)state;
	assert_int_equal(gpc_mem_new(4, &r, &mem, NULL), GPC_OK);
	assert_int_equal(gpc_mem_open(mem, 5, 1, NULL), GPC_OK);
	assert_int_equal(gpc_mem_read(mem, 5, 0, 0x1000, a, 4), 4);
	assert_memory_equal(a, "abcd", 4);
	assert_int_equal(gpc_mem_gather(mem, 5, 0, ranges, 3), 6);
	gpc_mem_close(mem, 5);
	gpc_mem_free(mem);
	gpc_mem_free(NULL);
}

/* Where readers follow hints, while what they read is dropped and opened again. */
struct race {
	struct world *w;
	bool is_over; /* atomic */
	unsigned read;
};

static void *read_on(void *arg)
{
	struct race *r = arg;
	uint8_t got[16];
	int64_t n;

	while (!__atomic_load_n(&r->is_over, __ATOMIC_ACQUIRE)) {
		n = gpc_mem_read(r->w->mem, 7, 0, (uintptr_t)r->w->pages, got, sizeof got);
		if (n != sizeof got && n != GPC_E_GONE)
			return arg;
		if (n == sizeof got && (got[0] != 'c' || got[15] != 'c'))
			return arg;
		r->read += n == sizeof got;
	}
	return NULL;
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_dropped_while_it_is_read(void **state)
{
	struct race races[2] = {{.w = *state}, {.w = *state}};
	int before = descriptors();
	pthread_t threads[2];
	void *failed;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &races[i]), 0);
	for (int i = 0; i < 300; i++) {
		assert_int_equal(gpc_mem_open(races[0].w->mem, 7, races[0].w->child, NULL), GPC_OK);
		usleep(200);
		gpc_mem_close(races[0].w->mem, 7);
		/* Makes room: what is not kept any more has to go. */
		for (uint64_t target = 8; target < 16; target++) {
			gpc_mem_open(races[0].w->mem, target, races[0].w->child, NULL);
			gpc_mem_close(races[0].w->mem, target);
		}
	}
	for (int i = 0; i < 2; i++) {
		__atomic_store_n(&races[i].is_over, true, __ATOMIC_RELEASE);
		pthread_join(threads[i], &failed);
		assert_null(failed);
		assert_true(races[i].read > 0);
	}
	assert_true(descriptors() <= before + 4);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_reads),
		world_test(test_what_is_not_open_is_not_opened_without_a_pid),
		world_test(test_after_an_exec_there_is_nothing),
		world_test(test_gone),
		world_test(test_descriptors_are_bounded),
		world_test(test_gather),
		world_test(test_dropped_while_it_is_read),
		cmocka_unit_test(test_replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
