/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.step/1 for tests/workloads/anon.c: frame sizes are known for each place in
 * its generated code. */
#include "anon.h"
#include "testpull.h"

#define RANGES 2

struct target {
	const struct gpc_target *target;
	uint64_t start[RANGES], end[RANGES]; /* calls, spin */
};

/* How a function's frame looks from offset at on; until the next row. */
struct shape {
	uint32_t at;
	uint32_t size;     /* from sp to the return address */
	uint32_t fp_saved; /* the caller's fp lies below the return address */
};
struct code {
	const char *name;
	uint32_t n;
	struct shape shapes[6];
};

static const struct code call = {"jit_call", 3, {{0, 0, 0}, {4, 40, 0}, {10, 0, 0}}};
static const struct code clobber = {"jit_clobber",
				    5,
				    {{0, 0, 0}, {1, 8, 1}, {5, 40, 1}, {16, 8, 1}, {17, 0, 0}}};
static const struct code spin = {"jit_spin", 3, {{0, 0, 0}, {4, 40, 0}, {13, 0, 0}}};

/* ---- processes -------------------------------------------------------------------- */

static gpc_status find(struct testpull *p, const struct gpc_target *target, void *tctx)
{
	const struct gpc_pull_api *pull = p->host->extension(p->host, "gpc.pull/1");
	struct target *t = tctx;
	uint32_t n = 0;

	t->target = target;
	for (uint32_t i = 0; i < target->n_maps; i++) {
		const struct gpc_map *m =
			(const void *)((const char *)target->maps + i * target->map_stride);

		if (!(m->prot & GPC_MAP_EXEC) || m->inode || *m->path)
			continue;
		if (n < RANGES) {
			t->start[n] = m->start;
			t->end[n] = m->end;
		}
		n++;
	}
	if (n != RANGES || !pull)
		return GPC_E_UNSUPPORTED;
	for (n = 0; n < RANGES; n++) {
		gpc_status st = pull->claim_range(p->host, target, t->start[n], t->end[n]);

		if (st < 0)
			return st;
	}
	return GPC_OK;
}

static gpc_status attach(void *self, const struct gpc_target *target, void **tctx)
{
	return testpull_attach(self, target, sizeof(struct target), find, tctx);
}

/* ---- stepping --------------------------------------------------------------------- */

/* The sample's copy of the stack is of the moment; memory is what is there now. */
static int read_stack(struct testpull *p, struct target *t, const struct gpc_pull_sample *s,
		      uint64_t at, uint64_t *value)
{
	if (at >= s->sp && s->stack_bytes >= 8 && at - s->sp <= s->stack_bytes - 8) {
		memcpy(value, s->stack + (at - s->sp), 8);
		return 1;
	}
	return p->host->read_mem(p->host, t->target, at, value, 8) == 8;
}

static const struct code *code_at(const struct target *t, uint64_t pc, uint32_t *offset)
{
	uint64_t at = pc - t->start[0];

	if (pc >= t->start[1] && pc < t->end[1]) {
		*offset = (uint32_t)(pc - t->start[1]);
		return &spin;
	}
	if (pc < t->start[0] || pc >= t->end[0])
		return NULL;
	*offset = (uint32_t)(at < ANON_CLOBBER ? at : at - ANON_CLOBBER);
	return at < ANON_CLOBBER ? &call : &clobber;
}

static gpc_status answer(void *self, void *tctx, const struct gpc_pull_sample *s,
			 struct gpc_step_state *state, struct gpc_pull_out *out)
{
	struct testpull *p = self;
	struct target *t = tctx;
	const struct shape *shape = NULL;
	const struct code *code;
	uint32_t offset;
	gpc_status st = testpull_trouble_before(p);

	if (st < 0)
		return st;
	code = code_at(t, state->pc, &offset);
	if (!code)
		return GPC_E_INTERNAL;
	for (uint32_t i = 0; i < code->n; i++)
		if (code->shapes[i].at <= offset)
			shape = &code->shapes[i];
	out->frames[out->n++] = testpull_frame(out, code->name);
	if (p->options->trouble == TROUBLE_ROOM)
		out->n = out->room + 100;
	if (p->options->trouble == TROUBLE_STILL)
		return GPC_OK;
	if (shape->fp_saved && !read_stack(p, t, s, state->sp + shape->size - 8, &state->fp))
		return GPC_E_CORRUPT;
	if (!read_stack(p, t, s, state->sp + shape->size, &state->pc))
		return GPC_E_CORRUPT;
	state->sp += shape->size + 8;
	state->is_leaf = 0;
	return GPC_OK;
}

static const void *extension(void *self, const char *id)
{
	struct testpull *p = self;

	if (strcmp(id, "gpc.step/1") != 0)
		return NULL;
	p->step = (struct gpc_step_api){.struct_size = sizeof p->step,
					.stack_bytes = (uint32_t)p->options->stack_bytes,
					.step = answer};
	return &p->step;
}

static const char *const suffixes[] = {"s", NULL};
static const struct gpc_match match[] = {
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_EXE, .glob = "anon*"},
	{.struct_size = 0},
};
const struct gpc_collector testpull_step = {
	TESTPULL_COLLECTOR,   .name = "teststep",
	.runtime = "anon",    .summary = "steps over generated code of a test program",
	.suffixes = suffixes, .match = match,
	.attach = attach,     .extension = extension,
};
