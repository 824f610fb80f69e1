/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: a status to return and a text for the person who reads it. The
 * struct lives on the caller's stack, nothing is allocated. Passing NULL is
 * allowed wherever an err is taken. */
#ifndef GPC_BASE_ERR_H
#define GPC_BASE_ERR_H

#include <gpc/gpc.h>

/* Both return code, so that "return gpc_err_set(...)" reads well. */
gpc_status gpc_err_set(struct gpc_err *err, gpc_status code, const char *fmt, ...) GPC_PRINTF(3, 4);
/* The code follows errno (ENOENT and ESRCH are GPC_E_GONE, EACCES and EPERM
 * GPC_E_PERM, ENOMEM GPC_E_NOMEM, else GPC_E_SYSTEM); strerror is appended. */
gpc_status gpc_err_sys(struct gpc_err *err, const char *fmt, ...) GPC_PRINTF(2, 3);
/* Puts "text: " before what err already says; returns err's code. */
gpc_status gpc_err_prefix(struct gpc_err *err, const char *fmt, ...) GPC_PRINTF(2, 3);
gpc_status gpc_err_nomem(struct gpc_err *err);

/* A word for a status: "gone", "permission" ... */
const char *gpc_status_name(gpc_status code);

/* Returns from the calling function when expr fails. */
#define gpc_try(expr)                    \
	do {                             \
		gpc_status st_ = (expr); \
		if (st_ < 0)             \
			return st_;      \
	} while (0)

#endif
