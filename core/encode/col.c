/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "encode/encode.h"
#include "encode/text.h"

/* Readers take a line that begins with '#' for a comment. A space, which they
 * strip from names, saves it. */
static void put_first(struct gpc_out *o, const char *s)
{
	while (*s > 0 && *s <= ' ')
		s++;
	if (*s == '#')
		gpc_out_bytes(o, " ", 1);
}

static void put_prefix(struct gpc_out *o, const struct gpc_profile *p, const struct gpc_stack *s)
{
	if (gpc_profile_prefix_index(p)) {
		gpc_out_u64(o, s->metadata);
		gpc_out_bytes(o, ";", 1);
	} else {
		put_first(o, gpc_profile_prefix_container(p) ? s->container : s->comm);
	}
	if (gpc_profile_prefix_container(p)) {
		gpc_out_field(o, s->container);
		gpc_out_bytes(o, ";", 1);
	}
	if (!gpc_out_field(o, s->comm))
		gpc_out_text(o, "[unknown]");
	if (!gpc_is_blank(s->appid)) {
		gpc_out_text(o, ";appid: ");
		gpc_out_field(o, s->appid);
	}
}

static void put_frames(struct gpc_out *o, const struct gpc_profile *p, const struct gpc_stack *s)
{
	if (!s->n_frames) {
		gpc_out_text(o, ";" GPC_OVERFLOW_TEXT);
		return;
	}
	for (uint32_t i = s->n_frames; i-- > 0;) {
		struct gpc_frame_text text = {.struct_size = sizeof text,
					      .function = "",
					      .suffix = ""};

		gpc_profile_frame(p, s->frames[i], &text);
		gpc_out_bytes(o, ";", 1);
		gpc_frame_folded(o, &text);
	}
}

void gpc_frame_folded(struct gpc_out *o, const struct gpc_frame_text *f)
{
	autofree char *made = NULL;
	const char *name = gpc_frame_shown(f, &made);

	/* Without memory the function alone has to do. */
	gpc_out_field(o, name ? name : f->function);
	if (!*f->suffix)
		return;
	gpc_out_text(o, "_[");
	gpc_out_field(o, f->suffix);
	gpc_out_bytes(o, "]", 1);
}

gpc_status gpc_encode_col(const struct gpc_profile *p, gpc_out_fn out, void *ctx)
{
	autofree struct gpc_out *o = malloc(sizeof *o);
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;

	if (!o)
		return GPC_E_NOMEM;
	gpc_out_init(o, out, ctx);
	gpc_profile_info(p, &info);
	gpc_out_text(o, "# ");
	gpc_out_text(o, info.header);
	gpc_out_bytes(o, "\n", 1);
	for (bool first = true; o->status >= 0 && gpc_profile_next(p, &cursor, &stack);
	     first = false) {
		if (stack.event != 0)
			break; /* .col has place for one event */
		if (!first)
			gpc_out_bytes(o, "\n", 1);
		put_prefix(o, p, &stack);
		put_frames(o, p, &stack);
		gpc_out_bytes(o, " ", 1);
		gpc_out_u64(o, stack.value);
	}
	return gpc_out_flush(o);
}
