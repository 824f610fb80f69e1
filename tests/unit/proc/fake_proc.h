/* SPDX-License-Identifier: Apache-2.0 */
/* A process table over a /proc of the test's own, and what it asked for. */
#ifndef GPC_TESTS_FAKE_PROC_H
#define GPC_TESTS_FAKE_PROC_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/table.h"

struct world {
	char dir[64];
	struct gpc_images *images;
	struct gpc_table *table;
	uint32_t window;
	struct {
		uint32_t kind;
		int32_t pid;
		uint64_t id, time_ns;
		char path[64];
	} events[64];
	unsigned n_events, n_files, n_jitdumps;
	char jitdump[64]; /* the last one asked for */
	int32_t file_pid;
};

static inline void on_file(void *ctx, uint32_t image, const struct gpc_process *p,
			   const struct gpc_area *area)
{
	struct world *w = ctx;

	assert_int_equal(area->image, image);
	w->n_files++;
	w->file_pid = p->pid;
}

static inline void on_jitdump(void *ctx, const struct gpc_process *p, const struct gpc_area *area,
			      const char *path)
{
	struct world *w = ctx;

	assert_true(p->pid > 0 && area->end > area->start);
	snprintf(w->jitdump, sizeof w->jitdump, "%s", path);
	w->n_jitdumps++;
}

static inline void on_changed(void *ctx, const struct gpc_process *p,
			      const struct gpc_process_event *ev)
{
	struct world *w = ctx;

	assert_true(w->n_events < 64);
	assert_int_equal(ev->struct_size, sizeof *ev);
	w->events[w->n_events].kind = ev->kind;
	w->events[w->n_events].pid = ev->pid;
	w->events[w->n_events].time_ns = ev->time_ns;
	w->events[w->n_events].id = p ? p->id : 0;
	snprintf(w->events[w->n_events++].path, 64, "%s", ev->path);
}

static inline int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct gpc_images_limits limits = {1 << 20, 16};
	struct gpc_table_needs needs = {.ctx = w,
					.file = on_file,
					.jitdump = on_jitdump,
					.changed = on_changed};

	strcpy(w->dir, "/tmp/gpc-table-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(gpc_images_new(&limits, NULL, &w->images, NULL), GPC_OK);
	assert_int_equal(gpc_table_new(w->dir, w->images, &needs, NULL, &w->table, NULL), GPC_OK);
	w->window = 1;
	gpc_table_at(w->table, 1000);
	*state = w;
	return 0;
}

static inline void gone(struct world *w, int32_t pid)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%d/stat", w->dir, pid);
	unlink(path);
	snprintf(path, sizeof path, "%s/%d/maps", w->dir, pid);
	unlink(path);
	snprintf(path, sizeof path, "%s/%d", w->dir, pid);
	rmdir(path);
}

static inline int tear_down(void **state)
{
	struct world *w = *state;
	DIR *dir = opendir(w->dir);
	struct dirent *e;

	gpc_table_free(w->table);
	gpc_images_free(w->images);
	while ((e = readdir(dir)))
		if (atoi(e->d_name) > 0)
			gone(w, atoi(e->d_name));
	closedir(dir);
	assert_int_equal(rmdir(w->dir), 0);
	free(w);
	return 0;
}

static inline void write_file(const struct world *w, int32_t pid, const char *name,
			      const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%d", w->dir, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%d/%s", w->dir, pid, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static inline void lives_as(const struct world *w, int32_t pid, const char *comm, int32_t ppid,
			    unsigned flags)
{
	char text[300];

	snprintf(text, sizeof text, "%d (%s) S %d 1 1 0 -1 %u 0 0 0 0 10 20 0 0 20 0 1 0 555 0 0\n",
		 pid, comm, ppid, flags);
	write_file(w, pid, "stat", text);
}

#define MAPS                                                     \
	"400000-500000 r-xp 00001000 08:01 7     /bin/program\n" \
	"600000-700000 rw-p 00001000 08:01 7     /bin/program\n" \
	"7000000-7001000 rwxp 00000000 00:00 0 \n"               \
	"8000000-8001000 r-xp 00000000 00:00 0   [vdso]\n"

static inline struct gpc_process *sampled(struct world *w, int32_t pid)
{
	struct gpc_process *p = gpc_table_sampled(w->table, pid, w->window);

	assert_non_null(p);
	return p;
}

static inline void map(struct world *w, int32_t pid, uint64_t start, uint64_t inode,
		       const char *path)
{
	struct gpc_table_mmap m = {.pid = pid,
				   .start = start,
				   .length = 0x1000,
				   .key = {.inode = inode, .dev_major = 8},
				   .path = path};

	gpc_table_mmap(w->table, &m);
}

#endif
