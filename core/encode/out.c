/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "encode/encode.h"

static void hand_on(struct gpc_out *o, const void *bytes, size_t n)
{
	if (n && o->status >= 0)
		o->status = o->fn(o->ctx, bytes, n);
}

void gpc_out_init(struct gpc_out *o, gpc_out_fn fn, void *ctx)
{
	o->fn = fn;
	o->ctx = ctx;
	o->status = GPC_OK;
	o->n = 0;
}

void gpc_out_bytes(struct gpc_out *o, const void *bytes, size_t n)
{
	if (n > sizeof o->buf - o->n) {
		hand_on(o, o->buf, o->n);
		o->n = 0;
	}
	if (n > sizeof o->buf) {
		hand_on(o, bytes, n);
		return;
	}
	memcpy(o->buf + o->n, bytes, n);
	o->n += n;
}

void gpc_out_text(struct gpc_out *o, const char *text)
{
	gpc_out_bytes(o, text, strlen(text));
}

void gpc_out_u64(struct gpc_out *o, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	gpc_out_bytes(o, digits + at, sizeof digits - at);
}

gpc_status gpc_out_flush(struct gpc_out *o)
{
	hand_on(o, o->buf, o->n);
	o->n = 0;
	return o->status;
}
