/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/match.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "elf/file.h"
#include "elf/lookup.h"

#define CACHE_MAX 16384 /* executables; then the cache starts anew */

struct gpc_matcher {
	const struct gpc_match *tables[GPC_MATCH_MAX];
	unsigned n;
	struct gpc_u64map verdicts; /* hash of the executable's identity -> bits */
	uint64_t looks;
};

/* Arrays of structs are walked by the element's own size (plugin.h, rule 3). */
static const struct gpc_match *next_row(const struct gpc_match *row)
{
	return (const struct gpc_match *)(const void *)((const char *)row + row->struct_size);
}

gpc_status gpc_matcher_new(const struct gpc_match *const *tables, unsigned n,
			   struct gpc_matcher **ret, struct gpc_err *err)
{
	struct gpc_matcher *m;

	if (n > GPC_MATCH_MAX)
		return gpc_err_set(err, GPC_E_CONFIG, "more than %d collectors", GPC_MATCH_MAX);
	m = calloc(1, sizeof *m);
	if (!m)
		return gpc_err_nomem(err);
	m->n = n;
	for (unsigned k = 0; k < n; k++)
		m->tables[k] = tables[k];
	*ret = m;
	return GPC_OK;
}

void gpc_matcher_free(struct gpc_matcher *m)
{
	if (!m)
		return;
	gpc_u64map_deinit(&m->verdicts);
	free(m);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- the executable: its name and its symbols --------------------------------- */

static int open_exe(int32_t pid)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool has_section(int32_t pid, const char *name)
{
	struct gpc_elf_source source;
	autocall(gpc_elf_deinit) struct gpc_elf elf = {0};
	autoclose int fd = open_exe(pid);

	return fd >= 0 && gpc_elf_source_fd(fd, &source, NULL) == GPC_OK &&
	       gpc_elf_init(&elf, &source, NULL) == GPC_OK && gpc_elf_section_named(&elf, name);
}

static bool defines(int32_t pid, const char *symbol)
{
	uint64_t base, value;
	autoclose int fd = open_exe(pid);

	return fd >= 0 && gpc_elf_lookup_fd(fd, symbol, 0, &base, &value, NULL) == GPC_OK;
}

static bool exe_fits(const struct gpc_match *row, const struct gpc_target_view *v)
{
	for (; row && row->struct_size; row = next_row(row)) {
		if (row->kind == GPC_MATCH_ANY)
			return true;
		if (row->kind == GPC_MATCH_EXE && fnmatch(row->glob, base_name(v->exe), 0) == 0)
			return true;
		if (row->kind == GPC_MATCH_SYMBOL && defines(v->target.pid, row->glob))
			return true;
		if (row->kind == GPC_MATCH_SECTION && has_section(v->target.pid, row->glob))
			return true;
	}
	return false;
}

static uint64_t identity(const struct gpc_target_view *v)
{
	struct {
		uint64_t dev, ino, mtime, name;
	} key = {v->exe_dev, v->exe_ino, (uint64_t)v->exe_mtime_ns,
		 gpc_hash(base_name(v->exe), strlen(base_name(v->exe)))};

	return gpc_hash(&key, sizeof key);
}

static uint64_t ask_exe(struct gpc_matcher *m, const struct gpc_target_view *v)
{
	uint64_t key = identity(v), bits = 0;

	if (v->exe_ino && gpc_u64map_get(&m->verdicts, key, &bits))
		return bits;
	m->looks++;
	for (unsigned k = 0; k < m->n; k++)
		if (exe_fits(m->tables[k], v))
			bits |= UINT64_C(1) << k;
	if (m->verdicts.n >= CACHE_MAX)
		gpc_u64map_clear(&m->verdicts);
	/* UINT64_MAX is no value of the map: that executable is asked each time. */
	if (v->exe_ino && bits != UINT64_MAX)
		gpc_u64map_set(&m->verdicts, key, bits);
	return bits;
}

/* ---- mapped files --------------------------------------------------------------- */

static bool maps_fit(const struct gpc_match *row, const char *name)
{
	for (; row && row->struct_size; row = next_row(row))
		if (row->kind == GPC_MATCH_MAPPED && fnmatch(row->glob, name, 0) == 0)
			return true;
	return false;
}

static uint64_t ask_maps(const struct gpc_matcher *m, const struct gpc_target_view *v,
			 uint64_t known)
{
	for (uint32_t i = 0; i < v->target.n_maps; i++) {
		const struct gpc_map *map = &v->target.maps[i];

		if (!(map->prot & GPC_MAP_EXEC) || map->path[0] != '/')
			continue;
		for (unsigned k = 0; k < m->n; k++)
			if (!(known >> k & 1) && maps_fit(m->tables[k], base_name(map->path)))
				known |= UINT64_C(1) << k;
	}
	return known;
}

uint64_t gpc_matcher_ask(struct gpc_matcher *m, const struct gpc_target_view *v)
{
	return ask_maps(m, v, ask_exe(m, v));
}

uint64_t gpc_matcher_looks(const struct gpc_matcher *m)
{
	return m->looks;
}
