/* SPDX-License-Identifier: Apache-2.0 */
#include "source/pull_writer.h"

#include <string.h>

#include "base/hot.h"

static gpc_status no_room(struct gpc_writer *w, uint32_t bytes)
{
	(void)w;
	(void)bytes;
	return GPC_E_BUDGET;
}

static gpc_str make_str(struct gpc_writer *w, const char *s, uint32_t len)
{
	struct gpc_pull_writer *pw = w->impl;

	return gpc_names_collected_str(pw->names, s, len);
}

/* The collector counts its suffixes from 1. */
static gpc_str suffix_of(struct gpc_pull_writer *w, uint16_t number)
{
	for (uint16_t i = 1; number && w->suffixes && w->suffixes[i - 1]; i++)
		if (i == number)
			return gpc_names_str(w->names, w->suffixes[i - 1],
					     strlen(w->suffixes[i - 1]));
	return 0;
}

static gpc_frame make_frame(struct gpc_writer *w, const struct gpc_frame_desc *f)
{
	struct gpc_pull_writer *pw = w->impl;
	struct gpc_frame_desc desc = {0};
	size_t size = f->struct_size < sizeof desc ? f->struct_size : sizeof desc;
	struct gpc_frame_entry e;

	memcpy(&desc, f, size);
	e = (struct gpc_frame_entry){.function = desc.function,
				     .file = desc.file,
				     .module = desc.module,
				     .suffix = suffix_of(pw, desc.suffix),
				     .line = desc.line,
				     .flags = desc.flags};
	return gpc_names_collected_frame(pw->names, &e);
}

GPC_HOT void gpc_pull_writer_init(struct gpc_pull_writer *w, struct gpc_names *names,
				  const char *const *suffixes)
{
	memset(w, 0, sizeof *w);
	w->names = names;
	w->suffixes = suffixes;
	w->writer = (struct gpc_writer){.struct_size = sizeof w->writer,
					.epoch = gpc_names_epoch(names),
					.impl = w,
					.room = no_room,
					.str = make_str,
					.frame = make_frame};
}
