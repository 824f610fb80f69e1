/* SPDX-License-Identifier: Apache-2.0 */
#include "inlined.h"

#include <stdlib.h>

#include "code.h"
#include "flow.h"

#define ENTRIES_MAX 8192
#define ENTRY_BYTES 16
#define LEVEL_C2    4
#define LOOKS_MAX   16

/* Does the JVM make entries for single instructions? */
static bool has_non_safepoints(const struct vm *vm)
{
	uint8_t is = 0;

	return vm->non_safepoints && gpc_java_read(&vm->mem, vm->non_safepoints, &is, 1) && is == 1;
}

/* ---- the code ---------------------------------------------------------------------------- */

struct text {
	const struct vm *vm;
	const struct blob *blob;
	uint8_t *code;
	uint32_t n, n_entries;
	struct flow_entry *entries;
};

static void free_text(struct text *t)
{
	free(t->code);
	free(t->entries);
}

static bool read_entries(struct text *t)
{
	const struct layout *l = &t->vm->layout;
	uint32_t n = t->blob->n_pcs, offset = (uint32_t)l->field[F_PC_OFFSET];
	uint32_t scope = (uint32_t)l->field[F_PC_SCOPE];
	uint8_t *bytes;

	if (!n || n > ENTRIES_MAX || offset > ENTRY_BYTES - 4 || scope > ENTRY_BYTES - 4)
		return false;
	bytes = malloc((size_t)n * ENTRY_BYTES);
	t->entries = calloc(n, sizeof *t->entries);
	if (bytes && t->entries &&
	    gpc_java_read(&t->vm->mem, t->blob->pcs, bytes, (uint64_t)n * ENTRY_BYTES))
		t->n_entries = n;
	for (uint32_t i = 0; i < t->n_entries; i++) {
		t->entries[i].offset = (int32_t)gpc_java_u32(bytes, i * ENTRY_BYTES + offset);
		t->entries[i].scope = gpc_java_u32(bytes, i * ENTRY_BYTES + scope);
	}
	free(bytes);
	return t->n_entries > 0;
}

static bool read_text(struct text *t)
{
	uint64_t n = t->blob->code_end - t->blob->code_begin;

	if (n > GPC_JAVA_FLOW_BYTES)
		return false;
	t->n = (uint32_t)n;
	t->code = malloc(n);
	return t->code && gpc_java_read(&t->vm->mem, t->blob->code_begin, t->code, n) &&
	       read_entries(t);
}

/* Are there entries for single instructions? C2 makes them where an agent wants to hear of
 * compiled code, too (OpenJDK code/debugInfoRec.cpp, compute_recording_non_safepoints):
 * then many are of no call and no poll. */
static bool is_detailed(const struct text *t)
{
	uint32_t calls = 0, others = 0;

	for (uint32_t i = 0; i < t->n_entries; i++) {
		int32_t at = t->entries[i].offset;

		if (at < 8 || (uint32_t)at >= t->n || !t->entries[i].scope)
			continue;
		if (gpc_java_code_is_call(t->code + at - 8, 8) ||
		    gpc_java_code_is_poll(t->code + at, t->n - (uint32_t)at))
			calls++;
		else
			others++;
	}
	return t->blob->comp_level == LEVEL_C2 && 3 * others > calls;
}

/* Where traps are called: JDK 8 and later have one piece of code for all. */
static uint64_t find_trap(struct vm *vm, const struct text *t)
{
	uint64_t known = atomic_load_explicit(&vm->uncommon_trap, memory_order_relaxed), seen = 0;
	int looks = t->blob->comp_level == LEVEL_C2 ? LOOKS_MAX : 0;

	for (uint32_t i = t->n_entries; !known && looks && i-- > 0;) {
		int32_t end = t->entries[i].offset, far;
		struct blob b;
		uint64_t to, addr;

		if (end < 5 || (uint32_t)end > t->n || t->code[end - 5] != 0xe8)
			continue;
		memcpy(&far, t->code + end - 4, sizeof far);
		to = t->blob->code_begin + (uint64_t)end + (uint64_t)(int64_t)far;
		if (to == seen)
			continue;
		seen = to;
		looks--;
		addr = gpc_java_blob_find(&vm->mem, &vm->layout, &vm->heaps, to);
		if (!addr || !gpc_java_blob_read(&vm->mem, &vm->layout, addr, &b) ||
		    !strstr(b.name, "ncommon"))
			continue;
		known = to;
		atomic_store_explicit(&vm->uncommon_trap, to, memory_order_relaxed);
	}
	return known;
}

/* ---- the answer ---------------------------------------------------------------------------- */

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

/* What scopes [from, to) of an answer have in common. */
static uint32_t shared(const struct text *t, const struct flow_answer *a, uint32_t to,
		       struct scope ret[GPC_JAVA_SCOPES_MAX])
{
	const struct vm *vm = t->vm;
	struct scope other[GPC_JAVA_SCOPES_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < to && (!i || n); i++) {
		struct scope *at = i ? other : ret;
		uint32_t m = gpc_java_scopes(&vm->mem, &vm->layout, t->blob, a->scopes[i], at);

		n = i ? common(ret, n, other, m) : m;
	}
	return n;
}

static uint32_t scopes_of(const struct text *t, const struct flow_answer *a,
			  struct scope ret[GPC_JAVA_SCOPES_MAX])
{
	const struct vm *vm = t->vm;
	struct scope poll[GPC_JAVA_SCOPES_MAX];
	uint32_t n, m = 0;

	if (a->own)
		return gpc_java_scopes(&vm->mem, &vm->layout, t->blob, a->own, ret);
	n = shared(t, a, a->is_guarded ? a->n_before : a->n, ret);
	if (n && a->is_more) {
		ret[0] = (struct scope){ret[n - 1].method, -1};
		n = 1;
	}
	if (a->around)
		m = gpc_java_scopes(&vm->mem, &vm->layout, t->blob, a->around, poll);
	if (m <= n)
		return n;
	memcpy(ret, poll, m * sizeof *poll);
	return m;
}

static uint32_t insn_of(const struct flow *f, uint32_t offset, bool is_return)
{
	uint32_t i;

	if (!is_return)
		return gpc_java_flow_find(f, offset);
	for (i = f->n; i-- > 0;)
		if (f->insns[i].at < offset)
			return f->insns[i].at + f->insns[i].len == offset ? i : GPC_JAVA_FLOW_NONE;
	return GPC_JAVA_FLOW_NONE;
}

/* Of the whole method; that takes a tenth of a microsecond for each instruction. */
static struct java_followed *follow(struct vm *vm, const struct blob *b)
{
	struct text t = {.vm = vm, .blob = b};
	struct java_followed *ret = calloc(1, sizeof *ret);

	if (ret && read_text(&t) && !is_detailed(&t)) {
		struct flow_tables tables = {.entries = t.entries,
					     .n = t.n_entries,
					     .trap = (int64_t)(find_trap(vm, &t) - b->code_begin),
					     .loop_reasons = vm->layout.loop_reasons};

		ret->is_known = gpc_java_flow_init(&ret->flow, t.code, t.n, &tables);
		ret->code = t.code; /* which flow borrows */
		t.code = NULL;
	}
	free_text(&t);
	return ret;
}

static bool ask(struct java_followed *m, uint32_t offset, bool is_return, struct flow_answer *ret)
{
	uint32_t insn = m->is_known ? insn_of(&m->flow, offset, is_return) : GPC_JAVA_FLOW_NONE;

	if (insn == GPC_JAVA_FLOW_NONE)
		return false;
	gpc_java_flow_ask(&m->flow, insn, ret);
	return true;
}

static uint32_t by_flow(struct vm *vm, const struct blob *b, uint32_t offset, bool is_return,
			struct scope ret[GPC_JAVA_SCOPES_MAX])
{
	struct text t = {.vm = vm, .blob = b};
	struct java_followed *m, *old = NULL;
	struct flow_answer a;
	bool is_told;

	pthread_mutex_lock(&vm->flows.lock);
	m = gpc_java_flows_find(&vm->flows, b);
	if (!m) {
		pthread_mutex_unlock(&vm->flows.lock);
		m = follow(vm, b);
		if (!m)
			return 0;
		pthread_mutex_lock(&vm->flows.lock);
		old = gpc_java_flows_put(&vm->flows, b, m);
	}
	is_told = ask(m, offset, is_return, &a);
	pthread_mutex_unlock(&vm->flows.lock);
	gpc_java_followed_free(old);
	return is_told ? scopes_of(&t, &a, ret) : 0;
}

bool gpc_java_is_after_call(const struct vm *vm, uint64_t pc)
{
	uint8_t code[8];

	return gpc_java_read(&vm->mem, pc - sizeof code, code, sizeof code) &&
	       gpc_java_code_is_call(code, sizeof code);
}

/* By the places around it, as the code lies: what leads to a call or a poll was done for
 * it. */
static uint32_t by_places(const struct vm *vm, const struct blob *b, uint64_t pc,
			  struct scope ret[GPC_JAVA_SCOPES_MAX])
{
	struct pc_entry around[2];

	/* C2 notes single instructions by where the last one of some begins (OpenJDK
	 * opto/output.cpp, NonSafepointEmitter), calls by where they return to. */
	if (gpc_java_pc_return(&vm->mem, &vm->layout, b, pc, &around[1]) && around[1].scope &&
	    !gpc_java_is_after_call(vm, pc))
		return gpc_java_scopes(&vm->mem, &vm->layout, b, around[1].scope, ret);
	if (!gpc_java_pc_around(&vm->mem, &vm->layout, b, pc, around))
		return 0;
	return gpc_java_scopes(&vm->mem, &vm->layout, b, around[around[1].scope != 0].scope, ret);
}

uint32_t gpc_java_inlined(struct vm *vm, const struct blob *b, uint64_t pc, bool is_return,
			  struct scope ret[GPC_JAVA_SCOPES_MAX])
{
	uint32_t n = 0;

	/* The frame is made, or the class is checked. */
	if (pc < b->code_begin + (uint32_t)b->frame_complete || pc <= b->entry)
		return 0;
	if (!has_non_safepoints(vm))
		n = by_flow(vm, b, (uint32_t)(pc - b->code_begin), is_return, ret);
	return n ? n : by_places(vm, b, pc - is_return, ret);
}
