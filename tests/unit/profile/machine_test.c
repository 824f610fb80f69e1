/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "profile/machine.h"

/* A folder that plays both the host's root and its /proc. */
struct fixture {
	char dir[32];
	int fd;
	struct gpc_machine m;
};

static void write_file(const struct fixture *f, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/%s", f->dir, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(gpc_mkdirs(path, 0700, NULL), GPC_OK);
	fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->dir, "/tmp/gpc-machine-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY);
	*state = f;
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static void an_empty_host_is_unknown(void **state)
{
	struct fixture *f = *state;

	gpc_machine_read(f->fd, f->fd, false, &f->m);
	assert_string_equal(f->m.os_name, "unknown");
	assert_string_equal(f->m.libc_type, "unknown");
	assert_string_equal(f->m.cpu_model, "unknown");
	assert_string_equal(f->m.cpu_codename, "UNKNOWN");
	assert_string_equal(f->m.hypervisor, "NONE");
	assert_string_equal(f->m.data_provider, "");
}

static void files_are_read(void **state)
{
	struct fixture *f = *state;

	write_file(f, "etc/os-release",
		   "PRETTY_NAME=\"X\"\nNAME=\"Debian\"\nVERSION_ID=\"12\"\nID=debian\n"
		   "VERSION_CODENAME=bookworm\n");
	write_file(f, "cpuinfo",
		   "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: Xeon 1\n"
		   "flags\t\t: fpu nohypervisor sse\n\nprocessor\t: 1\nmodel name\t: other\n");
	write_file(f, "lib64/libc.so.6",
		   "\x7F"
		   "ELF GNU C Library stable release version 2.36.\n");
	gpc_machine_read(f->fd, f->fd, false, &f->m);
	assert_string_equal(f->m.os_name, "debian");
	assert_string_equal(f->m.os_release, "12");
	assert_string_equal(f->m.os_codename, "bookworm");
	assert_string_equal(f->m.cpu_model, "Xeon 1");
	assert_string_equal(f->m.cpu_codename, "ICX");
	assert_string_equal(f->m.cpu_flags, "fpu nohypervisor sse");
	assert_string_equal(f->m.hypervisor, "NONE");
	assert_string_equal(f->m.libc_type, "glibc");
	assert_string_equal(f->m.libc_version, "2.36");
	write_file(f, "cpuinfo", "flags\t\t: fpu hypervisor\n");
	gpc_machine_read(f->fd, f->fd, false, &f->m);
	assert_string_not_equal(f->m.hypervisor, "NONE");
}

static void links_stay_inside(void **state)
{
	struct fixture *f = *state;

	write_file(f, "etc/os-release", "");
	write_file(f, "usr/lib/os-release", "ID=alpine\n");
	unlinkat(f->fd, "etc/os-release", 0);
	assert_int_equal(symlinkat("/usr/lib/os-release", f->fd, "etc/os-release"), 0);
	assert_int_equal(symlinkat("../../../../../../etc/passwd", f->fd, "lib"), 0);
	gpc_machine_read(f->fd, f->fd, false, &f->m);
	assert_string_equal(f->m.os_name, "alpine");
}

static void clusters_are_known_by_their_files(void **state)
{
	static const struct {
		const char *path, *text, *provider, *version;
	} rows[] = {
		{"opt/cloudera/cm-agent/cm_version.properties", "# x\nversion=7.1\n", "cloudera",
		 "7.1"},
		{"etc/environment", "A=1\nDATAPROC_IMAGE_VERSION=\"2.0\"\n", "dataproc", "2.0"},
		{"databricks/spark/conf/metrics.properties", "", "dataproc", "2.0"},
		{"databricks/DBR_VERSION", "10.4\n", "databricks", "10.4"},
		{"mnt/var/lib/info/extraInstanceData.json", "{\"releaseLabel\": \"emr-6\"}", "emr",
		 "emr-6"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		write_file(f, rows[i].path, rows[i].text);
		gpc_machine_read(f->fd, f->fd, false, &f->m);
		assert_string_equal(f->m.data_provider, rows[i].provider);
		assert_string_equal(f->m.data_version, rows[i].version);
	}
}

static void this_machine(void **state)
{
	struct fixture *f = *state;
	struct gpc_machine_net net;
	int root = open("/", O_RDONLY | O_DIRECTORY), proc = open("/proc", O_RDONLY | O_DIRECTORY);
	char name[256];

	gpc_machine_read(root, proc, true, &f->m);
	assert_string_equal(f->m.libc_type, "glibc");
	assert_true(f->m.libc_version[0] == '2');
	gpc_machine_net_read(proc, &net);
	if (!gpc_machine_is_foreign(proc, "uts")) {
		gethostname(name, sizeof name);
		assert_string_equal(net.hostname, name);
	}
	assert_true(net.mac[0] == 'u' || (strlen(net.mac) == 17 && net.mac[2] == ':'));
	assert_true(net.ip[0] != '\0');
	close(root);
	close(proc);
}

/* Runs in a process whose PID 1 (its parent) has another host name. */
static int check_foreign_name(const char *proc_dir)
{
	int proc = open(proc_dir, O_RDONLY | O_DIRECTORY);
	struct gpc_machine_net net;
	char after[256] = "";

	if (gpc_machine_is_foreign(proc, "uts") || unshare(CLONE_NEWUTS) < 0)
		return 1;
	if (sethostname("inner", 5) < 0 || !gpc_machine_is_foreign(proc, "uts"))
		return 2;
	gpc_machine_net_read(proc, &net);
	gethostname(after, sizeof after);
	close(proc);
	if (strcmp(net.hostname, "outer") != 0)
		return 3;
	return strcmp(after, "inner") == 0 ? 0 : 4;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int play_pid_1(const char *proc_dir)
{
	pid_t pid;
	int result;

	if (unshare(CLONE_NEWUTS | CLONE_NEWNS) < 0 || sethostname("outer", 5) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", proc_dir, "proc", 0, NULL) < 0)
		return 77;
	pid = fork();
	if (pid == 0)
		_exit(check_foreign_name(proc_dir));
	result = wait_for(pid);
	umount(proc_dir);
	return result;
}

/* The name is PID 1's, and we stay in our own namespace. */
static void the_hosts_name(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();
	int result;

	if (pid == 0) {
		pid_t inner;

		if (unshare(CLONE_NEWPID) < 0)
			_exit(77);
		inner = fork();
		if (inner == 0)
			_exit(play_pid_1(f->dir));
		_exit(wait_for(inner));
	}
	result = wait_for(pid);
	if (result == 77)
		skip();
	assert_int_equal(result, 0);
}

#define row_of(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row_of(an_empty_host_is_unknown),
		row_of(files_are_read),
		row_of(links_stay_inside),
		row_of(clusters_are_known_by_their_files),
		row_of(this_machine),
		row_of(the_hosts_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
