/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/merge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

typedef unsigned __int128 u128;

struct remainder {
	u128 value;
	size_t index;
};

/* A row of an input; its place among all rows keeps their order. */
struct item {
	struct gpc_stack_row row;
	size_t process; /* its place in the profile */
	size_t place;
	enum { PERF, RUNTIME, ERROR } kind; /* in the order they are grouped */
};

struct merge {
	struct gpc_names *names;
	struct gpc_u64map processes; /* id -> place */
	vec(struct item) items;
	vec(uint64_t) values;  /* scratch */
	vec(gpc_frame) frames; /* scratch: one stack with errors */
	struct gpc_stacks *out;
};

/* The rows of one process. */
struct group {
	struct item *at;
	size_t n_perf, n_runtime, n_error;
};

static int compare_numbers(u128 a, u128 b)
{
	return a < b ? -1 : a > b;
}

static int by_remainder(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;
	int order = compare_numbers(y->value, x->value);

	return order ? order : compare_numbers(x->index, y->index);
}

static void hand_out(uint64_t *values, struct remainder *rest, size_t n, uint64_t left)
{
	qsort(rest, n, sizeof *rest, by_remainder);
	for (size_t i = 0; i < n && left; i++, left--)
		values[rest[i].index]++;
}

static int compare_entries(struct gpc_names *names, gpc_frame a, gpc_frame b)
{
	struct gpc_frame_text x = {.function = ""}, y = {.function = ""};
	int order;

	if (!gpc_names_frame_text(names, a, &x) || !gpc_names_frame_text(names, b, &y))
		return compare_numbers(a, b);
	if ((order = strcmp(x.function, y.function)) || (order = strcmp(x.suffix, y.suffix)) ||
	    (order = strcmp(x.module, y.module)) || (order = strcmp(x.file, y.file)))
		return order;
	if ((order = compare_numbers(x.line, y.line)) ||
	    (order = compare_numbers(x.flags, y.flags)) ||
	    (order = compare_numbers(x.address, y.address)))
		return order;
	return strcmp(x.build_id, y.build_id);
}

/* By text, root first: the numbers of frames depend on who came first. */
static int compare_stacks(struct gpc_names *names, const struct gpc_stack_row *a,
			  const struct gpc_stack_row *b)
{
	uint32_t n = a->n_frames < b->n_frames ? a->n_frames : b->n_frames;

	for (uint32_t i = 1; i <= n; i++) {
		gpc_frame x = a->frames[a->n_frames - i], y = b->frames[b->n_frames - i];
		int order = x == y ? 0 : compare_entries(names, x, y);

		if (order)
			return order;
	}
	return compare_numbers(a->n_frames, b->n_frames);
}

static int by_group(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = compare_numbers(x->process, y->process);

	if (!order)
		order = compare_numbers(x->kind, y->kind);
	return order ? order : compare_numbers(x->place, y->place);
}

/* Which stack gets the odd sample must not hang on who reported first. */
static int by_stack(const void *a, const void *b, void *ctx)
{
	const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
	int order = compare_numbers(y->row.value, x->row.value);

	if (!order)
		order = compare_stacks(ctx, &x->row, &y->row);
	return order ? order : compare_numbers(x->place, y->place);
}

static bool is_error_stack(struct gpc_names *names, const struct gpc_stack_row *row)
{
	struct gpc_frame_entry entry;

	return row->n_frames == 1 && gpc_names_entry(names, row->frames[0], &entry) &&
	       (entry.flags & GPC_FRAME_ERROR);
}

static gpc_status add_items(struct merge *m, const struct gpc_stacks *s, bool is_perf,
			    struct gpc_err *err)
{
	size_t n = gpc_stacks_rows(s);

	if (!vec_reserve(&m->items, n))
		return gpc_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct item item = {.row = gpc_stacks_row(s, i), .place = m->items.n};
		uint64_t place = m->processes.n, process = gpc_key_process(item.row.process);

		if (!gpc_u64map_get(&m->processes, process, &place) &&
		    !gpc_u64map_set(&m->processes, process, place))
			return gpc_err_nomem(err);
		item.process = place;
		if (!is_perf)
			item.kind = is_error_stack(m->names, &item.row) ? ERROR : RUNTIME;
		m->items.at[m->items.n++] = item;
	}
	return GPC_OK;
}

static uint64_t total_of(const struct item *items, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(total, items[i].row.value, &total))
			return UINT64_MAX;
	return total;
}

/* A full output counts in its overflow row: nothing is lost. */
static gpc_status put(struct merge *m, const struct gpc_stack_row *row, struct gpc_err *err)
{
	gpc_status st =
		gpc_stacks_add(m->out, row->process, row->frames, row->n_frames, row->value);

	return st == GPC_E_NOMEM ? gpc_err_nomem(err) : GPC_OK;
}

static bool has_frame(const gpc_frame *frames, size_t n, gpc_frame frame)
{
	for (size_t i = 0; i < n; i++)
		if (frames[i] == frame)
			return true;
	return false;
}

/* The stack with the process's error frames at its root end, each once; the
 * first one reported is nearest to the root. */
static gpc_status put_annotated(struct merge *m, const struct group *g,
				const struct gpc_stack_row *row, struct gpc_err *err)
{
	const struct item *errors = g->at + g->n_perf + g->n_runtime;
	struct gpc_stack_row with = *row;

	m->frames.n = 0;
	if (!vec_reserve(&m->frames, row->n_frames + g->n_error))
		return gpc_err_nomem(err);
	if (row->n_frames)
		memcpy(m->frames.at, row->frames, row->n_frames * sizeof *row->frames);
	m->frames.n = row->n_frames;
	for (size_t i = g->n_error; i-- > 0;)
		if (!has_frame(m->frames.at, m->frames.n, errors[i].row.frames[0]))
			m->frames.at[m->frames.n++] = errors[i].row.frames[0];
	with.frames = m->frames.at;
	with.n_frames = (uint32_t)m->frames.n;
	return put(m, &with, err);
}

static gpc_status put_all(struct merge *m, const struct group *g, const struct item *items,
			  size_t n, struct gpc_err *err)
{
	for (size_t i = 0; i < n; i++)
		gpc_try(put_annotated(m, g, &items[i].row, err));
	return GPC_OK;
}

static gpc_status scale_items(struct merge *m, struct item *items, size_t n, uint64_t total,
			      struct gpc_err *err)
{
	autofree struct item **sorted = calloc(n + 1, sizeof *sorted);

	m->values.n = 0;
	if (!sorted || !vec_reserve(&m->values, n))
		return gpc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		sorted[i] = &items[i];
	qsort_r(sorted, n, sizeof *sorted, by_stack, m->names);
	for (size_t i = 0; i < n; i++)
		m->values.at[i] = sorted[i]->row.value;
	gpc_try(gpc_scale(m->values.at, n, total, err));
	for (size_t i = 0; i < n; i++)
		sorted[i]->row.value = m->values.at[i];
	return GPC_OK;
}

static gpc_status merge_process(struct merge *m, const struct group *g, struct gpc_err *err)
{
	struct item *runtime = g->at + g->n_perf;

	if (!g->n_runtime)
		return put_all(m, g, g->at, g->n_perf, err);
	if (g->n_perf)
		gpc_try(scale_items(m, runtime, g->n_runtime, total_of(g->at, g->n_perf), err));
	return put_all(m, g, runtime, g->n_runtime, err);
}

static size_t count_kind(const struct item *items, size_t n, size_t process, int kind)
{
	size_t i = 0;

	while (i < n && items[i].process == process && (int)items[i].kind == kind)
		i++;
	return i;
}

static gpc_status merge_groups(struct merge *m, bool has_perf, struct gpc_err *err)
{
	size_t n = m->items.n;

	for (size_t i = 0; i < n; i++)
		if (!has_perf)
			m->items.at[i].kind = RUNTIME;
	if (n)
		qsort(m->items.at, n, sizeof *m->items.at, by_group);
	for (size_t i = 0; i < n;) {
		struct group g = {.at = m->items.at + i};
		size_t process = g.at->process;

		g.n_perf = count_kind(g.at, n - i, process, PERF);
		i += g.n_perf;
		g.n_runtime = count_kind(m->items.at + i, n - i, process, RUNTIME);
		i += g.n_runtime;
		g.n_error = count_kind(m->items.at + i, n - i, process, ERROR);
		i += g.n_error;
		gpc_try(merge_process(m, &g, err));
	}
	return GPC_OK;
}

static void merge_deinit(struct merge *m)
{
	gpc_u64map_deinit(&m->processes);
	vec_deinit(&m->items);
	vec_deinit(&m->values);
	vec_deinit(&m->frames);
	gpc_stacks_free(m->out);
}

gpc_status gpc_merge(struct gpc_names *names, const struct gpc_stacks *perf,
		     const struct gpc_stacks *const *runtimes, size_t n_runtimes, size_t max_bytes,
		     struct gpc_stacks **ret, struct gpc_err *err)
{
	autocall(merge_deinit) struct merge m = {.names = names};

	gpc_try(gpc_stacks_new(max_bytes, &m.out, err));
	if (perf)
		gpc_try(add_items(&m, perf, true, err));
	for (size_t i = 0; i < n_runtimes; i++)
		gpc_try(add_items(&m, runtimes[i], false, err));
	gpc_try(merge_groups(&m, perf, err));
	*ret = take(m.out);
	return GPC_OK;
}

gpc_status gpc_scale(uint64_t *values, size_t n, uint64_t total, struct gpc_err *err)
{
	autofree struct remainder *rest = NULL;
	uint64_t left = total;
	u128 sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	if (!sum || sum == total)
		return GPC_OK;
	rest = calloc(n, sizeof *rest);
	if (!rest)
		return gpc_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		u128 share = (u128)values[i] * total;

		rest[i] = (struct remainder){share % sum, i};
		values[i] = (uint64_t)(share / sum);
		left -= values[i];
	}
	hand_out(values, rest, n, left);
	return GPC_OK;
}
