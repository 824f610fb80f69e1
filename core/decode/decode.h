/* SPDX-License-Identifier: Apache-2.0 */
/* Readers: bytes of a file as a profile. What they read was written by anybody;
 * errors say the place (a line, a byte) and what was expected there. */
#ifndef GPC_DECODE_DECODE_H
#define GPC_DECODE_DECODE_H

#include <stddef.h>

#include "base/err.h"
#include "profile/profile.h"

/* A larger file is refused, and so is a smaller one that grows over it. */
#define GPC_DECODE_FILE_MAX     ((size_t)512 << 20)
#define GPC_DECODE_INFLATED_MAX ((size_t)1024 << 20)

/* The inverse of gpc_encode_col. */
gpc_status gpc_decode_col(const char *text, size_t n, struct gpc_profile **ret,
			  struct gpc_err *err);
/* A pprof protobuf, gzipped or not. */
gpc_status gpc_decode_pprof(const char *bytes, size_t n, struct gpc_profile **ret,
			    struct gpc_err *err);
/* speedscope's own format, "sampled" and "evented" profiles. */
gpc_status gpc_decode_speedscope(const char *text, size_t n, struct gpc_profile **ret,
				 struct gpc_err *err);
/* format NULL: by what the bytes look like. */
gpc_status gpc_decode(const char *bytes, size_t n, const char *format, struct gpc_profile **ret,
		      struct gpc_err *err);

#endif
