/* SPDX-License-Identifier: Apache-2.0 */
#include "program/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NAME_MAX_BYTES 2000 /* the longest that can be shown on any screen */
#define OVER_NAME      "[stacks over the memory limit]"
#define NO_CONTAINER   "(no container)"

/* ---- tables -------------------------------------------------------------------- */

static bool find(const struct gpc_summary_table *t, const char *name, uint64_t hash, size_t *ret)
{
	uint64_t cursor = 0, i;

	while (gpc_u64map_probe(&t->index, hash, &cursor, &i))
		if (strcmp(t->rows.at[i].name, name) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static gpc_status add_row(struct gpc_summary_table *t, const char *name, uint64_t hash, size_t *ret,
			  struct gpc_err *err)
{
	autofree char *copy = strdup(name);

	if (!copy || !vec_reserve(&t->rows, 1) || !gpc_u64map_add(&t->index, hash, t->rows.n))
		return gpc_err_nomem(err);
	*ret = t->rows.n;
	t->rows.at[t->rows.n++] = (struct gpc_summary_row){.name = take(copy)};
	return GPC_OK;
}

static gpc_status row_of(struct gpc_summary_table *t, const char *name, size_t *ret,
			 struct gpc_err *err)
{
	uint64_t hash = gpc_hash(name, strlen(name));

	if (find(t, name, hash, ret))
		return GPC_OK;
	if (t->rows.n >= GPC_SUMMARY_ROWS && strcmp(name, GPC_SUMMARY_OTHERS) != 0)
		return row_of(t, GPC_SUMMARY_OTHERS, ret, err);
	return add_row(t, name, hash, ret, err);
}

static void count(struct gpc_summary_row *row, uint64_t stamp, uint64_t value)
{
	if (row->stamp != stamp)
		row->total += value;
	row->stamp = stamp;
}

/* ---- functions ------------------------------------------------------------------- */

static const char *language_of(const char *suffix)
{
	static const struct {
		const char *suffix, *name;
	} known[] = {
		{"", "native"},
		{"k", "kernel [k]"},
		{"j", "Java [j]"},
		{"i", "Java, inlined [i]"},
		{"0", "Java, interpreted [0]"},
		{"1", "Java, C1 [1]"},
		{"p", "Python [p]"},
		{"pn", "Python, native [pn]"},
		{"pe", "Python, errors [pe]"},
		{"rb", "Ruby [rb]"},
		{"php", "PHP [php]"},
		{"net", ".NET [net]"},
		{"js", "JavaScript [js]"},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(suffix, known[i].suffix) == 0)
			return known[i].name;
	return NULL;
}

/* One profile on its way into a summary. */
struct adding {
	struct gpc_summary *s;
	const struct gpc_profile *p;
	const struct gpc_profile_api *api;
	struct gpc_u64map frames; /* frame -> row of its function, above it that of its language */
	struct gpc_u64map processes; /* those that were counted */
};

static void adding_deinit(struct adding *a)
{
	gpc_u64map_deinit(&a->frames);
	gpc_u64map_deinit(&a->processes);
}

static gpc_status find_language(struct gpc_summary *s, const char *suffix, size_t *ret,
				struct gpc_err *err)
{
	const char *known = language_of(suffix);
	char name[40];

	snprintf(name, sizeof name, "%s%.30s%s", known ? "" : "[", known ? known : suffix,
		 known ? "" : "]");
	return row_of(&s->tables[GPC_LANGUAGES], name, ret, err);
}

/* What the core calls a frame of a file, or of nothing, that has no symbol. */
static bool is_nameless(const struct gpc_frame_text *text)
{
	return text->function[0] == '(' || !text->function[0] ||
	       strcmp(text->function, "[unknown]") == 0;
}

static gpc_status add_function(struct adding *a, const struct gpc_frame_text *text, size_t *ret,
			       struct gpc_err *err)
{
	struct gpc_summary_table *t = &a->s->tables[GPC_FUNCTIONS];
	char name[NAME_MAX_BYTES];
	size_t before = t->rows.n;

	a->api->text(text, name, sizeof name);
	gpc_try(row_of(t, name, ret, err));
	if (t->rows.n == before)
		return GPC_OK;
	t->rows.at[*ret].is_error = text->flags & GPC_FRAME_ERROR;
	t->rows.at[*ret].is_nameless = is_nameless(text);
	return GPC_OK;
}

struct place {
	size_t function, language; /* rows */
};

static gpc_status find_place(struct adding *a, gpc_frame frame, struct place *ret,
			     struct gpc_err *err)
{
	struct gpc_frame_text text = {
		.struct_size = sizeof text, .function = "", .file = "", .module = "", .suffix = ""};
	uint64_t known;

	if (gpc_u64map_get(&a->frames, frame, &known)) {
		*ret = (struct place){known & UINT32_MAX, known >> 32};
		return GPC_OK;
	}
	a->api->frame(a->p, frame, &text);
	gpc_try(add_function(a, &text, &ret->function, err));
	gpc_try(find_language(a->s, text.suffix, &ret->language, err));
	if (!gpc_u64map_set(&a->frames, frame, (uint64_t)ret->language << 32 | ret->function))
		return gpc_err_nomem(err);
	return GPC_OK;
}

/* A stack that had no place: it has no frames, its process is known. */
static gpc_status add_over(struct adding *a, uint64_t value, struct gpc_err *err)
{
	struct gpc_summary_table *t = &a->s->tables[GPC_FUNCTIONS];
	size_t row;

	a->s->over += value;
	gpc_try(row_of(t, OVER_NAME, &row, err));
	t->rows.at[row].self += value;
	t->rows.at[row].total += value;
	return GPC_OK;
}

static gpc_status add_frames(struct adding *a, const struct gpc_stack *stack, struct gpc_err *err)
{
	struct gpc_summary *s = a->s;
	bool has_error = false;

	for (uint32_t i = 0; i < stack->n_frames; i++) {
		struct gpc_summary_row *function, *language;
		struct place place;

		gpc_try(find_place(a, stack->frames[i], &place, err));
		function = &s->tables[GPC_FUNCTIONS].rows.at[place.function];
		language = &s->tables[GPC_LANGUAGES].rows.at[place.language];
		count(function, s->n_stacks, stack->value);
		has_error |= function->is_error;
		if (!function->is_error)
			count(language, s->n_stacks, stack->value);
		if (i)
			continue;
		function->self += stack->value;
		language->self += stack->value;
		if (function->is_nameless)
			s->nameless += stack->value;
	}
	if (has_error)
		s->errors += stack->value;
	return stack->n_frames ? GPC_OK : add_over(a, stack->value, err);
}

/* ---- processes and containers ------------------------------------------------------ */

static gpc_status add_process(struct adding *a, const struct gpc_stack *stack, struct gpc_err *err)
{
	struct gpc_summary_table *t = &a->s->tables[GPC_PROCESSES];
	const char *comm = *stack->comm ? stack->comm : "[unknown]";
	char name[NAME_MAX_BYTES];
	uint64_t seen;
	size_t row;

	if (a->s->has_pids)
		snprintf(name, sizeof name, "%7d %s", stack->pid, comm);
	else
		snprintf(name, sizeof name, "%s", comm);
	gpc_try(row_of(t, name, &row, err));
	t->rows.at[row].self += stack->value;
	t->rows.at[row].total += stack->value;
	if (gpc_u64map_get(&a->processes, stack->process, &seen))
		return GPC_OK;
	if (!gpc_u64map_set(&a->processes, stack->process, 1))
		return gpc_err_nomem(err);
	if (!t->rows.at[row].n_processes++)
		t->rows.at[row].pid = stack->pid;
	return GPC_OK;
}

static gpc_status add_container(struct adding *a, const struct gpc_stack *stack,
				struct gpc_err *err)
{
	struct gpc_summary_table *t = &a->s->tables[GPC_CONTAINERS];
	char name[NAME_MAX_BYTES];
	size_t row;

	if (*stack->container)
		snprintf(name, sizeof name, "%s", stack->container);
	else if (stack->container_id && *stack->container_id)
		snprintf(name, sizeof name, "%.12s", stack->container_id);
	else
		snprintf(name, sizeof name, NO_CONTAINER);
	gpc_try(row_of(t, name, &row, err));
	t->rows.at[row].self += stack->value;
	t->rows.at[row].total += stack->value;
	return GPC_OK;
}

/* The kernel's idle tasks are all of pid 0, as are processes of files without pids. */
static bool is_idle(const struct gpc_stack *stack)
{
	return stack->pid == 0 &&
	       (strcmp(stack->comm, "swapper") == 0 || strncmp(stack->comm, "swapper/", 8) == 0);
}

static gpc_status add_stack(struct adding *a, const struct gpc_stack *stack, struct gpc_err *err)
{
	if (is_idle(stack)) {
		a->s->idle += stack->value;
		return GPC_OK;
	}
	a->s->samples += stack->value;
	a->s->n_stacks++;
	gpc_try(add_process(a, stack, err));
	gpc_try(add_container(a, stack, err));
	return add_frames(a, stack, err);
}

/* ---- the header ---------------------------------------------------------------------- */

/* The sum of all numbers of that name: an object for each source of samples.
 * No text of the header holds the pattern, its quotes would be escaped. */
static uint64_t sum_of(const char *json, const char *pattern)
{
	uint64_t sum = 0;

	for (const char *at = json; (at = strstr(at, pattern));) {
		at += strlen(pattern);
		sum += strtoull(at, NULL, 10);
	}
	return sum;
}

static void read_header(struct gpc_summary *s, const char *header)
{
	static const char frequency[] =
		"\"sampling_mode\": \"frequency\", \"sampling_frequency\": ";
	const char *ours = strstr(header, "\"gprofiler_core\": {");
	const char *hz = strstr(header, frequency);

	if (hz)
		s->hz = (uint32_t)strtoul(hz + strlen(frequency), NULL, 10);
	if (!ours)
		return;
	s->lost = sum_of(ours, "\"lost\": ");
	s->throttled = sum_of(ours, "\"throttled\": ");
	s->has_no_kernel = strstr(ours, "\"kernel_stacks\": false");
	s->has_no_kernel_names = strstr(ours, "\"kernel_names\": false");
}

/* ---- interface ----------------------------------------------------------------------- */

gpc_status gpc_summary_add(struct gpc_summary *s, const struct gpc_profile *p,
			   const struct gpc_profile_api *api, struct gpc_err *err)
{
	autocall(adding_deinit) struct adding a = {.s = s, .p = p, .api = api};
	struct gpc_profile_info info = {.struct_size = sizeof info, .header = ""};
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;

	api->info(p, &info);
	s->seconds = (double)info.duration_ns / 1e9;
	read_header(s, info.header);
	while (api->next(p, &cursor, &stack) && stack.event == 0)
		gpc_try(add_stack(&a, &stack, err));
	return GPC_OK;
}

void gpc_summary_deinit(struct gpc_summary *s)
{
	for (int i = 0; i < GPC_SUMMARY_TABLES; i++) {
		struct gpc_summary_table *t = &s->tables[i];

		for (size_t k = 0; k < t->rows.n; k++)
			free(t->rows.at[k].name);
		vec_deinit(&t->rows);
		gpc_u64map_deinit(&t->index);
	}
	*s = (struct gpc_summary){0};
}

const struct gpc_summary_row *gpc_summary_find(const struct gpc_summary_table *t, const char *name)
{
	size_t row;

	if (!find(t, name, gpc_hash(name, strlen(name)), &row))
		return NULL;
	return &t->rows.at[row];
}

static int more_first(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_self(const void *a, const void *b)
{
	const struct gpc_summary_row *x = *(const struct gpc_summary_row *const *)a;
	const struct gpc_summary_row *y = *(const struct gpc_summary_row *const *)b;
	int order = more_first(x->self, y->self);

	if (!order)
		order = more_first(x->total, y->total);
	return order ? order : strcmp(x->name, y->name);
}

static int compare_total(const void *a, const void *b)
{
	const struct gpc_summary_row *x = *(const struct gpc_summary_row *const *)a;
	const struct gpc_summary_row *y = *(const struct gpc_summary_row *const *)b;
	int order = more_first(x->total, y->total);

	if (!order)
		order = more_first(x->self, y->self);
	return order ? order : strcmp(x->name, y->name);
}

const struct gpc_summary_row **gpc_summary_sorted(const struct gpc_summary_table *t, bool by_total)
{
	const struct gpc_summary_row **sorted;

	if (!t->rows.n)
		return NULL;
	sorted = calloc(t->rows.n, sizeof(const struct gpc_summary_row *));
	if (!sorted)
		return NULL;
	for (size_t i = 0; i < t->rows.n; i++)
		sorted[i] = &t->rows.at[i];
	qsort(sorted, t->rows.n, sizeof *sorted, by_total ? compare_total : compare_self);
	return sorted;
}
