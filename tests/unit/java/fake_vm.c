/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_vm.h"

#include <stdio.h>

#define FAKE_REGS 24

static uint32_t keep(struct fake_vm *v, const char *text)
{
	for (uint32_t i = 0; i < v->n_texts; i++)
		if (strncmp(v->texts[i], text, sizeof v->texts[i] - 1) == 0)
			return i + 1;
	if (v->n_texts == FAKE_TEXTS)
		return 0;
	snprintf(v->texts[v->n_texts], sizeof v->texts[0], "%.95s", text);
	return ++v->n_texts;
}

static gpc_str make_str(struct gpc_writer *w, const char *s, uint32_t len)
{
	char text[96];

	snprintf(text, sizeof text, "%.*s", (int)len, s);
	return keep(w->impl, text);
}

static gpc_frame make_frame(struct gpc_writer *w, const struct gpc_frame_desc *f)
{
	static const char *const suffixes[] = {"", "_j", "_i", "_0", "_1"};
	struct fake_vm *v = w->impl;
	char text[128];

	v->n_made++;
	if (!f->function)
		return 0;
	snprintf(text, sizeof text, "%s%s", v->texts[f->function - 1], suffixes[f->suffix]);
	if (f->file)
		snprintf(v->file, sizeof v->file, "%s", v->texts[f->file - 1]);
	return GPC_FRAME_TAG | keep(v, text);
}

struct fake_vm *fake_vm_new(struct fake_jvm *jvm)
{
	struct fake_vm *v = calloc(1, sizeof *v);

	if (!v || !jvm) {
		free(v);
		fake_jvm_free(jvm);
		return NULL;
	}
	v->jvm = jvm;
	v->vm.mem = (struct jmem){&jvm->host, &jvm->target};
	v->vm.options = &v->options;
	v->writer = (struct gpc_writer){.struct_size = sizeof v->writer,
					.epoch = 1,
					.impl = v,
					.str = make_str,
					.frame = make_frame};
	v->walked = &v->vm;
	v->flags = GPC_PULL_EXACT;
	v->room = FAKE_FRAMES;
	gpc_java_places_init(&v->vm.places);
	gpc_java_methods_init(&v->vm.methods);
	gpc_java_threads_init(&v->vm.threads);
	gpc_java_recent_init(&v->vm.recent);
	return v;
}

void fake_vm_free(struct fake_vm *v)
{
	gpc_java_places_deinit(&v->vm.places);
	gpc_java_methods_deinit(&v->vm.methods);
	gpc_java_threads_deinit(&v->vm.threads);
	gpc_java_recent_deinit(&v->vm.recent);
	fake_jvm_free(v->jvm);
	free(v);
}

gpc_status fake_vm_attach(struct fake_vm *v)
{
	char why[128];
	gpc_status st = gpc_java_layout_read(&v->vm.mem, &v->vm.layout, why, sizeof why);

	if (st == GPC_OK)
		st = gpc_java_heaps_read(&v->vm.mem, &v->vm.layout, &v->vm.heaps);
	if (st == GPC_OK && v->vm.layout.at[S_CALL_STUB_RETURN])
		gpc_java_read_u64(&v->vm.mem, v->vm.layout.at[S_CALL_STUB_RETURN],
				  &v->vm.call_stub_return);
	return st;
}

gpc_status fake_vm_walk(struct fake_vm *v, uint64_t pc, uint64_t sp, uint64_t fp)
{
	uint64_t regs[FAKE_REGS] = {0};
	gpc_frame frames[FAKE_FRAMES];
	struct gpc_pull_sample s = {.struct_size = sizeof s,
				    .flags = v->flags,
				    .pc = pc,
				    .sp = sp,
				    .fp = fp,
				    .regs = regs,
				    .n_regs = FAKE_REGS,
				    .regs_mask = (UINT64_C(1) << FAKE_REGS) - 1,
				    .stack = v->copy,
				    .stack_bytes = v->copy_bytes};
	struct gpc_pull_out out = {.struct_size = sizeof out,
				   .room = v->room,
				   .frames = frames,
				   .writer = &v->writer};
	struct walk w;
	gpc_status st;

	if (v->copy_bytes)
		v->jvm->host.read_mem(&v->jvm->host, &v->jvm->target, sp, v->copy, v->copy_bytes);
	if (v->is_copy_old)
		v->copy[v->copy_bytes - 1] ^= 1;
	v->state = (struct gpc_step_state){.struct_size = sizeof v->state,
					   .is_leaf = !v->is_return,
					   .pc = pc,
					   .sp = sp,
					   .fp = fp};
	gpc_java_walk_init(&w, v->walked, &s, &v->state, &out);
	st = gpc_java_walk(&w);
	v->n = 0;
	for (uint32_t i = 0; i < out.n && st == GPC_OK; i++)
		v->frames[v->n++] = v->texts[(frames[i] & ~GPC_FRAME_MASK) - 1];
	return st;
}
