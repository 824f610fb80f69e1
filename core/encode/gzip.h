/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses what is written, piece by piece, into a gpc_out. */
#ifndef GPC_ENCODE_GZIP_H
#define GPC_ENCODE_GZIP_H

#define ZLIB_CONST /* input may be const */
#include <zlib.h>

#include "encode/encode.h"

struct gpc_gzip {
	z_stream z;
	struct gpc_out *out;
};

gpc_status gpc_gzip_init(struct gpc_gzip *g, struct gpc_out *out);
/* Failures are the out's, which remembers them. */
void gpc_gzip_write(struct gpc_gzip *g, const void *bytes, size_t n);
/* The end of the stream; out still has to be flushed. */
void gpc_gzip_finish(struct gpc_gzip *g);
void gpc_gzip_deinit(struct gpc_gzip *g);

#endif
