/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static gpc_status status_of_errno(int sys)
{
	switch (sys) {
	case ENOENT:
	case ESRCH:
		return GPC_E_GONE;
	case EACCES:
	case EPERM:
		return GPC_E_PERM;
	case ENOMEM:
		return GPC_E_NOMEM;
	case ETIMEDOUT:
		return GPC_E_TIMEOUT;
	default:
		return GPC_E_SYSTEM;
	}
}

gpc_status gpc_err_set(struct gpc_err *err, gpc_status code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->sys = 0;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);
	return code;
}

gpc_status gpc_err_sys(struct gpc_err *err, const char *fmt, ...)
{
	int sys = errno;
	gpc_status code = status_of_errno(sys);
	va_list args;
	size_t n;

	if (!err)
		return code;
	err->code = code;
	err->sys = sys;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof err->text - n, ": %s", strerrordesc_np(sys));
	return code;
}

gpc_status gpc_err_prefix(struct gpc_err *err, const char *fmt, ...)
{
	char old[GPC_ERR_TEXT];
	va_list args;
	size_t n;

	if (!err)
		return GPC_E_INTERNAL;
	memcpy(old, err->text, sizeof old);
	va_start(args, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof err->text - n, ": %s", old);
	return err->code;
}

gpc_status gpc_err_nomem(struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_NOMEM, "out of memory");
}

const char *gpc_status_name(gpc_status code)
{
	static const char *const names[] = {
		"ok",      "gone",     "no permission", "unsupported", "busy",
		"timeout", "budget",   "corrupt",       "no memory",   "bad configuration",
		"system",  "internal", "retry",         "skipped",
	};

	if (code > 0 || code <= -(gpc_status)(sizeof names / sizeof *names))
		return "unknown status";
	return names[-code];
}
