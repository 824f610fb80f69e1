/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a sampler: unwound, folded, counted. One that meets code whose
 * table is still being built waits, with its registers, its piece of stack and the
 * mappings of its moment. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/sampler_impl.h"

#define LATE_NS    (4 * GPC_SECOND_NS) /* tables do not take longer */
#define LATE_BYTES (32u << 20)         /* of waiting samples; the rest does without */
#define JITDUMP_NS GPC_SECOND_NS       /* then it is known that it could not be opened */

/* The process, and its thread when that is wanted. */
static uint64_t row_key(struct gpc_sampler *s, const struct gpc_process *p, int32_t tid)
{
	if (!s->config.threads || tid <= 0 || p->pid <= 0)
		return p->id;
	gpc_threads_seen(&s->threads, p->id, p->pid, tid, s->window);
	return gpc_key(p->id, tid);
}

struct counted {
	uint32_t stream;
	struct gpc_process *p;
	uint64_t key;
	const struct gpc_space *space; /* NULL: as it is now */
	uint64_t taken_ns;
};

static void count(struct gpc_sampler *s, const struct counted *c,
		  const struct gpc_perf_sample *sample, const struct gpc_pulled *pulled)
{
	gpc_fold(s->table, c->p, c->space, sample, pulled, &s->folded);
	gpc_stacks_add(s->streams.at[c->stream].now, c->key, s->folded.frames, s->folded.n, 1);
	if (s->folded.has_jit && !c->p->has_jit && !c->p->is_kernel) {
		c->p->has_jit = true;
		gpc_opener_perf_map(s->opener, c->p);
	}
}

/* The file is asked for when its mapping is seen, and opened soon, or never. */
static bool awaits_jit(const struct gpc_process *p)
{
	return p->jitdump_ns && !p->unwind_jit && gpc_now_ns() - p->jitdump_ns < JITDUMP_NS;
}

static struct gpc_native_question question(const struct gpc_sampler *s, const struct counted *c,
					   const struct gpc_perf_sample *sample,
					   const struct gpc_space *space)
{
	return (struct gpc_native_question){.sample = sample,
					    .space = space,
					    .jit = c->p->unwind_jit,
					    .awaits_jit = awaits_jit(c->p),
					    .taken_ns = c->taken_ns,
					    .mode = s->streams.at[c->stream].unwind};
}

/* ---- those that wait --------------------------------------------------------- */

static void free_late(struct gpc_sampler *s, struct gpc_late_sample *late)
{
	s->late_bytes -= late->n;
	gpc_space_put(late->space);
	free(late->bytes);
}

void gpc_sampler_forget_late(struct gpc_sampler *s)
{
	for (size_t i = 0; i < s->late.n; i++)
		free_late(s, &s->late.at[i]);
	vec_deinit(&s->late);
}

/* The sample with what it points to, in memory of its own. */
static bool copy_sample(const struct gpc_perf_sample *from, struct gpc_late_sample *ret)
{
	size_t chain = from->n_ips * sizeof *from->ips, regs = from->n_regs * sizeof *from->regs;

	ret->n = chain + regs + from->stack_bytes;
	ret->bytes = malloc(ret->n);
	if (!ret->bytes)
		return false;
	ret->sample = *from;
	ret->sample.ips = (const void *)ret->bytes;
	ret->sample.regs = (const void *)(ret->bytes + chain);
	ret->sample.stack = ret->bytes + chain + regs;
	if (chain)
		memcpy(ret->bytes, from->ips, chain);
	memcpy(ret->bytes + chain, from->regs, regs);
	if (from->stack_bytes)
		memcpy(ret->bytes + chain + regs, from->stack, from->stack_bytes);
	return true;
}

/* False: there is no room; it is to be counted now. */
static bool put_off(struct gpc_sampler *s, const struct counted *c,
		    const struct gpc_perf_sample *sample)
{
	struct gpc_late_sample late = {.stream = c->stream,
				       .process = c->p->id,
				       .key = c->key,
				       .taken_ns = c->taken_ns,
				       .since_ns = gpc_now_ns()};

	if (!c->p->space || s->late_bytes > LATE_BYTES || !vec_reserve(&s->late, 1) ||
	    !copy_sample(sample, &late))
		return false;
	late.space = gpc_space_get(c->p->space);
	s->late.at[s->late.n++] = late;
	s->late_bytes += late.n;
	return true;
}

static enum gpc_native_answer unwind(struct gpc_sampler *s, const struct gpc_native_question *q)
{
	uint64_t begin = gpc_now_ns();
	enum gpc_native_answer answer = gpc_native_unwind(&s->native, q, &s->unwound);

	s->native.stats.unwind_ns += gpc_now_ns() - begin;
	return answer;
}

/* False: it still waits. */
static bool count_one_late(struct gpc_sampler *s, const struct gpc_late_sample *late, bool is_last)
{
	struct counted c = {late->stream, gpc_table_by_id(s->table, late->process), late->key,
			    late->space, late->taken_ns};
	struct gpc_native_question q;
	enum gpc_native_answer answer;

	if (!c.p)
		return true;
	q = question(s, &c, &late->sample, late->space);
	q.is_last = is_last;
	answer = unwind(s, &q);
	if (answer == GPC_NATIVE_LATER)
		return false;
	count(s, &c, &late->sample, answer == GPC_NATIVE_DONE ? &s->unwound : NULL);
	return true;
}

/* Have tables come since they were looked at, or have they waited too long? They are in
 * the order of time. */
static bool is_time(struct gpc_sampler *s, uint64_t now)
{
	uint64_t turn = gpc_unwind_tables_turn(s->native.tables);
	bool has_changed = turn != s->late_turn;

	s->late_turn = turn;
	return has_changed || now - s->late.at[0].since_ns > LATE_NS;
}

void gpc_sampler_count_late(struct gpc_sampler *s, bool all)
{
	uint64_t now = s->late.n ? gpc_now_ns() : 0;
	size_t kept = 0;

	if (s->late.n && !all && !is_time(s, now)) {
		gpc_native_rest(&s->native);
		return;
	}
	for (size_t i = 0; i < s->late.n; i++) {
		struct gpc_late_sample *late = &s->late.at[i];
		bool is_last = all || now - late->since_ns > LATE_NS;

		if (count_one_late(s, late, is_last))
			free_late(s, late);
		else
			s->late.at[kept++] = *late;
	}
	s->late.n = kept;
	gpc_native_rest(&s->native);
}

/* ---- one sample --------------------------------------------------------------- */

static void count_unwound(struct gpc_sampler *s, const struct counted *c,
			  const struct gpc_perf_sample *sample)
{
	struct gpc_native_question q;
	enum gpc_native_answer answer;

	/* Without registers there is no user part; its mappings need not be read. */
	if (s->streams.at[c->stream].unwind == GPC_UNWIND_FP || !sample->n_regs) {
		count(s, c, sample, NULL);
		return;
	}
	q = question(s, c, sample, gpc_table_space(s->table, c->p));
	answer = unwind(s, &q);
	if (answer == GPC_NATIVE_LATER && put_off(s, c, sample))
		return;
	q.is_last = true;
	if (answer == GPC_NATIVE_LATER)
		answer = unwind(s, &q);
	count(s, c, sample, answer == GPC_NATIVE_DONE ? &s->unwound : NULL);
}

void gpc_sampler_count(struct gpc_sampler *s, uint32_t stream, const struct gpc_perf_record *r,
		       const struct gpc_pulled *pulled)
{
	struct counted c = {.stream = stream, .taken_ns = r->time};

	gpc_table_at(s->table, r->time);
	c.p = gpc_table_sampled(s->table, (int32_t)r->pid, s->window);
	s->streams.at[stream].samples++;
	s->window_samples++;
	if (!c.p)
		return;
	gpc_place_sample(&s->place, c.p, r->sample.cgroup);
	c.key = row_key(s, c.p, (int32_t)r->tid);
	/* Numbers of names that are no more mean nothing. */
	if (pulled && pulled->epoch == s->epoch)
		count(s, &c, &r->sample, pulled);
	else
		count_unwound(s, &c, &r->sample);
}

void gpc_sampler_unwinding(struct gpc_sampler *s, struct gpc_native_stats *ret,
			   struct gpc_unwind_tables_stats *tables)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->native.stats;
	pthread_mutex_unlock(&s->lock);
	gpc_unwind_tables_stats(s->native.tables, tables);
}
