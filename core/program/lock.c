/* SPDX-License-Identifier: Apache-2.0 */
#include "program/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/thread.h"

/* gProfiler hands a name that begins with NUL to a function that puts one in
 * front: hence two. */
#define LOCK_NAME "\0\0gprofiler_lock"

struct attempt {
	bool is_rootless;
	int fd;
	gpc_status status;
	struct gpc_err err;
};

static bool is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* Hardened machines hide PID 1 even from root; kthreadd lives in the same
 * namespace, the first one. */
static const char *init_namespace(void)
{
	char comm[32];

	if (access("/proc/1/ns/net", R_OK) == 0 ||
	    gpc_read_small(AT_FDCWD, "/proc/2/comm", comm, sizeof comm) <= 0 ||
	    strcmp(comm, "kthreadd\n") != 0)
		return "/proc/1/ns/net";
	return "/proc/2/ns/net";
}

static gpc_status enter_init_namespace(struct gpc_err *err)
{
	const char *path = init_namespace();
	autoclose int ns = -1;

	if (is_same_file(path, "/proc/thread-self/ns/net"))
		return GPC_OK;
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return gpc_err_sys(err, "open %s", path);
	if (setns(ns, CLONE_NEWNET) < 0)
		return gpc_err_sys(err, "enter the network namespace of PID 1");
	return GPC_OK;
}

static gpc_status bind_name(int *ret, struct gpc_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + sizeof LOCK_NAME - 1;
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return gpc_err_sys(err, "socket");
	memcpy(address.sun_path, LOCK_NAME, sizeof LOCK_NAME - 1);
	if (bind(fd, (const struct sockaddr *)&address, size) < 0)
		return gpc_err_sys(err, "bind");
	*ret = take_fd(&fd);
	return GPC_OK;
}

/* In a thread of its own, which ends here: only it changes its namespace. */
static void *attempt(void *arg)
{
	struct attempt *a = arg;

	a->status = enter_init_namespace(&a->err);
	if (a->status < 0 && !a->is_rootless)
		return NULL;
	a->status = bind_name(&a->fd, &a->err);
	return NULL;
}

static gpc_status describe(const struct gpc_err *why, struct gpc_err *err)
{
	if (why->sys == EADDRINUSE)
		return gpc_err_set(err, GPC_E_BUSY,
				   "Could not acquire gProfiler's lock. Is it already running? Try "
				   "'sudo netstat -xp | grep gprofiler' to see which process holds "
				   "the lock.");
	return gpc_err_set(err, why->code,
			   "%.150s\nCould not acquire gProfiler's lock due to an error. Are you "
			   "running gProfiler in privileged mode?",
			   why->text);
}

gpc_status gpc_only_one(bool is_rootless, int *ret, struct gpc_err *err)
{
	struct attempt a = {.is_rootless = is_rootless, .fd = -1};
	pthread_t thread;

	gpc_try(gpc_thread_start(&thread, "gpc-lock", attempt, &a, err));
	pthread_join(thread, NULL);
	if (a.status < 0)
		return describe(&a.err, err);
	*ret = a.fd;
	return GPC_OK;
}
