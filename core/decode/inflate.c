/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/inflate.h"

#include <stdlib.h>
#define ZLIB_CONST /* input may be const */
#include <zlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define WINDOW_BITS 15
#define IS_GZIP     16 /* added to the bits: gzip's frame instead of zlib's */
#define PIECE       ((size_t)64 * 1024)

struct inflater {
	z_stream z;
	vec(char) out;
	size_t n, max; /* n: bytes of the input */
};

static gpc_status make_room(struct inflater *i, struct gpc_err *err)
{
	if (i->out.n > i->max)
		return gpc_err_set(err, GPC_E_BUDGET, "gzip: more than %zu MB come out of it",
				   i->max >> 20);
	if (!vec_reserve(&i->out, PIECE))
		return gpc_err_nomem(err);
	i->z.next_out = (Bytef *)i->out.at + i->out.n;
	i->z.avail_out = (uInt)PIECE;
	return GPC_OK;
}

/* Files may hold several gzip streams one after another. */
static gpc_status run(struct inflater *i, struct gpc_err *err)
{
	int st = Z_OK;

	while (st != Z_STREAM_END || i->z.avail_in) {
		if (st == Z_STREAM_END && inflateReset(&i->z) != Z_OK)
			return gpc_err_set(err, GPC_E_INTERNAL, "gzip: cannot begin again");
		gpc_try(make_room(i, err));
		st = inflate(&i->z, Z_NO_FLUSH);
		i->out.n += PIECE - i->z.avail_out;
		if (st == Z_MEM_ERROR)
			return gpc_err_nomem(err);
		if (st != Z_OK && st != Z_STREAM_END)
			return gpc_err_set(err, GPC_E_CORRUPT, "gzip: byte %zu: expected %s",
					   i->n - i->z.avail_in,
					   st == Z_BUF_ERROR ? "more: the file is cut short"
					   : i->z.msg        ? i->z.msg
							     : "compressed bytes");
	}
	return GPC_OK;
}

static void inflater_deinit(struct inflater *i)
{
	inflateEnd(&i->z);
	vec_deinit(&i->out);
}

gpc_status gpc_inflate(const char *bytes, size_t n, size_t max, char **ret, size_t *ret_n,
		       struct gpc_err *err)
{
	autocall(inflater_deinit) struct inflater i = {.n = n, .max = max};

	if (n > UINT32_MAX)
		return gpc_err_set(err, GPC_E_BUDGET, "gzip: the file is too large");
	if (inflateInit2(&i.z, WINDOW_BITS + IS_GZIP) != Z_OK)
		return gpc_err_nomem(err);
	i.z.next_in = (const Bytef *)bytes;
	i.z.avail_in = (uInt)n;
	gpc_try(run(&i, err));
	*ret_n = i.out.n;
	*ret = take(i.out.at);
	return GPC_OK;
}
