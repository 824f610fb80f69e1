/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static ssize_t read_retry(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got;
}

gpc_status gpc_read_fd(int fd, size_t max, char **ret, size_t *len, struct gpc_err *err)
{
	autofree char *text = NULL;
	size_t n = 0, room = 0;

	for (;;) {
		ssize_t got;

		if (room - n < 2) {
			char *grown = realloc(text, room ? room * 2 : 4096);
			if (!grown)
				return gpc_err_nomem(err);
			text = grown;
			room = room ? room * 2 : 4096;
		}
		got = read_retry(fd, text + n, room - n - 1);
		if (got < 0)
			return gpc_err_sys(err, "read");
		if (got == 0)
			break;
		n += (size_t)got;
		if (n > max)
			return gpc_err_set(err, GPC_E_BUDGET, "longer than %zu bytes", max);
	}
	text[n] = '\0';
	if (len)
		*len = n;
	if (ret)
		*ret = take(text);
	return GPC_OK;
}

gpc_status gpc_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *len,
			 struct gpc_err *err)
{
	autoclose int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	if (gpc_read_fd(fd, max, ret, len, err) < 0)
		return gpc_err_prefix(err, "%s", path);
	return GPC_OK;
}

ssize_t gpc_read_small(int dirfd, const char *path, char *buf, size_t size)
{
	autoclose int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -1;
	while (n + 1 < size && (got = read_retry(fd, buf + n, size - 1 - n)) > 0)
		n += (size_t)got;
	buf[n] = '\0';
	return got < 0 ? -1 : (ssize_t)n;
}

gpc_status gpc_write_all(int fd, const void *bytes, size_t n, struct gpc_err *err)
{
	const char *at = bytes;

	while (n) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return gpc_err_sys(err, "write");
		at += put;
		n -= (size_t)put;
	}
	return GPC_OK;
}

gpc_status gpc_mkdirs(const char *path, mode_t mode, struct gpc_err *err)
{
	autofree char *copy = strdup(path);
	struct stat st;

	if (!copy)
		return gpc_err_nomem(err);
	for (char *at = copy; *at; at++) {
		if (*at != '/' || at == copy)
			continue;
		*at = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return gpc_err_sys(err, "create directory %s", copy);
		*at = '/';
	}
	if (mkdir(copy, mode) == 0)
		return GPC_OK;
	if (errno != EEXIST)
		return gpc_err_sys(err, "create directory %s", copy);
	if (stat(copy, &st) < 0)
		return gpc_err_sys(err, "create directory %s", copy);
	if (S_ISDIR(st.st_mode))
		return GPC_OK;
	return gpc_err_set(err, GPC_E_SYSTEM, "%s is there and is no directory", copy);
}
