/* SPDX-License-Identifier: Apache-2.0 */
/* The template interpreter's frames (OpenJDK cpu/x86/frame_x86.hpp): from fp
 * downwards lie the caller's sp, last sp, the method, ..., the place in its
 * bytecodes. */
#include "walk.h"

#define SENDER_SP  (-1)
#define METHOD     (-3)
#define FRAME_MAX  (1u << 20)
#define ACC_NATIVE 0x100

static bool word(struct walk *w, uint64_t fp, int at, uint64_t *ret)
{
	return gpc_java_stack(w, fp + (uint64_t)(8 * (int64_t)at), ret);
}

/* -1: not in the method. */
static int32_t bci_of(const struct method *m, uint64_t bcp)
{
	return bcp >= m->code && bcp - m->code < m->code_size ? (int32_t)(bcp - m->code) : -1;
}

JAVA_HOT bool gpc_java_interp_frame(struct walk *w, uint64_t fp, uint64_t sp, uint64_t bcp,
				    struct interp_frame *ret)
{
	int bcp_words = w->vm->layout.bcp_words;
	uint64_t method, saved;

	if (fp % 8 || sp > fp + (uint64_t)(8 * (int64_t)bcp_words) || fp - sp > FRAME_MAX)
		return false;
	if (!word(w, fp, METHOD, &method) || !word(w, fp, bcp_words, &saved) ||
	    !word(w, fp, SENDER_SP, &ret->sender_sp) || !word(w, fp, 0, &ret->sender_fp) ||
	    !word(w, fp, 1, &ret->sender_pc))
		return false;
	if (ret->sender_sp <= fp || ret->sender_sp - fp > FRAME_MAX || ret->sender_sp % 8)
		return false;
	if (!gpc_java_known_method(w, method, &ret->method))
		return false;
	ret->bci = bci_of(&ret->method, bcp);
	if (ret->bci < 0)
		ret->bci = bci_of(&ret->method, saved);
	return ret->bci >= 0 || ret->method.access & ACC_NATIVE;
}

/* A method is being entered: its frame is not there yet, the caller's is in fp. The
 * method is in rbx, the caller's sp in r13; the return address is still on the
 * stack, or in rax (templateInterpreterGenerator_x86.cpp, generate_normal_entry). */
static bool enter_up(struct walk *w)
{
	struct gpc_step_state *s = w->state;
	const struct gpc_pull_sample *sample = w->sample;
	uint64_t top = 0, sender = gpc_java_register(sample, JAVA_REG_R13);
	uint64_t in_rax = gpc_java_register(sample, JAVA_REG_AX), pc;
	uint64_t sp = sender > s->sp && sender - s->sp <= FRAME_MAX ? sender : s->sp + 8;

	if (!gpc_java_stack(w, s->sp, &top))
		return false;
	pc = top;
	if (!gpc_java_is_caller(w, pc, sp, s->fp)) {
		pc = in_rax;
		if (!gpc_java_is_caller(w, pc, sp, s->fp))
			return false;
	}
	gpc_java_add(w, gpc_java_frame(w, gpc_java_register(sample, JAVA_REG_BX), -1,
				       SUFFIX_INTERPRETED));
	s->pc = pc;
	s->sp = sp;
	s->is_leaf = 0;
	return true;
}

JAVA_HOT gpc_status gpc_java_interp_up(struct walk *w)
{
	struct gpc_step_state *s = w->state;
	uint64_t bcp = s->is_leaf ? gpc_java_register(w->sample, JAVA_REG_R13) : 0;
	struct interp_frame *f = &w->interp;

	if (s->is_leaf || !s->fp || w->interp_fp != s->fp || w->interp_sp != s->sp) {
		w->interp_fp = 0;
		if (!gpc_java_interp_frame(w, s->fp, s->sp, bcp, f))
			return s->is_leaf && (enter_up(w) || gpc_java_search_caller(w))
				       ? GPC_OK
				       : GPC_E_CORRUPT;
	}
	gpc_java_add(w, gpc_java_frame(w, f->method.addr, f->bci, SUFFIX_INTERPRETED));
	s->pc = f->sender_pc;
	s->sp = f->sender_sp;
	s->fp = f->sender_fp;
	s->is_leaf = 0;
	return GPC_OK;
}
