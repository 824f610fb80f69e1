/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of a sampler: started with the first process that is pulled, ended
 * after the last, watched while they read. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "source/sampler_impl.h"

static void start_readers(struct gpc_sampler *s)
{
	struct gpc_pull_hooks hooks = {.ctx = s->pulls,
				       .pull = gpc_pulls_pull,
				       .end = gpc_pulls_end,
				       .hangs = gpc_pulls_hangs};
	struct gpc_err err;

	s->is_pulling = true;
	if (gpc_reader_start_pull(s->reader, &hooks, s->config.reader_priority, &s->priority,
				  &err) < 0)
		gpc_warn(s->log, "source", "runtime frames cannot be read at samples: %s",
			 err.text);
	else if (s->priority > s->config.reader_priority)
		gpc_warn(s->log, "source",
			 "readers run at %s priority (--reader-priority; CAP_SYS_NICE is "
			 "missing): on a busy machine many stacks will be read too late to be "
			 "exact (readers in the profile's header says how many)",
			 gpc_priority_name(s->priority));
	gpc_pulls_set_realtime(s->pulls, s->priority == GPC_PRIORITY_REALTIME);
}

#define TICK_MS       500
#define TICK_SHORT_MS 250

bool gpc_sampler_is_dense(struct gpc_sampler *s, const struct gpc_perf_request *req, uint32_t ring)
{
	struct gpc_reader_stats stats;

	gpc_reader_stats(s->reader, ring, &stats);
	return req->is_period || stats.ring_bytes < stats.cpus * gpc_reader_second_bytes(req);
}

/* Numbers of threads in pid namespaces are looked up by ticks, and until then a thread
 * has no runtime frames. */
int gpc_sampler_tick_ms(const struct gpc_sampler *s)
{
	for (size_t i = 0; i < s->streams.n; i++)
		if (s->streams.at[i].is_open && s->streams.at[i].is_dense)
			return TICK_SHORT_MS;
	return s->is_pulling && gpc_pulls_has_foreign(s->pulls) ? TICK_SHORT_MS : TICK_MS;
}

/* The kernel's bound (perf_event_attr.sample_stack_user). */
#define STACK_MAX 65528

void gpc_sampler_ask_user_state(const struct gpc_sampler *s, struct gpc_perf_request *req)
{
	bool has_dwarf = req->unwind != GPC_UNWIND_FP;

	if (!has_dwarf)
		req->stack_bytes = 0;
	if (req->stack_bytes > STACK_MAX)
		req->stack_bytes = STACK_MAX;
	req->user_state = s->has_pull || has_dwarf;
	req->pulled = s->has_pull;
	/* Collectors that pull are given the kernel's chain. */
	req->no_user_chain = req->unwind == GPC_UNWIND_DWARF && !s->has_pull;
	if (!s->has_pull)
		return;
	if (req->stack_bytes < s->pull_stack_bytes)
		req->stack_bytes = s->pull_stack_bytes;
	/* Readers are woken by each sample; nobody waits while there are none. */
	req->wake_bytes = 1;
}

void gpc_sampler_set_pull(struct gpc_sampler *s, uint32_t stack_bytes, struct gpc_names *names)
{
	autolock(&s->lock);

	s->has_pull = true;
	s->pull_stack_bytes = stack_bytes < STACK_MAX ? stack_bytes : STACK_MAX;
	gpc_pulls_set_names(s->pulls, names);
	s->epoch = gpc_names_epoch(names);
}

/* Locked. */
static const struct gpc_space *space_of(void *ctx, uint64_t target, uint32_t *jit)
{
	struct gpc_sampler *s = ctx;
	struct gpc_process *p = gpc_table_by_id(s->table, target);

	*jit = p ? p->unwind_jit : 0;
	return p ? gpc_table_space(s->table, p) : NULL;
}

void gpc_sampler_pull_changed(struct gpc_sampler *s)
{
	autolock(&s->lock);
	bool is_wanted = gpc_pulls_count(s->pulls) > 0;

	if (is_wanted && !s->is_pulling && s->has_pull)
		start_readers(s);
	else if (!is_wanted && s->is_pulling)
		gpc_reader_stop_pull(s->reader);
	s->is_pulling = is_wanted && s->has_pull;
	/* It is not asked before. */
	if (s->is_pulling)
		gpc_pulls_follow_code(s->pulls, space_of, s, true);
}

void gpc_sampler_set_unwind(struct gpc_sampler *s, enum gpc_unwind_mode mode)
{
	gpc_pulls_set_unwind(s->pulls, s->native.tables, mode);
}

void gpc_sampler_check_pull(struct gpc_sampler *s)
{
	if (!s->is_pulling)
		return;
	gpc_reader_check_pull(s->reader, gpc_crowd_is_calm(&s->crowd, gpc_now_ns(), NULL));
	gpc_pulls_chores(s->pulls);
	gpc_pulls_follow_code(s->pulls, space_of, s, false);
}

struct gpc_pulls *gpc_sampler_pulls(struct gpc_sampler *s)
{
	return s->pulls;
}

struct gpc_mem *gpc_sampler_mem(struct gpc_sampler *s)
{
	return s->mem;
}

void gpc_sampler_reader_facts(struct gpc_sampler *s, struct gpc_reader_facts *ret)
{
	struct gpc_reader_stats stats;
	autolock(&s->lock);

	memset(ret, 0, sizeof *ret);
	ret->is_running = s->is_pulling;
	ret->priority = s->priority;
	for (size_t i = 0; s->is_pulling && i < s->streams.n; i++) {
		gpc_reader_stats(s->reader, s->streams.at[i].ring, &stats);
		ret->cpu_ns += stats.reader_cpu_ns;
	}
}
