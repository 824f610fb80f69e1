/* SPDX-License-Identifier: Apache-2.0 */
/* The host table as a collector sees it: what it is told at once. Waiting is
 * host_wait_test's. */
#include <dlfcn.h>
#include <sys/stat.h>
#include <time.h>

#include "host_bench.h"

/* ---- telling ----------------------------------------------------------------------- */

static void test_who_the_host_is(void **state)
{
	const struct gpc_host *h = bench_run(*state);

	assert_int_equal(h->struct_size, sizeof *h);
	assert_int_equal(h->abi_major, GPC_ABI_MAJOR);
	assert_int_equal(h->abi_minor, GPC_ABI_MINOR);
	assert_string_equal(h->core_version, GPC_VERSION);
	assert_int_equal(h->level, GPC_DEBUG);
}

static void test_log(void **state)
{
	struct bench *b = *state;
	const struct gpc_host *h = bench_run(b);
	unsigned before = b->lines;

	h->log(h, GPC_INFO, "100%s of it");
	assert_int_equal(b->lines, before + 1);
	assert_string_equal(b->text, "100%s of it"); /* a text, no format */
	assert_string_equal(b->module, "fake");
	assert_int_equal(b->line.level, GPC_INFO);
	assert_int_equal(b->line.pid, 0);
	h->log(h, GPC_TRACE, "too fine");
	assert_int_equal(b->lines, before + 1);
}

static void test_report(void **state)
{
	struct bench *b = *state;
	const struct gpc_host *h = bench_run(b);
	struct gpc_target t = {.struct_size = sizeof t, .pid = 77, .id = 7, .comm = "victim"};
	unsigned before = b->lines;

	for (int i = 0; i < 3; i++)
		h->report(h, &t, GPC_E_PERM, "no ptrace");
	assert_int_equal(b->lines, before + 1);
	assert_string_equal(b->text, "process 77 (victim): no ptrace");
	assert_int_equal(b->line.level, GPC_WARN);
	assert_int_equal(b->line.pid, 77);
	h->report(h, NULL, GPC_E_SYSTEM, "no socket");
	assert_int_equal(b->lines, before + 2);
	assert_string_equal(b->text, "no socket");
	h->report(h, NULL, GPC_E_SYSTEM, NULL); /* without a text the status is named */
	assert_int_equal(b->lines, before + 3);
	assert_string_equal(b->text, gpc_status_name(GPC_E_SYSTEM));
	assert_int_equal(bench_reported(b, 7, GPC_E_PERM, "no ptrace"), 3);
	assert_int_equal(bench_reported(b, 7, GPC_E_PERM, "no ptrace"), 0); /* taken */
}

/* A process that ended, or was left alone, is nobody's trouble. */
static void test_reports_that_need_no_warning(void **state)
{
	struct bench *b = *state;
	const struct gpc_host *h = bench_run(b);
	struct gpc_target t = {.struct_size = sizeof t, .pid = 77, .id = 7, .comm = "victim"};
	unsigned before = b->lines;

	/* The log itself drops no debug lines: it is the host that tells once. */
	for (int i = 0; i < 3; i++)
		h->report(h, &t, GPC_E_GONE, "it ended");
	assert_int_equal(b->lines, before + 1);
	assert_int_equal(b->line.level, GPC_DEBUG);
	h->report(h, &t, GPC_E_SKIPPED, "asked to leave it");
	assert_int_equal(b->line.level, GPC_DEBUG);
	h->report(h, &t, GPC_E_BUSY, "another debugger");
	assert_int_equal(b->line.level, GPC_WARN);
}

/* ---- asking ------------------------------------------------------------------------ */

static void test_now(void **state)
{
	const struct gpc_host *h = bench_run(*state);
	struct timespec ts;
	uint64_t before, now, after;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	before = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	now = h->now_ns(h);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	after = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	assert_true(before <= now && now <= after);
}

struct stopping {
	bool is_over;
	char extension;
};

static bool should_stop(void *ctx)
{
	return ((const struct stopping *)ctx)->is_over;
}

static const void *extension(void *ctx, const char *id)
{
	return strcmp(id, "gpc.test/1") == 0 ? &((const struct stopping *)ctx)->extension : NULL;
}

static void test_should_stop_and_extensions(void **state)
{
	struct bench *b = *state;
	struct stopping s = {.is_over = false};
	const struct gpc_host *h = bench_run(b);

	/* A core that offers nothing. */
	assert_int_equal(h->should_stop(h), 0);
	assert_null(h->extension(h, "gpc.test/1"));
	b->services.ctx = &s;
	b->services.should_stop = should_stop;
	b->services.extension = extension;
	assert_int_equal(h->should_stop(h), 0);
	s.is_over = true;
	assert_int_equal(h->should_stop(h), 1);
	assert_ptr_equal(h->extension(h, "gpc.test/1"), &s.extension);
	assert_null(h->extension(h, "gpc.test/2"));
}

/* ---- a target's memory and symbols --------------------------------------------------- */

static char marker[16] = "the test's own";

static int change_marker(void *arg)
{
	(void)arg;
	strcpy(marker, "the child's");
	return 0;
}

static void test_read_mem(void **state)
{
	struct bench *b = *state;
	pid_t pid = child_start(change_marker, NULL);
	const struct gpc_host *h = bench_run(b);
	struct gpc_target_view *v = bench_view(pid, 5);
	char buf[sizeof marker] = "";

	/* A fork has the same addresses. */
	assert_int_equal(h->read_mem(h, &v->target, (uintptr_t)marker, buf, sizeof buf),
			 sizeof buf);
	assert_string_equal(buf, "the child's");
	assert_string_equal(marker, "the test's own");
	assert_int_equal(h->read_mem(h, &v->target, 0, buf, sizeof buf), GPC_E_CORRUPT);
	child_end(pid);
	assert_int_equal(h->read_mem(h, &v->target, (uintptr_t)marker, buf, sizeof buf),
			 GPC_E_GONE);
	gpc_target_put(v);
}

extern int gpc_test_function(void);
__attribute__((noinline)) int gpc_test_function(void)
{
	return getppid();
}

static void test_find_symbol(void **state)
{
	pid_t pid = child_start(NULL, NULL);
	const struct gpc_host *h = bench_run(*state);
	struct gpc_target_view *v = bench_view(pid, 5);
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	uint64_t addr = 1;

	assert_non_null(libc);
	assert_int_equal(h->find_symbol(h, &v->target, NULL, "gpc_test_function", &addr), GPC_OK);
	assert_int_equal(addr, (uintptr_t)gpc_test_function);
	assert_int_equal(h->find_symbol(h, &v->target, "libc.so*", "getppid", &addr), GPC_OK);
	assert_int_equal(addr, (uintptr_t)dlsym(libc, "getppid"));
	addr = 1;
	assert_int_equal(h->find_symbol(h, &v->target, NULL, "no_such_thing", &addr), GPC_E_GONE);
	assert_int_equal(h->find_symbol(h, &v->target, "libnone*", "getppid", &addr), GPC_E_GONE);
	assert_int_equal(addr, 1);
	dlclose(libc);
	child_end(pid);
	gpc_target_put(v);
}

/* ---- a target's files ------------------------------------------------------------------ */

struct cage {
	char dir[40], root[48], secret[48];
	pid_t pid;
};

static int enter_cage(void *arg)
{
	const struct cage *c = arg;

	return chroot(c->root) < 0 || chdir("/") < 0;
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* A process in a root of its own, with all that could lead out of it. */
static void cage_begin(struct cage *c)
{
	char path[96], up[96];

	strcpy(c->dir, "/tmp/gpc-host-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	snprintf(c->root, sizeof c->root, "%s/root", c->dir);
	snprintf(c->secret, sizeof c->secret, "%s/secret", c->dir);
	assert_int_equal(mkdir(c->root, 0755), 0);
	put(c->dir, "secret", "outside");
	put(c->root, "file", "inside");
	snprintf(path, sizeof path, "%s/absolute", c->root);
	assert_int_equal(symlink(c->secret, path), 0);
	snprintf(path, sizeof path, "%s/upwards", c->root);
	snprintf(up, sizeof up, "../../../../..%s", c->secret);
	assert_int_equal(symlink(up, path), 0);
	snprintf(path, sizeof path, "%s/good", c->root);
	assert_int_equal(symlink("/../file", path), 0);
	snprintf(path, sizeof path, "%s/fifo", c->root);
	assert_int_equal(mkfifo(path, 0666), 0);
	c->pid = child_start(enter_cage, c);
}

static void cage_end(struct cage *c)
{
	char command[100];

	child_end(c->pid);
	snprintf(command, sizeof command, "rm -rf --one-file-system '%s'", c->dir);
	assert_int_equal(system(command), 0);
}

static void assert_holds(int32_t fd, const char *text)
{
	char got[32] = "";

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(read(fd, got, sizeof got - 1), strlen(text));
	assert_string_equal(got, text);
	close(fd);
}

static void test_open_file(void **state)
{
	const struct gpc_host *h = bench_run(*state);
	static const char *const refused[] = {"/absolute", "upwards", "/fifo", "/", "/nothing", ""};
	struct gpc_target_view *v;
	struct cage c;
	int fd;

	cage_begin(&c);
	if (!c.pid) { /* not everybody may chroot */
		cage_end(&c);
		skip();
	}
	v = bench_view(c.pid, 5);
	assert_holds(h->open_file(h, &v->target, "/file", 0), "inside");
	assert_holds(h->open_file(h, &v->target, "/good", 0), "inside");
	assert_int_equal(h->open_file(h, &v->target, "/file", O_RDWR), GPC_E_CONFIG);
	assert_true(h->open_file(h, &v->target, "/file", GPC_OPEN_FOLDER) < 0);
	fd = h->open_file(h, &v->target, "/", GPC_OPEN_FOLDER);
	assert_true(fd >= 0);
	assert_int_equal(faccessat(fd, "file", R_OK, 0), 0);
	close(fd);
	for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
		if (h->open_file(h, &v->target, refused[k], 0) >= 0)
			fail_msg("'%s' was opened", refused[k]);
	/* The path itself leads nowhere either, though the file is there for us. */
	assert_int_equal(access(c.secret, R_OK), 0);
	assert_true(h->open_file(h, &v->target, c.secret, 0) < 0);
	gpc_target_put(v);
	cage_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_who_the_host_is),
		bench_test(test_log),
		bench_test(test_report),
		bench_test(test_reports_that_need_no_warning),
		bench_test(test_now),
		bench_test(test_should_stop_and_extensions),
		bench_test(test_read_mem),
		bench_test(test_find_symbol),
		bench_test(test_open_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
