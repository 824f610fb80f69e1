/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SHOWN_BYTES 120 /* of a long path, so that reason and remedy still fit */

/* The end of a long path: it tells more than its beginning. */
static const char *tail(const char *path)
{
	size_t n = strlen(path);

	return n > SHOWN_BYTES ? path + n - SHOWN_BYTES : path;
}

static bool is_trusted_owner(uid_t uid)
{
	struct stat exe;

	if (uid == 0 || uid == geteuid())
		return true;
	return stat("/proc/self/exe", &exe) == 0 && exe.st_uid == uid;
}

static gpc_status check_one(const char *path, bool is_folder, struct gpc_err *err)
{
	const char *what = is_folder ? "its folder " : "the file ";
	struct stat st;

	/* The path is free of links: one found now was put there since. */
	if (lstat(path, &st) < 0)
		return gpc_err_sys(err, "%s%s cannot be examined", what, tail(path));
	if (S_ISLNK(st.st_mode))
		return gpc_err_set(err, GPC_E_PERM, "%s%s changes while it is examined: try again",
				   what, tail(path));
	if (!is_trusted_owner(st.st_uid))
		return gpc_err_set(err, GPC_E_PERM,
				   "%s%s belongs to user %u, who could change what it does: chown "
				   "it to root",
				   what, tail(path), (unsigned)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return gpc_err_set(err, GPC_E_PERM,
				   "%s%s may be written to by %s: chmod go-w it, or move the "
				   "plugin to a safe folder",
				   what, tail(path),
				   st.st_mode & S_IWOTH ? "everybody" : "its group");
	return GPC_OK;
}

gpc_status gpc_trust_check(const char *path, struct gpc_err *err)
{
	autofree char *real = realpath(path, NULL);

	if (!real)
		return gpc_err_sys(err, "it cannot be found");
	gpc_try(check_one("/", true, err));
	for (char *slash = strchr(real + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		gpc_try(check_one(real, true, err));
		*slash = '/';
	}
	return check_one(real, false, err);
}
