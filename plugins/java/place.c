/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a place in generated code: found out once, then remembered. */
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

static bool is_after_call(struct walk *w, uint64_t pc)
{
	uint8_t code[8];

	return gpc_java_read(&w->vm->mem, pc - sizeof code, code, sizeof code) &&
	       gpc_java_code_is_call(code, sizeof code);
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

/* Where the JVM had to know its state: at a call, or a poll. Other entries are of single
 * instructions, by their ends, and there only with -XX:+DebugNonSafepoints, which
 * profilers inside a JVM turn on (OpenJDK code/debugInfoRec.cpp, add_non_safepoint). */
static bool is_safepoint(struct walk *w, uint64_t pc)
{
	uint8_t code[16];

	return gpc_java_read(&w->vm->mem, pc - 8, code, sizeof code) &&
	       (gpc_java_code_is_call(code, 8) || gpc_java_code_is_poll(code + 8, 8));
}

/* Are there entries for single instructions? */
static bool has_non_safepoints(struct walk *w)
{
	uint8_t is = 0;

	return w->vm->non_safepoints && gpc_java_read(&w->vm->mem, w->vm->non_safepoints, &is, 1) &&
	       is == 1;
}

/* Whose code is at a place without an entry? */
enum owner {
	OWNER_BEFORE, /* of the entry before it */
	OWNER_BEHIND,
	OWNER_BOTH, /* cannot be told: what the two have in common */
};

static bool is_smaller(uint32_t loop, uint32_t than)
{
	return loop && (!than || loop < than);
}

/* What leads to a call or a poll was done for it: the entry behind. But in a loop whose
 * poll lies before pc it is that one: what is behind pc is executed after the loop. Of
 * loops in one another the smaller counts. A counted loop need have no poll (OpenJDK
 * flag UseCountedLoopSafepoints), nor then the one around it that it was made of: it may
 * have been inlined from anywhere between the two. */
static enum owner owner_by_loops(const struct code_loops *l)
{
	bool is_before = is_smaller(l->before, l->behind) && is_smaller(l->before, l->both);
	bool is_behind = is_smaller(l->behind, l->before) && is_smaller(l->behind, l->both);

	if (is_before)
		return OWNER_BEFORE;
	return l->alone && !is_behind ? OWNER_BOTH : OWNER_BEHIND;
}

static enum owner owner_of(struct walk *w, const struct blob *b, uint64_t pc,
			   const struct pc_entry around[2])
{
	uint8_t code[2 * GPC_JAVA_LOOP_BYTES];
	uint64_t at = pc - b->code_begin, n;
	struct code_loops loops;

	if (around[0].offset < 0 || !around[0].scope || !around[1].scope)
		return around[1].scope ? OWNER_BEHIND : OWNER_BEFORE;
	if (has_non_safepoints(w) || !is_safepoint(w, b->code_begin + (uint64_t)around[0].offset) ||
	    !is_safepoint(w, b->code_begin + (uint64_t)around[1].offset))
		return OWNER_BEHIND;
	n = b->code_end - pc < sizeof code ? b->code_end - pc : sizeof code;
	n = gpc_java_read_some(&w->vm->mem, pc, code, n);
	loops = gpc_java_code_loops(code, (uint32_t)n, (uint32_t)(at - (uint64_t)around[0].offset),
				    (uint32_t)((uint64_t)around[1].offset - at));
	return owner_by_loops(&loops);
}

/* The outer methods that both have; where they part the place is not known. Into a. */
static uint32_t common(struct scope *a, uint32_t n, const struct scope *b, uint32_t m)
{
	uint32_t k = 0;
	bool is_same = true;

	while (is_same && k < n && k < m && a[n - 1 - k].method == b[m - 1 - k].method) {
		is_same = a[n - 1 - k].bci == b[m - 1 - k].bci;
		k++;
	}
	memmove(a, a + (n - k), k * sizeof *a);
	if (k && !(is_same && k == n && k == m))
		a[0].bci = -1;
	return k;
}

static uint32_t read_scopes(struct walk *w, struct place *p, struct scope *scopes)
{
	const struct blob *b = &p->blob;
	const struct jmem *m = &w->vm->mem;
	const struct layout *l = &w->vm->layout;
	struct scope others[GPC_JAVA_SCOPES_MAX];
	struct pc_entry entry, around[2];
	enum owner owner;
	uint32_t n;

	p->is_call = p->is_return && gpc_java_pc_return(m, l, b, p->pc, &entry);
	if (p->is_call)
		return gpc_java_scopes(m, l, b, entry.scope, scopes);
	/* Calls of stubs that never look at their caller have no entry either. */
	if (!gpc_java_pc_around(m, l, b, p->pc - p->is_return, around))
		return 0;
	owner = owner_of(w, b, p->pc - p->is_return, around);
	n = gpc_java_scopes(m, l, b, around[owner != OWNER_BEFORE].scope, scopes);
	if (owner != OWNER_BOTH)
		return n;
	return common(scopes, n, others, gpc_java_scopes(m, l, b, around[0].scope, others));
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
	p->is_after_call = is_return && is_after_call(w, pc);
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
