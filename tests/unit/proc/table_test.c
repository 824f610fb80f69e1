/* SPDX-License-Identifier: Apache-2.0 */
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

/* A table over a /proc of the test's own. */
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
	unsigned n_events, n_files;
	int32_t file_pid;
};

static void on_file(void *ctx, uint32_t image, const struct gpc_process *p,
		    const struct gpc_area *area)
{
	struct world *w = ctx;

	assert_int_equal(area->image, image);
	w->n_files++;
	w->file_pid = p->pid;
}

static void on_changed(void *ctx, const struct gpc_process *p, const struct gpc_process_event *ev)
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

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct gpc_images_limits limits = {1 << 20, 16};
	struct gpc_table_needs needs = {.ctx = w, .file = on_file, .changed = on_changed};

	strcpy(w->dir, "/tmp/gpc-table-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(gpc_images_new(&limits, NULL, &w->images, NULL), GPC_OK);
	assert_int_equal(gpc_table_new(w->dir, w->images, &needs, NULL, &w->table, NULL), GPC_OK);
	w->window = 1;
	gpc_table_at(w->table, 1000);
	*state = w;
	return 0;
}

static void gone(struct world *w, int32_t pid)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%d/stat", w->dir, pid);
	unlink(path);
	snprintf(path, sizeof path, "%s/%d/maps", w->dir, pid);
	unlink(path);
	snprintf(path, sizeof path, "%s/%d", w->dir, pid);
	rmdir(path);
}

static int tear_down(void **state)
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

static void write_file(const struct world *w, int32_t pid, const char *name, const char *text)
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

static void lives_as(const struct world *w, int32_t pid, const char *comm, int32_t ppid,
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

static struct gpc_process *sampled(struct world *w, int32_t pid)
{
	struct gpc_process *p = gpc_table_sampled(w->table, pid, w->window);

	assert_non_null(p);
	return p;
}

static void map(struct world *w, int32_t pid, uint64_t start, uint64_t inode, const char *path)
{
	struct gpc_table_mmap m = {.pid = pid,
				   .start = start,
				   .length = 0x1000,
				   .key = {.inode = inode, .dev_major = 8},
				   .path = path};

	gpc_table_mmap(w->table, &m);
}

static unsigned count_events(const struct world *w, uint32_t kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_events; i++)
		n += w->events[i].kind == kind;
	return n;
}

/* ---- the first sample ------------------------------------------------------------ */

static void test_there_before_us(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;
	const struct gpc_space *s;

	lives_as(w, 50, "before us", 3, 0);
	write_file(w, 50, "maps", MAPS);
	p = sampled(w, 50);
	assert_string_equal(p->comm, "before us");
	assert_int_equal(p->ppid, 3);
	assert_false(p->is_kernel);
	assert_null(p->space); /* nobody has asked what its addresses mean */
	s = gpc_table_space(w->table, p);
	assert_int_equal(s->n, 3); /* data is no code */
	assert_int_equal(gpc_space_find(s, 0x400123)->kind, GPC_AREA_FILE);
	assert_int_equal(gpc_space_find(s, 0x400123)->offset, 0x1000);
	assert_int_equal(gpc_space_find(s, 0x7000123)->kind, GPC_AREA_ANON);
	assert_int_equal(gpc_space_find(s, 0x8000123)->kind, GPC_AREA_VDSO);
	assert_int_equal(w->n_files, 1);
	assert_int_equal(w->file_pid, 50);
	assert_ptr_equal(sampled(w, 50), p);
	assert_int_equal(count_events(w, GPC_PROC_SAMPLED), 1);
}

/* A4.1: a process is called what it was called at exec, whatever its threads
 * call themselves later. */
static void test_name_stays(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "first", 1, 0);
	sampled(w, 50);
	lives_as(w, 50, "renamed", 1, 0);
	w->window++;
	assert_string_equal(sampled(w, 50)->comm, "first");
	gpc_table_exec(w->table, 50, "by-exec");
	assert_string_equal(sampled(w, 50)->comm, "by-exec");
}

static void test_pseudo_processes(void **state)
{
	struct world *w = *state;

	assert_string_equal(sampled(w, 0)->comm, "swapper");
	assert_string_equal(sampled(w, -1)->comm, ":-1");
	assert_true(sampled(w, 0)->is_kernel && sampled(w, -1)->is_kernel);
	assert_int_equal(gpc_table_space(w->table, sampled(w, 0))->n, 0);
	assert_true(sampled(w, 0)->id != sampled(w, -1)->id);
}

static void test_kernel_thread(void **state)
{
	struct world *w = *state;

	lives_as(w, 9, "ksoftirqd/0", 2, 0x00200040);
	write_file(w, 9, "maps", MAPS); /* would be believed if it were read */
	assert_true(sampled(w, 9)->is_kernel);
	assert_int_equal(gpc_table_space(w->table, sampled(w, 9))->n, 0);
	/* A helper that the kernel starts is a program after its exec. */
	gpc_table_exec(w->table, 9, "modprobe");
	assert_false(sampled(w, 9)->is_kernel);
}

static void test_gone_without_a_trace(void **state)
{
	struct world *w = *state;
	struct gpc_process *p = sampled(w, 4321);

	assert_string_equal(p->comm, ":4321");
	assert_int_equal(gpc_table_space(w->table, p)->n, 0);
}

/* ---- fork -------------------------------------------------------------------------- */

static void test_fork_shares_until_a_side_changes(void **state)
{
	struct world *w = *state;
	struct gpc_process *parent, *child;

	lives_as(w, 50, "parent", 1, 0);
	write_file(w, 50, "maps", MAPS);
	parent = sampled(w, 50);
	gpc_table_space(w->table, parent);
	gpc_table_fork(w->table, 51, 50);
	child = sampled(w, 51);
	assert_string_equal(child->comm, "parent");
	assert_int_equal(child->ppid, 50);
	assert_ptr_equal(gpc_table_space(w->table, child), parent->space);
	map(w, 51, 0x9000000, 8, "/lib/child.so");
	assert_null(gpc_space_find(parent->space, 0x9000000));
	assert_non_null(gpc_space_find(child->space, 0x9000000));
	map(w, 50, 0xa000000, 9, "/lib/parent.so");
	assert_null(gpc_space_find(child->space, 0xa000000));
}

/* Twenty milliseconds of life: gone when its first sample is read. */
static void test_child_gone_before_it_was_looked_at(void **state)
{
	struct world *w = *state;
	struct gpc_process *child;

	lives_as(w, 50, "unseen parent", 1, 0);
	write_file(w, 50, "maps", MAPS);
	gpc_table_fork(w->table, 51, 50);
	child = sampled(w, 51);
	assert_string_equal(child->comm, "unseen parent");
	assert_int_equal(gpc_table_space(w->table, child)->n, 3);
	gpc_table_exit(w->table, 51);
	assert_int_equal(gpc_table_space(w->table, child)->n, 3);
}

static void test_grandchild_gone(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "top", 1, 0);
	write_file(w, 50, "maps", MAPS);
	gpc_table_space(w->table, sampled(w, 50));
	gpc_table_fork(w->table, 51, 50);
	gpc_table_fork(w->table, 52, 51);
	gpc_table_exit(w->table, 51);
	assert_string_equal(sampled(w, 52)->comm, "top");
	assert_int_equal(gpc_table_space(w->table, sampled(w, 52))->n, 3);
}

/* ---- exec --------------------------------------------------------------------------- */

static void test_exec_is_a_new_image(void **state)
{
	struct world *w = *state;
	struct gpc_process *old, *new;

	lives_as(w, 50, "shell", 1, 0);
	write_file(w, 50, "maps", MAPS);
	old = sampled(w, 50);
	gpc_table_space(w->table, old);
	gpc_table_exec(w->table, 50, "tool");
	new = sampled(w, 50);
	assert_ptr_not_equal(old, new);
	assert_true(new->id > old->id);
	assert_int_equal(new->exec_count, 1);
	assert_int_equal(new->ppid, old->ppid);
	assert_int_equal(gpc_table_space(w->table, new)->n, 0);
	map(w, 50, 0x400000, 11, "/bin/tool");
	assert_int_equal(new->space->n, 1);
	/* What was counted before can still be told. */
	assert_ptr_equal(gpc_table_by_id(w->table, old->id), old);
	assert_string_equal(old->comm, "shell");
	assert_int_equal(old->space->n, 3);
	assert_ptr_equal(gpc_table_find(w->table, 50), new);
}

static void test_exec_before_any_sample_needs_no_second_entry(void **state)
{
	struct world *w = *state;
	size_t before;

	gpc_table_fork(w->table, 51, 50);
	before = gpc_table_count(w->table);
	gpc_table_exec(w->table, 51, "wrapper");
	gpc_table_exec(w->table, 51, "program");
	assert_int_equal(gpc_table_count(w->table), before);
	assert_string_equal(sampled(w, 51)->comm, "program");
	assert_int_equal(sampled(w, 51)->exec_count, 2);
}

/* A collector may hold the number of a process that has slept so far. */
static void test_number_that_was_given_away_is_not_used_for_the_next_image(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;
	uint64_t id;

	lives_as(w, 50, "sleeper", 1, 0);
	p = gpc_table_enter(w->table, 50);
	assert_non_null(p);
	id = p->id;
	assert_string_equal(p->comm, "sleeper");
	gpc_table_exec(w->table, 50, "other");
	assert_true(gpc_table_find(w->table, 50)->id != id);
	assert_int_equal(gpc_table_find(w->table, 50)->exec_count, 1);
}

static void test_exec_of_a_process_never_heard_of(void **state)
{
	struct world *w = *state;

	gpc_table_exec(w->table, 70, "stranger");
	map(w, 70, 0x400000, 11, "/bin/stranger");
	assert_string_equal(sampled(w, 70)->comm, "stranger");
	assert_int_equal(gpc_table_space(w->table, sampled(w, 70))->n, 1);
}

/* exec in a loop, sampled each time: bounded within a window. */
static void test_many_generations(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "loop", 1, 0);
	for (int i = 0; i < 1000; i++) {
		sampled(w, 50);
		gpc_table_exec(w->table, 50, "loop");
		w->n_events = 0;
	}
	assert_true(gpc_table_count(w->table) <= 66);
	assert_int_equal(sampled(w, 50)->exec_count, 1000);
	gpc_table_trim(w->table, w->window, 5000);
	assert_int_equal(gpc_table_count(w->table), 1);
	assert_non_null(gpc_table_find(w->table, 50));
}

/* ---- exit ------------------------------------------------------------------------------ */

static void test_late_sample_after_exit(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;
	uint64_t id;

	lives_as(w, 50, "short", 1, 0);
	p = sampled(w, 50);
	id = p->id;
	gpc_table_at(w->table, 2000);
	gpc_table_exit(w->table, 50);
	gone(w, 50);
	assert_ptr_equal(sampled(w, 50), p);
	assert_string_equal(p->comm, "short");
	assert_int_equal(p->exit_ns, 2000);
	gpc_table_trim(w->table, w->window, 2000); /* ended in the next window */
	assert_ptr_equal(gpc_table_by_id(w->table, id), p);
	gpc_table_trim(w->table, w->window, 2001);
	assert_null(gpc_table_by_id(w->table, id));
	assert_null(gpc_table_find(w->table, 50));
}

static void test_sampled_in_a_later_window_than_the_one_trimmed(void **state)
{
	struct world *w = *state;

	sampled(w, 50);
	gpc_table_exit(w->table, 50);
	w->window = 2;
	sampled(w, 50);
	gpc_table_trim(w->table, 1, 5000);
	assert_non_null(gpc_table_find(w->table, 50));
	gpc_table_trim(w->table, 2, 5000);
	assert_null(gpc_table_find(w->table, 50));
}

static void test_pid_used_again(void **state)
{
	struct world *w = *state;
	struct gpc_process *first, *second;
	uint64_t first_id;

	lives_as(w, 50, "first", 1, 0);
	lives_as(w, 60, "other parent", 1, 0);
	first = sampled(w, 50);
	first_id = first->id;
	gpc_table_exec(w->table, 50, "second image");
	sampled(w, 50);
	gpc_table_exit(w->table, 50);
	sampled(w, 60);
	gpc_table_fork(w->table, 50, 60);
	second = sampled(w, 50);
	assert_true(second->id != first_id);
	assert_int_equal(second->exec_count, 0);
	assert_int_equal(second->exit_ns, 0);
	assert_string_equal(second->comm, "other parent");
	assert_ptr_equal(gpc_table_by_id(w->table, first_id), first);
	gpc_table_trim(w->table, w->window, 5000);
	assert_null(gpc_table_by_id(w->table, first_id));
	assert_ptr_equal(gpc_table_find(w->table, 50), second);
	assert_int_equal(gpc_table_count(w->table), 2);
}

static void test_enter(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;

	assert_null(gpc_table_enter(w->table, 50));
	assert_null(gpc_table_enter(w->table, 0));
	assert_null(gpc_table_enter(w->table, -1));
	lives_as(w, 50, "idle", 1, 0);
	p = gpc_table_enter(w->table, 50);
	assert_non_null(p);
	assert_false(p->is_sampled);
	assert_ptr_equal(gpc_table_enter(w->table, 50), p);
	gpc_table_exit(w->table, 50);
	assert_ptr_not_equal(gpc_table_enter(w->table, 50), p); /* somebody has the pid */
	gpc_table_exit(w->table, 50);
	write_file(w, 50, "stat", "50 (idle) Z 1 1 1 0 -1 0 0 0 0 0 10 20 0 0 20 0 1 0 555 0 0\n");
	assert_null(gpc_table_enter(w->table, 50)); /* ended, not reaped */
	gone(w, 50);
	assert_null(gpc_table_enter(w->table, 50));
}

/* ---- mappings ------------------------------------------------------------------------------ */

static void test_mappings_of_sleepers_wait_for_their_sample(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "sleeper", 1, 0);
	gpc_table_enter(w->table, 50);
	map(w, 50, 0x9000000, 8, "/lib/x.so");
	assert_int_equal(w->n_files, 0);
	write_file(w, 50, "maps", MAPS);
	assert_int_equal(gpc_table_space(w->table, sampled(w, 50))->n, 3);
}

static void test_what_is_a_file(void **state)
{
	static const struct {
		const char *path;
		uint64_t inode;
		uint32_t kind;
	} cases[] = {
		{"/usr/lib/x.so", 5, GPC_AREA_FILE},   {"/usr/lib/none.so", 0, GPC_AREA_ANON},
		{"//anon", 0, GPC_AREA_ANON},          {"/memfd:jit", 77, GPC_AREA_ANON},
		{"/dev/zero", 78, GPC_AREA_ANON},      {"/SYSV00000000", 79, GPC_AREA_ANON},
		{"/anon_hugepage", 80, GPC_AREA_ANON}, {"[vdso]", 0, GPC_AREA_VDSO},
		{"[heap]", 0, GPC_AREA_ANON},          {"", 0, GPC_AREA_ANON},
	};
	struct world *w = *state;

	gpc_table_exec(w->table, 50, "x");
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		const struct gpc_area *a;

		map(w, 50, 0x10000 * (k + 1), cases[k].inode, cases[k].path);
		a = gpc_space_find(gpc_table_find(w->table, 50)->space, 0x10000 * (k + 1));
		assert_non_null(a);
		assert_int_equal(a->kind, cases[k].kind);
		assert_int_equal(a->image != 0, cases[k].kind == GPC_AREA_FILE);
	}
}

static void test_senseless_mappings(void **state)
{
	struct world *w = *state;
	struct gpc_table_mmap m = {.pid = 50, .start = UINT64_MAX - 10, .length = 100, .path = ""};

	gpc_table_exec(w->table, 50, "x");
	gpc_table_mmap(w->table, &m);
	m.start = 5;
	m.length = 0;
	gpc_table_mmap(w->table, &m);
	assert_int_equal(gpc_table_find(w->table, 50)->space->n, 0);
}

/* After lost records what lives is read again; what has gone cannot be. */
static void test_distrust(void **state)
{
	struct world *w = *state;
	struct gpc_process *alive, *dead;

	lives_as(w, 50, "alive", 1, 0);
	gpc_table_exec(w->table, 50, "alive");
	alive = sampled(w, 50);
	map(w, 50, 0x9000000, 8, "/lib/old.so");
	gpc_table_exec(w->table, 60, "dead");
	dead = sampled(w, 60);
	map(w, 60, 0x9000000, 8, "/lib/old.so");
	gpc_table_exit(w->table, 60);
	gpc_table_distrust(w->table);
	write_file(w, 50, "maps", MAPS);
	assert_null(gpc_space_find(gpc_table_space(w->table, alive), 0x9000000));
	assert_int_equal(gpc_table_space(w->table, alive)->n, 3);
	assert_non_null(gpc_space_find(gpc_table_space(w->table, dead), 0x9000000));
}

static void test_mappings_of_idle_processes_are_forgotten(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;

	lives_as(w, 50, "idle", 1, 0);
	write_file(w, 50, "maps", MAPS);
	p = sampled(w, 50);
	gpc_table_space(w->table, p);
	gpc_table_trim(w->table, w->window + 5, 5000);
	assert_non_null(p->space);
	gpc_table_trim(w->table, w->window + 6, 5000);
	assert_null(p->space);
	assert_ptr_equal(gpc_table_find(w->table, 50), p);
	w->window += 7;
	assert_int_equal(gpc_table_space(w->table, sampled(w, 50))->n, 3);
}

static void test_images_in_use(void **state)
{
	struct world *w = *state;
	struct gpc_u64map set = {0};
	uint64_t unused;

	gpc_table_exec(w->table, 50, "x");
	sampled(w, 50);
	map(w, 50, 0x400000, 11, "/bin/x");
	map(w, 50, 0x500000, 12, "/lib/y");
	map(w, 50, 0x600000, 11, "/bin/x");
	gpc_table_exec(w->table, 60, "z");
	map(w, 60, 0x400000, 13, "/bin/z");
	assert_true(gpc_table_images(w->table, &set));
	assert_int_equal(set.n, 3);
	for (uint64_t image = 1; image <= 3; image++)
		assert_true(gpc_u64map_get(&set, image, &unused));
	gpc_u64map_deinit(&set);
}

/* ---- what discovery is told -------------------------------------------------------------- */

static void test_events(void **state)
{
	struct world *w = *state;

	gpc_table_at(w->table, 1111);
	gpc_table_fork(w->table, 51, 50);
	gpc_table_exec(w->table, 51, "prog");
	map(w, 51, 0x400000, 11, "/bin/prog");
	sampled(w, 51);
	sampled(w, 51);
	gpc_table_exit(w->table, 51);
	gpc_table_exit(w->table, 999); /* never seen */
	assert_int_equal(w->n_events, 6);
	assert_int_equal(w->events[0].kind, GPC_PROC_FORK);
	assert_int_equal(w->events[1].kind, GPC_PROC_EXEC);
	assert_string_equal(w->events[1].path, "prog");
	assert_int_equal(w->events[2].kind, GPC_PROC_MMAP);
	assert_string_equal(w->events[2].path, "/bin/prog");
	assert_int_equal(w->events[3].kind, GPC_PROC_SAMPLED);
	assert_int_equal(w->events[4].kind, GPC_PROC_EXIT);
	assert_int_equal(w->events[5].kind, GPC_PROC_EXIT);
	assert_int_equal(w->events[5].pid, 999);
	assert_int_equal(w->events[5].id, 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(w->events[i].time_ns, 1111);
}

static void test_each_image_is_announced(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "x", 1, 0);
	sampled(w, 50);
	gpc_table_exec(w->table, 50, "y");
	sampled(w, 50);
	sampled(w, 50);
	assert_int_equal(count_events(w, GPC_PROC_SAMPLED), 2);
}

static void test_no_such_procfs(void **state)
{
	struct gpc_table_needs needs = {0};
	struct gpc_table *t = NULL;
	struct gpc_err err;

	(void)state;
	assert_int_equal(gpc_table_new("/nowhere/proc", NULL, &needs, NULL, &t, &err), GPC_E_GONE);
	assert_null(t);
	gpc_table_free(NULL);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_there_before_us),
		world_test(test_name_stays),
		world_test(test_pseudo_processes),
		world_test(test_kernel_thread),
		world_test(test_gone_without_a_trace),
		world_test(test_fork_shares_until_a_side_changes),
		world_test(test_child_gone_before_it_was_looked_at),
		world_test(test_grandchild_gone),
		world_test(test_exec_is_a_new_image),
		world_test(test_exec_before_any_sample_needs_no_second_entry),
		world_test(test_number_that_was_given_away_is_not_used_for_the_next_image),
		world_test(test_exec_of_a_process_never_heard_of),
		world_test(test_many_generations),
		world_test(test_late_sample_after_exit),
		world_test(test_sampled_in_a_later_window_than_the_one_trimmed),
		world_test(test_pid_used_again),
		world_test(test_enter),
		world_test(test_mappings_of_sleepers_wait_for_their_sample),
		world_test(test_what_is_a_file),
		world_test(test_senseless_mappings),
		world_test(test_distrust),
		world_test(test_mappings_of_idle_processes_are_forgotten),
		world_test(test_images_in_use),
		world_test(test_events),
		world_test(test_each_image_is_announced),
		cmocka_unit_test(test_no_such_procfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
