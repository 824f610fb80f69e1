/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders: a profile as bytes, streamed through out in order. */
#ifndef GPC_ENCODE_ENCODE_H
#define GPC_ENCODE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

typedef gpc_status (*gpc_out_fn)(void *ctx, const void *bytes, uint64_t n);

/* A buffer of 64 KiB in front of out; remembers the first failure. */
struct gpc_out {
	gpc_out_fn fn;
	void *ctx;
	gpc_status status;
	size_t n;
	char buf[65536];
};
void gpc_out_init(struct gpc_out *o, gpc_out_fn fn, void *ctx);
void gpc_out_bytes(struct gpc_out *o, const void *bytes, size_t n);
void gpc_out_text(struct gpc_out *o, const char *text);
void gpc_out_u64(struct gpc_out *o, uint64_t value);
gpc_status gpc_out_flush(struct gpc_out *o);

/* The frame of a row that has none: its process had more distinct stacks than
 * the memory limit allows. */
#define GPC_OVERFLOW_TEXT "[stacks over the memory limit]"

/* The text of one frame as .col has it: function ("[unknown]" for an empty one;
 * an unknown function has been named by its module before), suffix. */
void gpc_frame_folded(struct gpc_out *o, const struct gpc_frame_text *f);

/* gProfiler's collapsed format (docs/formats.md): "# " header line, then one line
 * a stack, no newline after the last. */
gpc_status gpc_encode_col(const struct gpc_profile *p, gpc_out_fn out, void *ctx);
/* One self-contained flame graph page. */
gpc_status gpc_encode_html(const struct gpc_profile *p, gpc_out_fn out, void *ctx);
/* The same page, comparing two profiles; after NULL: before alone. */
gpc_status gpc_encode_diff_html(const struct gpc_profile *before, const struct gpc_profile *after,
				gpc_out_fn out, void *ctx);

/* pprof's profile.proto, gzipped. */
gpc_status gpc_encode_pprof(const struct gpc_profile *p, gpc_out_fn out, void *ctx);
/* speedscope's file format. */
gpc_status gpc_encode_speedscope(const struct gpc_profile *p, gpc_out_fn out, void *ctx);
/* The Firefox Profiler's processed format. */
gpc_status gpc_encode_firefox(const struct gpc_profile *p, gpc_out_fn out, void *ctx);

/* By name: "col", "html", "pprof", "speedscope", "firefox". GPC_E_CONFIG for an
 * unknown one. */
gpc_status gpc_encode(const struct gpc_profile *p, const char *format, gpc_out_fn out, void *ctx);

#endif
