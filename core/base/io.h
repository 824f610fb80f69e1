/* SPDX-License-Identifier: Apache-2.0 */
/* Reading small files (mostly of /proc) and writing files whole. */
#ifndef GPC_BASE_IO_H
#define GPC_BASE_IO_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Reads all of fd, at most max bytes. *ret is new, NUL terminated, freed by
 * the caller; *len is without the NUL (either may be NULL). A file longer than
 * max is GPC_E_BUDGET. */
gpc_status gpc_read_fd(int fd, size_t max, char **ret, size_t *len, struct gpc_err *err);
/* The same by path relative to dirfd (AT_FDCWD). */
gpc_status gpc_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *len,
			 struct gpc_err *err);
/* Fills buf with a NUL terminated prefix of the file; returns its length, or
 * -1 with errno set. For hot paths: no allocation. */
ssize_t gpc_read_small(int dirfd, const char *path, char *buf, size_t size);

gpc_status gpc_write_all(int fd, const void *bytes, size_t n, struct gpc_err *err);

/* mkdir -p */
gpc_status gpc_mkdirs(const char *path, mode_t mode, struct gpc_err *err);

#endif
