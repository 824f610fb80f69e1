/* SPDX-License-Identifier: Apache-2.0 */
#include "program/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

struct format {
	const char *suffix, *name;
};

/* The first row of a name is what a file of it is called. */
static const struct format formats[] = {
	{".col", "col"},
	{".html", "html"},
	{".pb.gz", "pprof"},
	{".speedscope.json", "speedscope"},
	{".firefox.json", "firefox"},
	{".pprof", "pprof"},
	{".pprof.gz", "pprof"},
	{".collapsed", "col"},
	{".folded", "col"},
	{".htm", "html"},
};
#define N_FORMATS (sizeof formats / sizeof *formats)

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), tail = strlen(suffix);

	return n > tail && strcmp(name + n - tail, suffix) == 0;
}

static const char *format_of(const char *path)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (ends_with(path, formats[i].suffix))
			return formats[i].name;
	return NULL;
}

static bool is_format(const char *name)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (strcmp(formats[i].name, name) == 0)
			return true;
	return false;
}

static gpc_status choose_format(const char *out, const char *to, const char **ret,
				struct gpc_err *err)
{
	if (to && !is_format(to))
		return gpc_err_set(err, GPC_E_CONFIG,
				   "convert: --to is %.40s: expected col, html, pprof, speedscope "
				   "or firefox",
				   to);
	*ret = to ? to : format_of(out);
	if (!*ret)
		return gpc_err_set(err, GPC_E_CONFIG,
				   "convert: the name %.100s tells no format: expected .col, "
				   ".html, .pb.gz, .speedscope.json, .firefox.json, or --to",
				   out);
	return GPC_OK;
}

struct stream {
	int fd;
	struct gpc_err *err;
};

static gpc_status put(void *ctx, const void *bytes, uint64_t n)
{
	struct stream *stream = ctx;

	return gpc_write_all(stream->fd, bytes, n, stream->err);
}

static gpc_status encode(const struct gpc_profile *p, const char *format, int fd,
			 struct gpc_err *err)
{
	struct stream stream = {fd, err};
	gpc_status st;

	err->text[0] = '\0';
	st = gpc_profile_functions()->encode(p, format, put, &stream);
	if (st < 0 && !*err->text)
		return gpc_err_set(err, st, "encode as %s: %s", format,
				   st == GPC_E_NOMEM ? "out of memory" : "failed");
	return st;
}

/* Beside the file, under a name of its own, until all is written. */
static gpc_status write_new(const struct gpc_profile *p, const char *format, const char *out,
			    struct gpc_err *err)
{
	autofree char *temp = NULL;
	autoclose int fd = -1;
	gpc_status st;

	if (asprintf(&temp, "%s.%d.tmp", out, getpid()) < 0) {
		temp = NULL;
		return gpc_err_nomem(err);
	}
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return gpc_err_sys(err, "create %s", temp);
	st = encode(p, format, fd, err);
	if (st >= 0 && (close(take_fd(&fd)) < 0 || rename(temp, out) < 0))
		st = gpc_err_sys(err, "write %s", out);
	else if (st < 0)
		gpc_err_prefix(err, "write %s", out);
	if (st < 0)
		unlink(temp);
	return st;
}

/* A pipe or a device is written to as it is; it cannot be replaced. */
static gpc_status write_out(const struct gpc_profile *p, const char *format, const char *out,
			    struct gpc_err *err)
{
	autoclose int fd = -1;
	struct stat st;

	if (strcmp(out, "-") == 0)
		return encode(p, format, STDOUT_FILENO, err);
	if (stat(out, &st) < 0 || S_ISREG(st.st_mode))
		return write_new(p, format, out, err);
	fd = open(out, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return gpc_err_sys(err, "open %s", out);
	if (encode(p, format, fd, err) < 0)
		return gpc_err_prefix(err, "write %s", out);
	return GPC_OK;
}

gpc_status gpc_convert(const char *in, const char *out, const char *from, const char *to,
		       struct gpc_err *err)
{
	const char *path = strcmp(in, "-") == 0 ? "/dev/stdin" : in, *format;
	struct gpc_profile *p;
	gpc_status st;

	gpc_try(choose_format(out, to, &format, err));
	gpc_try(gpc_profile_open_as(path, from, &p, err));
	st = write_out(p, format, out, err);
	gpc_profile_close(p);
	return st;
}
