/* SPDX-License-Identifier: Apache-2.0 */
/* gzip, back to what was compressed. */
#ifndef GPC_DECODE_INFLATE_H
#define GPC_DECODE_INFLATE_H

#include <stddef.h>

#include "base/err.h"

/* *ret is new. More than max bytes are GPC_E_BUDGET. */
gpc_status gpc_inflate(const char *bytes, size_t n, size_t max, char **ret, size_t *ret_n,
		       struct gpc_err *err);

#endif
