/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a command makes: to standard output ("-"), into a pipe or device
 * as it is, or to a file that is replaced at once or not at all. */
#ifndef GPC_PROGRAM_OUTFILE_H
#define GPC_PROGRAM_OUTFILE_H

#include "base/err.h"

typedef gpc_status (*gpc_outfile_put)(void *ctx, const void *bytes, uint64_t n);
/* Calls put with ctx, piece after piece; what names it in errors. */
struct gpc_outfile_maker {
	const char *what;
	const void *arg;
	gpc_status (*make)(const void *arg, gpc_outfile_put put, void *ctx);
};

gpc_status gpc_outfile_write(const char *path, const struct gpc_outfile_maker *maker,
			     struct gpc_err *err);

#endif
