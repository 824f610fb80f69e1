/* SPDX-License-Identifier: Apache-2.0 */
#include "py_fake.h"

#include <assert.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

static struct py_fake *of(const struct gpc_host *h)
{
	return (struct py_fake *)(uintptr_t)h;
}

static const struct py_fake_place *place(const struct gpc_host *h, const char *name)
{
	const struct py_fake *f = of(h);

	for (unsigned i = 0; i < 8; i++)
		if (f->places[i].name && strcmp(f->places[i].name, name) == 0)
			return &f->places[i];
	return NULL;
}

static gpc_status symbol(const struct gpc_host *h, const struct gpc_target *t, const char *glob,
			 const char *name, uint64_t *start, uint64_t *bytes)
{
	const struct py_fake_place *p = place(h, name);

	(void)t;
	(void)glob;
	if (!p)
		return GPC_E_GONE;
	*start = p->start;
	*bytes = p->bytes;
	return GPC_OK;
}

static gpc_status find_symbol(const struct gpc_host *h, const struct gpc_target *t,
			      const char *glob, const char *name, uint64_t *ret)
{
	uint64_t bytes;

	return symbol(h, t, glob, name, ret, &bytes);
}

static int64_t read_mem(const struct gpc_host *h, const struct gpc_target *t, uint64_t at,
			void *buf, uint64_t n)
{
	struct py_fake *f = of(h);

	(void)t;
	f->reads++;
	if (f->before)
		f->before(f, at, n);
	if (at < PY_FAKE_BASE || at >= PY_FAKE_BASE + PY_FAKE_BYTES)
		return GPC_E_GONE;
	if (n > PY_FAKE_BASE + PY_FAKE_BYTES - at)
		n = PY_FAKE_BASE + PY_FAKE_BYTES - at;
	memcpy(buf, f->bytes + (at - PY_FAKE_BASE), n);
	return (int64_t)n;
}

static void log_line(const struct gpc_host *h, gpc_level level, const char *text)
{
	(void)h;
	(void)level;
	(void)text;
}

static void report(const struct gpc_host *h, const struct gpc_target *t, gpc_status st,
		   const char *text)
{
	(void)t;
	snprintf(of(h)->report, sizeof of(h)->report, "%d %s", (int)st, text);
}

static uint64_t now_ns(const struct gpc_host *h)
{
	return of(h)->now_ns;
}

static const void *extension(const struct gpc_host *h, const char *id)
{
	return strcmp(id, "gpc.elf/1") == 0 ? &of(h)->elf : NULL;
}

void py_fake_init(struct py_fake *f)
{
	memset(f, 0, sizeof *f);
	f->host = (struct gpc_host){.struct_size = sizeof f->host,
				    .level = GPC_TRACE,
				    .log = log_line,
				    .report = report,
				    .now_ns = now_ns,
				    .read_mem = read_mem,
				    .find_symbol = find_symbol,
				    .extension = extension};
	f->elf = (struct gpc_elf_api){.struct_size = sizeof f->elf,
				      .section = symbol,
				      .symbol = symbol};
	f->target = (struct gpc_target){.struct_size = sizeof f->target,
					.pid = 1,
					.machine = EM_X86_64};
	f->memory = (struct py_memory){&f->host, &f->target, NULL};
	f->now_ns = 1;
}

static void put(struct py_fake *f, uint64_t at, const void *bytes, size_t n)
{
	assert(at >= PY_FAKE_BASE && at - PY_FAKE_BASE <= PY_FAKE_BYTES - n);
	memcpy(f->bytes + (at - PY_FAKE_BASE), bytes, n);
}

void py_fake_put(struct py_fake *f, uint64_t at, uint64_t value)
{
	put(f, at, &value, sizeof value);
}

void py_fake_put32(struct py_fake *f, uint64_t at, uint32_t value)
{
	put(f, at, &value, sizeof value);
}

void py_fake_text(struct py_fake *f, uint64_t at, const char *text)
{
	put(f, at, text, strlen(text) + 1);
}
