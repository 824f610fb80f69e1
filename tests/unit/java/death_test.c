/* SPDX-License-Identifier: Apache-2.0 */
/* Why JVMs died: crash reports as HotSpot writes them, records of the kernel's log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "watch.h"

#define HEAD "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n"

static void test_reports(void **state)
{
	static const struct {
		const char *text, *what, *where;
	} rows[] = {
		{HEAD
		 "#  SIGSEGV (0xb) at pc=0x00007f1, pid=12, tid=13\n#\n# JRE version: OpenJDK\n"
		 "# Problematic frame:\n# C  [libsplit.so+0x11a9]  Java_Split_crash+0x9\n#\n",
		 "SIGSEGV", "libsplit.so, Java_Split_crash+0x9"},
		{HEAD "#  SIGBUS (0x7) at pc=0x1, pid=1, tid=2\n# Problematic frame:\n"
		      "# V  [libjvm.so+0xd2b3c4]  Unsafe_PutLong+0x84\n",
		 "SIGBUS", "libjvm.so, Unsafe_PutLong+0x84"},
		{HEAD "#  SIGSEGV (0xb) at pc=0x1, pid=1, tid=2\n# Problematic frame:\n"
		      "# J 77 c2 A.b(I)V (12 bytes) @ 0x1 [0x0+0x1]\n",
		 "SIGSEGV", "J 77 c2 A.b(I)V (12 bytes) @ 0x1 [0x0+0x1]"},
		{HEAD "#  SIGSEGV (0xb) at pc=0x1, pid=1, tid=2\n# Problematic frame:\n"
		      "# C  [libc.so.6+0x99ee3]\n",
		 "SIGSEGV", "libc.so.6"},
		{HEAD "#  Internal Error (sharedRuntime.cpp:553), pid=1, tid=2\n"
		      "#  guarantee(cb != nullptr) failed: must be\n",
		 "Internal Error (sharedRuntime.cpp:553)", ""},
		{"#\n# There is insufficient memory for the Java Runtime Environment to continue.\n"
		 "# Native memory allocation (mmap) failed to map 16384 bytes.\n# Possible "
		 "reasons:\n"
		 "#  Out of Memory Error (os_linux.cpp:2798), pid=8, tid=9\n",
		 "out of memory", ""},
		{"#  SIGSEGV (0xb) at pc=0x1", "SIGSEGV", ""},
	};
	static const char *const others[] = {"", "#", "hello\n#  SIGSEGV (0xb) at pc=0x1\n",
					     "#\n# nothing\n", "# Problematic frame:"};
	struct java_crash crash;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(gpc_java_crash_parse(rows[i].text, &crash));
		assert_string_equal(crash.what, rows[i].what);
		assert_string_equal(crash.where, rows[i].where);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(gpc_java_crash_parse(others[i], &crash));
}

static void test_kernel_log(void **state)
{
	static const struct {
		const char *record;
		int32_t pid;
		bool is_oom, is_group;
		const char *what;
	} rows[] = {
		{"3,1234,5678,-;Out of memory: Killed process 4711 (java) total-vm:9kB, "
		 "anon-rss:8kB, "
		 "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0\n",
		 4711, true, false, "anon-rss:8kB"},
		{"3,1,2,-;Memory cgroup out of memory: Killed process 12 (a) b) total-vm:1kB, "
		 "anon-rss:77kB, file-rss:0kB\n SUBSYSTEM=x\n",
		 12, true, true, "anon-rss:77kB"},
		{"3,1,2,-;Killed process 13 (java) total-vm:1kB, anon-rss:2kB\n", 13, true, false,
		 "anon-rss:2kB"},
		{"6,1,2,-;java[99]: segfault at 0 ip 00007f sp 00007e error 4 in "
		 "libfoo.so[7f0+1000]\n",
		 99, false, false, "segfault in libfoo.so"},
		{"6,1,2,-;traps: C2 [x]y[98] general protection fault ip:7f sp:7e error:0 in "
		 "libjvm.so[7f0+1000]\n",
		 98, false, false, "general protection fault in libjvm.so"},
		{"6,1,2,-;traps: java[97] trap invalid opcode ip:7f sp:7e error:0\n", 97, false,
		 false, "trap invalid opcode"},
		{"6,1,2,-;java[96]: unhandled exception: level 3 translation fault, esr 0x1, in "
		 "libx.so[1+2]\n",
		 96, false, false, "unhandled exception in libx.so"},
	};
	static const char *const others[] = {
		"",
		";",
		"6,1,2,-;",
		"no record",
		"6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,task=java,pid=12,uid=0",
		"6,1,2,-;Killed process  (java) total-vm:1kB",
		"6,1,2,-;Killed process 99999999999999 (java) total-vm:1kB",
		"6,1,2,-;java[-3]: segfault at 0 ip",
		"6,1,2,-;java: segfault at 0 ip",
		"6,1,2,-;usb 1-1: new device [12]",
	};
	struct kernel_death d;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(gpc_java_kernel_parse(rows[i].record, &d));
		assert_int_equal(d.pid, rows[i].pid);
		assert_int_equal(d.is_oom, rows[i].is_oom);
		assert_int_equal(d.is_group, rows[i].is_group);
		assert_string_equal(d.what, rows[i].what);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(gpc_java_kernel_parse(others[i], &d));
}

static void test_names_of_reports(void **state)
{
	char name[24];

	(void)state;
	gpc_java_report_name("/var/log/hs%p-%%p.log", 42, name, sizeof name);
	assert_string_equal(name, "/var/log/hs42-%p.log");
	gpc_java_report_name("%p%p%p%p", 1234567, name, sizeof name);
	assert_string_equal(name, "12345671234567123456712");
	gpc_java_report_name("x%", 1, name, sizeof name);
	assert_string_equal(name, "x%");
	gpc_java_report_name("", 1, name, sizeof name);
	assert_string_equal(name, "");
}

/* ---- reports of a process that has gone -------------------------------------------------- */

struct world {
	char folder[64], log[2048];
	struct gpc_host host;
	struct gpc_target target;
	struct java_reports reports;
};

static void keep_log(const struct gpc_host *h, gpc_level level, const char *msg)
{
	struct world *p = h->impl;

	if (level <= GPC_WARN)
		snprintf(p->log + strlen(p->log), sizeof p->log - strlen(p->log), "%s\n", msg);
}

static gpc_status watch_fd(const struct gpc_host *h, const struct gpc_target *t, int32_t fd,
			   uint32_t events, uint64_t token)
{
	(void)h;
	(void)t;
	(void)fd;
	(void)events;
	(void)token;
	return GPC_OK;
}

static int32_t should_stop(const struct gpc_host *h)
{
	(void)h;
	return 0;
}

/* A process that has ended, not reaped yet: its descriptor says so. */
static pid_t dead_child(int *pidfd)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	*pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	return pid;
}

static int begin(void **state)
{
	struct world *p = calloc(1, sizeof *p);

	assert_non_null(p);
	snprintf(p->folder, sizeof p->folder, "/tmp/gpc-death-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	p->host = (struct gpc_host){.struct_size = sizeof p->host,
				    .level = GPC_DEBUG,
				    .impl = p,
				    .log = keep_log,
				    .watch_fd = watch_fd,
				    .should_stop = should_stop};
	p->target =
		(struct gpc_target){.struct_size = sizeof p->target, .uid = getuid(), .ns_pid = 7};
	p->target.pid = dead_child(&p->target.pidfd);
	p->reports.since = (int64_t)time(NULL) - 1;
	p->reports.n = 1;
	p->reports.at[0].folder = open(p->folder, O_RDONLY | O_DIRECTORY);
	snprintf(p->reports.at[0].name, sizeof p->reports.at[0].name, "hs_err_pid7.log");
	snprintf(p->reports.at[0].path, sizeof p->reports.at[0].path, "/srv/hs_err_pid7.log");
	*state = p;
	return 0;
}

static int end(void **state)
{
	struct world *p = *state;
	char command[128];

	gpc_java_reports_close(&p->reports);
	waitpid(p->target.pid, NULL, 0);
	close(p->target.pidfd);
	snprintf(command, sizeof command, "rm -r %s", p->folder);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static void write_report(const struct world *p, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/hs_err_pid7.log", p->folder);
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void leave(struct world *p, struct java_watch *w)
{
	p->log[0] = '\0';
	gpc_java_watch_leave(w, &p->target, &p->reports);
}

static const char crash[] = HEAD "#  SIGSEGV (0xb) at pc=0x1, pid=7, tid=8\n"
				 "# Problematic frame:\n# C  [libfoo.so+0x1]  f+0x1\n";

static void test_a_jvm_that_left_a_report(void **state)
{
	struct world *p = *state;
	struct java_watch *w = calloc(1, sizeof *w);
	char expected[128];

	gpc_java_watch_start(w, &p->host, "/nothing", 1);
	gpc_java_watch_join(w, p->target.pid);
	gpc_java_watch_name(w, p->target.pid, "shop.Main --port 80");
	leave(p, w);
	assert_string_equal(p->log, "");
	write_report(p, crash);
	leave(p, w);
	snprintf(expected, sizeof expected,
		 "JVM %d (shop.Main) died: SIGSEGV in libfoo.so, f+0x1, see /srv/hs_err_pid7.log\n",
		 p->target.pid);
	assert_string_equal(p->log, expected);
	/* Older than the attach: of a JVM before that had the same number. */
	p->reports.since = (int64_t)time(NULL) + 100;
	leave(p, w);
	assert_string_equal(p->log, "");
	gpc_java_watch_stop(w);
	free(w);
}

static void test_what_is_no_report(void **state)
{
	struct world *p = *state;
	struct java_watch *w = calloc(1, sizeof *w);
	char path[128], other[128];

	gpc_java_watch_start(w, &p->host, "/nothing", 1);
	snprintf(path, sizeof path, "%s/hs_err_pid7.log", p->folder);
	snprintf(other, sizeof other, "%s/other", p->folder);
	write_report(p, crash);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	leave(p, w);
	assert_string_equal(p->log, "");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0); /* must not hold us up */
	leave(p, w);
	assert_string_equal(p->log, "");
	unlink(path);
	if (getuid() == 0) { /* somebody else's */
		write_report(p, crash);
		p->target.uid = 0;
		assert_int_equal(chown(path, 65534, 65534), 0);
		leave(p, w);
		assert_string_equal(p->log, "");
	}
	/* One that lives on is only detached from. */
	write_report(p, crash);
	close(p->target.pidfd);
	p->target.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	leave(p, w);
	assert_string_equal(p->log, "");
	free(w);
}

static void test_the_kernels_log(void **state)
{
	struct world *p = *state;
	struct java_watch *w = calloc(1, sizeof *w);
	char path[128], record[256], expected[256];
	int fd;

	snprintf(path, sizeof path, "%s/kmsg", p->folder);
	assert_int_equal(mkfifo(path, 0600), 0); /* as the kernel's: a record a read */
	fd = open(path, O_RDWR | O_NONBLOCK);
	gpc_java_watch_start(w, &p->host, path, 1);
	assert_true(w->fd >= 0);
	gpc_java_watch_join(w, 123);
	gpc_java_watch_name(w, 123, "shop.jar");
	for (int32_t pid = 122; pid <= 123; pid++) {
		snprintf(record, sizeof record,
			 "3,1,2,-;Memory cgroup out of memory: Killed process %d (java) "
			 "total-vm:9kB, "
			 "anon-rss:8kB, file-rss:0kB\n",
			 pid);
		assert_int_equal(write(fd, record, strlen(record)), strlen(record));
		gpc_java_watch_ready(w);
	}
	snprintf(expected, sizeof expected,
		 "JVM 123 (shop.jar) was killed by the kernel: out of memory of its control group "
		 "(anon-rss:8kB)\n");
	assert_string_equal(p->log, expected);
	gpc_java_watch_stop(w);
	close(fd);
	free(w);
}

/* The oldest are forgotten. */
static void test_many_jvms(void **state)
{
	struct java_watch *w = calloc(1, sizeof *w);

	(void)state;
	for (int32_t pid = 1; pid <= 3 * GPC_JAVA_KNOWN; pid++) {
		gpc_java_watch_join(w, pid);
		gpc_java_watch_join(w, pid);
		gpc_java_watch_name(w, pid, "x");
	}
	for (int i = 0; i < GPC_JAVA_KNOWN; i++)
		assert_true(w->known[i].pid > 2 * GPC_JAVA_KNOWN);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_kernel_log),
		cmocka_unit_test(test_names_of_reports),
		cmocka_unit_test_setup_teardown(test_a_jvm_that_left_a_report, begin, end),
		cmocka_unit_test_setup_teardown(test_what_is_no_report, begin, end),
		cmocka_unit_test_setup_teardown(test_the_kernels_log, begin, end),
		cmocka_unit_test(test_many_jvms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
