/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/target.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/patient.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "proc/root.h"
#include "proc/stat.h"

#define TEXT_MAX (64u << 20)

static void view_free(struct gpc_target_view *v)
{
	if (!v)
		return;
	if (v->target.pidfd >= 0)
		close(v->target.pidfd);
	free(v->container);
	free(v->text);
	free(v->maps);
	gpc_target_put(v->base);
	free(v);
}

static void cleanup_view(struct gpc_target_view **v)
{
	view_free(*v);
}

/* Each line's path becomes a text of its own: the byte after it (a newline, or
 * the start of " (deleted)") becomes its end. */
static gpc_status split_maps(struct gpc_target_view *v, char *text, size_t n, struct gpc_err *err)
{
	vec(struct gpc_map) maps = {0};
	struct gpc_maps_line line;
	const char *at = text;

	while (gpc_maps_next(&at, text + n, &line)) {
		line.map.path = line.path;
		if (!vec_push(&maps, line.map)) {
			vec_deinit(&maps);
			return gpc_err_nomem(err);
		}
		text[line.path + line.path_len - text] = '\0';
	}
	v->maps = maps.at;
	v->target.maps = maps.at;
	v->target.n_maps = (uint32_t)maps.n;
	v->target.map_stride = sizeof *maps.at;
	return GPC_OK;
}

/* Those of another thread where the main one has ended and has none. */
static gpc_status read_maps(int procfd, const struct gpc_target_id *id, char **ret, size_t *n,
			    struct gpc_err *err)
{
	char path[32] = "maps";
	int32_t tid = 0;

	for (;;) {
		gpc_try(id->patient
				? gpc_patient_read(id->patient, procfd, path, TEXT_MAX, ret, n, err)
				: gpc_read_file(procfd, path, TEXT_MAX, ret, n, err));
		if (*n || tid || !(tid = gpc_proc_other_thread(procfd, "task", id->pid)))
			return GPC_OK;
		free(take(*ret));
		snprintf(path, sizeof path, "task/%d/maps", tid);
	}
}

/* maps, cmdline and cgroup lie one after another in one block. */
static gpc_status read_texts(struct gpc_target_view *v, int procfd, const struct gpc_target_id *id,
			     struct gpc_err *err)
{
	autofree char *maps = NULL;
	autofree char *cmdline = NULL;
	autofree char *cgroup = NULL;
	size_t n_maps = 0, n_cmdline = 0, n_cgroup = 0;
	char *at;

	gpc_try(read_maps(procfd, id, &maps, &n_maps, err));
	gpc_read_file(procfd, "cmdline", 1 << 20, &cmdline, &n_cmdline, NULL);
	gpc_read_file(procfd, "cgroup", 1 << 16, &cgroup, &n_cgroup, NULL);
	v->text = malloc(n_maps + n_cmdline + n_cgroup + 3);
	if (!v->text)
		return gpc_err_nomem(err);
	at = v->text;
	memcpy(at, maps, n_maps + 1);
	gpc_try(split_maps(v, at, n_maps, err));
	at += n_maps + 1;
	if (cmdline)
		memcpy(at, cmdline, n_cmdline);
	at[n_cmdline] = '\0';
	v->target.cmdline = at;
	v->target.cmdline_len = (uint32_t)n_cmdline;
	at += n_cmdline + 1;
	if (cgroup)
		memcpy(at, cgroup, n_cgroup);
	at[n_cgroup] = '\0';
	v->target.cgroup = at;
	return GPC_OK;
}

static void read_exe(struct gpc_target_view *v, int procfd)
{
	static const char deleted[] = " (deleted)";
	ssize_t n = readlinkat(procfd, "exe", v->exe, sizeof v->exe - 1);
	size_t tail = sizeof deleted - 1;
	struct stat st;
	unsigned char head[20];
	autoclose int fd = openat(procfd, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	v->exe[n > 0 ? n : 0] = '\0';
	if (n > (ssize_t)tail && strcmp(v->exe + n - tail, deleted) == 0)
		v->exe[n - (ssize_t)tail] = '\0';
	v->target.exe = v->exe;
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	v->exe_dev = st.st_dev;
	v->exe_ino = st.st_ino;
	v->exe_mtime_ns = st.st_mtim.tv_sec * (int64_t)GPC_SECOND_NS + st.st_mtim.tv_nsec;
	if (pread(fd, head, sizeof head, 0) == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0)
		v->target.machine = (uint16_t)(head[18] | head[19] << 8);
}

/* glibc's libc.so is a text for the linker, which nobody maps: a libc.so that is
 * mapped is musl, under the name that it has without a distribution's links. */
uint8_t gpc_libc_of_file(const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name)
		return GPC_LIBC_NONE;
	if (strncmp(name, "/libc.so.6", 10) == 0 || strncmp(name, "/libc-2.", 8) == 0)
		return GPC_LIBC_GLIBC;
	if (strncmp(name, "/ld-musl-", 9) == 0 || strncmp(name, "/libc.musl-", 11) == 0 ||
	    strcmp(name, "/libc.so") == 0)
		return GPC_LIBC_MUSL;
	return GPC_LIBC_NONE;
}

static uint8_t libc_of(const struct gpc_target *t)
{
	uint8_t libc = GPC_LIBC_NONE;

	for (uint32_t i = 0; i < t->n_maps && !libc; i++)
		libc = gpc_libc_of_file(t->maps[i].path);
	return libc;
}

gpc_status gpc_target_read(const struct gpc_target_id *id, struct gpc_target_view **ret,
			   struct gpc_err *err)
{
	autocall(cleanup_view) struct gpc_target_view *v = calloc(1, sizeof *v);
	struct gpc_proc_stat stat;
	char path[40];
	uid_t uid;
	gid_t gid;
	autoclose int root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	autoclose int procfd = -1;

	if (!v)
		return gpc_err_nomem(err);
	v->refs = 1;
	v->target.pidfd = -1;
	v->target.pid = id->pid;
	snprintf(path, sizeof path, "/proc/%d", id->pid);
	procfd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (procfd < 0)
		return gpc_err_sys(err, "process %d", id->pid);
	if (!gpc_proc_stat_read(root, id->pid, &stat) || gpc_proc_stat_is_over(&stat) ||
	    !gpc_proc_user(id->pid, &uid, &gid))
		return gpc_err_set(err, GPC_E_GONE, "process %d has ended", id->pid);
	gpc_try(read_texts(v, procfd, id, err));
	read_exe(v, procfd);
	memcpy(v->comm, stat.comm, sizeof v->comm);
	v->target.struct_size = sizeof v->target;
	v->target.id = id->id;
	v->target.exec_count = id->exec_count;
	v->target.ppid = stat.ppid;
	v->target.start_time = stat.start_time;
	v->target.uid = uid;
	v->target.ns_pid = gpc_ns_pid(id->pid);
	v->target.comm = v->comm;
	v->target.container = "";
	v->target.libc = libc_of(&v->target);
	v->target.pidfd = (int)syscall(SYS_pidfd_open, id->pid, 0);
	*ret = take(v);
	return GPC_OK;
}

gpc_status gpc_target_fork(struct gpc_target_view *parent, const struct gpc_target_id *id,
			   struct gpc_target_view **ret, struct gpc_err *err)
{
	struct gpc_target_view *base = parent->base ? parent->base : parent;
	autoclose int root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	autocall(cleanup_view) struct gpc_target_view *v = calloc(1, sizeof *v);
	struct gpc_proc_stat stat;

	if (!v)
		return gpc_err_nomem(err);
	v->refs = 1;
	v->target.pidfd = -1;
	if (!gpc_proc_stat_read(root, id->pid, &stat) || stat.state == 'Z' || stat.state == 'X')
		return gpc_err_set(err, GPC_E_GONE, "process %d has ended", id->pid);
	v->base = gpc_target_get(base);
	v->target = base->target;
	v->target.container = "";
	gpc_target_set_container(v, parent->target.container);
	memcpy(v->comm, stat.comm, sizeof v->comm);
	v->exe_dev = base->exe_dev;
	v->exe_ino = base->exe_ino;
	v->exe_mtime_ns = base->exe_mtime_ns;
	v->target.pid = id->pid;
	v->target.id = id->id;
	v->target.exec_count = id->exec_count;
	v->target.ppid = parent->target.pid;
	v->target.start_time = stat.start_time;
	v->target.ns_pid = gpc_ns_pid(id->pid);
	v->target.comm = v->comm;
	v->target.pidfd = (int)syscall(SYS_pidfd_open, id->pid, 0);
	*ret = take(v);
	return GPC_OK;
}

void gpc_target_set_container(struct gpc_target_view *v, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return;
	free(v->container);
	v->container = copy;
	v->target.container = copy;
}

struct gpc_target_view *gpc_target_get(struct gpc_target_view *v)
{
	__atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
	return v;
}

void gpc_target_put(struct gpc_target_view *v)
{
	if (v && __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) == 0)
		view_free(v);
}

bool gpc_target_lives(const struct gpc_target_view *v)
{
	struct gpc_proc_stat stat;
	autoclose int root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return gpc_proc_stat_read(root, v->target.pid, &stat) &&
	       stat.start_time == v->target.start_time && !gpc_proc_stat_is_over(&stat);
}

/* ---- what has become of it ------------------------------------------------------------ */

/* Where the kernel has put its own code: elsewhere for each program. 0: not known. */
static uint64_t vdso_of(const struct gpc_target *t)
{
	for (uint32_t i = 0; i < t->n_maps; i++)
		if (strcmp(t->maps[i].path, "[vdso]") == 0)
			return t->maps[i].start;
	return 0;
}

static bool is_same_program(const struct gpc_target_view *a, const struct gpc_target_view *b)
{
	uint64_t vdso = vdso_of(&a->target);

	return a->target.start_time == b->target.start_time && a->exe_dev == b->exe_dev &&
	       a->exe_ino == b->exe_ino && (!vdso || vdso == vdso_of(&b->target));
}

static unsigned files_of_code(const struct gpc_target *t)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < t->n_maps; i++)
		n += t->maps[i].prot & GPC_MAP_EXEC && t->maps[i].inode;
	return n;
}

enum gpc_target_now gpc_target_compare(const struct gpc_target_view *v,
				       struct gpc_target_view **fresh)
{
	struct gpc_target_id id = {v->target.pid, v->target.id, v->target.exec_count, NULL};
	autocall(cleanup_view) struct gpc_target_view *now = NULL;

	if (gpc_target_read(&id, &now, NULL) < 0 || !is_same_program(v, now))
		return GPC_TARGET_OTHER;
	if (files_of_code(&now->target) == files_of_code(&v->target))
		return GPC_TARGET_SAME;
	gpc_target_set_container(now, v->target.container);
	*fresh = take(now);
	return GPC_TARGET_GREW;
}
