/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/decode.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include <gpc/gpc.h>

#include "base/cleanup.h"
#include "base/io.h"

struct format {
	const char *name;
	gpc_status (*decode)(const char *bytes, size_t n, struct gpc_profile **ret,
			     struct gpc_err *err);
};

static const struct format formats[] = {
	{"col", gpc_decode_col},
	{"pprof", gpc_decode_pprof},
	{"speedscope", gpc_decode_speedscope},
};

/* gzip's magic, or the first field of a Profile message: a ValueType whose
 * first field is a number. No text begins so. */
static bool looks_like_pprof(const char *bytes, size_t n)
{
	return (n > 2 && memcmp(bytes, "\x1f\x8b", 2) == 0) ||
	       (n > 3 && bytes[0] == 0x0a && bytes[1] < ' ' && bytes[2] == 0x08);
}

static const char *guess(const char *bytes, size_t n)
{
	size_t at = 0;

	if (looks_like_pprof(bytes, n))
		return "pprof";
	while (at < n && isspace((unsigned char)bytes[at]))
		at++;
	return at < n && bytes[at] == '{' ? "speedscope" : "col";
}

gpc_status gpc_decode(const char *bytes, size_t n, const char *format, struct gpc_profile **ret,
		      struct gpc_err *err)
{
	const char *name = format ? format : guess(bytes, n);

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].decode(bytes, n, ret, err);
	return gpc_err_set(err, GPC_E_CONFIG, "%.40s cannot be read; col, pprof and speedscope can",
			   name);
}

gpc_status gpc_profile_open_as(const char *path, const char *format, struct gpc_profile **ret,
			       struct gpc_err *err)
{
	autofree char *bytes = NULL;
	size_t n;

	gpc_try(gpc_read_file(AT_FDCWD, path, GPC_DECODE_FILE_MAX, &bytes, &n, err));
	if (gpc_decode(bytes, n, format, ret, err) < 0)
		return gpc_err_prefix(err, "%s", path);
	return GPC_OK;
}

gpc_status gpc_profile_open(const char *path, struct gpc_profile **ret, struct gpc_err *err)
{
	return gpc_profile_open_as(path, NULL, ret, err);
}

void gpc_profile_close(struct gpc_profile *p)
{
	gpc_profile_put(p);
}

const struct gpc_profile_api *gpc_profile_functions(void)
{
	return gpc_profile_api_get();
}
