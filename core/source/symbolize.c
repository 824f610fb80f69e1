/* SPDX-License-Identifier: Apache-2.0 */
#include "source/symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "proc/root.h"
#include "source/fold.h"
#include "source/frames.h"
#include "sym/demangle.h"
#include "sym/perfmap.h"

#define PERF_MAP_MAX (64u << 20)

/* The state of one run. Frames of files, of the kernel and of the vdso mean the
 * same in every process; plain addresses only in theirs. */
struct run {
	struct gpc_symbolizer *y;
	struct gpc_u64map shared, own; /* raw frame -> frame */
	uint64_t process;              /* whose own and perf_map are */
	struct gpc_perfmap *perf_map;
	gpc_frame unknown;
	struct gpc_u64map build_ids; /* image -> text, of those asked for */
};

struct text {
	const char *function, *module;
	uint32_t flags;
	const char *suffix;
	gpc_str build_id;
	uint64_t address;
};

/* Where in a file a frame is, when that is asked for. */
struct place {
	gpc_str build_id;
	uint64_t address;
};

static const struct place nowhere;

static gpc_frame intern(struct run *run, const struct text *t)
{
	struct gpc_names *names = run->y->names;
	struct gpc_frame_entry e = {.flags = t->flags,
				    .build_id = t->build_id,
				    .address = t->address};

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
			 .suffix = "",
			 .build_id = place->build_id,
			 .address = place->address};

	if (run->y->insert_dso && *module &&
	    asprintf(&with_module, "%s (%s)", t.function, module) > 0)
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
			 .address = place->address};

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

static gpc_frame in_file(struct run *run, uint64_t raw)
{
	struct gpc_images *images = gpc_sampler_images(run->y->sampler);
	uint32_t image = gpc_raw_image(raw);
	struct gpc_symbol symbol = {0};
	const char *path = gpc_images_path(images, image);
	gpc_status st = gpc_images_symbol(images, image, gpc_raw_offset(raw), &symbol);
	bool has_name = st == GPC_OK && symbol.name;
	struct place place = {0};

	/* Unmapped while the last window was finished, and forgotten with it. */
	if (!path)
		return run->unknown;
	/* Stacks that differ inside of functions only stay one row. */
	if (run->y->addresses) {
		place.build_id = build_id(run, image);
		place.address = has_name ? symbol.start : symbol.address;
	}
	return has_name ? native(run, symbol.name, path, &place) : nameless(run, path, &place);
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

static gpc_frame resolve_shared(struct run *run, uint64_t raw)
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

/* A fresh look while the process lives, since maps grow; else what was opened
 * while it lived. *ret_saved: a descriptor that stays the table's. */
static int open_perf_map(struct gpc_sampler *s, const struct gpc_process *p)
{
	char path[64];
	int32_t inner = gpc_ns_pid(p->pid);
	int fd = -1;

	if (!p->exit_ns && inner) {
		snprintf(path, sizeof path, "/tmp/perf-%d.map", inner);
		if (gpc_root_open(p->pid, path, &fd, NULL, NULL) == GPC_OK)
			return fd;
	}
	gpc_sampler_lock(s);
	fd = p->perf_map_fd >= 0 ? dup(p->perf_map_fd) : -1;
	gpc_sampler_unlock(s);
	return fd;
}

static struct gpc_perfmap *load_perf_map(struct run *run, uint64_t process)
{
	struct gpc_sampler *s = run->y->sampler;
	struct gpc_process *p;
	struct gpc_perfmap *map = NULL;
	autoclose int fd = -1;

	gpc_sampler_lock(s);
	p = gpc_table_by_id(gpc_sampler_table(s), process);
	gpc_sampler_unlock(s);
	/* Entries go only in gpc_sampler_trim, which is ours to call. */
	if (!p || !p->has_jit)
		return NULL;
	fd = open_perf_map(s, p);
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    gpc_perfmap_load(fd, PERF_MAP_MAX, &map, NULL) < 0)
		return NULL;
	return map;
}

static void enter_process(struct run *run, uint64_t process)
{
	if (run->process == process)
		return;
	gpc_u64map_clear(&run->own);
	gpc_perfmap_free(run->perf_map);
	run->perf_map = load_perf_map(run, process);
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

static gpc_frame plain(struct run *run, uint64_t process, uint64_t address)
{
	const char *name;

	if (run->y->is_foreign) {
		uint64_t raw = map_address(run, process, address);

		if (raw != address)
			return resolve_shared(run, raw);
	}
	name = run->perf_map ? gpc_perfmap_find(run->perf_map, address) : NULL;
	return name ? native(run, name, "", &nowhere) : run->unknown;
}

/* ---- stacks ------------------------------------------------------------------ */

static gpc_frame resolve(struct run *run, uint64_t process, uint64_t raw)
{
	bool is_plain = (raw & GPC_RAW_KIND) == 0;
	struct text cut = {.function = "[truncated]", .module = "", .suffix = ""};
	struct gpc_u64map *cache = is_plain ? &run->own : &run->shared;
	uint64_t known;
	gpc_frame frame;

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

static gpc_status symbolize_row(struct run *run, const struct gpc_stack_row *row,
				struct gpc_stacks *out)
{
	gpc_frame frames[GPC_FOLD_MAX];
	uint32_t n = row->n_frames < GPC_FOLD_MAX ? row->n_frames : GPC_FOLD_MAX;
	gpc_status st;

	for (uint32_t i = 0; i < n; i++)
		frames[i] = resolve(run, gpc_key_process(row->process), row->frames[i]);
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

gpc_status gpc_symbolize(struct gpc_symbolizer *y, const struct gpc_stacks *raw,
			 struct gpc_stacks *out, struct gpc_err *err)
{
	struct run run = {.y = y};
	struct text unknown = {.function = "[unknown]", .module = "", .suffix = ""};
	autofree struct rank *order = NULL;
	gpc_status st;

	run.unknown = intern(&run, &unknown);
	st = by_process(raw, &order);
	for (size_t i = 0; i < gpc_stacks_rows(raw) && st == GPC_OK; i++) {
		struct gpc_stack_row row = gpc_stacks_row(raw, order[i].row);

		st = symbolize_row(&run, &row, out);
	}
	gpc_u64map_deinit(&run.shared);
	gpc_u64map_deinit(&run.own);
	gpc_u64map_deinit(&run.build_ids);
	gpc_perfmap_free(run.perf_map);
	return st < 0 ? gpc_err_set(err, st, "symbolize: %s", gpc_status_name(st)) : GPC_OK;
}
