/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching to what is no more, or not yet, what it was seen as: no false alarm. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "collector.h"

#define PAGE 4096

struct bench {
	struct fake fake; /* first */
	struct gpc_services services;
	struct gpc_names *names;
	uint32_t seq, code_wanted;
};

static uint32_t code_of(const struct gpc_target *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_maps; i++)
		n += t->maps[i].prot & GPC_MAP_EXEC && t->maps[i].inode;
	return n;
}

/* Needs a file that is mapped late. */
static gpc_status on_attach(void *self, const struct gpc_target *t, void **tctx)
{
	struct bench *b = self;

	fake_add(&b->fake, attaches);
	*tctx = (void *)(uintptr_t)t->id;
	if (code_of(t) >= b->code_wanted)
		return GPC_OK;
	b->fake.host->report(b->fake.host, t, GPC_E_UNSUPPORTED, "a file is missing");
	return GPC_E_UNSUPPORTED;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	struct gpc_err err = {0};

	fake_init(&b->fake, "fake", "python", "*");
	b->fake.collector.attach = on_attach;
	b->services.stack_bytes = 1 << 20;
	b->names = gpc_names_new(1);
	*state = b;
	return fake_run(&b->fake, &b->services, b->names, &err);
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	gpc_instance_free(b->fake.instance);
	gpc_names_put(b->names);
	free(b);
	return 0;
}

static struct gpc_target_view *view_of(pid_t pid)
{
	struct gpc_target_id id = {.pid = pid, .id = 5};
	struct gpc_target_view *v = NULL;

	assert_int_equal(gpc_target_read(&id, &v, NULL), GPC_OK);
	return v;
}

/* How many reports of it there are with a status. */
static unsigned reports_of(struct bench *b, gpc_status code)
{
	struct gpc_window win = {.struct_size = sizeof win,
				 .seq = b->seq++,
				 .deadline_ns = gpc_now_ns() + 20 * GPC_SECOND_NS};
	struct gpc_reports r;
	unsigned n = 0;

	gpc_instance_settle(b->fake.instance, win.deadline_ns);
	assert_int_equal(gpc_instance_window(b->fake.instance, &win, NULL), GPC_OK);
	gpc_instance_take_reports(b->fake.instance, &r);
	for (size_t k = 0; k < r.list.n; k++)
		n += r.list.at[k].target == 5 && r.list.at[k].code == code;
	gpc_reports_deinit(&r);
	return n;
}

static void attach(struct bench *b, struct gpc_target_view *v)
{
	gpc_instance_attach(b->fake.instance, v);
	gpc_instance_settle(b->fake.instance, gpc_now_ns() + 20 * GPC_SECOND_NS);
}

static void test_one_that_is_what_it_was(void **state)
{
	struct bench *b = *state;
	struct gpc_target_view *v = view_of(getpid());

	b->code_wanted = UINT32_MAX;
	attach(b, v);
	assert_int_equal(fake_get(&b->fake, attaches), 1);
	assert_int_equal(reports_of(b, GPC_E_UNSUPPORTED), 1);
	gpc_target_put(v);
}

/* Executes itself: the same file at other addresses. */
static void become_another(void *arg)
{
	char byte, *argv[] = {"/proc/self/exe", "wait", NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(*(int *)arg, &byte, 1) == 1)
		execv(argv[0], argv);
	_exit(1);
}

static void test_one_that_is_another_program(void **state)
{
	struct bench *b = *state;
	struct gpc_target_view *v, *fresh;
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid)
		become_another(&pipes[0]);
	v = view_of(pid);
	assert_int_equal(gpc_target_compare(v, &fresh), GPC_TARGET_SAME);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	for (int i = 0; i < 2000 && gpc_target_compare(v, &fresh) == GPC_TARGET_SAME; i++)
		usleep(1000); /* from there on it has another vDSO, or none yet */
	b->code_wanted = UINT32_MAX;
	attach(b, v);
	assert_int_equal(fake_get(&b->fake, attaches), 1);
	assert_int_equal(reports_of(b, GPC_E_UNSUPPORTED), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	gpc_target_put(v);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_one_that_was_starting(void **state)
{
	struct bench *b = *state;
	struct gpc_target_view *v = view_of(getpid());
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *late = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_true(late != MAP_FAILED);
	close(fd);
	b->code_wanted = code_of(&v->target) + 1;
	attach(b, v);
	assert_int_equal(fake_get(&b->fake, attaches), 2);
	assert_int_equal(gpc_instance_targets(b->fake.instance), 1);
	assert_int_equal(reports_of(b, GPC_E_UNSUPPORTED), 0);
	gpc_target_put(v);
	munmap(late, PAGE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_that_is_what_it_was, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_that_is_another_program, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_one_that_was_starting, set_up, tear_down),
	};

	(void)argv;
	if (argc > 1)
		pause();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
