/* SPDX-License-Identifier: Apache-2.0 */
/* gprofiler-core convert IN OUT: a profile in another format. */
#ifndef GPC_PROGRAM_CONVERT_H
#define GPC_PROGRAM_CONVERT_H

#include "base/err.h"

/* from NULL: by content; to NULL: by the suffix of out. "-" is standard input or
 * output. A file at out is replaced at once, or not at all. */
gpc_status gpc_convert(const char *in, const char *out, const char *from, const char *to,
		       struct gpc_err *err);

#endif
