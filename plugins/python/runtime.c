/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpc/log.h>

#include "members.h"
#include "version.h"

/* ---- which file ------------------------------------------------------------------------- */

static const struct gpc_map *map_at(const struct gpc_target *t, uint32_t i)
{
	return (const struct gpc_map *)(const void *)((const char *)t->maps +
						      (size_t)i * t->map_stride);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins_with(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* libpython3.11.so.1.0, libpython3.6m.so.1.0; not libpython3.so, which is a stub. */
static bool is_library(const char *path)
{
	const char *name = base_name(path);

	return begins_with(name, "libpython") && isdigit((unsigned char)name[9]) && name[10] == '.';
}

static const struct gpc_map *find_library(const struct gpc_target *t)
{
	for (uint32_t i = 0; i < t->n_maps; i++)
		if (map_at(t, i)->prot & GPC_MAP_EXEC && is_library(map_at(t, i)->path))
			return map_at(t, i);
	return NULL;
}

static bool is_pypy(const struct gpc_target *t)
{
	if (begins_with(base_name(t->exe), "pypy"))
		return true;
	for (uint32_t i = 0; i < t->n_maps; i++)
		if (begins_with(base_name(map_at(t, i)->path), "libpypy"))
			return true;
	return false;
}

/* The dynamic linker is still at work: the C library comes last. */
static bool is_starting(const struct gpc_target *t)
{
	bool has_linker = false;

	for (uint32_t i = 0; i < t->n_maps; i++) {
		const char *name = base_name(map_at(t, i)->path);

		if (begins_with(name, "libc.so") || begins_with(name, "libc-") ||
		    begins_with(name, "ld-musl"))
			return false;
		has_linker |= begins_with(name, "ld-");
	}
	return has_linker;
}

int32_t gpc_py_runtime_claim(const struct gpc_target *t)
{
	const char *name = base_name(t->exe);

	if (is_pypy(t))
		return 0;
	if (find_library(t))
		return 90;
	/* Asked again when it maps its libraries: the interpreter may be one of them. */
	if (is_starting(t))
		return 0;
	return begins_with(name, "python") ? 80 : 30;
}

/* A glob that matches this name only. */
static bool put_glob(char *ret, size_t size, const char *name)
{
	size_t n = 0;

	for (; *name && n + 2 < size; name++) {
		if (strchr("*?[\\", *name))
			ret[n++] = '\\';
		ret[n++] = *name;
	}
	ret[n] = '\0';
	return !*name;
}

static void choose_module(const struct gpc_target *t, struct py_runtime *r)
{
	const struct gpc_map *library = find_library(t);

	snprintf(r->path, sizeof r->path, "%s", library ? library->path : t->exe);
	if (!library || !put_glob(r->module, sizeof r->module, base_name(library->path)))
		r->module[0] = '\0';
}

static const char *glob_of(const struct py_runtime *r)
{
	return *r->module ? r->module : NULL;
}

static bool symbol(const struct py_memory *m, const struct py_runtime *r, const char *name,
		   uint64_t *ret)
{
	return m->host->find_symbol(m->host, m->target, glob_of(r), name, ret) == GPC_OK;
}

/* ---- where the list of interpreters begins -------------------------------------------------- */

/* To 3.6 it is a variable without a name in stripped files, but a function of the
 * API returns it: [endbr64;] mov interp_head(%rip), %rax; ret. */
static bool decode_head(const struct py_memory *m, uint64_t function, uint64_t *ret)
{
	static const uint8_t endbr[4] = {0xF3, 0x0F, 0x1E, 0xFA}, load[3] = {0x48, 0x8B, 0x05};
	uint8_t code[16];
	size_t i = 0;
	int32_t distance;

	if (m->target->machine != EM_X86_64 || !gpc_py_read(m, function, code, sizeof code))
		return false;
	if (memcmp(code, endbr, sizeof endbr) == 0)
		i = sizeof endbr;
	if (memcmp(code + i, load, sizeof load) != 0 || code[i + 7] != 0xC3)
		return false;
	memcpy(&distance, code + i + 3, sizeof distance);
	*ret = function + i + 7 + (uint64_t)(int64_t)distance;
	return true;
}

static bool find_old_list(const struct py_memory *m, const struct py_runtime *r, uint64_t *ret)
{
	uint64_t function;

	if (symbol(m, r, "PyInterpreterState_Head", &function) && decode_head(m, function, ret))
		return true;
	return symbol(m, r, "interp_head", ret);
}

/* _PyRuntime, by its symbol, or by the section that it is alone in from 3.10 on. */
static bool find_runtime(const struct py_memory *m, const struct py_runtime *r, uint64_t *ret)
{
	const struct gpc_elf_api *elf = m->host->extension(m->host, "gpc.elf/1");
	uint64_t bytes;

	if (symbol(m, r, "_PyRuntime", ret))
		return true;
	return elf &&
	       elf->section(m->host, m->target, glob_of(r), ".PyRuntime", ret, &bytes) == GPC_OK;
}

/* ---- which version, which layout ----------------------------------------------------------------
 */

static gpc_status refuse(const struct py_memory *m, const char *why)
{
	return gpc_host_reportf(m->host, m->target, GPC_E_UNSUPPORTED, "Python: %s", why);
}

/* From 3.13 on the interpreter tells its layout. */
static gpc_status published(const struct py_memory *m, uint64_t runtime, struct py_runtime *r)
{
	uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
	size_t n = gpc_py_read_some(m, runtime, bytes, sizeof bytes);

	if (!gpc_py_layout_is_published(bytes, n))
		return GPC_E_GONE;
	if (!gpc_py_layout_parse(bytes, n, &r->layout))
		return refuse(m, "the offsets that it publishes make no sense to this version");
	r->list = runtime + r->layout.runtime_head;
	return GPC_OK;
}

static gpc_status from_table(const struct py_memory *m, const struct py_version *v,
			     uint64_t runtime, struct py_runtime *r)
{
	const struct py_layout *l;
	struct py_members members = {0};

	gpc_py_members_read(m, glob_of(r), &members);
	l = gpc_py_layout_find(PY_VERSION(v->major, v->minor), members.is_debug);
	if (!l)
		return gpc_host_reportf(m->host, m->target, GPC_E_UNSUPPORTED,
					"Python %u.%u is not known to this version", v->major,
					v->minor);
	r->layout = *l;
	if (!gpc_py_members_agree(m, &members, &r->layout))
		return GPC_E_CORRUPT;
	if (l->runtime_head != PY_NONE) {
		if (!runtime)
			return refuse(m, "_PyRuntime is not found: neither symbol nor section");
		r->list = runtime + l->runtime_head;
	} else if (!find_old_list(m, r, &r->list)) {
		return refuse(m, "the list of interpreters is not found");
	}
	return GPC_OK;
}

gpc_status gpc_py_runtime_find(const struct gpc_host *h, const struct gpc_target *t,
			       struct py_runtime *ret)
{
	struct py_memory m = {h, t, NULL};
	struct py_version v = {0};
	uint64_t runtime = 0;
	gpc_status st = GPC_E_GONE;

	memset(ret, 0, sizeof *ret);
	choose_module(t, ret);
	if (find_runtime(&m, ret, &runtime))
		st = published(&m, runtime, ret);
	if (st < 0 && st != GPC_E_GONE)
		return st;
	if (!gpc_py_version_find(&m, glob_of(ret), ret->path, &v) && st == GPC_E_GONE)
		return refuse(&m, "its version is not found");
	snprintf(ret->version, sizeof ret->version, "%s", v.text);
	if (st == GPC_E_GONE)
		st = from_table(&m, &v, runtime, ret);
	if (st < 0)
		return st;
	symbol(&m, ret, "PyCode_Type", &ret->code_type);
	ret->runtime = runtime;
	if (ret->layout.runtime_head == PY_NONE)
		symbol(&m, ret, "_PyThreadState_Current", &ret->current);
	gpc_py_loop_find(&m, glob_of(ret), ret->layout.version, &ret->loop);
	return GPC_OK;
}
