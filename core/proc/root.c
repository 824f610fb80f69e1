/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* An O_PATH descriptor opens nothing yet: look at what it is first. */
static gpc_status open_regular(int path_fd, const char *path, int *ret, struct stat *st,
			       struct gpc_err *err)
{
	char self[40];
	struct stat found;
	int fd;

	if (fstat(path_fd, &found) < 0)
		return gpc_err_sys(err, "stat %s", path);
	if (!S_ISREG(found.st_mode))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "%s is not a regular file", path);
	snprintf(self, sizeof self, "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	if (st)
		*st = found;
	*ret = fd;
	return GPC_OK;
}

static bool is_our_root(int root)
{
	struct stat a, b;

	return fstat(root, &a) == 0 && stat("/", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* An O_PATH descriptor, the caller's. */
static gpc_status find_in_root(int32_t pid, const char *path, int *ret, struct gpc_err *err)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char name[40];
	autoclose int root = -1;
	int fd;

	snprintf(name, sizeof name, "/proc/%d/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return gpc_err_sys(err, "open %s", name);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
	/* Before Linux 5.6 only files under our own root can be opened safely. */
	if (fd < 0 && errno == ENOSYS && is_our_root(root))
		fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return gpc_err_sys(err, "open %s in the root of process %d", path, pid);
	*ret = fd;
	return GPC_OK;
}

gpc_status gpc_root_open(int32_t pid, const char *path, int *ret, struct stat *st,
			 struct gpc_err *err)
{
	autoclose int fd = -1;

	gpc_try(find_in_root(pid, path, &fd, err));
	return open_regular(fd, path, ret, st, err);
}

gpc_status gpc_root_folder(int32_t pid, const char *path, int *ret, struct gpc_err *err)
{
	autoclose int fd = -1;
	int folder;

	gpc_try(find_in_root(pid, path, &fd, err));
	folder = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return gpc_err_sys(err, "open folder %s of process %d", path, pid);
	*ret = folder;
	return GPC_OK;
}

gpc_status gpc_regular_open(const char *path, int *ret, struct stat *st, struct gpc_err *err)
{
	autoclose int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	return open_regular(fd, path, ret, st, err);
}

static bool read_status(int32_t pid, char *text, size_t size)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	return gpc_read_small(AT_FDCWD, path, text, size) > 0;
}

/* "Uid:" and "Gid:" are followed by real, effective, saved and file system's. */
static bool effective(const char *text, const char *key, unsigned *ret)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "%*u %u", ret) == 1;
}

int32_t gpc_ns_pid(int32_t pid)
{
	char text[4096];
	const char *at;
	long inner = pid;

	if (!read_status(pid, text, sizeof text))
		return 0;
	at = strstr(text, "\nNSpid:");
	if (!at)
		return pid;
	for (at += 7; *at == '\t' || *at == ' ';) {
		char *end;
		long v = strtol(at, &end, 10);

		if (end == at)
			break;
		inner = v;
		at = end;
	}
	return (int32_t)inner;
}

bool gpc_proc_user(int32_t pid, uid_t *uid, gid_t *gid)
{
	char text[4096];
	unsigned user, group;

	if (!read_status(pid, text, sizeof text) || !effective(text, "\nUid:", &user) ||
	    !effective(text, "\nGid:", &group))
		return false;
	*uid = user;
	*gid = group;
	return true;
}

bool gpc_proc_wrote(int32_t pid, const struct stat *file)
{
	uid_t uid;
	gid_t gid;

	return file->st_uid == 0 || (gpc_proc_user(pid, &uid, &gid) && uid == file->st_uid);
}
