/* SPDX-License-Identifier: Apache-2.0 */
/* A collector that answers as the test says, over memory that is replayed. */
#ifndef GPC_TESTS_PULL_WORLD_H
#define GPC_TESTS_PULL_WORLD_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "record.h"
#include "source/pull.h"
#include "source/regs.h"

#define TYPE     (REC_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define SP       UINT64_C(0x7ffd00001000)
#define WORDS    64
#define PID      50
#define FRAME(k) (GPC_FRAME_TAG | (k))

struct world {
	uint64_t memory[WORDS], copy[WORDS];
	struct gpc_mem *mem;
	struct gpc_names *names;
	struct gpc_pulls *pulls;
	struct gpc_target target;
	struct gpc_walk_api walk;
	struct gpc_step_api step;
	struct gpc_perf_format format;
	struct rec record;
	struct gpc_pulled ret;
	struct gpc_pull_sample seen; /* what the collector was given */
	gpc_status answer;
	uint32_t n, n_runs, slow_us;
	struct gpc_pull_run run;
	unsigned calls, given_up, has_run;
	bool is_still, waits;
	uint64_t next_sp;
	char name[16];
	int gate[2];
};

static int64_t replay(void *ctx, uint64_t target, uint64_t addr, void *buf, uint64_t len)
{
	struct world *w = ctx;
	uint64_t at = addr - SP;

	(void)target;
	if (at >= sizeof w->memory || len > sizeof w->memory - at)
		return GPC_E_CORRUPT;
	memcpy(buf, (uint8_t *)w->memory + at, len);
	return (int64_t)len;
}

static gpc_status walk(void *self, void *tctx, const struct gpc_pull_sample *s,
		       struct gpc_pull_out *out)
{
	struct world *w = self;
	char c;

	assert_ptr_equal(tctx, w);
	w->calls++;
	w->seen = *s;
	if (w->waits)
		(void)!read(w->gate[0], &c, 1);
	if (w->slow_us)
		usleep(w->slow_us);
	if (w->has_run)
		w->memory[0]++;
	for (uint32_t i = 0; i < w->n && i < out->room; i++)
		out->frames[i] = FRAME(100 + i);
	out->n = w->n;
	out->n_runs = w->n_runs;
	if (w->n_runs)
		out->runs[0] = w->run;
	return w->answer;
}

/* Frames of 32 bytes, the return address on top. */
static gpc_status step(void *self, void *tctx, const struct gpc_pull_sample *s,
		       struct gpc_step_state *state, struct gpc_pull_out *out)
{
	struct world *w = self;

	(void)tctx;
	w->calls++;
	w->seen = *s;
	out->frames[out->n++] = FRAME(state->pc);
	if (w->is_still)
		return GPC_OK;
	replay(w, 0, state->sp + 24, &state->pc, 8);
	state->sp += 32;
	state->is_leaf = 0;
	return w->answer;
}

static void given_up(void *ctx, uint64_t target, const char *why)
{
	struct world *w = ctx;

	assert_int_equal(target, 7);
	assert_non_null(why);
	w->given_up++;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct gpc_mem_replay r = {.ctx = w, .read = replay};

	assert_non_null(w);
	assert_int_equal(gpc_mem_new(4, &r, &w->mem, NULL), GPC_OK);
	assert_int_equal(gpc_pulls_new(w->mem, NULL, &w->pulls, NULL), GPC_OK);
	w->names = gpc_names_new(3);
	gpc_pulls_set_names(w->pulls, w->names);
	gpc_pulls_set_realtime(w->pulls, true);
	w->target = (struct gpc_target){.id = 7, .pid = PID, .ns_pid = PID};
	w->walk = (struct gpc_walk_api){.struct_size = sizeof w->walk, .walk = walk};
	w->step = (struct gpc_step_api){.struct_size = sizeof w->step, .step = step};
	w->format = (struct gpc_perf_format){TYPE, gpc_regs_mask, true};
	w->n = 2;
	for (int i = 0; i < WORDS; i++)
		w->memory[i] = w->copy[i] = 1000 + (uint64_t)i;
	assert_int_equal(pipe(w->gate), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	assert_true(gpc_pulls_remove(w->pulls, w, 7));
	assert_true(gpc_pulls_free(w->pulls));
	gpc_mem_free(w->mem);
	gpc_names_put(w->names);
	close(w->gate[0]);
	close(w->gate[1]);
	free(w->ret.own);
	free(w);
	return 0;
}

static void add(struct world *w, bool walks, bool steps)
{
	struct gpc_pull_collector c = {.name = "test",
				       .self = w,
				       .tctx = w,
				       .target = &w->target,
				       .walk = walks ? &w->walk : NULL,
				       .step = steps ? &w->step : NULL,
				       .given_up = given_up,
				       .ctx = w};

	assert_int_equal(gpc_pulls_add(w->pulls, &c, NULL), GPC_OK);
}

/* Registers by name: which is where follows from asm/perf_regs.h. */
static void registers(uint64_t *values, uint64_t pc, uint64_t sp, uint64_t fp)
{
#ifdef __x86_64__
	values[8] = pc;
	values[7] = sp;
	values[6] = fp;
#else
	values[32] = pc;
	values[31] = sp;
	values[29] = fp;
#endif
}

static void make_sample(struct world *w, uint64_t time, uint32_t tid, uint64_t pc, uint64_t fp)
{
	const uint64_t ips[] = {(uint64_t)PERF_CONTEXT_KERNEL,
				UINT64_C(0xffffffff80000001),
				(uint64_t)PERF_CONTEXT_USER,
				pc,
				0x2001,
				0x3001};
	struct rec_id id = {.pid = PID, .tid = tid, .time = time};
	uint64_t values[64] = {0};

	registers(values, pc, SP, fp);
	rec_sample(&w->record, &id, ips, 6);
	rec_u64(&w->record, PERF_SAMPLE_REGS_ABI_64);
	for (int i = 0; i < __builtin_popcountll(gpc_regs_mask); i++)
		rec_u64(&w->record, values[i]);
	rec_u64(&w->record, sizeof w->copy);
	rec_bytes(&w->record, w->copy, sizeof w->copy);
	rec_u64(&w->record, sizeof w->copy);
	rec_end(&w->record);
}

static bool pull_made(struct world *w)
{
	return gpc_pulls_pull(w->pulls, 0, w->record.words, w->record.n, &w->format, &w->ret);
}

static bool pull_aged(struct world *w, uint64_t age_ns)
{
	make_sample(w, gpc_now_ns() - age_ns, PID, 0x1001, 0);
	return pull_made(w);
}

static bool pull(struct world *w)
{
	return pull_aged(w, 0);
}

static struct gpc_pull_stats stats(struct world *w)
{
	struct gpc_pull_stats s;

	gpc_pulls_stats(w->pulls, &s);
	return s;
}

#endif
