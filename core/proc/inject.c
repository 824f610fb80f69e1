/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "proc/root.h"

#define THREADS_MAX 65536

/* ---- another user, for a moment ------------------------------------------------------ */

struct user {
	uid_t uid, was_uid;
	gid_t gid, was_gid;
	int dumpable;
};

static uid_t effective_uid(void)
{
	return (uid_t)syscall(SYS_geteuid);
}

/* By system calls: glibc's functions change all threads. The real user stays, which is
 * the way back. */
static void leave_user(const struct user *u)
{
	if (effective_uid() != u->was_uid)
		syscall(SYS_setresuid, -1, u->was_uid, -1);
	syscall(SYS_setresgid, -1, u->was_gid, -1);
	/* The kernel made the whole process undumpable at the change. */
	if (u->dumpable == 1)
		prctl(PR_SET_DUMPABLE, 1);
}

static bool enter_user(struct user *u)
{
	u->was_uid = effective_uid();
	u->was_gid = (gid_t)syscall(SYS_getegid);
	u->dumpable = prctl(PR_GET_DUMPABLE);
	if ((u->gid == u->was_gid || syscall(SYS_setresgid, -1, u->gid, -1) == 0) &&
	    (u->uid == u->was_uid || syscall(SYS_setresuid, -1, u->uid, -1) == 0))
		return true;
	leave_user(u);
	return false;
}

static gpc_status user_of(const struct gpc_target *t, struct user *ret, struct gpc_err *err)
{
	if (!gpc_proc_user(t->pid, &ret->uid, &ret->gid))
		return gpc_err_set(err, GPC_E_GONE, "process %d has gone", t->pid);
	return GPC_OK;
}

/* ---- paths -------------------------------------------------------------------------------- */

/* The folder, opened inside the target's root, and the name in it. */
static gpc_status open_folder(const struct gpc_target *t, const char *path, int *folder,
			      const char **name, struct gpc_err *err)
{
	const char *slash = strrchr(path, '/');
	char text[4096];

	if (!slash || !slash[1] || (size_t)(slash - path) + 2 > sizeof text)
		return gpc_err_set(err, GPC_E_CONFIG, "%s is no path of a file", path);
	snprintf(text, sizeof text, "%.*s", (int)(slash - path), path);
	*name = slash + 1;
	return gpc_root_folder(t->pid, text[0] ? text : "/", folder, err);
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* By the file that was looked at, whatever has its name by now. */
static int connect_to(int file)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d", file);
	if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool is_peer(int fd, int32_t pid)
{
	struct ucred peer = {0};
	socklen_t n = sizeof peer;

	/* 0: of a pid namespace that we do not see. */
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
	       (peer.pid == pid || peer.pid == 0);
}

gpc_status gpc_inject_connect(const struct gpc_target *t, const char *path, int *ret,
			      struct gpc_err *err)
{
	autoclose int folder = -1, file = -1, fd = -1;
	const char *name;
	struct user user;
	struct stat st;
	int error;

	gpc_try(user_of(t, &user, err));
	gpc_try(open_folder(t, path, &folder, &name, err));
	file = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0 && errno == ENOENT)
		return gpc_err_set(err, GPC_E_GONE, "there is no %s", path);
	if (file < 0 || fstat(file, &st) < 0)
		return gpc_err_sys(err, "open %s of process %d", path, t->pid);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != user.uid)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "%s is no socket of process %d", path,
				   t->pid);
	if (!enter_user(&user))
		return gpc_err_sys(err, "become user %u", user.uid);
	fd = connect_to(file);
	error = errno;
	leave_user(&user);
	errno = error;
	if (fd < 0)
		return gpc_err_sys(err, "connect to %s of process %d", path, t->pid);
	if (!is_peer(fd, t->pid))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "%s is another process's", path);
	*ret = take_fd(&fd);
	return GPC_OK;
}

/* ---- files --------------------------------------------------------------------------------------
 */

gpc_status gpc_inject_file(const struct gpc_target *t, const char *path,
			   struct gpc_injected_file *ret, struct gpc_err *err)
{
	autoclose int folder = -1;
	const char *name;
	struct user user;
	int fd, error;

	gpc_try(user_of(t, &user, err));
	gpc_try(open_folder(t, path, &folder, &name, err));
	if (strlen(name) >= sizeof ret->name)
		return gpc_err_set(err, GPC_E_CONFIG, "%s is too long", name);
	if (!enter_user(&user))
		return gpc_err_sys(err, "become user %u", user.uid);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	error = errno;
	leave_user(&user);
	errno = error;
	if (fd < 0 && errno == EEXIST)
		return gpc_err_set(err, GPC_E_BUSY, "%s is there already", path);
	if (fd < 0)
		return gpc_err_sys(err, "make %s of process %d", path, t->pid);
	close(fd);
	ret->folder = take_fd(&folder);
	snprintf(ret->name, sizeof ret->name, "%s", name);
	return GPC_OK;
}

void gpc_inject_remove(struct gpc_injected_file *file)
{
	if (file->folder < 0)
		return;
	unlinkat(file->folder, file->name, 0);
	close(file->folder);
	file->folder = -1;
}

/* ---- signals and threads
 * --------------------------------------------------------------------------- */

static bool has_signal(const char *status, const char *key, int32_t number)
{
	const char *at = strstr(status, key);

	return at && strtoull(at + strlen(key), NULL, 16) >> (number - 1) & 1;
}

static int send_signal(const struct gpc_target *t, int32_t number)
{
	if (t->pidfd >= 0)
		return (int)syscall(SYS_pidfd_send_signal, t->pidfd, number, NULL, 0);
	return kill(t->pid, number);
}

gpc_status gpc_inject_signal(const struct gpc_target *t, int32_t number, struct gpc_err *err)
{
	char path[40], text[4096];
	const char *state;

	snprintf(path, sizeof path, "/proc/%d/status", t->pid);
	if (number < 1 || number > 64)
		return gpc_err_set(err, GPC_E_CONFIG, "there is no signal %d", number);
	if (gpc_read_small(AT_FDCWD, path, text, sizeof text) <= 0)
		return gpc_err_set(err, GPC_E_GONE, "process %d has gone", t->pid);
	if (!has_signal(text, "\nSigCgt:", number))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "process %d does not catch signal %d",
				   t->pid, number);
	state = strstr(text, "\nState:\t");
	if (!state || state[8] == 'T' || state[8] == 't' || state[8] == 'Z')
		return gpc_err_set(err, GPC_E_BUSY, "process %d stands still", t->pid);
	if (send_signal(t, number) < 0)
		return gpc_err_sys(err, "send signal %d to process %d", number, t->pid);
	return GPC_OK;
}

bool gpc_inject_has_thread(int32_t pid, const char *name)
{
	char path[64], comm[32];
	autodir DIR *dir = NULL;
	const struct dirent *e;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	dir = opendir(path);
	for (unsigned i = 0; dir && i < THREADS_MAX && (e = readdir(dir)); i++) {
		char file[40];
		ssize_t n;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(file, sizeof file, "%.20s/comm", e->d_name);
		n = gpc_read_small(dirfd(dir), file, comm, sizeof comm);
		if (n > 1 && comm[n - 1] == '\n')
			comm[n - 1] = '\0';
		if (n > 1 && strcmp(comm, name) == 0)
			return true;
	}
	return false;
}
