/* SPDX-License-Identifier: Apache-2.0 */
#include "source/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "source/fold.h"
#include "source/frames.h"
#include "source/gostack.h"
#include "source/jitcode.h"
#include "sym/demangle.h"

/* A frame of the result, or several: the functions inlined there, innermost first.
 * Then it is CHAIN and a place in chains, where their number stands first. */
#define CHAIN      (UINT64_C(1) << 56)
#define FRAMES_MAX (2 * GPC_FOLD_MAX)

/* The state of one run. Frames of files, of the kernel and of the vdso mean the
 * same in every process; plain addresses only in theirs. */
struct run {
	struct gpc_symbolizer *y;
	struct gpc_u64map shared, own; /* raw frame -> frame or chain */
	vec(gpc_frame) chains;
	uint64_t process; /* whose own and jit are */
	struct gpc_jitcode jit;
	gpc_frame unknown;
	struct gpc_u64map go_places; /* frame -> enum gpc_go_place */
	struct gpc_u64map build_ids; /* image -> text, of those asked for */
};

struct text {
	const char *function, *module;
	uint32_t flags;
	const char *suffix;
	gpc_str build_id;
	uint64_t address;
	const char *file; /* NULL: not known, or not asked for */
	uint32_t line;
};

/* Where a frame is, when that is asked for. */
struct place {
	gpc_str build_id;
	uint64_t address;
	const char *file;
	uint32_t line;
	bool is_inlined;
};

static const struct place nowhere;

static gpc_frame intern(struct run *run, const struct text *t)
{
	struct gpc_names *names = run->y->names;
	struct gpc_frame_entry e = {.flags = t->flags,
				    .build_id = t->build_id,
				    .address = t->address,
				    .line = t->line};

	if (t->file)
		e.file = gpc_names_str(names, t->file, strlen(t->file));
	e.function = gpc_names_str(names, t->function, strlen(t->function));
	e.module = gpc_names_str(names, t->module, strlen(t->module));
	e.suffix = gpc_names_str(names, t->suffix, strlen(t->suffix));
	return gpc_names_frame(names, &e);
}

/* A native name as people write it, with its file when asked for. */
static gpc_frame native(struct run *run, const char *name, const char *module,
			const struct place *place)
{
	autofree char *plain = run->y->demangle ? gpc_demangle(name) : NULL;
	autofree char *with_module = NULL;
	struct text t = {.function = plain ? plain : name,
			 .module = module,
			 .flags = place->is_inlined ? GPC_FRAME_INLINED : 0,
			 .suffix = "",
			 .build_id = place->build_id,
			 .address = place->address,
			 .file = place->file,
			 .line = place->line};
	size_t n = strlen(module);
	/* "[vdso]" is shown as (vdso). */
	size_t bracket = n > 2 && module[0] == '[' && module[n - 1] == ']';

	if (run->y->insert_dso && *module &&
	    asprintf(&with_module, "%s (%.*s)", t.function, (int)(n - 2 * bracket),
		     module + bracket) > 0)
		t.function = with_module;
	return intern(run, &t);
}

/* What is known of an address without a symbol is the file it is in. */
static gpc_frame nameless(struct run *run, const char *module, const struct place *place)
{
	autofree char *name = NULL;
	struct text t = {.module = module,
			 .suffix = "",
			 .build_id = place->build_id,
			 .address = place->address,
			 .file = place->file,
			 .line = place->line};

	if (asprintf(&name, "(%s)", module) < 0) {
		name = NULL;
		return run->unknown;
	}
	t.function = name;
	return intern(run, &t);
}

static gpc_str build_id(struct run *run, uint32_t image)
{
	char text[GPC_BUILD_ID_TEXT];
	uint64_t known;

	if (gpc_u64map_get(&run->build_ids, image, &known))
		return (gpc_str)known;
	gpc_images_build_id(gpc_sampler_images(run->y->sampler), image, text);
	known = gpc_names_str(run->y->names, text, strlen(text));
	gpc_u64map_set(&run->build_ids, image, known);
	return (gpc_str)known;
}

/* Adds the functions that were inlined at an address to chains. What is known of
 * the last one, which was not, goes to *place. */
static uint32_t add_inlined(struct run *run, const struct gpc_line_list *lines, const char *path,
			    struct place *place)
{
	uint32_t n = 0;

	for (size_t i = 0; i < lines->n; i++) {
		const struct gpc_source_line *l = &lines->at[i];
		struct place at = *place;

		if (run->y->addresses) {
			at.file = l->file;
			at.line = l->line;
		}
		if (!l->function) {
			*place = at;
			continue;
		}
		at.is_inlined = true;
		if (run->y->inlines && vec_push(&run->chains, native(run, l->function, path, &at)))
			n++;
	}
	return n;
}

/* A frame, or a chain. */
static uint64_t in_file(struct run *run, uint64_t raw)
{
	struct gpc_images *images = gpc_sampler_images(run->y->sampler);
	uint32_t image = gpc_raw_image(raw), n = 0;
	struct gpc_symbol symbol = {0};
	const char *path = gpc_images_path(images, image);
	gpc_status st = gpc_images_symbol(images, image, gpc_raw_offset(raw), &symbol);
	bool has_name = st == GPC_OK && symbol.name;
	size_t first = run->chains.n;
	struct gpc_line_list lines = {0};
	struct place place = {0};
	gpc_frame frame;

	/* Unmapped while the last window was finished, and forgotten with it. */
	if (!path)
		return run->unknown;
	/* Stacks that differ inside of functions only stay one row. */
	if (run->y->addresses) {
		place.build_id = build_id(run, image);
		place.address = has_name ? symbol.start : symbol.address;
	}
	if (st == GPC_OK && (run->y->addresses || run->y->inlines))
		gpc_images_lines(images, image, gpc_raw_offset(raw), &lines);
	if (lines.n && vec_push(&run->chains, 0))
		n = add_inlined(run, &lines, path, &place);
	frame = has_name ? native(run, symbol.name, path, &place) : nameless(run, path, &place);
	if (n && vec_push(&run->chains, frame)) {
		run->chains.at[first] = n + 1;
		return CHAIN | first;
	}
	run->chains.n = first;
	return frame;
}

static gpc_frame in_kernel(struct run *run, uint64_t address)
{
	struct gpc_kernel_symbol symbol = {0};
	struct gpc_err err;
	autofree char *module = NULL;
	struct text t = {.flags = GPC_FRAME_KERNEL, .suffix = "k"};
	gpc_status st =
		gpc_kernel_syms_find(gpc_sampler_kernel(run->y->sampler), address, &symbol, &err);

	if (st < 0 && !run->y->kernel_hidden) {
		run->y->kernel_hidden = true;
		gpc_warn(run->y->log, "sym", "kernel functions have no names: %s", err.text);
	}
	if (st < 0 || !symbol.name) {
		t.function = "[unknown]";
		t.module = "[kernel]";
		return intern(run, &t);
	}
	t.function = symbol.name;
	if (symbol.module && *symbol.module && asprintf(&module, "[%s]", symbol.module) < 0)
		module = NULL;
	t.module = module ? module : "[kernel]";
	return intern(run, &t);
}

static gpc_frame in_vdso(struct run *run, uint64_t offset)
{
	autofree char *name = run->y->vdso ? gpc_vdso_name(run->y->vdso, offset) : NULL;

	return name ? native(run, name, "[vdso]", &nowhere) : nameless(run, "vdso", &nowhere);
}

static uint64_t resolve_shared(struct run *run, uint64_t raw)
{
	switch (raw & GPC_RAW_KIND) {
	case GPC_RAW_FILE:
		return in_file(run, raw);
	case GPC_RAW_VDSO:
		return in_vdso(run, gpc_raw_offset(raw));
	default:
		return in_kernel(run, raw);
	}
}

/* ---- plain addresses: JIT code, or nothing --------------------------------- */

static void enter_process(struct run *run, uint64_t process)
{
	if (run->process == process)
		return;
	gpc_u64map_clear(&run->own);
	gpc_jitcode_deinit(&run->jit);
	gpc_jitcode_load(run->y->sampler, process, &run->y->jit_spent, &run->jit);
	run->process = process;
}

/* Collectors write addresses as the process has them. */
static uint64_t map_address(struct run *run, uint64_t process, uint64_t address)
{
	struct gpc_sampler *s = run->y->sampler;
	struct gpc_process *p;
	uint64_t raw = address;

	gpc_sampler_lock(s);
	p = gpc_table_by_id(gpc_sampler_table(s), process);
	if (p)
		raw = gpc_raw_of(gpc_space_find(gpc_table_space(gpc_sampler_table(s), p), address),
				 address);
	gpc_sampler_unlock(s);
	return raw;
}

static uint64_t plain(struct run *run, uint64_t process, uint64_t address)
{
	struct gpc_jit_symbol symbol;
	struct place place = {0};

	if (run->y->is_foreign) {
		uint64_t raw = map_address(run, process, address);

		if (raw != address)
			return resolve_shared(run, raw);
	}
	if (!gpc_jitcode_find(&run->jit, address, &symbol))
		return run->unknown;
	if (run->y->addresses) {
		place.file = symbol.file;
		place.line = symbol.line;
	}
	return native(run, symbol.name, "", &place);
}

/* ---- stacks ------------------------------------------------------------------ */

/* A frame, or a chain. */
static uint64_t resolve(struct run *run, uint64_t process, uint64_t raw)
{
	bool is_plain = (raw & GPC_RAW_KIND) == 0;
	struct text cut = {.function = "[truncated]", .module = "", .suffix = ""};
	struct gpc_u64map *cache = is_plain ? &run->own : &run->shared;
	uint64_t known, frame;

	if ((raw & GPC_FRAME_MASK) == GPC_FRAME_TAG)
		return raw; /* named by the collector already */
	if (raw == GPC_RAW_CUT && !run->y->is_foreign)
		return intern(run, &cut);
	if (run->y->is_foreign && !is_plain && (raw & GPC_RAW_KIND) != GPC_RAW_KERNEL)
		return run->unknown; /* no address on any machine */
	if (is_plain)
		enter_process(run, process);
	if (gpc_u64map_get(cache, raw, &known))
		return known;
	frame = is_plain ? plain(run, process, raw) : resolve_shared(run, raw);
	gpc_u64map_set(cache, raw, frame);
	return frame;
}

/* Puts a frame, or those of a chain. In a stack so deep that there is no room,
 * inlined functions are left out. */
static uint32_t put(const struct run *run, uint64_t value, gpc_frame frames[FRAMES_MAX], uint32_t n)
{
	const gpc_frame *chain;
	uint32_t length;

	if ((value & GPC_FRAME_MASK) != CHAIN) {
		frames[n] = value;
		return n + 1;
	}
	chain = &run->chains.at[value & ~GPC_FRAME_MASK];
	length = (uint32_t)*chain++;
	if (n >= FRAMES_MAX - GPC_FOLD_MAX - length) {
		frames[n] = chain[length - 1];
		return n + 1;
	}
	memcpy(frames + n, chain, length * sizeof *chain);
	return n + length;
}

static enum gpc_go_place go_place(struct run *run, gpc_frame frame)
{
	enum gpc_go_place place = GPC_GO_NOT;
	struct gpc_frame_entry e;
	const char *name;
	uint64_t known;
	size_t n;

	if (gpc_u64map_get(&run->go_places, frame, &known))
		return (enum gpc_go_place)known;
	if (gpc_names_entry(run->y->names, frame, &e)) {
		name = gpc_names_text(run->y->names, e.function, &n);
		place = gpc_go_place(name, n);
	}
	gpc_u64map_set(&run->go_places, frame, place);
	return place;
}

/* A goroutine's stack, or that of one of Go's threads, ends below this frame. */
static bool is_beyond_go(struct run *run, const gpc_frame *frames, uint32_t before, uint32_t n)
{
	return before && n > before && go_place(run, frames[before - 1]) == GPC_GO_TOP &&
	       go_place(run, frames[n - 1]) != GPC_GO_NOT;
}

static gpc_status symbolize_row(struct run *run, const struct gpc_stack_row *row,
				struct gpc_stacks *out)
{
	gpc_frame frames[FRAMES_MAX];
	uint32_t n = 0;
	gpc_status st;

	for (uint32_t i = 0; i < row->n_frames && i < GPC_FOLD_MAX; i++) {
		uint32_t before = n;

		if (row->frames[i] == GPC_RAW_CUT && n &&
		    go_place(run, frames[n - 1]) > GPC_GO_PLAIN)
			continue;
		n = put(run, resolve(run, gpc_key_process(row->process), row->frames[i]), frames,
			n);
		if (is_beyond_go(run, frames, before, n)) {
			n = before;
			break;
		}
	}
	/* A row without frames is what came over the cap; it stays one. */
	st = gpc_stacks_add(out, row->process, frames, n, row->value);
	return st == GPC_E_BUDGET ? GPC_OK : st;
}

/* Rows process by process, so that each perf map is read once; processes in the
 * order in which they first appeared, rows in theirs. */
struct rank {
	uint64_t rank, row;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static gpc_status by_process(const struct gpc_stacks *raw, struct rank **ret)
{
	size_t n = gpc_stacks_rows(raw);
	struct gpc_u64map ranks = {0};
	struct rank *order = calloc(n ? n : 1, sizeof *order);

	for (size_t i = 0; order && i < n; i++) {
		uint64_t process = gpc_key_process(gpc_stacks_row(raw, i).process);

		order[i].row = i;
		if (gpc_u64map_get(&ranks, process, &order[i].rank))
			continue;
		order[i].rank = ranks.n;
		gpc_u64map_set(&ranks, process, ranks.n);
	}
	gpc_u64map_deinit(&ranks);
	if (!order)
		return GPC_E_NOMEM;
	qsort(order, n, sizeof *order, compare_ranks);
	*ret = order;
	return GPC_OK;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Lines are looked up file by file, in the order of addresses: neighbours share
 * what must be read for them. */
static gpc_status resolve_files(struct run *run, const struct gpc_stacks *raw)
{
	autocall(gpc_u64map_deinit) struct gpc_u64map seen = {0};
	vec(uint64_t) list = {0};
	gpc_status st = GPC_OK;

	for (size_t i = 0; i < gpc_stacks_rows(raw); i++) {
		struct gpc_stack_row row = gpc_stacks_row(raw, i);

		for (uint32_t k = 0; k < row.n_frames && k < GPC_FOLD_MAX; k++)
			if ((row.frames[k] & GPC_RAW_KIND) == GPC_RAW_FILE &&
			    !gpc_u64map_set(&seen, row.frames[k], 0))
				st = GPC_E_NOMEM;
	}
	if (!vec_reserve(&list, seen.n))
		st = GPC_E_NOMEM;
	for (size_t i = 0; i < seen.room && st == GPC_OK; i++)
		if (seen.slots[i].value)
			list.at[list.n++] = seen.slots[i].key;
	if (list.n)
		qsort(list.at, list.n, sizeof *list.at, compare_numbers);
	for (size_t i = 0; i < list.n; i++)
		resolve(run, 0, list.at[i]);
	vec_deinit(&list);
	return st;
}

gpc_status gpc_symbolize(struct gpc_symbolizer *y, const struct gpc_stacks *raw,
			 struct gpc_stacks *out, struct gpc_err *err)
{
	struct run run = {.y = y};
	struct text unknown = {.function = "[unknown]", .module = "", .suffix = ""};
	autofree struct rank *order = NULL;
	gpc_status st;

	run.unknown = intern(&run, &unknown);
	st = by_process(raw, &order);
	if (st == GPC_OK && !y->is_foreign && (y->inlines || y->addresses))
		st = resolve_files(&run, raw);
	for (size_t i = 0; i < gpc_stacks_rows(raw) && st == GPC_OK; i++) {
		struct gpc_stack_row row = gpc_stacks_row(raw, order[i].row);

		st = symbolize_row(&run, &row, out);
	}
	gpc_u64map_deinit(&run.shared);
	gpc_u64map_deinit(&run.own);
	vec_deinit(&run.chains);
	gpc_u64map_deinit(&run.go_places);
	gpc_u64map_deinit(&run.build_ids);
	gpc_jitcode_deinit(&run.jit);
	return st < 0 ? gpc_err_set(err, st, "symbolize: %s", gpc_status_name(st)) : GPC_OK;
}
