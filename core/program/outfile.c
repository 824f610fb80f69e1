/* SPDX-License-Identifier: Apache-2.0 */
#include "program/outfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

struct stream {
	int fd;
	struct gpc_err *err;
};

static gpc_status put(void *ctx, const void *bytes, uint64_t n)
{
	struct stream *stream = ctx;

	return gpc_write_all(stream->fd, bytes, n, stream->err);
}

static gpc_status make(const struct gpc_outfile_maker *maker, int fd, struct gpc_err *err)
{
	struct stream stream = {fd, err};
	gpc_status st;

	err->text[0] = '\0';
	st = maker->make(maker->arg, put, &stream);
	if (st < 0 && !*err->text)
		return gpc_err_set(err, st, "%s: %s", maker->what,
				   st == GPC_E_NOMEM ? "out of memory" : "failed");
	return st;
}

/* Beside the file, under a name of its own, until all is written. */
static gpc_status write_new(const char *path, const struct gpc_outfile_maker *maker,
			    struct gpc_err *err)
{
	autofree char *temp = NULL;
	autoclose int fd = -1;
	gpc_status st;

	if (asprintf(&temp, "%s.%d.tmp", path, getpid()) < 0) {
		temp = NULL;
		return gpc_err_nomem(err);
	}
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return gpc_err_sys(err, "create %s", temp);
	st = make(maker, fd, err);
	if (st >= 0 && (close(take_fd(&fd)) < 0 || rename(temp, path) < 0))
		st = gpc_err_sys(err, "write %s", path);
	else if (st < 0)
		gpc_err_prefix(err, "write %s", path);
	if (st < 0)
		unlink(temp);
	return st;
}

gpc_status gpc_outfile_write(const char *path, const struct gpc_outfile_maker *maker,
			     struct gpc_err *err)
{
	autoclose int fd = -1;
	struct stat st;

	if (strcmp(path, "-") == 0)
		return make(maker, STDOUT_FILENO, err);
	if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
		return write_new(path, maker, err);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	if (make(maker, fd, err) < 0)
		return gpc_err_prefix(err, "write %s", path);
	return GPC_OK;
}
