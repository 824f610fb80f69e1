/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files as a target sees them, without being led out of its root and
 * without being held up: regular files only, never a device or a pipe. */
#ifndef GPC_PROC_ROOT_H
#define GPC_PROC_ROOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/* Opens path inside /proc/PID/root, read only. Symbolic links are followed as
 * the target would follow them. *st, if given, is the file's. */
gpc_status gpc_root_open(int32_t pid, const char *path, int *ret, struct stat *st,
			 struct gpc_err *err);
/* The same for a folder. */
gpc_status gpc_root_folder(int32_t pid, const char *path, int *ret, struct gpc_err *err);
/* Opens a path of our own that the kernel made (/proc/PID/exe, map_files). */
gpc_status gpc_regular_open(const char *path, int *ret, struct stat *st, struct gpc_err *err);
/* The process's number in its own pid namespace, from NSpid; pid itself where
 * the kernel does not say. 0: the process has gone. */
int32_t gpc_ns_pid(int32_t pid);
/* The process's effective user and group. Not the owner of its folder in /proc:
 * the kernel gives those of processes that have dropped their rights to root.
 * False: the process has gone. */
bool gpc_proc_user(int32_t pid, uid_t *uid, gid_t *gid);
/* Can a file be believed to be the process's own word? Only its user or root can
 * have written it then. */
bool gpc_proc_wrote(int32_t pid, const struct stat *file);

#endif
