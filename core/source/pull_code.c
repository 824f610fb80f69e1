/* SPDX-License-Identifier: Apache-2.0 */
/* Native frames of pulled processes. Readers look mappings up in a copy of their own,
 * because the process table is locked for the length of a drain. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hot.h"
#include "source/pull_impl.h"
#include "source/regs.h"

#define HOLD_NS    GPC_SECOND_NS
#define CACHE_LINE 64
#define AHEAD_MAX  64 /* images of a process whose tables are built before they are met */

GPC_HOT void gpc_pull_code_put(struct gpc_pull_code *code)
{
	if (code && !__atomic_sub_fetch(&code->refs, 1, __ATOMIC_ACQ_REL))
		free(code);
}

GPC_HOT static struct gpc_pull_code *get_code(struct gpc_puller *t)
{
	autohold(&t->lock);

	if (t->code)
		__atomic_add_fetch(&t->code->refs, 1, __ATOMIC_RELAXED);
	return t->code;
}

void gpc_pulls_set_unwind(struct gpc_pulls *p, struct gpc_unwind_tables *tables,
			  enum gpc_unwind_mode mode)
{
	if (mode == GPC_UNWIND_FP)
		return;
	__atomic_store_n(&p->unwind, mode, __ATOMIC_RELAXED);
	__atomic_store_n(&p->tables, tables, __ATOMIC_RELEASE);
}

/* ---- following mappings: the source's thread ----------------------------------- */

static bool is_same(const struct gpc_pull_code *code, const struct gpc_space *space, uint32_t jit)
{
	return code && code->jit == jit && code->space.n == space->n &&
	       (!space->n ||
		memcmp(code->areas, space->areas, space->n * sizeof *space->areas) == 0);
}

static struct gpc_pull_code *new_code(const struct gpc_space *space, uint32_t jit)
{
	size_t n = space->n * sizeof *space->areas;
	struct gpc_pull_code *code = malloc(sizeof *code + n);

	if (!code)
		return NULL;
	if (n)
		memcpy(code->areas, space->areas, n);
	code->refs = 1;
	code->jit = jit;
	code->space = (struct gpc_space){.refs = 1, .n = space->n, .areas = code->areas};
	return code;
}

/* A reader cannot wait for a table, and what it asks first for is one image after another,
 * each at a sample of its own: all are asked for as soon as they are known. */
static void ask_for_tables(struct gpc_unwind_tables *tables, const struct gpc_space *space)
{
	const struct gpc_unwind_table *table;
	uint32_t last = 0, n = 0;

	for (size_t i = 0; i < space->n && n < AHEAD_MAX; i++) {
		uint32_t image = space->areas[i].image;

		if (!image || image == last || space->areas[i].kind == GPC_AREA_ANON)
			continue;
		last = image;
		n++;
		if (gpc_unwind_tables_get(tables, image, &table) == GPC_CODE_KNOWN)
			gpc_unwind_tables_put(tables, image);
	}
}

/* One at a time replaces it, who may look without the lock. */
static void follow(struct gpc_puller *t, const struct gpc_space *space, uint32_t jit,
		   struct gpc_unwind_tables *tables)
{
	struct gpc_pull_code *old = t->code, *code;

	if (!space || is_same(old, space, jit))
		return;
	code = new_code(space, jit);
	if (!code)
		return;
	ask_for_tables(tables, space);
	gpc_lock_take(&t->lock);
	t->code = code;
	gpc_lock_give(&t->lock);
	__atomic_store_n(&t->has_code, true, __ATOMIC_RELEASE);
	gpc_pull_code_put(old);
}

void gpc_pulls_follow_code(struct gpc_pulls *p, gpc_pulls_space *space, void *ctx, bool is_new_only)
{
	struct gpc_unwind_tables *tables = __atomic_load_n(&p->tables, __ATOMIC_ACQUIRE);
	vec(struct gpc_puller *) all = {0};

	if (!tables)
		return;
	gpc_lock_take(&p->lock);
	for (size_t i = 0; i < p->by_pid.room; i++) {
		struct gpc_puller *t =
			p->by_pid.slots[i].value
				? (struct gpc_puller *)(uintptr_t)(p->by_pid.slots[i].value - 1)
				: NULL;

		for (; t; t = t->next)
			if (!(is_new_only && t->has_code) && vec_push(&all, t))
				__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	}
	gpc_lock_give(&p->lock);
	for (size_t i = 0; i < all.n; i++) {
		uint32_t jit = 0;
		const struct gpc_space *now = space(ctx, all.at[i]->target, &jit);

		follow(all.at[i], now, jit, tables);
		gpc_puller_put(all.at[i]);
	}
	vec_deinit(&all);
}

GPC_HOT bool gpc_pull_may_ask(struct gpc_pulls *p, struct gpc_puller *t)
{
	return !__atomic_load_n(&p->tables, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&t->has_code, __ATOMIC_ACQUIRE);
}

/* ---- unwinding: readers ---------------------------------------------------------- */

GPC_HOT static bool read_more(void *ctx, uint64_t addr, void *buf, uint32_t n)
{
	return gpc_unwind_read(ctx, addr, buf, n);
}

GPC_HOT bool gpc_pull_native_begin(struct gpc_pull_native *n, struct gpc_pulls *p,
				   struct gpc_puller *t, const struct gpc_pull_sample *sample)
{
	struct gpc_unwind_tables *tables = __atomic_load_n(&p->tables, __ATOMIC_ACQUIRE);

	n->code = tables && t ? get_code(t) : NULL;
	if (!n->code)
		return false;
	n->native = n->own ? &n->own->native : &n->brief;
	if (!n->own)
		n->brief = (struct gpc_native){0};
	n->native->tables = tables;
	n->native->recent = n->own ? &n->own->rules : NULL;
	n->native->sps = NULL;
	n->look = (struct gpc_native_look){.n = n->native,
					   .space = &n->code->space,
					   .jit = n->code->jit,
					   .is_last = true};
	n->piece.n = 0;
	n->memory = (struct gpc_unwind_source){p->mem, t->target, sample, &n->piece};
	n->view = (struct gpc_unwind_view){.arch = gpc_unwind_arch_here(),
					   .find = gpc_native_find,
					   .rule = gpc_native_rule,
					   .ctx = &n->look,
					   .mem = {.more = read_more, .ctx = &n->memory}};
	return true;
}

static struct gpc_pull_own *new_own(void)
{
	struct gpc_pull_own *own = aligned_alloc(CACHE_LINE, sizeof *own);

	if (own)
		memset(own, 0, sizeof *own);
	return own;
}

GPC_HOT struct gpc_pull_own *gpc_pull_own(struct gpc_pulled *reader)
{
	if (!reader->own)
		reader->own = new_own();
	return reader->own;
}

/* A reader holds tables of files beyond the sample, because it needs them at the next one
 * again, but not for ever: they are to be forgotten when nobody needs them. */
static void rest(struct gpc_pull_own *own, uint64_t now)
{
	if (!own->held_ns)
		own->held_ns = now;
	if (now - own->held_ns < HOLD_NS)
		return;
	gpc_native_rest(&own->native);
	own->held_ns = 0;
}

void gpc_pulls_end(void *pulls, struct gpc_pulled *ret)
{
	struct gpc_pull_own *own = ret->own;

	(void)pulls;
	if (own)
		gpc_native_rest(&own->native);
}

GPC_HOT void gpc_pull_native_end(struct gpc_pull_native *n)
{
	if (!n->code)
		return;
	if (n->own) {
		gpc_native_let_go(n->native, n->code->jit);
		rest(n->own, n->memory.sample->time_ns);
	} else {
		gpc_native_rest(n->native);
	}
	gpc_pull_code_put(n->code);
	n->code = NULL;
}

GPC_HOT enum gpc_unwind_result gpc_pull_native_up(struct gpc_pull_native *n,
						  struct gpc_unwind_regs *regs, uint64_t *place)
{
	return gpc_unwind_step(&n->view, regs, place);
}

/* ---- gpc.native-unwind/1 ----------------------------------------------------------- */

static struct gpc_puller *puller_of(struct gpc_pulls *p, const struct gpc_target *target)
{
	uint64_t value;
	struct gpc_puller *t = NULL;
	autohold(&p->lock);

	if (gpc_u64map_get(&p->by_pid, (uint32_t)target->pid, &value))
		t = (struct gpc_puller *)(uintptr_t)value;
	while (t && t->target != target->id)
		t = t->next;
	if (t)
		__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

/* The sample's own frame has all registers, others those that state tells. */
static struct gpc_unwind_regs regs_of(const struct gpc_pull_sample *s,
				      const struct gpc_step_state *state)
{
	const struct gpc_unwind_arch *arch = gpc_unwind_arch_here();
	struct gpc_unwind_regs regs = {.pc = state->pc, .is_exact = state->is_leaf != 0};

	if (s && s->regs && state->is_leaf && state->pc == s->pc && state->sp == s->sp) {
		gpc_regs_unwind(s->regs, &regs);
		return regs;
	}
	regs.r[arch->sp] = state->sp;
	regs.r[arch->fp] = state->fp;
	regs.valid = UINT64_C(1) << arch->sp | UINT64_C(1) << arch->fp;
	return regs;
}

static bool up_by_tables(struct gpc_pull_native *n, const struct gpc_pull_sample *s,
			 struct gpc_step_state *state)
{
	const struct gpc_unwind_arch *arch = n->view.arch;
	struct gpc_unwind_regs regs = regs_of(s, state);
	uint64_t place;

	if (gpc_pull_native_up(n, &regs, &place) != GPC_UNWIND_UP)
		return false;
	state->pc = regs.pc;
	state->sp = regs.r[arch->sp];
	/* Not known is as good as none. */
	state->fp = regs.valid >> arch->fp & 1 ? regs.r[arch->fp] : 0;
	state->is_leaf = regs.is_exact;
	return true;
}

bool gpc_pulls_up(struct gpc_pulls *p, const struct gpc_target *target,
		  const struct gpc_pull_sample *sample, struct gpc_step_state *state)
{
	struct gpc_puller *t = puller_of(p, target);
	struct gpc_pull_native n = {.own = NULL};
	bool is_up;

	if (gpc_pull_native_begin(&n, p, t, sample)) {
		is_up = up_by_tables(&n, sample, state);
	} else {
		struct gpc_unwind_source src = {p->mem, target->id, sample, NULL};

		is_up = gpc_unwind_up(&src, state);
	}
	gpc_pull_native_end(&n);
	gpc_puller_put(t);
	return is_up;
}
