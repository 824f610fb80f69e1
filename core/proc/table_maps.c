/* SPDX-License-Identifier: Apache-2.0 */
/* The process table: mappings, told by events or read from /proc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "proc/maps.h"
#include "proc/stat.h"
#include "proc/table_impl.h"
#include "sym/jitdump.h"

#define MAPS_MAX (64u << 20)

/* Anonymous memory under a name. */
static bool is_file(const char *path, uint64_t inode, uint8_t build_id_len)
{
	return path[0] == '/' && path[1] != '/' && (inode || build_id_len) &&
	       strncmp(path, "/memfd:", 7) != 0 && strncmp(path, "/SYSV", 5) != 0 &&
	       strcmp(path, "/dev/zero") != 0 && strncmp(path, "/anon_hugepage", 14) != 0;
}

static void map_area(struct gpc_table *t, struct gpc_process *p, const struct gpc_table_mmap *m)
{
	struct gpc_area area = {.start = m->start,
				.end = m->start + m->length,
				.offset = m->offset,
				.kind = GPC_AREA_ANON};

	if (m->length == 0 || area.end < area.start)
		return;
	if (strcmp(m->path, "[vdso]") == 0) {
		area.kind = GPC_AREA_VDSO;
		area.offset = 0;
	} else if (is_file(m->path, m->key.inode, m->key.build_id_len)) {
		area.kind = GPC_AREA_FILE;
		area.image = gpc_images_add(t->images, &m->key, m->path);
	}
	if (!gpc_space_map(&p->space, &area))
		return;
	if (area.image && t->needs.file && gpc_images_ask(t->images, area.image))
		t->needs.file(t->needs.ctx, area.image, p, &area);
	if (area.image && t->needs.jitdump && p->jitdump_fd < 0 && gpc_jitdump_is(m->path)) {
		p->jitdump_ns = gpc_now_ns();
		t->needs.jitdump(t->needs.ctx, p, &area, m->path);
	}
}

void gpc_table_mmap(struct gpc_table *t, const struct gpc_table_mmap *m)
{
	struct gpc_process *p = gpc_table_find(t, m->pid);

	/* Of a process that was never sampled the maps are read when it is. */
	if (p && p->space)
		map_area(t, p, m);
	gpc_table_changed(t, p,
			  &(struct gpc_process_event){.kind = GPC_PROC_MMAP,
						      .pid = m->pid,
						      .path = m->path,
						      .start = m->start,
						      .end = m->start + m->length});
}

static void read_line(struct gpc_table *t, struct gpc_process *p, const struct gpc_maps_line *line)
{
	char path[4096];
	struct gpc_table_mmap m = {.start = line->map.start,
				   .length = line->map.end - line->map.start,
				   .offset = line->map.offset,
				   .key = {.inode = line->map.inode,
					   .dev_major = line->map.dev_major,
					   .dev_minor = line->map.dev_minor},
				   .path = path};

	if (!(line->map.prot & GPC_MAP_EXEC))
		return;
	snprintf(path, sizeof path, "%.*s", (int)line->path_len, line->path);
	map_area(t, p, &m);
}

/* Of a main thread that has ended they are empty, whatever the others do. */
static bool read_maps(struct gpc_table *t, struct gpc_process *p, int32_t pid)
{
	char name[48];
	autofree char *text = NULL;
	struct gpc_maps_line line;
	const char *at;
	size_t n = 0;
	struct gpc_err err;
	int32_t tid;

	snprintf(name, sizeof name, "%d/maps", pid);
	if (gpc_patient_read(t->patient, t->procfd, name, MAPS_MAX, &text, &n, &err) < 0) {
		if (err.code == GPC_E_TIMEOUT)
			gpc_warn(t->log, "proc",
				 "process %d: its mappings can't be read, the kernel does not "
				 "answer: "
				 "its functions have no names",
				 pid);
		return false;
	}
	snprintf(name, sizeof name, "%d/task", pid);
	tid = n ? 0 : gpc_proc_other_thread(t->procfd, name, pid);
	if (tid) {
		free(take(text));
		snprintf(name, sizeof name, "%d/task/%d/maps", pid, tid);
		gpc_patient_read(t->patient, t->procfd, name, MAPS_MAX, &text, &n, NULL);
	}
	if (!n)
		return false;
	at = text;
	while (gpc_maps_next(&at, text + n, &line))
		read_line(t, p, &line);
	return true;
}

const struct gpc_space *gpc_table_space(struct gpc_table *t, struct gpc_process *p)
{
	static const struct gpc_space nothing = {.refs = 1};
	struct gpc_process *parent;

	if (p->space)
		return p->space;
	if (p->is_kernel)
		return &nothing;
	p->space = gpc_space_new();
	if (!p->space)
		return &nothing;
	/* What a child that has gone had was its parent's, if it did nothing but fork. */
	if (read_maps(t, p, p->pid) || p->exec_count || !p->is_forked)
		return p->space;
	parent = gpc_table_find(t, p->ppid);
	if (parent && parent->space && parent->space->n) {
		gpc_space_put(p->space);
		p->space = gpc_space_get(parent->space);
	} else {
		read_maps(t, p, p->ppid);
	}
	return p->space;
}

void gpc_table_met(struct gpc_table *t, const struct gpc_process *p, const struct gpc_area *area)
{
	if (area->image && t->needs.file && gpc_images_ask_again(t->images, area->image))
		t->needs.file(t->needs.ctx, area->image, p, area);
}

/* Tells of the mappings that were not there before. */
static void read_maps_again(struct gpc_table *t, struct gpc_process *p)
{
	struct gpc_space *old = take(p->space);
	const struct gpc_space *now = gpc_table_space(t, p);

	for (uint32_t i = 0; i < now->n; i++) {
		struct gpc_area area = now->areas[i];
		const struct gpc_area *was = gpc_space_find(old, area.start);

		if (!was || was->start != area.start || was->image != area.image)
			gpc_table_changed(t, p,
					  &(struct gpc_process_event){
						  .kind = GPC_PROC_MMAP,
						  .pid = p->pid,
						  .path = area.image ? gpc_images_path(t->images,
										       area.image)
								     : "",
						  .start = area.start,
						  .end = area.end});
	}
	gpc_space_put(old);
}

void gpc_table_used(struct gpc_table *t, int32_t pid)
{
	struct gpc_process *p = gpc_table_enter(t, pid);

	if (!p)
		return;
	if (t->is_without_mmaps && p->space)
		read_maps_again(t, p);
	gpc_table_sampled(t, pid, t->window);
}
