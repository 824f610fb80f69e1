/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as the profile has them. */
#include <stdio.h>

#include "names.h"
#include "walk.h"

JAVA_HOT void gpc_java_add(struct walk *w, gpc_frame frame)
{
	/* The last one is kept for the mark of a cut. */
	if (w->out->n + 1 >= w->out->room)
		w->is_full = true;
	else if (frame)
		w->out->frames[w->out->n++] = frame;
}

gpc_frame gpc_java_plain_frame(struct gpc_writer *out, const char *name)
{
	struct gpc_frame_desc d = {.struct_size = sizeof d};

	d.function = out->str(out, name, (uint32_t)strlen(name));
	return out->frame(out, &d);
}

JAVA_HOT bool gpc_java_known_method(struct walk *w, uint64_t addr, struct method *ret)
{
	if (!gpc_java_is_pointer(addr))
		return false;
	if (gpc_java_recent_method(&w->vm->recent, addr, w->now_ns, ret))
		return true;
	if (!gpc_java_method_read(&w->vm->mem, &w->vm->layout, addr, ret))
		return false;
	gpc_java_recent_method_is(&w->vm->recent, ret, w->now_ns);
	return true;
}

/* ---- names ---------------------------------------------------------------------------- */

static gpc_str function_of(struct walk *w, const struct method *method,
			   const struct method_texts *texts, uint32_t line)
{
	const struct options *o = w->vm->options;
	struct gpc_writer *out = w->out->writer;
	struct java_name name = {.class_name = texts->class_name,
				 .method = texts->name,
				 .signature = texts->signature,
				 .modifiers = method->access,
				 .has_modifiers = o->method_modifiers,
				 .line = line};
	char text[GPC_JAVA_NAME_MAX];
	uint32_t n = gpc_java_name(&name, text, sizeof text);

	return out->str(out, text, n);
}

static bool read_names(struct walk *w, const struct method *method, uint32_t line,
		       struct method_names *ret)
{
	struct method_texts texts;
	struct gpc_writer *out = w->out->writer;

	if (!gpc_java_method_texts(&w->vm->mem, &w->vm->layout, method, &texts))
		return false;
	gpc_java_name_stabilize(texts.class_name);
	*ret = (struct method_names){.method = *method, .epoch = out->epoch};
	ret->function = function_of(w, method, &texts, line);
	ret->file = out->str(out, texts.file, (uint32_t)strlen(texts.file));
	return ret->function != 0;
}

static gpc_frame make_frame(struct walk *w, const struct method_names *names, uint32_t line,
			    uint32_t suffix)
{
	struct gpc_writer *out = w->out->writer;
	struct gpc_frame_desc d = {.struct_size = sizeof d,
				   .flags = suffix == SUFFIX_INLINED ? GPC_FRAME_INLINED : 0,
				   .function = names->function,
				   .file = names->file,
				   .line = line,
				   .suffix = (uint16_t)suffix};

	return out->frame(out, &d);
}

JAVA_HOT gpc_frame gpc_java_frame(struct walk *w, uint64_t addr, int32_t bci, uint32_t suffix)
{
	struct method_cache *cache = &w->vm->methods;
	struct method_names names = {0};
	struct method method;
	uint32_t line = 0;

	if (!gpc_java_known_method(w, addr, &method))
		return 0;
	if (w->vm->options->line_numbers == JAVA_LINES_OF_FUNCTION)
		line = gpc_java_method_line(&w->vm->mem, &w->vm->layout, &method, bci);
	if (line)
		return read_names(w, &method, line, &names) ? make_frame(w, &names, line, suffix)
							    : 0;
	if (!gpc_java_methods_get(cache, addr, &names) || names.epoch != w->out->writer->epoch ||
	    !gpc_java_method_same(&names.method, &method))
		if (!read_names(w, &method, 0, &names))
			return 0;
	if (!names.frames[suffix]) {
		names.frames[suffix] = make_frame(w, &names, 0, suffix);
		gpc_java_methods_put(cache, &names);
	}
	return names.frames[suffix];
}
