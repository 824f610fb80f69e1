/* SPDX-License-Identifier: Apache-2.0 */
/* Return addresses in frames that nothing describes: stubs, adapters, the few
 * instructions around calls. A word is one when what it points to can only be
 * where a call returns to, and the frame there is as it must be. */
#include "walk.h"

#define SEARCH_WORDS 128
#define FRAME_WORDS  40
#define FRAME_MAX    (1u << 20)

/* Whoever goes up from there needs it again. */
JAVA_HOT static bool is_interp_frame(struct walk *w, uint64_t fp, uint64_t sp)
{
	w->interp_fp = 0;
	if (!gpc_java_interp_frame(w, fp, sp, 0, &w->interp))
		return false;
	w->interp_fp = fp;
	w->interp_sp = sp;
	return true;
}

JAVA_HOT bool gpc_java_is_caller(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	const struct brief *b = gpc_java_brief(w, pc, true);
	const struct place *p;

	if (b)
		return b->rule != RULE_INTERPRETER || is_interp_frame(w, fp, sp);
	if (!gpc_java_heaps_has(&w->vm->heaps, pc))
		return false;
	p = gpc_java_place(w, pc, true);
	if (!p)
		return false;
	switch (p->blob.kind) {
	case BLOB_COMPILED:
		if (!p->is_call && p->rule != RULE_DEOPT && !w->is_stub)
			return false;
		break;
	case BLOB_INTERPRETER:
		/* It returns to places that calls are not made at. */
		return is_interp_frame(w, fp, sp);
	case BLOB_FRAMELESS:
		return false;
	default:
		break;
	}
	return p->rule == RULE_DEOPT || p->rule == RULE_BARRIER || p->is_after_call;
}

static bool try_word(struct walk *w, uint64_t at, uint64_t fp)
{
	uint64_t pc;

	if (!gpc_java_stack(w, at, &pc) || !gpc_java_is_caller(w, pc, at + 8, fp))
		return false;
	w->state->pc = pc;
	w->state->sp = at + 8;
	w->state->fp = fp;
	w->state->is_leaf = 0;
	return true;
}

bool gpc_java_search_caller(struct walk *w)
{
	struct gpc_step_state *s = w->state;
	uint64_t sp = s->sp, fp = s->fp, saved;

	if (s->is_leaf && try_word(w, sp, fp)) /* no frame (yet) */
		return true;
	/* A frame of its own at fp */
	if (fp % 8 == 0 && fp >= sp && fp - sp <= FRAME_MAX && gpc_java_stack(w, fp, &saved) &&
	    try_word(w, fp + 8, saved))
		return true;
	for (uint64_t at = sp; at < sp + 8 * SEARCH_WORDS; at += 8) {
		/* fp was pushed first, or is where it was. */
		if (at > sp && gpc_java_stack(w, at - 8, &saved) && try_word(w, at, saved))
			return true;
		if (try_word(w, at, fp))
			return true;
	}
	return false;
}

bool gpc_java_search_from(struct walk *w, uint32_t bytes)
{
	struct gpc_step_state *s = w->state;
	uint64_t sp = s->sp, fp = s->fp, saved;

	if (s->is_leaf &&
	    (try_word(w, sp, fp) || (gpc_java_stack(w, sp, &saved) && try_word(w, sp + 8, saved))))
		return true;
	for (uint64_t at = sp + bytes + 8; at < sp + bytes + 8 * FRAME_WORDS; at += 8)
		if (gpc_java_stack(w, at - 8, &saved) && try_word(w, at, saved))
			return true;
	return false;
}
