/* SPDX-License-Identifier: Apache-2.0 */
/* The proc connector: its messages, and the kernel's own. */
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include "fake_proc.h"
#include "proc/connector.h"

struct message {
	struct nlmsghdr head;
	struct cn_msg cn;
	struct proc_event ev;
} __attribute__((packed));

static struct message message(enum what what)
{
	struct message m = {.head = {.nlmsg_len = sizeof m, .nlmsg_type = NLMSG_DONE},
			    .cn = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof m.ev}};

	m.ev.what = what;
	m.ev.timestamp_ns = 5000;
	return m;
}

static struct gpc_connector_event parsed(const struct message *m)
{
	struct gpc_connector_event ev;

	assert_true(gpc_connector_parse(m, sizeof *m, &ev));
	assert_int_equal(ev.time_ns, 5000);
	return ev;
}

static void test_processes(void **state)
{
	struct message fork = message(PROC_EVENT_FORK), exec = message(PROC_EVENT_EXEC),
		       end = message(PROC_EVENT_EXIT);
	struct gpc_connector_event ev;

	(void)state;
	fork.ev.event_data.fork = (struct fork_proc_event){11, 10, 20, 20};
	ev = parsed(&fork);
	assert_int_equal(ev.kind, GPC_CONNECTOR_FORK);
	assert_int_equal(ev.pid, 20);
	assert_int_equal(ev.ppid, 10);
	exec.ev.event_data.exec = (struct exec_proc_event){20, 20};
	ev = parsed(&exec);
	assert_int_equal(ev.kind, GPC_CONNECTOR_EXEC);
	assert_int_equal(ev.pid, 20);
	end.ev.event_data.exit = (struct exit_proc_event){.process_pid = 20, .process_tgid = 20};
	ev = parsed(&end);
	assert_int_equal(ev.kind, GPC_CONNECTOR_EXIT);
	assert_int_equal(ev.pid, 20);
}

static void test_threads_are_no_processes(void **state)
{
	struct message fork = message(PROC_EVENT_FORK), end = message(PROC_EVENT_EXIT),
		       other = message(PROC_EVENT_SID);

	(void)state;
	fork.ev.event_data.fork = (struct fork_proc_event){10, 10, 21, 20};
	end.ev.event_data.exit = (struct exit_proc_event){.process_pid = 21, .process_tgid = 20};
	assert_int_equal(parsed(&fork).kind, GPC_CONNECTOR_OTHER);
	assert_int_equal(parsed(&end).kind, GPC_CONNECTOR_OTHER);
	assert_int_equal(parsed(&other).kind, GPC_CONNECTOR_OTHER);
}

static void test_what_is_not_of_the_connector(void **state)
{
	struct message m = message(PROC_EVENT_EXEC);
	struct gpc_connector_event ev;

	(void)state;
	for (size_t n = 0; n < sizeof m.head + sizeof m.cn + 16; n++)
		assert_false(gpc_connector_parse(&m, n, &ev));
	m.cn.id.idx = CN_IDX_PROC + 1;
	assert_false(gpc_connector_parse(&m, sizeof m, &ev));
	m = message(PROC_EVENT_EXEC);
	m.head.nlmsg_len = sizeof m + 1;
	assert_false(gpc_connector_parse(&m, sizeof m, &ev));
	m = message(PROC_EVENT_EXEC);
	m.head.nlmsg_type = NLMSG_ERROR;
	assert_false(gpc_connector_parse(&m, sizeof m, &ev));
}

/* ---- the kernel's ----------------------------------------------------------------- */

static void no_lock(void *ctx)
{
	(void)ctx;
}

static struct gpc_connector *connect_or_skip(struct world *w)
{
	struct gpc_table_access access = {w->table, no_lock, no_lock, NULL};
	struct gpc_connector *c = NULL;
	struct gpc_err err;

	if (gpc_connector_new("/proc", &access, &c, &err) < 0) {
		assert_int_not_equal(err.text[0], 0);
		print_message("[  SKIPPED ] %s\n", err.text);
		skip();
	}
	return c;
}

/* Other processes of the machine come and go meanwhile: the list would overflow. */
static void forget_others(struct world *w, pid_t pid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_events; i++)
		if (w->events[i].pid == pid)
			w->events[n++] = w->events[i];
	w->n_events = n;
}

static void test_a_program_comes_and_goes(void **state)
{
	struct world *w = *state;
	struct gpc_connector *c = connect_or_skip(w);
	struct pollfd p = {.fd = gpc_connector_fd(c), .events = POLLIN};
	const char *argv[] = {"sleep", "0.2", NULL};
	const struct gpc_process *entry;
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, "/bin/sleep", NULL, NULL, (char **)(uintptr_t)argv,
				     NULL),
			 0);
	while (!gpc_table_find(w->table, pid) || !gpc_table_find(w->table, pid)->exit_ns) {
		assert_int_equal(poll(&p, 1, 20000), 1);
		gpc_connector_run(c);
		forget_others(w, pid);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	entry = gpc_table_find(w->table, pid);
	assert_string_equal(entry->comm, "sleep");
	assert_int_equal(entry->ppid, getpid());
	assert_int_equal(w->n_events, 3);
	assert_int_equal(w->events[0].kind, GPC_PROC_FORK);
	assert_int_equal(w->events[1].kind, GPC_PROC_EXEC);
	assert_int_equal(w->events[2].kind, GPC_PROC_EXIT);
	assert_true(w->events[0].time_ns < w->events[1].time_ns &&
		    w->events[1].time_ns + 100000000 < w->events[2].time_ns);
	gpc_connector_free(c);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_threads_are_no_processes),
		cmocka_unit_test(test_what_is_not_of_the_connector),
		world_test(test_a_program_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
