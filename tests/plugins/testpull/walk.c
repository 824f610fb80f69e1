/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.walk/1 for tests/workloads/interp.c. */
#include <stdio.h>

#include "interp.h"
#include "testpull.h"

#define BLOCK      64 /* frames that are read at once */
#define FRAMES_MAX 300
#define GROUPS_MAX 128

struct target {
	const struct gpc_target *target;
	uint64_t threads, hang;
	uint64_t eval[2]; /* range of interp_eval */
};

/* One answer in the making. */
struct walk {
	struct testpull *p;
	struct target *t;
	const struct gpc_pull_sample *sample;
	struct gpc_pull_out *out;
	struct interp_frame block[BLOCK];
	uint64_t block_at; /* address of block[0] */
	uint32_t block_n;
	uint32_t groups, group_end[GROUPS_MAX]; /* frames up to and with the entry */
};

/* ---- processes -------------------------------------------------------------------- */

static gpc_status find(struct testpull *p, const struct gpc_target *target, void *tctx)
{
	struct target *t = tctx;
	uint64_t range = 0;
	gpc_status st = p->host->find_symbol(p->host, target, NULL, "interp_threads", &t->threads);

	t->target = target;
	if (st == GPC_OK)
		st = p->host->find_symbol(p->host, target, NULL, "interp_hang", &t->hang);
	if (st == GPC_OK)
		st = p->host->find_symbol(p->host, target, NULL, "interp_range", &range);
	if (st == GPC_OK && p->host->read_mem(p->host, target, range, t->eval, sizeof t->eval) !=
				    (int64_t)sizeof t->eval)
		st = GPC_E_CORRUPT;
	return st;
}

static gpc_status attach(void *self, const struct gpc_target *target, void **tctx)
{
	return testpull_attach(self, target, sizeof(struct target), find, tctx);
}

/* ---- reading ---------------------------------------------------------------------- */

static int read_all(struct walk *w, uint64_t at, void *buf, uint64_t n)
{
	return w->p->host->read_mem(w->p->host, w->t->target, at, buf, n) == (int64_t)n;
}

/* The frame that the thread executes; 0: none, or no such thread. */
static gpc_status find_top(struct walk *w, uint64_t *top)
{
	struct interp_thread slots[INTERP_NEAR];
	uint32_t first = (uint32_t)w->sample->ns_tid % INTERP_SLOTS;
	uint32_t n = INTERP_SLOTS - first < INTERP_NEAR ? INTERP_SLOTS - first : INTERP_NEAR;

	*top = 0;
	if (!w->sample->ns_tid)
		return GPC_E_UNSUPPORTED;
	if (!read_all(w, w->t->threads + first * sizeof *slots, slots, n * sizeof *slots) ||
	    (n < INTERP_NEAR &&
	     !read_all(w, w->t->threads, slots + n, (INTERP_NEAR - n) * sizeof *slots)))
		return GPC_E_CORRUPT;
	for (uint32_t i = 0; i < INTERP_NEAR; i++)
		if (slots[i].tid == w->sample->ns_tid)
			*top = slots[i].top;
	return GPC_OK;
}

/* Callers lie below: a block that ends with the frame has the next ones too. */
static const struct interp_frame *frame_at(struct walk *w, uint64_t at)
{
	uint64_t index = (at - w->block_at) / sizeof *w->block;

	if (at >= w->block_at && index < w->block_n && (at - w->block_at) % sizeof *w->block == 0)
		return &w->block[index];
	w->block_n = BLOCK;
	w->block_at = at - (BLOCK - 1) * sizeof *w->block;
	if (read_all(w, w->block_at, w->block, sizeof w->block))
		return &w->block[BLOCK - 1];
	w->block_n = 1;
	w->block_at = at;
	return read_all(w, at, w->block, sizeof *w->block) ? w->block : NULL;
}

static gpc_status read_frames(struct walk *w, uint64_t at)
{
	while (at) {
		const struct interp_frame *f = frame_at(w, at);
		char name[16];

		if (!f || f->function >= INTERP_FUNCTIONS || w->out->n == FRAMES_MAX ||
		    w->out->n == w->out->room || w->groups == GROUPS_MAX)
			return GPC_E_CORRUPT;
		snprintf(name, sizeof name, "f%u", f->function);
		w->out->frames[w->out->n++] = testpull_frame(w->out, name);
		if (f->is_entry)
			w->group_end[w->groups++] = w->out->n;
		at = f->up;
	}
	return GPC_OK;
}

/* ---- joining ---------------------------------------------------------------------- */

static int is_eval(const struct walk *w, uint32_t i)
{
	uint64_t at = w->sample->native[i] - (i > 0);

	return at >= w->t->eval[0] && at < w->t->eval[1];
}

/* The thread has not run since, and each C frame of the interpreter has one entry
 * frame, or nothing is proven. */
static void join(struct walk *w)
{
	uint32_t run = 0, from = 0;

	if (!(w->sample->flags & GPC_PULL_EXACT) && !w->p->options->joins_always)
		return;
	for (uint32_t i = 0; i < w->sample->n_native; i++)
		run += (uint32_t)is_eval(w, i);
	if (run != w->groups || run > w->out->room_runs ||
	    (run && w->group_end[run - 1] != w->out->n))
		return;
	for (uint32_t i = 0; i < w->sample->n_native; i++) {
		if (!is_eval(w, i))
			continue;
		w->out->runs[w->out->n_runs] =
			(struct gpc_pull_run){.frames_at = from,
					      .frames_n = w->group_end[w->out->n_runs] - from,
					      .native_at = i,
					      .native_n = 1};
		from = w->group_end[w->out->n_runs++];
	}
}

static void spoil(const struct walk *w)
{
	struct gpc_pull_out *out = w->out;
	struct gpc_pull_run *runs = out->runs;

	switch (w->p->options->trouble) {
	case TROUBLE_ROOM:
		out->n = out->room + 100;
		break;
	case TROUBLE_OVERLAP:
		if (out->n_runs > 1)
			runs[1].native_at = runs[0].native_at;
		break;
	case TROUBLE_ORDER:
		if (out->n_runs > 1) {
			struct gpc_pull_run first = runs[0];

			runs[0] = runs[1];
			runs[1] = first;
		}
		break;
	case TROUBLE_BEYOND:
		if (out->n_runs)
			runs[out->n_runs - 1].native_n = UINT32_MAX;
		break;
	case TROUBLE_EMPTY:
		out->n = out->n_runs = 0;
		break;
	default:
		break;
	}
}

static gpc_status answer(void *self, void *tctx, const struct gpc_pull_sample *s,
			 struct gpc_pull_out *out)
{
	struct walk w = {.p = self, .t = tctx, .sample = s, .out = out};
	uint64_t top, page = 0;
	gpc_status st = testpull_trouble_before(w.p);

	if (st < 0)
		return st;
	if (w.p->options->trouble == TROUBLE_READ && read_all(&w, w.t->hang, &page, sizeof page) &&
	    page && !read_all(&w, page, &page, sizeof page))
		return GPC_E_CORRUPT;
	st = find_top(&w, &top);
	if (st == GPC_OK)
		st = read_frames(&w, top);
	if (st < 0)
		return st;
	join(&w);
	spoil(&w);
	return GPC_OK;
}

static const void *extension(void *self, const char *id)
{
	struct testpull *p = self;

	if (strcmp(id, "gpc.walk/1") != 0)
		return NULL;
	p->walk = (struct gpc_walk_api){.struct_size = sizeof p->walk,
					.stack_bytes = (uint32_t)p->options->stack_bytes,
					.walk = answer};
	return &p->walk;
}

static const char *const suffixes[] = {"t", NULL};
static const struct gpc_match match[] = {
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_EXE, .glob = "interp*"},
	{.struct_size = 0},
};
const struct gpc_collector testpull_walk = {
	TESTPULL_COLLECTOR,   .name = "testwalk",
	.runtime = "interp",  .summary = "walks the heap frames of a test interpreter",
	.suffixes = suffixes, .match = match,
	.attach = attach,     .extension = extension,
};
