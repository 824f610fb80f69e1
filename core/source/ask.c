/* SPDX-License-Identifier: Apache-2.0 */
/* The asking: what a reader does with one sample of a pulled process. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hot.h"
#include "source/decode.h"
#include "source/frames.h"
#include "source/join.h"
#include "source/pull_impl.h"
#include "source/pull_writer.h"
#include "source/regs.h"
#include "source/unwind.h"

#define RUNS_MAX    128
#define STEPS_MAX   GPC_PULLED_MAX
#define SLOW_NS     (2 * GPC_MS_NS) /* an answer that takes longer is not taken */
#define SLOW_MAX    20              /* in a row; then the process is left alone */
#define CHECK_BYTES 64
/* Nobody runs where a real-time reader is about to; with any other the thread can
 * have got that far. Stack alone does not tell: a loop leaves it as it is. */
#define FRESH_RT_NS (5 * GPC_MS_NS)
#define FRESH_NS    (GPC_MS_NS / 2)

struct call {
	struct gpc_pulls *p;
	struct gpc_pull_share *mine;
	struct gpc_puller *t;
	struct gpc_names *names;
	struct gpc_perf_record record;
	struct gpc_pull_sample sample;
	struct gpc_pull_thread thread;
	struct gpc_pull_writer writer;
	struct gpc_pull_out out;
	struct gpc_pulled *ret;
	bool is_joined;
	uint64_t begun_ns;
	struct gpc_pull_native native_unwind;
	uint64_t native[GPC_PULLED_MAX], native_sp[GPC_PULLED_MAX];
	gpc_frame frames[GPC_PULLED_MAX];
	struct gpc_pull_run runs[RUNS_MAX];
};

/* ---- the sample -------------------------------------------------------------------- */

/* The user part of the callchain. */
static uint32_t native_part(const struct gpc_perf_sample *s, uint64_t *ret)
{
	bool is_user = false;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_ips && n < GPC_PULLED_MAX; i++) {
		uint64_t ip = s->ips[i];

		if (ip >= (uint64_t)PERF_CONTEXT_MAX)
			is_user = ip == (uint64_t)PERF_CONTEXT_USER;
		else if (is_user)
			ret[n++] = ip >> 57 ? 0 : ip;
	}
	return n;
}

/* The native stack by call frame information, where there is some and it is wanted.
 * Return addresses are as in a chain. */
static void unwind_native(struct call *c)
{
	struct gpc_pulled *found = c->ret;
	struct gpc_native_question q = {
		.sample = &c->record.sample,
		.taken_ns = c->record.time,
		.mode = __atomic_load_n(&c->p->unwind, __ATOMIC_RELAXED),
		.is_last = true,
	};
	uint32_t n;

	c->native_unwind.native->sps = c->native_sp;
	q.space = c->native_unwind.look.space;
	q.jit = c->native_unwind.look.jit;
	if (gpc_native_unwind(c->native_unwind.native, &q, found) != GPC_NATIVE_DONE)
		return;
	n = found->n;
	if (n && found->frames[n - 1] == GPC_RAW_CUT) {
		n--;
		/* Frame pointers that end early may have gone astray. */
		if (!c->native_unwind.native->is_chain)
			c->sample.flags |= GPC_PULL_NATIVE_CUT;
	}
	for (uint32_t i = 0; i < n; i++)
		c->native[i] = found->frames[i] + (i > 0);
	c->sample.n_native = n;
	if (!c->native_unwind.native->is_chain)
		c->sample.native_sp = c->native_sp;
}

static void fill_sample(struct call *c, uint32_t cpu, const struct gpc_perf_format *format)
{
	const struct gpc_perf_sample *s = &c->record.sample;
	struct gpc_user_regs regs = gpc_regs_pick(s->regs);

	c->sample = (struct gpc_pull_sample){.struct_size = sizeof c->sample,
					     .tid = (int32_t)c->record.tid,
					     .cpu = (int32_t)cpu,
					     .n_regs = s->n_regs,
					     .time_ns = c->record.time,
					     .pc = regs.pc,
					     .sp = regs.sp,
					     .fp = regs.fp,
					     .regs = s->regs,
					     .regs_mask = format->regs_mask,
					     .stack = s->stack,
					     .stack_bytes = s->stack_bytes,
					     .native = c->native};
	c->sample.n_native = native_part(s, c->native);
}

/* Nobody joins a stack of another moment with the native one, and steps go up by
 * themselves: the kernel's chain is enough for these. */
static void find_native(struct call *c)
{
	if (gpc_pull_native_begin(&c->native_unwind, c->p, c->t, &c->sample) && c->t->c.walk &&
	    c->sample.flags & GPC_PULL_EXACT)
		unwind_native(c);
}

/* Is the stack still as it was when the sample was taken? */
GPC_HOT static bool is_unchanged(const struct call *c)
{
	uint8_t now[CHECK_BYTES];

	return gpc_mem_read(c->p->mem, c->t->target, 0, c->sample.sp, now, sizeof now) ==
		       sizeof now &&
	       memcmp(now, c->sample.stack, sizeof now) == 0;
}

static bool is_checkable(const struct call *c)
{
	return c->sample.stack_bytes >= CHECK_BYTES;
}

static bool is_realtime(const struct call *c)
{
	return __atomic_load_n(&c->p->is_realtime, __ATOMIC_RELAXED);
}

static bool is_fresh(const struct call *c, uint64_t now)
{
	uint64_t limit = is_realtime(c) ? FRESH_RT_NS : FRESH_NS;

	return now <= c->record.time || now - c->record.time <= limit;
}

/* Has the thread not run since the sample was taken? Of a real-time reader that is
 * taken for granted until it has read (has_run). */
static void check_exact(struct call *c, uint64_t now)
{
	if (!is_fresh(c, now))
		return;
	/* Without a copy of the stack only the priority vouches for it. */
	if (is_realtime(c) || (is_checkable(c) && is_unchanged(c)))
		c->sample.flags |= GPC_PULL_EXACT;
}

/* It may have been moved to another CPU while it was read: then what was read is
 * of no one moment. */
static bool has_run(struct call *c)
{
	if (!(c->sample.flags & GPC_PULL_EXACT) || !is_checkable(c) || is_unchanged(c))
		return false;
	c->sample.flags &= ~(uint32_t)GPC_PULL_EXACT;
	return true;
}

static void count_exact(const struct call *c)
{
	if (!is_checkable(c))
		return;
	GPC_PULL_ADD(c->mine, checked, 1);
	if (c->sample.flags & GPC_PULL_EXACT)
		GPC_PULL_ADD(c->mine, exact, 1);
}

static void reset_out(struct call *c)
{
	c->out = (struct gpc_pull_out){.struct_size = sizeof c->out,
				       .room = GPC_PULLED_MAX,
				       .room_runs = RUNS_MAX,
				       .frames = c->frames,
				       .runs = c->runs,
				       .writer = &c->writer.writer};
}

/* An answer beyond its room is nonsense. */
static bool is_sane(const struct gpc_pull_out *out)
{
	return out->n <= GPC_PULLED_MAX && out->n_runs <= RUNS_MAX;
}

/* ---- gpc.walk/1 ----------------------------------------------------------------------- */

/* Frames that could not be joined stand alone, under a mark. */
static void stand_alone(struct call *c)
{
	static const char text[] = "[runtime stack, not joined]";
	struct gpc_frame_entry mark = {.function = gpc_names_str(c->names, text, sizeof text - 1)};
	uint32_t n = c->out.n < GPC_PULLED_MAX ? c->out.n : GPC_PULLED_MAX - 1;

	memcpy(c->ret->frames, c->frames, n * sizeof *c->frames);
	c->ret->frames[n] = gpc_names_frame(c->names, &mark);
	c->ret->n = n + 1;
}

static struct gpc_pull_whom whom(const struct call *c)
{
	return (struct gpc_pull_whom){c->t->c.self, c->t->target, (int32_t)c->record.tid,
				      gpc_names_epoch(c->names)};
}

static void remember(struct call *c)
{
	struct gpc_pull_whom w = whom(c);

	gpc_pull_remember(c->native_unwind.own, &w, c->begun_ns, c->ret);
}

GPC_HOT static gpc_status ask(struct call *c)
{
	reset_out(c);
	return c->t->c.walk->walk(c->t->c.self, c->t->c.tctx, &c->sample, &c->out);
}

GPC_HOT static bool walk(struct call *c)
{
	bool is_late = !(c->sample.flags & GPC_PULL_EXACT);
	gpc_status st = ask(c);
	bool is_whole = !has_run(c);

	/* Read while it ran: once more, and the collector knows now that it must look out. */
	if (!is_whole)
		st = ask(c);
	if (st < 0 || !is_sane(&c->out)) {
		GPC_PULL_ADD(c->mine, failed, 1);
		return false;
	}
	if (!c->out.n)
		return false;
	c->is_joined = c->out.n_runs && is_whole && gpc_join(&c->sample, &c->out, c->ret);
	if (!c->is_joined)
		stand_alone(c);
	if (is_late && !c->is_joined)
		remember(c);
	return true;
}

/* ---- gpc.step/1 ------------------------------------------------------------------------ */

static bool is_claimed(struct gpc_puller *t, uint64_t pc)
{
	autohold(&t->lock);
	size_t from = 0, to = t->ranges.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (t->ranges.at[mid].end <= pc)
			from = mid + 1;
		else
			to = mid;
	}
	return from < t->ranges.n && t->ranges.at[from].start <= pc;
}

static void add_frames(struct gpc_pulled *ret, const gpc_frame *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n && ret->n < GPC_PULLED_MAX; i++)
		ret->frames[ret->n++] = frames[i];
}

/* Up, or at least out of a leaf that needs no stack. */
static bool went_up(const struct gpc_step_state *from, const struct gpc_step_state *to)
{
	return to->sp > from->sp || (from->is_leaf && !to->is_leaf && to->sp == from->sp);
}

/* An error: the collector cannot go on, or does not go up. *goes_on: false at the
 * stack's end. */
static gpc_status step_runtime(struct call *c, struct gpc_step_state *state, bool *goes_on)
{
	struct gpc_step_state before = *state;
	gpc_status st;

	reset_out(c);
	st = c->t->c.step->step(c->t->c.self, c->t->c.tctx, &c->sample, state, &c->out);
	if (st < 0 || !is_sane(&c->out))
		return GPC_E_CORRUPT;
	add_frames(c->ret, c->frames, c->out.n);
	*goes_on = state->pc != 0;
	return !*goes_on || went_up(&before, state) ? GPC_OK : GPC_E_CORRUPT;
}

/* The registers of a frame that a collector's step has told. */
static void take_state(const struct gpc_step_state *state, struct gpc_unwind_regs *regs)
{
	const struct gpc_unwind_arch *arch = gpc_unwind_arch_here();

	regs->pc = state->pc;
	regs->is_exact = state->is_leaf != 0;
	regs->r[arch->sp] = state->sp;
	regs->r[arch->fp] = state->fp;
	regs->valid = UINT64_C(1) << arch->sp | UINT64_C(1) << arch->fp;
}

static void give_state(const struct gpc_unwind_regs *regs, struct gpc_step_state *state)
{
	const struct gpc_unwind_arch *arch = gpc_unwind_arch_here();

	state->pc = regs->pc;
	state->is_leaf = regs->is_exact;
	state->sp = regs->r[arch->sp];
	state->fp = regs->valid >> arch->fp & 1 ? regs->r[arch->fp] : 0;
}

/* What a target made of its stack may look like the number of a name. */
static gpc_frame user_frame(uint64_t pc)
{
	return pc >> 56 ? 0 : pc;
}

/* Frame pointers alone do not tell a root from a caller that cannot be found. */
static enum gpc_unwind_result step_native(struct call *c, struct gpc_step_state *state,
					  struct gpc_unwind_regs *regs)
{
	struct gpc_unwind_source src = {.mem = c->p->mem,
					.target = c->t->target,
					.sample = &c->sample};
	uint64_t pc = gpc_join_native(state->pc, state->is_leaf);
	gpc_frame frame = user_frame(pc);
	enum gpc_unwind_result result;

	if (!c->native_unwind.code) {
		add_frames(c->ret, &frame, 1);
		return gpc_unwind_up(&src, state) ? GPC_UNWIND_UP : GPC_UNWIND_END;
	}
	result = gpc_pull_native_up(&c->native_unwind, regs, &pc);
	frame = user_frame(pc);
	add_frames(c->ret, &frame, 1);
	give_state(regs, state);
	return result;
}

/* What the collector knows of its frames above the native code that was sampled. */
static void begin_native(struct call *c, struct gpc_step_state *state)
{
	const struct gpc_step_api *step = c->t->c.step;

	if (!GPC_HAS(step, begin) || !step->begin || is_claimed(c->t, state->pc))
		return;
	if (step->begin(c->t->c.self, c->t->c.tctx, &c->sample, state) < 0)
		state->next_sp = 0;
}

/* The native unwinder lost its way, or has passed the collector's frames: those know
 * where they are. True: state is there. before: where it was a step ago. */
static bool resume(struct gpc_step_state *state, const struct gpc_step_state *before, bool is_up)
{
	if (state->next_sp <= before->sp || (is_up && state->sp <= state->next_sp))
		return false;
	state->pc = state->next_pc;
	state->sp = state->next_sp;
	state->fp = state->next_fp;
	state->is_leaf = 0;
	state->next_sp = 0;
	return true;
}

/* What the collector puts at the stack's root end. True: something. */
static bool finish(struct call *c, bool has_runtime)
{
	const struct gpc_step_api *step = c->t->c.step;

	if (!GPC_HAS(step, finish) || !step->finish)
		return false;
	reset_out(c);
	if (step->finish(c->t->c.self, c->t->c.tctx, &c->sample, has_runtime, &c->out) < 0 ||
	    !is_sane(&c->out))
		return false;
	add_frames(c->ret, c->frames, c->out.n);
	return c->out.n > 0;
}

/* Alternates between the collector's steps and the native unwinder. */
static bool step_up(struct call *c)
{
	struct gpc_step_state state = {.struct_size = sizeof state,
				       .is_leaf = 1,
				       .pc = c->sample.pc,
				       .sp = c->sample.sp,
				       .fp = c->sample.fp};
	enum gpc_unwind_result native = GPC_UNWIND_END;
	bool has_runtime = false, goes_on = true, is_whole, has_more;
	struct gpc_unwind_regs regs;
	const gpc_frame cut = GPC_RAW_CUT;
	gpc_status st = GPC_OK;

	gpc_regs_unwind(c->sample.regs, &regs);
	c->ret->n = 0;
	begin_native(c, &state);
	for (unsigned i = 0; i < STEPS_MAX && goes_on && st == GPC_OK && c->ret->n < GPC_PULLED_MAX;
	     i++) {
		if (is_claimed(c->t, gpc_join_native(state.pc, state.is_leaf))) {
			has_runtime = true;
			state.next_sp = 0;
			native = GPC_UNWIND_END;
			st = step_runtime(c, &state, &goes_on);
			take_state(&state, &regs);
		} else {
			struct gpc_step_state before = state;

			native = step_native(c, &state, &regs);
			goes_on = native == GPC_UNWIND_UP;
			if (resume(&state, &before, goes_on)) {
				take_state(&state, &regs);
				goes_on = true;
			}
		}
	}
	if (native != GPC_UNWIND_END && native != GPC_UNWIND_UP)
		add_frames(c->ret, &cut, 1);
	has_more = finish(c, has_runtime);
	is_whole = !has_run(c);
	if (!has_runtime && !has_more)
		return false;
	/* Half a stack is worse than the native one. */
	if (st < 0 || !is_whole) {
		GPC_PULL_ADD(c->mine, failed, 1);
		return false;
	}
	c->is_joined = true;
	return true;
}

/* ---- one sample -------------------------------------------------------------------------- */

GPC_HOT static struct gpc_puller *get_puller(struct gpc_pulls *p, int32_t pid,
					     struct gpc_names **names)
{
	uint64_t value;
	struct gpc_puller *t;
	autohold(&p->lock);

	if (!p->names || !gpc_u64map_get(&p->by_pid, (uint32_t)pid, &value))
		return NULL;
	t = (struct gpc_puller *)(uintptr_t)value;
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	*names = gpc_names_get(p->names);
	return t;
}

GPC_HOT static void count_age(struct call *c, uint64_t now)
{
	uint64_t age = now > c->record.time ? now - c->record.time : 0;
	uint64_t max = __atomic_load_n(&c->mine->stats.age_max_ns, __ATOMIC_RELAXED);

	GPC_PULL_ADD(c->mine, read, 1);
	GPC_PULL_ADD(c->mine, age_ns, age);
	if (age > max)
		__atomic_store_n(&c->mine->stats.age_max_ns, age, __ATOMIC_RELAXED);
}

/* False: too long. */
static bool was_quick(struct call *c, const struct gpc_pull_effort *begin)
{
	uint64_t took = gpc_pull_effort_ns(begin, SLOW_NS);

	__atomic_add_fetch(&c->mine->spent_ns, took, __ATOMIC_RELAXED);
	GPC_PULL_ADD(c->mine, pull_ns, took);
	if (took <= SLOW_NS) {
		__atomic_store_n(&c->t->slow, 0, __ATOMIC_RELAXED);
		return true;
	}
	GPC_PULL_ADD(c->mine, slow, 1);
	if (__atomic_add_fetch(&c->t->slow, 1, __ATOMIC_RELAXED) >= SLOW_MAX)
		gpc_puller_give_up(c->t, "its answers take too long: left alone from now on");
	return false;
}

/* A thread that has run on is where it is now. When it was looked at since the sample was
 * taken, for another one of the batch, that was nearer to it. */
GPC_HOT static bool recall(struct call *c, uint64_t now)
{
	struct gpc_pull_whom w = whom(c);

	if (c->t->c.step || is_fresh(c, now) ||
	    !gpc_pull_recall(c->native_unwind.own, &w, c->record.time, c->ret))
		return false;
	c->ret->epoch = w.epoch;
	count_age(c, now);
	GPC_PULL_ADD(c->mine, checked, c->record.sample.stack_bytes >= CHECK_BYTES);
	GPC_PULL_ADD(c->mine, answered, 1);
	GPC_PULL_ADD(c->mine, alone, 1);
	return true;
}

GPC_HOT static bool answer(struct call *c, uint32_t cpu, const struct gpc_perf_format *format,
			   const struct gpc_pull_effort *begin)
{
	bool has_frames;

	if (!gpc_pull_has_share(c->mine, begin->ns)) {
		GPC_PULL_ADD(c->mine, skipped, 1);
		return false;
	}
	c->begun_ns = begin->ns;
	fill_sample(c, cpu, format);
	count_age(c, begin->ns);
	__atomic_store_n(&c->ret->asked, c->t, __ATOMIC_RELEASE);
	check_exact(c, begin->ns);
	find_native(c);
	c->thread = gpc_puller_thread(c->t, c->sample.tid);
	c->sample.ns_tid = c->thread.ns_tid;
	c->sample.thread_name = c->thread.name;
	gpc_pull_writer_init(&c->writer, c->names, c->t->c.suffixes);
	c->ret->n = 0;
	c->ret->epoch = c->writer.writer.epoch;
	has_frames = (c->t->c.step && step_up(c)) || (c->t->c.walk && walk(c));
	if (gpc_puller_is_back(c->p, c->t, c->ret) && c->native_unwind.own)
		gpc_native_rest(&c->native_unwind.own->native);
	count_exact(c);
	if (!was_quick(c, begin) || !has_frames)
		return false;
	GPC_PULL_ADD(c->mine, answered, 1);
	if (c->is_joined)
		GPC_PULL_ADD(c->mine, joined, 1);
	else
		GPC_PULL_ADD(c->mine, alone, 1);
	return true;
}

GPC_HOT bool gpc_pulls_pull(void *pulls, uint32_t cpu, const void *record, size_t n,
			    const struct gpc_perf_format *format, struct gpc_pulled *ret)
{
	struct call c;
	bool has_frames = false;

	c.p = pulls;
	c.mine = gpc_pull_share(pulls, cpu);
	c.ret = ret;
	c.native_unwind.code = NULL;
	c.native_unwind.own = NULL;
	ret->stack_from = ret->stack_to = 0;
	if (!gpc_perf_decode(record, n, format, &c.record) || !c.record.sample.n_regs)
		return false;
	__atomic_add_fetch(&c.mine->inside, 1, __ATOMIC_ACQ_REL);
	c.t = get_puller(c.p, (int32_t)c.record.pid, &c.names);
	if (!c.t) {
		__atomic_sub_fetch(&c.mine->inside, 1, __ATOMIC_ACQ_REL);
		return false;
	}
	if (gpc_pull_may_ask(c.p, c.t) && !__atomic_load_n(&c.t->is_given_up, __ATOMIC_ACQUIRE) &&
	    !__atomic_load_n(&c.t->hanging, __ATOMIC_ACQUIRE)) {
		struct gpc_pull_effort begin =
			gpc_pull_effort_begin(is_realtime(&c), ret->begun_ns);

		GPC_PULL_ADD(c.mine, asked, 1);
		c.native_unwind.own = gpc_pull_own(ret);
		has_frames = recall(&c, begin.ns) || answer(&c, cpu, format, &begin);
		gpc_pull_native_end(&c.native_unwind);
	}
	/* The frames are all that the stack was for. */
	if (has_frames && !c.p->keeps_stacks)
		(void)gpc_perf_stack_extent(record, &c.record.sample, &ret->stack_from,
					    &ret->stack_to);
	gpc_names_put(c.names);
	gpc_puller_put(c.t);
	__atomic_sub_fetch(&c.mine->inside, 1, __ATOMIC_ACQ_REL);
	return has_frames;
}
