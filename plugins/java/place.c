/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a place in generated code: found out once, then remembered. */
#include "inlined.h"
#include "walk.h"

/* ---- where the caller is ------------------------------------------------------------ */

static void leaf_shape(struct walk *w, struct place *p)
{
	const struct blob *b = &p->blob;
	uint8_t code[GPC_JAVA_CODE_BYTES];
	uint32_t n;

	p->rule = RULE_SHAPE;
	if (p->pc <= b->entry) { /* the check of the class before it has no frame */
		p->shape = (struct frame_shape){0, -1};
		return;
	}
	if (p->pc < b->code_begin + (uint32_t)b->frame_complete && p->pc - b->entry < sizeof code) {
		n = (uint32_t)gpc_java_read_some(&w->vm->mem, b->entry, code, sizeof code);
		if (gpc_java_code_prologue(code, n, (uint32_t)(p->pc - b->entry), &p->shape))
			return;
	}
	n = (uint32_t)gpc_java_read_some(&w->vm->mem, p->pc, code, sizeof code);
	if (gpc_java_code_epilogue(code, n, &p->shape))
		return;
	p->shape = (struct frame_shape){b->frame_bytes - 8, b->frame_bytes - 16};
}

/* A virtual thread gets its frames back from the heap few at a time; the last of them
 * returns to a stub that fetches more, where no call is made (OpenJDK
 * cpu/x86/stubGenerator_x86_64.cpp, generate_cont_returnBarrier). */
static bool is_barrier(const struct place *p)
{
	return p->is_return && !p->is_after_call && strstr(p->blob.name, "ontinuation");
}

static void find_rule(struct walk *w, struct place *p)
{
	const struct blob *b = &p->blob;

	p->shape = (struct frame_shape){b->frame_bytes - 8, b->frame_bytes - 16};
	switch (b->kind) {
	case BLOB_COMPILED:
	case BLOB_NATIVE:
		if (b->frame_bytes < 16)
			p->rule = RULE_SEARCH;
		else if (!p->is_return)
			leaf_shape(w, p);
		else if (gpc_java_blob_is_deopt(b, p->pc)) {
			p->rule = RULE_DEOPT;
			p->shape.ra = (int32_t)b->orig_pc;
		} else
			p->rule = RULE_SHAPE;
		break;
	case BLOB_INTERPRETER:
		p->rule = RULE_INTERPRETER;
		break;
	case BLOB_STUBS:
		p->rule = p->pc == w->vm->call_stub_return ? RULE_ENTRY
			  : is_barrier(p)                  ? RULE_BARRIER
							   : RULE_SEARCH;
		break;
	case BLOB_RUNTIME:
		p->rule = b->frame_bytes >= 16 ? RULE_SHAPE : RULE_SEARCH;
		break;
	default:
		p->rule = RULE_SEARCH;
	}
}

/* ---- what is executed there ------------------------------------------------------------ */

static uint32_t read_scopes(struct walk *w, struct place *p, struct scope *scopes)
{
	const struct blob *b = &p->blob;
	const struct jmem *m = &w->vm->mem;
	const struct layout *l = &w->vm->layout;
	struct pc_entry entry;

	p->is_call = p->is_return && gpc_java_pc_return(m, l, b, p->pc, &entry);
	if (p->is_call)
		return gpc_java_scopes(m, l, b, entry.scope, scopes);
	/* Calls of stubs that never look at their caller have no entry either. */
	return gpc_java_inlined(w->vm, b, p->pc, p->is_return, scopes);
}

static void name_compiled(struct walk *w, struct place *p)
{
	const struct blob *b = &p->blob;
	struct scope scopes[GPC_JAVA_SCOPES_MAX];
	uint32_t outer = b->comp_level >= 1 && b->comp_level <= 3 ? SUFFIX_C1 : SUFFIX_COMPILED;
	uint32_t n = 0;

	if (b->kind == BLOB_COMPILED)
		n = read_scopes(w, p, scopes);
	else
		p->is_call = true;
	if (!n || scopes[n - 1].method != b->method) {
		scopes[0] = (struct scope){b->method, -1};
		n = 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		gpc_frame f = gpc_java_frame(w, scopes[i].method, scopes[i].bci,
					     i + 1 < n ? SUFFIX_INLINED : outer);

		p->frames[p->n] = f;
		p->n += f != 0;
	}
}

static void name_place(struct walk *w, struct place *p)
{
	p->n = 0;
	p->epoch = w->out->writer->epoch;
	if (p->blob.kind <= BLOB_NATIVE) {
		name_compiled(w, p);
		return;
	}
	p->is_call = true;
	if (p->rule == RULE_ENTRY)
		p->frames[p->n++] = gpc_java_plain_frame(w->out->writer, "call_stub");
	else if (p->rule != RULE_BARRIER && p->blob.kind != BLOB_INTERPRETER)
		p->frames[p->n++] = gpc_java_plain_frame(w->out->writer, p->blob.name);
}

/* ---- remembering ------------------------------------------------------------------------ */

JAVA_HOT static bool is_checked(const struct walk *w, const struct blob *b)
{
	for (uint32_t i = 0; i < w->n_checked; i++)
		if (w->checked[i] == b->addr)
			return true;
	return false;
}

/* Is the blob still what it was? *until: the time up to which that counts. */
JAVA_HOT static bool is_proven(struct walk *w, const struct blob *b, uint64_t *until)
{
	*until = UINT64_MAX;
	if (b->kind > BLOB_NATIVE)
		return true; /* made at the start, and never freed */
	*until = gpc_java_recent_blob(&w->vm->recent, b, w->now_ns);
	if (*until || is_checked(w, b))
		return true;
	if (!gpc_java_blob_is(&w->vm->mem, &w->vm->layout, b))
		return false;
	*until = gpc_java_recent_blob_is(&w->vm->recent, b, w->now_ns);
	if (w->n_checked < GPC_JAVA_CHECKED)
		w->checked[w->n_checked++] = b->addr;
	return true;
}

static bool look(struct walk *w, uint64_t pc, bool is_return, struct place *p, uint64_t *until)
{
	const struct jmem *m = &w->vm->mem;
	const struct layout *l = &w->vm->layout;
	/* A call may be the last instruction. */
	uint64_t addr = gpc_java_blob_find(m, l, &w->vm->heaps, pc - is_return);

	*p = (struct place){.pc = pc, .is_return = is_return};
	if (!addr || !gpc_java_blob_read(m, l, addr, &p->blob) || pc < p->blob.code_begin ||
	    pc - is_return >= p->blob.code_end)
		return false;
	*until = p->blob.kind <= BLOB_NATIVE
			 ? gpc_java_recent_blob_is(&w->vm->recent, &p->blob, w->now_ns)
			 : UINT64_MAX;
	p->is_after_call = is_return && gpc_java_is_after_call(w->vm, pc);
	find_rule(w, p);
	name_place(w, p);
	return true;
}

JAVA_HOT const struct place *gpc_java_place(struct walk *w, uint64_t pc, bool is_return)
{
	struct place *p = &w->place;
	uint64_t until;

	/* A caller is looked at twice: whether it is one, and where its own is. */
	if (p->pc == pc && p->is_return == is_return && pc)
		return p;
	if (!gpc_java_heaps_has(&w->vm->heaps, pc))
		return NULL;
	if (gpc_java_places_get(&w->vm->places, pc, is_return, p) &&
	    is_proven(w, &p->blob, &until)) {
		if (p->epoch == w->out->writer->epoch) {
			gpc_java_brief_put(&w->vm->briefs, p, until);
			return p;
		}
		name_place(w, p);
	} else if (w->vm->mem.host->now_ns(w->vm->mem.host) > w->deadline_ns ||
		   !look(w, pc, is_return, p, &until)) {
		p->pc = 0;
		return NULL;
	}
	gpc_java_places_put(&w->vm->places, p);
	gpc_java_brief_put(&w->vm->briefs, p, until);
	return p;
}

JAVA_HOT const struct brief *gpc_java_brief(struct walk *w, uint64_t pc, bool is_return)
{
	uint64_t key = gpc_java_brief_key(pc, is_return);

	if (key && w->brief.key == key)
		return &w->brief;
	if (gpc_java_brief_get(&w->vm->briefs, key, w->out->writer->epoch, w->now_ns, &w->brief))
		return &w->brief;
	w->brief.key = 0;
	return NULL;
}
