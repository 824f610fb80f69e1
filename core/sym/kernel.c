/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define CHUNK       65536
#define MAX_SYMBOLS (4u << 20)
#define MAX_NAMES   (256u << 20)
#define MAX_MODULES 8192
#define MAX_GAP     (UINT64_C(16) << 20)

struct entry {
	uint32_t low, name;
};

/* Symbols whose addresses have the same upper half. */
struct block {
	uint32_t high, first;
};

/* Neighbours of the same module. */
struct run {
	uint32_t first, module; /* module: place in names */
};

struct gpc_kernel_syms {
	char *path;
	bool is_read; /* and status says how that went */
	gpc_status status;
	char why[GPC_ERR_TEXT];
	vec(struct entry) entries; /* by address */
	vec(struct block) blocks;
	vec(struct run) runs;
	vec(char) names;
};

/* A line of the file, while it is read. */
struct line {
	uint64_t address;
	uint32_t name;
	uint16_t module, rank;
};

struct reader {
	vec(struct line) lines;
	vec(char) names;
	vec(uint32_t) modules; /* places in names */
	bool saw_symbol, no_memory;
};

static void reader_deinit(struct reader *r)
{
	vec_deinit(&r->lines);
	vec_deinit(&r->names);
	vec_deinit(&r->modules);
}

static bool add_text(struct reader *r, const char *text, size_t n, uint32_t *ret)
{
	if (r->names.n + n + 1 > MAX_NAMES || !vec_reserve(&r->names, n + 1))
		return false;
	*ret = (uint32_t)r->names.n;
	memcpy(r->names.at + r->names.n, text, n);
	r->names.at[r->names.n + n] = '\0';
	r->names.n += n + 1;
	return true;
}

/* The symbols of a module stand together, so the last one comes first. */
static bool module_number(struct reader *r, const char *text, size_t n, uint16_t *ret)
{
	uint32_t place;

	for (size_t i = r->modules.n; i-- > 0;) {
		const char *known = r->names.at + r->modules.at[i];

		if (strncmp(known, text, n) || known[n])
			continue;
		*ret = (uint16_t)i;
		return true;
	}
	*ret = 0;
	if (r->modules.n >= MAX_MODULES)
		return true;
	*ret = (uint16_t)r->modules.n;
	return add_text(r, text, n, &place) && vec_push(&r->modules, place);
}

static const char *read_address(const char *at, const char *end, uint64_t *ret)
{
	uint64_t address = 0;

	for (; at < end && *at != ' '; at++) {
		unsigned digit = (unsigned char)*at;

		if (digit - '0' < 10)
			digit -= '0';
		else if ((digit | 32) - 'a' < 6)
			digit = (digit | 32) - 'a' + 10;
		else
			return NULL;
		address = address << 4 | digit;
	}
	*ret = address;
	return at + 3 < end && at[2] == ' ' ? at + 1 : NULL;
}

/* Global before weak before local; UINT16_MAX: no code. */
static uint16_t rank_of(char type)
{
	switch (type) {
	case 'T':
		return 0;
	case 'W':
	case 'w':
		return 1;
	case 't':
		return 2;
	default:
		return UINT16_MAX;
	}
}

/* Padding before functions and marks of assemblers are never executed. */
static bool is_noise(const char *name, size_t n)
{
	return name[0] == '$' || (n > 6 && !memcmp(name, "__pfx_", 6));
}

/* ADDRESS TYPE NAME, then a tab and [MODULE] maybe. False: no memory. */
static bool read_line(struct reader *r, const char *at, const char *end)
{
	struct line line = {0};
	const char *name_end, *module;
	uint64_t address;
	size_t n;

	at = read_address(at, end, &address);
	if (!at)
		return true;
	r->saw_symbol = true;
	line.address = address;
	line.rank = rank_of(*at);
	at += 2;
	name_end = memchr(at, '\t', (size_t)(end - at));
	module = name_end && end - name_end > 3 && name_end[1] == '[' ? name_end + 2 : NULL;
	if (!name_end)
		name_end = end;
	n = strnlen(at, (size_t)(name_end - at));
	if (!address || line.rank == UINT16_MAX || !n || is_noise(at, n) ||
	    r->lines.n >= MAX_SYMBOLS)
		return true;
	if (module &&
	    !module_number(r, module, strnlen(module, (size_t)(end - module - 1)), &line.module))
		return false;
	return add_text(r, at, n, &line.name) && vec_push(&r->lines, line);
}

/* Reads the whole lines of a piece of the file; returns how much that was. */
static size_t read_lines(struct reader *r, const char *text, size_t n)
{
	const char *at = text, *end;

	while (!r->no_memory && (end = memchr(at, '\n', n - (size_t)(at - text)))) {
		r->no_memory = !read_line(r, at, end);
		at = end + 1;
	}
	return (size_t)(at - text);
}

static gpc_status read_all(struct reader *r, int fd, struct gpc_err *err)
{
	autofree char *text = malloc(CHUNK);
	uint32_t none;
	size_t n = 0;

	if (!text || !add_text(r, "", 0, &none) || !vec_push(&r->modules, none))
		return gpc_err_nomem(err);
	for (;;) {
		ssize_t got = read(fd, text + n, CHUNK - n);
		size_t used;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gpc_err_sys(err, "read");
		if (got == 0)
			return GPC_OK;
		n += (size_t)got;
		used = read_lines(r, text, n);
		if (r->no_memory)
			return gpc_err_nomem(err);
		if (!used && n == CHUNK)
			return gpc_err_set(err, GPC_E_CORRUPT, "a line longer than %d", CHUNK);
		memmove(text, text + used, n - used);
		n -= used;
	}
}

static int by_address_and_name(const void *a, const void *b, void *names)
{
	const struct line *x = a, *y = b;
	const char *p = (const char *)names + x->name, *q = (const char *)names + y->name;
	size_t n, m;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	n = strlen(p);
	m = strlen(q);
	return n != m ? (n < m ? -1 : 1) : strcmp(p, q);
}

static bool add_entry(struct gpc_kernel_syms *k, const struct reader *r, const struct line *line)
{
	uint32_t high = (uint32_t)(line->address >> 32);
	uint32_t place = (uint32_t)k->entries.n;
	uint32_t module = r->modules.at[line->module];

	if (!k->blocks.n || k->blocks.at[k->blocks.n - 1].high != high)
		if (!vec_push(&k->blocks, (struct block){high, place}))
			return false;
	if (!k->runs.n || k->runs.at[k->runs.n - 1].module != module)
		if (!vec_push(&k->runs, (struct run){place, module}))
			return false;
	return vec_push(&k->entries, (struct entry){(uint32_t)line->address, line->name});
}

static void clear(struct gpc_kernel_syms *k)
{
	vec_deinit(&k->entries);
	vec_deinit(&k->blocks);
	vec_deinit(&k->runs);
	vec_deinit(&k->names);
}

static gpc_status pack(struct gpc_kernel_syms *k, struct reader *r, struct gpc_err *err)
{
	void *names;
	size_t kept = 0;

	if (r->lines.n)
		qsort_r(r->lines.at, r->lines.n, sizeof *r->lines.at, by_address_and_name,
			r->names.at);
	for (size_t i = 0; i < r->lines.n; i++)
		if (!i || r->lines.at[i].address != r->lines.at[i - 1].address)
			r->lines.at[kept++] = r->lines.at[i];
	r->lines.n = kept;
	if (kept && !vec_reserve(&k->entries, kept))
		return gpc_err_nomem(err);
	for (size_t i = 0; i < kept; i++)
		if (!add_entry(k, r, &r->lines.at[i]))
			return gpc_err_nomem(err);
	names = realloc(r->names.at, r->names.n);
	k->names.at = names ? names : r->names.at;
	k->names.n = k->names.room = r->names.n;
	r->names.at = NULL;
	return GPC_OK;
}

static gpc_status load(struct gpc_kernel_syms *k, struct gpc_err *err)
{
	struct reader autocall(reader_deinit) r = {0};
	autoclose int fd = open(k->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return gpc_err_sys(err, "open %s", k->path);
	if (read_all(&r, fd, err) < 0)
		return gpc_err_prefix(err, "%s", k->path);
	if (r.saw_symbol && !r.lines.n)
		return gpc_err_set(err, GPC_E_PERM,
				   "%s hides addresses (kptr_restrict, no CAP_SYSLOG)", k->path);
	if (!r.lines.n)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "%s names no functions", k->path);
	return pack(k, &r, err);
}

/* A table that cannot be read is not read again before it is marked stale. */
static gpc_status refresh(struct gpc_kernel_syms *k, struct gpc_err *err)
{
	struct gpc_err why = {0};

	if (k->is_read)
		return k->status < 0 ? gpc_err_set(err, k->status, "%s", k->why) : GPC_OK;
	clear(k);
	k->status = load(k, &why);
	k->is_read = true;
	if (k->status == GPC_OK)
		return GPC_OK;
	clear(k);
	memcpy(k->why, why.text, sizeof k->why);
	return gpc_err_set(err, k->status, "%s", k->why);
}

/* The last block that begins with high or below it; k->blocks.n: none. */
static size_t find_block(const struct gpc_kernel_syms *k, uint32_t high)
{
	size_t i = k->blocks.n;

	while (i-- > 0)
		if (k->blocks.at[i].high <= high)
			return i;
	return k->blocks.n;
}

/* Place of the last symbol at or before address, in *block; false: none. */
static bool find_place(const struct gpc_kernel_syms *k, uint64_t address, size_t *block,
		       size_t *ret)
{
	size_t b = find_block(k, (uint32_t)(address >> 32));
	size_t low, high;

	if (b == k->blocks.n)
		return false;
	low = k->blocks.at[b].first;
	high = b + 1 < k->blocks.n ? k->blocks.at[b + 1].first : k->entries.n;
	while (low < high && k->blocks.at[b].high == address >> 32) {
		size_t mid = low + (high - low) / 2;

		if (k->entries.at[mid].low <= (uint32_t)address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!high)
		return false;
	*block = high == k->blocks.at[b].first ? b - 1 : b;
	*ret = high - 1;
	return true;
}

static const char *module_at(const struct gpc_kernel_syms *k, size_t place)
{
	size_t low = 0, high = k->runs.n;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (k->runs.at[mid].first <= place)
			low = mid;
		else
			high = mid;
	}
	return k->names.at + k->runs.at[low].module;
}

gpc_status gpc_kernel_syms_new(const char *path, struct gpc_kernel_syms **ret, struct gpc_err *err)
{
	struct gpc_kernel_syms *k = calloc(1, sizeof *k);

	if (k)
		k->path = strdup(path);
	if (!k || !k->path) {
		free(k);
		return gpc_err_nomem(err);
	}
	*ret = k;
	return GPC_OK;
}

void gpc_kernel_syms_free(struct gpc_kernel_syms *k)
{
	if (!k)
		return;
	clear(k);
	free(k->path);
	free(k);
}

void gpc_kernel_syms_stale(struct gpc_kernel_syms *k)
{
	k->is_read = false;
}

gpc_status gpc_kernel_syms_find(struct gpc_kernel_syms *k, uint64_t address,
				struct gpc_kernel_symbol *ret, struct gpc_err *err)
{
	size_t block, place;
	uint64_t start;

	gpc_try(refresh(k, err));
	*ret = (struct gpc_kernel_symbol){.module = ""};
	if (!find_place(k, address, &block, &place))
		return GPC_OK;
	start = (uint64_t)k->blocks.at[block].high << 32 | k->entries.at[place].low;
	if (address - start > MAX_GAP)
		return GPC_OK;
	ret->name = k->names.at + k->entries.at[place].name;
	ret->module = module_at(k, place);
	ret->start = start;
	return GPC_OK;
}

size_t gpc_kernel_syms_bytes(const struct gpc_kernel_syms *k)
{
	return sizeof *k + k->entries.room * sizeof *k->entries.at +
	       k->blocks.room * sizeof *k->blocks.at + k->runs.room * sizeof *k->runs.at +
	       k->names.room;
}
