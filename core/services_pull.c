/* SPDX-License-Identifier: Apache-2.0 */
/* Pull: which collectors answer at samples, and what they may ask for. */
#include <string.h>

#include "core_impl.h"

static struct gpc_core *core_of(const struct gpc_host *h)
{
	return gpc_instance_services(gpc_instance_of_host(h))->ctx;
}

/* ---- gpc.pull/1 ---------------------------------------------------------------- */

static gpc_status claim_range(const struct gpc_host *h, const struct gpc_target *t, uint64_t start,
			      uint64_t end)
{
	return gpc_pulls_claim(gpc_sampler_pulls(core_of(h)->sampler),
			       gpc_instance_self(gpc_instance_of_host(h)), t->id, start, end);
}

static gpc_status release_range(const struct gpc_host *h, const struct gpc_target *t,
				uint64_t start, uint64_t end)
{
	return gpc_pulls_release(gpc_sampler_pulls(core_of(h)->sampler),
				 gpc_instance_self(gpc_instance_of_host(h)), t->id, start, end);
}

/* ---- gpc.native-unwind/1 --------------------------------------------------------- */

static gpc_status unwind_up(const struct gpc_host *h, const struct gpc_target *t,
			    const struct gpc_pull_sample *s, struct gpc_step_state *state)
{
	return gpc_pulls_up(gpc_sampler_pulls(core_of(h)->sampler), t, s, state) ? GPC_OK
										 : GPC_E_CORRUPT;
}

const void *gpc_core_pull_extension(const char *id)
{
	static const struct gpc_pull_api pull = {.struct_size = sizeof pull,
						 .claim_range = claim_range,
						 .release_range = release_range};
	static const struct gpc_native_unwind_api unwind = {.struct_size = sizeof unwind,
							    .up = unwind_up};

	if (strcmp(id, "gpc.pull/1") == 0)
		return &pull;
	if (strcmp(id, "gpc.native-unwind/1") == 0)
		return &unwind;
	return NULL;
}

/* ---- who is pulled ------------------------------------------------------------------ */

static const void *ask(struct gpc_instance *i, const char *id)
{
	const struct gpc_collector *c = gpc_instance_collector(i);

	return c->extension ? c->extension(gpc_instance_self(i), id) : NULL;
}

static void given_up(void *ctx, uint64_t target, const char *why)
{
	struct gpc_instance *i = ctx;

	gpc_instance_trouble(i, target, 0, GPC_E_TIMEOUT, why);
}

/* [worker] After a successful attach. */
static void joined(void *ctx, struct gpc_instance *i, const struct gpc_target *t, void *tctx)
{
	struct gpc_core *core = ctx;
	struct gpc_pull_collector c = {.name = gpc_instance_name(i),
				       .suffixes = gpc_instance_collector(i)->suffixes,
				       .self = gpc_instance_self(i),
				       .tctx = tctx,
				       .target = t,
				       .walk = ask(i, "gpc.walk/1"),
				       .step = ask(i, "gpc.step/1"),
				       .given_up = given_up,
				       .ctx = i};
	struct gpc_err err;

	if (!c.walk && !c.step)
		return;
	if (gpc_pulls_add(gpc_sampler_pulls(core->sampler), &c, &err) < 0) {
		gpc_instance_trouble(i, t->id, t->pid, err.code, err.text);
		return;
	}
	gpc_sampler_pull_changed(core->sampler);
}

/* [worker] Before the detach. */
static bool left(void *ctx, struct gpc_instance *i, uint64_t target)
{
	struct gpc_core *core = ctx;
	bool is_free =
		gpc_pulls_remove(gpc_sampler_pulls(core->sampler), gpc_instance_self(i), target);

	gpc_sampler_pull_changed(core->sampler);
	gpc_core_remove_injected(core, i, target);
	return is_free;
}

void gpc_core_init_pull_services(struct gpc_core *core)
{
	core->services.mem = gpc_sampler_mem(core->sampler);
	core->services.joined = joined;
	core->services.left = left;
}

void gpc_core_prepare_pull(struct gpc_core *core)
{
	bool has_pull = false;
	uint32_t bytes = 0;

	for (size_t k = 0; k < core->instances.n; k++) {
		const struct gpc_walk_api *walk = ask(core->instances.at[k], "gpc.walk/1");
		const struct gpc_step_api *step = ask(core->instances.at[k], "gpc.step/1");

		if (walk && walk->stack_bytes > bytes)
			bytes = walk->stack_bytes;
		if (step && step->stack_bytes > bytes)
			bytes = step->stack_bytes;
		has_pull |= walk || step;
	}
	if (has_pull)
		gpc_sampler_set_pull(core->sampler, bytes, core->names);
}
