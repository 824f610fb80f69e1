/* SPDX-License-Identifier: Apache-2.0 */
#include <gpc/log.h>

#include "walk.h"

#define BUDGET_NS  UINT64_C(1200000) /* for what is not known yet; then the sample is given up */
#define FRAMES_MAX 4096
#define FRAME_MAX  (1u << 20)

JAVA_HOT void gpc_java_walk_init(struct walk *w, struct vm *vm, const struct gpc_pull_sample *s,
				 struct gpc_step_state *state, struct gpc_pull_out *out)
{
	w->vm = vm;
	w->sample = s;
	w->state = state;
	w->out = out;
	w->now_ns = vm->mem.host->now_ns(vm->mem.host);
	w->deadline_ns = w->now_ns + BUDGET_NS;
	w->next = (struct java_anchor){0};
	w->place.pc = 0;
	w->place.blob.name[0] = '\0';
	w->is_stale = w->is_full = w->is_stub = false;
	w->chunk_n = 0;
	w->n_checked = 0;
	w->brief.key = 0;
	w->interp_fp = 0;
}

/* ---- one frame up --------------------------------------------------------------------- */

JAVA_HOT static bool follow_shape(struct walk *w, const struct frame_shape *shape,
				  bool *is_plausible)
{
	struct gpc_step_state *s = w->state;
	uint64_t pc, fp = s->fp, sp = s->sp;

	if (!gpc_java_stack(w, sp + (uint64_t)shape->ra, &pc) ||
	    (shape->fp >= 0 && !gpc_java_stack(w, sp + (uint64_t)shape->fp, &fp)))
		return false;
	*is_plausible = gpc_java_is_caller(w, pc, sp + (uint64_t)shape->ra + 8, fp);
	if (!*is_plausible)
		return true;
	s->pc = pc;
	s->sp = sp + (uint64_t)shape->ra + 8;
	s->fp = fp;
	s->is_leaf = 0;
	return true;
}

/* By its shape. Code that runs beside the frame (barriers that spill registers) moves
 * sp down: of a leaf, and of a return address that no call of Java has left, the
 * return address may be further up. */
JAVA_HOT static gpc_status shape_up(struct walk *w, const struct frame_shape *shape, bool is_call)
{
	bool is_plausible = false;

	if (!follow_shape(w, shape, &is_plausible))
		return GPC_E_CORRUPT;
	if (is_plausible || (!is_call && gpc_java_search_from(w, (uint32_t)shape->ra)))
		return GPC_OK;
	return GPC_E_CORRUPT;
}

/* The frame's return address was replaced; the true one, which is in the same code,
 * tells what was executed. */
static gpc_status undo_deopt(struct walk *w, const struct place *p)
{
	struct gpc_step_state *s = w->state;
	struct blob blob = p->blob;
	uint64_t pc;

	if (!gpc_java_stack(w, s->sp + (uint64_t)p->shape.ra, &pc) || pc < blob.code_begin ||
	    pc > blob.code_end || gpc_java_blob_is_deopt(&blob, pc))
		return GPC_E_CORRUPT;
	s->pc = pc;
	return GPC_OK;
}

/* The anchor in a wrapper. That is a variable of C++ on the same stack, a little above
 * (OpenJDK runtime/javaCalls.cpp, JavaCalls::call_helper). */
JAVA_HOT static struct java_anchor left_at(struct walk *w, uint64_t addr)
{
	const struct layout *l = &w->vm->layout;
	struct java_anchor a, none = {0};

	if (!gpc_java_has_anchors(l) || addr <= w->state->sp || addr - w->state->sp > FRAME_MAX ||
	    addr % 8)
		return none;
	if (!gpc_java_stack(w, addr + (uint32_t)l->field[F_ANCHOR_SP], &a.sp) || !a.sp ||
	    !gpc_java_stack(w, addr + (uint32_t)l->field[F_ANCHOR_PC], &a.pc) ||
	    !gpc_java_stack(w, addr + (uint32_t)l->field[F_ANCHOR_FP], &a.fp))
		return none;
	/* As in a thread's anchor. */
	if (!a.pc && !gpc_java_stack(w, a.sp - 8, &a.pc))
		return none;
	return gpc_java_anchor_is(&a) ? a : none;
}

/* C++ called Java: its frame is at fp. The wrapper it passed knows where Java was
 * left before. */
JAVA_HOT static gpc_status entry_up(struct walk *w)
{
	struct gpc_step_state *s = w->state;
	const struct layout *l = &w->vm->layout;
	uint64_t fp = s->fp, pc, saved, wrapper;

	if (fp % 8 || fp < s->sp || fp - s->sp > FRAME_MAX || !gpc_java_stack(w, fp + 8, &pc) ||
	    !gpc_java_stack(w, fp, &saved))
		return GPC_E_CORRUPT;
	if (gpc_java_has(l, F_WRAPPER_ANCHOR) &&
	    gpc_java_stack(w, fp + (uint64_t)(8 * (int64_t)l->entry_wrapper), &wrapper) &&
	    gpc_java_is_pointer(wrapper))
		w->next = left_at(w, wrapper + (uint32_t)l->field[F_WRAPPER_ANCHOR]);
	s->pc = pc;
	s->sp = fp + 16;
	s->fp = saved;
	s->is_leaf = 0;
	return GPC_OK;
}

JAVA_HOT static void add_all(struct walk *w, const struct place *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		gpc_java_add(w, p->frames[i]);
}

#define CALL_BYTES 5
#define STUB_BYTES 32

/* A call of a method without compiled code first goes to a few instructions behind the
 * caller's own code (OpenJDK cpu/x86/compiledIC_x86.cpp, emit_to_interp_stub). That is no
 * frame: what is executed there is the call. */
JAVA_HOT static bool leave_call_stub(struct walk *w, uint64_t code_begin)
{
	struct gpc_step_state *s = w->state;
	uint8_t code[CALL_BYTES];
	uint64_t ra, to;
	int32_t offset;

	if (!gpc_java_stack(w, s->sp, &ra) || ra < code_begin + CALL_BYTES || ra > s->pc ||
	    !gpc_java_read(&w->vm->mem, ra - CALL_BYTES, code, CALL_BYTES) || code[0] != 0xe8)
		return false;
	memcpy(&offset, code + 1, sizeof offset);
	to = ra + (uint64_t)(int64_t)offset;
	/* One that calls itself begins before its calls. */
	if (to < ra || to > s->pc || s->pc - to >= STUB_BYTES)
		return false;
	s->pc = ra;
	s->sp += 8;
	s->is_leaf = 0;
	return true;
}

/* Of a place that is remembered in short. */
JAVA_HOT static gpc_status brief_up(struct walk *w, const struct brief *b)
{
	struct frame_shape shape = {b->ra, b->has_fp ? b->ra - 8 : -1};
	bool is_call = !w->state->is_leaf;

	if (w->state->is_leaf && leave_call_stub(w, w->state->pc - b->at))
		return GPC_OK;
	w->is_stub = b->rule == RULE_ENTRY;
	for (uint32_t i = 0; i < b->n; i++)
		gpc_java_add(w, gpc_java_brief_frame(b, i));
	return b->rule == RULE_SHAPE         ? shape_up(w, &shape, is_call)
	       : b->rule == RULE_INTERPRETER ? gpc_java_interp_up(w)
					     : entry_up(w);
}

JAVA_HOT static gpc_status up(struct walk *w)
{
	const struct brief *b = gpc_java_brief(w, w->state->pc, !w->state->is_leaf);
	const struct place *p;
	struct frame_shape shape;
	bool is_call;

	if (b)
		return brief_up(w, b);
	p = gpc_java_place(w, w->state->pc, !w->state->is_leaf);
	if (!p)
		return GPC_E_CORRUPT;
	if (w->state->is_leaf && p->blob.kind == BLOB_COMPILED &&
	    leave_call_stub(w, p->blob.code_begin))
		return GPC_OK;
	shape = p->shape;
	is_call = p->is_call && p->is_return;
	if (p->rule == RULE_DEOPT)
		return undo_deopt(w, p);
	w->is_stub = p->blob.kind >= BLOB_STUBS;
	add_all(w, p);
	switch (p->rule) {
	case RULE_SHAPE:
		return shape_up(w, &shape, is_call);
	case RULE_INTERPRETER:
		return gpc_java_interp_up(w);
	case RULE_ENTRY:
		return entry_up(w);
	case RULE_BARRIER:
		if (gpc_java_heap_frames(w, w->state->pc))
			return GPC_OK;
		return gpc_java_search_caller(w) ? GPC_OK : GPC_E_CORRUPT;
	default:
		return gpc_java_search_caller(w) ? GPC_OK : GPC_E_CORRUPT;
	}
}

JAVA_HOT void gpc_java_go_on(const struct vm *vm, struct java_anchor anchor,
			     struct gpc_step_state *state)
{
	bool is_known = anchor.sp > state->sp && gpc_java_heaps_has(&vm->heaps, anchor.pc - 1);

	state->next_sp = is_known ? anchor.sp : 0;
	state->next_pc = anchor.pc;
	state->next_fp = anchor.fp;
}

/* Compiled methods one above the other, as far as all is known of them: most of a stack. */
JAVA_HOT static void climb(struct walk *w)
{
	struct gpc_step_state *s = w->state;
	const struct brief *b = s->is_leaf ? NULL : gpc_java_brief(w, s->pc, true);

	while (b && b->rule == RULE_SHAPE) {
		uint64_t at = s->sp + (uint64_t)(int64_t)b->ra, fp = s->fp, pc;
		uint32_t n = w->out->n;

		if (!gpc_java_stack(w, at, &pc) || (b->has_fp && !gpc_java_stack(w, at - 8, &fp)))
			return;
		for (uint32_t i = 0; i < b->n; i++)
			gpc_java_add(w, gpc_java_brief_frame(b, i));
		if (w->is_full)
			return;
		b = gpc_java_brief(w, pc, true);
		if (!b || b->rule == RULE_INTERPRETER) {
			w->out->n = n;
			return;
		}
		w->is_stub = false;
		s->pc = pc;
		s->sp = at + 8;
		s->fp = fp;
	}
}

/* ---- the whole run ------------------------------------------------------------------------ */

static gpc_status end_cut(struct walk *w)
{
	w->out->frames[w->out->n++] = gpc_java_plain_frame(w->out->writer, "[stack cut]");
	w->state->pc = 0;
	return GPC_OK;
}

/* For whoever looks why stacks are missing. */
static gpc_status give_up(struct walk *w, const struct gpc_step_state *at, gpc_status st)
{
	const struct gpc_step_state *s = w->state;

	/* Nothing was looked up: the place is still an older one's. */
	if (at->pc != w->place.pc)
		w->place.blob.name[0] = '\0';
	gpc_host_logf(
		w->vm->mem.host, GPC_TRACE,
		"no caller: pc %llx in %s, sp +%llx, fp +%llx, %s, after %u frames; sampled pc "
		"%llx",
		(unsigned long long)at->pc, w->place.blob.name[0] ? w->place.blob.name : "no code",
		(unsigned long long)(s->sp - w->sample->sp),
		(unsigned long long)(s->fp - w->sample->sp), s->is_leaf ? "leaf" : "return",
		w->out->n, (unsigned long long)w->sample->pc);
	return st;
}

JAVA_HOT gpc_status gpc_java_walk(struct walk *w)
{
	struct gpc_step_state *s = w->state;

	if (w->out->room < 2)
		return GPC_E_BUDGET;
	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		struct gpc_step_state before;
		gpc_status st;

		climb(w);
		if (w->is_full)
			return end_cut(w);
		before = *s;
		if (!gpc_java_heaps_has(&w->vm->heaps, s->is_leaf ? s->pc : s->pc - 1)) {
			gpc_java_go_on(w->vm, w->next, s);
			return GPC_OK;
		}
		st = up(w);
		if (w->is_full || (st < 0 && w->is_stale && w->out->n))
			return end_cut(w);
		if (st < 0)
			return give_up(w, &before, st);
		if (s->sp < before.sp)
			return give_up(w, &before, GPC_E_CORRUPT);
	}
	return GPC_E_CORRUPT;
}
