/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, files and signals of a process that is another user's, in a root of its
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <cmocka.h>

#include "child.h"
#include "proc/inject.h"
#include "proc/root.h"

#define NOBODY 65534

struct world {
	char folder[64];
	struct gpc_target target;
	bool is_root;
};

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	unlink(path);
	return fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
			       listen(fd, 4) == 0
		       ? fd
		       : -1;
}

static volatile sig_atomic_t n_signals;

static void count(int number)
{
	(void)number;
	n_signals++;
	unlink("/tmp/got");
	close(open("/tmp/got", O_CREAT | O_WRONLY, 0600));
}

/* Whoever connects is told who it is to us. */
static void *serve(void *arg)
{
	int fd = *(int *)arg, peer;

	while ((peer = accept(fd, NULL, NULL)) >= 0) {
		struct ucred who = {0};
		socklen_t n = sizeof who;
		char text[64];

		getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &n);
		n = (socklen_t)snprintf(text, sizeof text, "%u %u", who.uid, who.gid);
		if (write(peer, text, n) < 0)
			break;
		close(peer);
	}
	return NULL;
}

static int be_a_server(void *arg)
{
	const struct world *w = arg;
	static int fd;
	pthread_t thread;

	umask(0);
	if (w->is_root) {
		if (chroot(w->folder) < 0 || chdir("/") < 0 || setgid(NOBODY) < 0 ||
		    setuid(NOBODY) < 0)
			return 1;
	}
	if (signal(SIGQUIT, count) == SIG_ERR)
		return 1;
	fd = listen_at(w->is_root ? "/tmp/.socket" : "");
	if (w->is_root && (fd < 0 || symlink("/tmp/.socket", "/tmp/link") < 0 ||
			   pthread_create(&thread, NULL, serve, &fd) != 0))
		return 1;
	return 0;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	char path[128];

	assert_non_null(w);
	*state = w;
	w->is_root = getuid() == 0;
	snprintf(w->folder, sizeof w->folder, "/tmp/gpc-inject-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	chmod(w->folder, 0755);
	snprintf(path, sizeof path, "%s/tmp", w->folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 01777), 0);
	if (w->is_root) {
		w->target = (struct gpc_target){.struct_size = sizeof w->target};
		w->target.pid = child_start(be_a_server, w);
		assert_true(w->target.pid > 0);
		w->target.pidfd = (int)syscall(SYS_pidfd_open, w->target.pid, 0);
	}
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;
	char command[128];

	child_end(w->target.pid);
	if (w->is_root)
		close(w->target.pidfd);
	snprintf(command, sizeof command, "rm -r %s", w->folder);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static struct world *needs_root(void **state)
{
	struct world *w = *state;

	if (!w->is_root)
		skip();
	return w;
}

static void assert_still_root(void)
{
	assert_int_equal(syscall(SYS_geteuid), 0);
	assert_int_equal(syscall(SYS_getegid), 0);
	assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
}

static void test_connect(void **state)
{
	struct world *w = needs_root(state);
	struct pollfd p = {.events = POLLIN};
	struct gpc_err err;
	char text[64] = "";

	assert_int_equal(gpc_inject_connect(&w->target, "/tmp/.socket", &p.fd, &err), GPC_OK);
	assert_still_root();
	assert_true(fcntl(p.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(p.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_true(read(p.fd, text, sizeof text - 1) > 0);
	assert_string_equal(text, "65534 65534");
	close(p.fd);
}

static void test_what_is_not_its_socket(void **state)
{
	struct world *w = needs_root(state);
	struct gpc_err err;
	char path[128];
	int fd, ours;

	assert_int_equal(gpc_inject_connect(&w->target, "/tmp/none", &fd, &err), GPC_E_GONE);
	assert_int_equal(gpc_inject_connect(&w->target, "/tmp/link", &fd, &err), GPC_E_UNSUPPORTED);
	assert_true(gpc_inject_connect(&w->target, "", &fd, &err) < 0);
	assert_true(gpc_inject_connect(&w->target, "/tmp/", &fd, &err) < 0);
	/* Made by another process, with the right owner: it could hold the name of a
	 * process before. */
	snprintf(path, sizeof path, "%s/tmp/ours", w->folder);
	ours = listen_at(path);
	assert_true(ours >= 0);
	assert_int_equal(gpc_inject_connect(&w->target, "/tmp/ours", &fd, &err), GPC_E_UNSUPPORTED);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	assert_int_equal(gpc_inject_connect(&w->target, "/tmp/ours", &fd, &err), GPC_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "another process"));
	close(ours);
	assert_still_root();
}

static void test_files(void **state)
{
	struct world *w = needs_root(state);
	struct gpc_injected_file file = {.folder = -1}, other = {.folder = -1};
	struct gpc_err err;
	struct stat st;
	char path[128];

	snprintf(path, sizeof path, "%s/tmp/.attach_pid1", w->folder);
	assert_int_equal(gpc_inject_file(&w->target, "/tmp/.attach_pid1", &file, &err), GPC_OK);
	assert_still_root();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, NOBODY);
	assert_int_equal(st.st_gid, NOBODY);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(gpc_inject_file(&w->target, "/tmp/.attach_pid1", &other, &err),
			 GPC_E_BUSY);
	assert_int_equal(gpc_inject_file(&w->target, "/tmp/link", &other, &err), GPC_E_BUSY);
	/* Its user may not write there. */
	assert_true(gpc_inject_file(&w->target, "/file", &other, &err) < 0);
	assert_int_equal(other.folder, -1);
	/* Also when it has gone. */
	child_end(w->target.pid);
	assert_int_equal(gpc_inject_file(&w->target, "/tmp/x", &other, &err), GPC_E_GONE);
	gpc_inject_remove(&file);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(file.folder, -1);
	gpc_inject_remove(&file);
	w->target.pid = 0;
}

static void wait_for_file(const char *path)
{
	for (int i = 0; i < 1000 && access(path, F_OK) < 0; i++)
		usleep(10000);
	assert_int_equal(access(path, F_OK), 0);
}

static void test_signals(void **state)
{
	struct world *w = needs_root(state);
	struct gpc_err err;
	char path[128];

	snprintf(path, sizeof path, "%s/tmp/got", w->folder);
	assert_int_equal(gpc_inject_signal(&w->target, SIGQUIT, &err), GPC_OK);
	wait_for_file(path);
	/* Nobody catches it: it would end the process. */
	assert_int_equal(gpc_inject_signal(&w->target, SIGUSR1, &err), GPC_E_UNSUPPORTED);
	assert_int_equal(gpc_inject_signal(&w->target, 0, &err), GPC_E_CONFIG);
	assert_int_equal(gpc_inject_signal(&w->target, 65, &err), GPC_E_CONFIG);
	assert_int_equal(kill(w->target.pid, 0), 0);
	/* One that stands still would get it much later. */
	kill(w->target.pid, SIGSTOP);
	assert_int_equal(waitpid(w->target.pid, NULL, WUNTRACED), w->target.pid);
	assert_int_equal(gpc_inject_signal(&w->target, SIGQUIT, &err), GPC_E_BUSY);
	kill(w->target.pid, SIGCONT);
}

static void test_threads(void **state)
{
	char name[16];

	(void)state;
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "Attach Listener");
	assert_true(gpc_inject_has_thread(getpid(), "Attach Listener"));
	assert_false(gpc_inject_has_thread(getpid(), "Attach"));
	assert_false(gpc_inject_has_thread(getpid(), ""));
	prctl(PR_SET_NAME, name);
	assert_false(gpc_inject_has_thread(getpid(), "Attach Listener"));
	assert_false(gpc_inject_has_thread(0x7ffffff0, "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connect, begin, end),
		cmocka_unit_test_setup_teardown(test_what_is_not_its_socket, begin, end),
		cmocka_unit_test_setup_teardown(test_files, begin, end),
		cmocka_unit_test_setup_teardown(test_signals, begin, end),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
