/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "encode/encode.h"
#include "encode/text.h"

struct format {
	const char *name;
	gpc_status (*encode)(const struct gpc_profile *p, gpc_out_fn out, void *ctx);
	bool is_plain; /* has no place for threads and addresses */
};

static const struct format formats[] = {
	{"col", gpc_encode_col, true},
	{"html", gpc_encode_html, true},
	{"speedscope", gpc_encode_speedscope, true},
	{"pprof", gpc_encode_pprof, false},
	{"firefox", gpc_encode_firefox, false},
};

static gpc_status encode_plain(const struct format *f, const struct gpc_profile *p, gpc_out_fn out,
			       void *ctx)
{
	struct gpc_profile *plain;
	gpc_status st;

	/* The reference that this may take is the only thing that changes. */
	gpc_try(gpc_profile_plain((struct gpc_profile *)(uintptr_t)p, &plain, NULL));
	st = f->encode(plain, out, ctx);
	gpc_profile_put(plain);
	return st;
}

gpc_status gpc_encode(const struct gpc_profile *p, const char *format, gpc_out_fn out, void *ctx)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		const struct format *f = &formats[i];

		if (strcmp(f->name, format) == 0)
			return f->is_plain ? encode_plain(f, p, out, ctx) : f->encode(p, out, ctx);
	}
	return GPC_E_CONFIG;
}

const struct gpc_profile_api *gpc_profile_api_get(void)
{
	static const struct gpc_profile_api api = {
		.struct_size = sizeof api,
		.info = gpc_profile_info,
		.frame = gpc_profile_frame,
		.event = gpc_profile_event,
		.next = gpc_profile_next,
		.encode = gpc_encode,
		.text = gpc_frame_line,
	};

	return &api;
}
