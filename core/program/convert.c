/* SPDX-License-Identifier: Apache-2.0 */
#include "program/convert.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "program/outfile.h"

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

struct making {
	const struct gpc_profile *profile;
	const char *format;
};

static gpc_status make(const void *arg, gpc_outfile_put put, void *ctx)
{
	const struct making *m = arg;

	return gpc_profile_functions()->encode(m->profile, m->format, put, ctx);
}

static gpc_status write_out(const struct gpc_profile *p, const char *format, const char *out,
			    struct gpc_err *err)
{
	struct making making = {p, format};
	char what[60];
	struct gpc_outfile_maker maker = {.what = what, .arg = &making, .make = make};

	snprintf(what, sizeof what, "encode as %s", format);
	return gpc_outfile_write(out, &maker, err);
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
