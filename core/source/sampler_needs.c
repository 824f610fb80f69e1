/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/sampler_impl.h"

/* ---- what the table asks for --------------------------------------------- */

static void need_file(void *ctx, uint32_t image, const struct gpc_process *p,
		      const struct gpc_area *area)
{
	struct gpc_sampler *s = ctx;

	gpc_opener_file(s->opener, image, p, area);
}

static void need_perf_map(void *ctx, const struct gpc_process *p)
{
	struct gpc_sampler *s = ctx;

	gpc_opener_perf_map(s->opener, p);
}

static void need_jitdump(void *ctx, const struct gpc_process *p, const struct gpc_area *area,
			 const char *path)
{
	struct gpc_sampler *s = ctx;

	gpc_opener_jitdump(s->opener, p, area, path);
}

static void on_changed(void *ctx, const struct gpc_process *p, const struct gpc_process_event *ev)
{
	struct gpc_sampler *s = ctx;

	if (s->config.changed)
		s->config.changed(s->config.ctx, p, ev);
}

/* Its unwind information is read by the thread that builds tables. */
static void unwind_by(struct gpc_sampler *s, struct gpc_process *p)
{
	int fd = fcntl(p->jitdump_fd, F_DUPFD_CLOEXEC, 0);
	struct gpc_known_jit known = {.process = p->id};

	if (fd < 0)
		return;
	known.number = gpc_unwind_tables_add_jit(s->native.tables, fd);
	if (known.number && vec_push(&s->jits, known))
		p->unwind_jit = known.number;
	else
		gpc_unwind_tables_remove_jit(s->native.tables, known.number);
}

void gpc_sampler_jit_file(void *ctx, uint64_t process, enum gpc_jit_file kind, int fd)
{
	struct gpc_sampler *s = ctx;
	struct gpc_process *p;
	int *place;
	autolock(&s->lock);

	p = gpc_table_by_id(s->table, process);
	place = !p ? NULL : kind == GPC_JIT_DUMP ? &p->jitdump_fd : &p->perf_map_fd;
	if (!place || *place >= 0) {
		close(fd);
		return;
	}
	*place = fd;
	if (kind == GPC_JIT_DUMP)
		unwind_by(s, p);
}

void gpc_sampler_trim_jits(struct gpc_sampler *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->jits.n; i++) {
		struct gpc_known_jit *known = &s->jits.at[i];
		const struct gpc_process *p = gpc_table_by_id(s->table, known->process);

		if (p && p->unwind_jit == known->number)
			s->jits.at[kept++] = *known;
		else
			gpc_unwind_tables_remove_jit(s->native.tables, known->number);
	}
	s->jits.n = kept;
}

struct gpc_table_needs gpc_sampler_needs(struct gpc_sampler *s)
{
	return (struct gpc_table_needs){.ctx = s,
					.file = need_file,
					.perf_map = need_perf_map,
					.jitdump = need_jitdump,
					.changed = on_changed};
}
