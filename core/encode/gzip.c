/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/gzip.h"

#include <limits.h>

#define WINDOW_BITS 15
#define AS_GZIP     16 /* added to the bits: gzip's frame instead of zlib's */
#define MEM_LEVEL   8

gpc_status gpc_gzip_init(struct gpc_gzip *g, struct gpc_out *out)
{
	*g = (struct gpc_gzip){.out = out};
	return deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + AS_GZIP,
			    MEM_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK
		       ? GPC_OK
		       : GPC_E_NOMEM;
}

static void run(struct gpc_gzip *g, int flush)
{
	uint8_t buf[4096];

	do {
		g->z.next_out = buf;
		g->z.avail_out = sizeof buf;
		deflate(&g->z, flush);
		gpc_out_bytes(g->out, buf, sizeof buf - g->z.avail_out);
	} while (!g->z.avail_out);
}

void gpc_gzip_write(struct gpc_gzip *g, const void *bytes, size_t n)
{
	while (n) {
		uInt piece = n < UINT_MAX ? (uInt)n : UINT_MAX;

		g->z.next_in = (const Bytef *)bytes;
		g->z.avail_in = piece;
		run(g, Z_NO_FLUSH);
		bytes = (const char *)bytes + piece;
		n -= piece;
	}
}

void gpc_gzip_finish(struct gpc_gzip *g)
{
	run(g, Z_FINISH);
}

void gpc_gzip_deinit(struct gpc_gzip *g)
{
	deflateEnd(&g->z);
}
