/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/thread.h"
#include "proc/cgroupfs.h"
#include "proc/container.h"
#include "proc/opening.h"
#include "proc/root.h"

#define QUEUE_MAX  4096
#define CGROUP_MAX (1u << 16) /* of /proc/PID/cgroup */

struct item {
	uint64_t process;
	uint64_t start, end;
	int32_t pid, ppid;
	uint32_t image; /* 0: code that the process makes, or its control group */
	bool is_cgroup, is_jitdump;
	uint64_t cgroup;
	char *path; /* of the image or jitdump, as the target sees it; owned */
};

struct gpc_opener {
	struct gpc_images *images;
	gpc_opener_jit_fn fn;
	gpc_opener_cgroup_fn cgroup_fn;
	void *ctx;
	struct gpc_cgroupfs cgroupfs;
	struct gpc_patient *patient;
	struct gpc_log *log;
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	pthread_t thread;
	struct item *queue; /* a ring of QUEUE_MAX */
	size_t head, n;
	bool is_busy, is_stopping;
};

static void tell_hanging(struct gpc_opener *o, const struct item *it)
{
	gpc_warn(o->log, "proc",
		 "process %d: the file system of %s, or of its debug files, does not answer: "
		 "functions may have no names",
		 it->pid, it->path ? it->path : "its perf map");
}

/* With an image's file its debug file is looked for, while there is a process to
 * say where. */
static bool offer(struct gpc_opener *o, const struct item *it, int fd)
{
	autoclose int kept = dup(fd);
	struct gpc_debugfiles debug;

	if (!gpc_images_offer(o->images, it->image, fd))
		return false;
	if (kept < 0)
		return true;
	if (gpc_opening_debug(o->patient, it->pid, it->path, kept, &debug) < 0)
		tell_hanging(o, it);
	if (debug.own >= 0) {
		gpc_debug(o->log, "proc", "debug file of %s found", it->path);
		gpc_images_offer_debug(o->images, it->image, GPC_DEBUG_OWN, debug.own);
	}
	if (debug.shared >= 0)
		gpc_images_offer_debug(o->images, it->image, GPC_DEBUG_SHARED, debug.shared);
	return true;
}

static void mapped_path(const struct item *it, char *ret, size_t size)
{
	snprintf(ret, size, "/proc/%d/map_files/%llx-%llx", it->pid, (unsigned long long)it->start,
		 (unsigned long long)it->end);
}

/* The kernel's own link to the mapped file: right even when the file has been
 * deleted or replaced. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
static bool open_mapped(struct gpc_opener *o, const struct item *it, int *fd)
{
	char path[80];

	mapped_path(it, path, sizeof path);
	*fd = gpc_opening_file(o->patient, 0, path, NULL);
	return *fd >= 0 && offer(o, it, *fd);
}

static bool open_in_root(struct gpc_opener *o, const struct item *it, int32_t pid, int *fd)
{
	*fd = pid > 0 ? gpc_opening_file(o->patient, pid, it->path, NULL) : -1;
	return *fd >= 0 && offer(o, it, *fd);
}

/* Most short-lived processes live in our own root. */
static bool open_in_ours(struct gpc_opener *o, const struct item *it, int *fd)
{
	*fd = gpc_opening_file(o->patient, 0, it->path, NULL);
	return *fd >= 0 && offer(o, it, *fd);
}

static void open_image(struct gpc_opener *o, const struct item *it)
{
	int fd;

	if (!gpc_images_wants_file(o->images, it->image))
		return;
	if (open_mapped(o, it, &fd))
		return;
	/* One that does not answer would not under another name. */
	if (fd != GPC_E_TIMEOUT && (open_in_root(o, it, it->pid, &fd) ||
				    open_in_root(o, it, it->ppid, &fd) || open_in_ours(o, it, &fd)))
		return;
	if (fd == GPC_E_TIMEOUT)
		tell_hanging(o, it);
	gpc_debug(o->log, "proc", "process %d: %s could not be opened: its functions have no names",
		  it->pid, it->path);
	gpc_images_give_up(o->images, it->image);
}

static void give(struct gpc_opener *o, const struct item *it, enum gpc_jit_file kind,
		 const char *path, int fd, const struct stat *st)
{
	if (gpc_proc_wrote(it->pid, st)) {
		o->fn(o->ctx, it->process, kind, fd);
		return;
	}
	gpc_warn(o->log, "proc", "process %d: %s belongs to another user: not read", it->pid, path);
	close(fd);
}

static void open_perf_map(struct gpc_opener *o, const struct item *it)
{
	char path[64];
	struct stat st;
	int32_t inner = gpc_ns_pid(it->pid);
	int fd;

	if (!inner)
		return;
	snprintf(path, sizeof path, "/tmp/perf-%d.map", inner);
	fd = gpc_opening_file(o->patient, it->pid, path, &st);
	if (fd >= 0)
		give(o, it, GPC_JIT_PERF_MAP, path, fd, &st);
	else if (fd == GPC_E_TIMEOUT)
		tell_hanging(o, it);
}

static void open_jitdump(struct gpc_opener *o, const struct item *it)
{
	struct stat st;
	char path[80];
	int fd;

	mapped_path(it, path, sizeof path);
	fd = gpc_opening_file(o->patient, 0, path, &st);
	if (fd < 0 && fd != GPC_E_TIMEOUT)
		fd = gpc_opening_file(o->patient, it->pid, it->path, &st);
	if (fd >= 0)
		give(o, it, GPC_JIT_DUMP, it->path, fd, &st);
	else if (fd == GPC_E_TIMEOUT)
		tell_hanging(o, it);
}

/* By number first: right even when the process has moved on or gone. Where
 * there are several hierarchies it need not be the one with the containers. */
static void find_cgroup(struct gpc_opener *o, const struct item *it)
{
	autofree char *path = gpc_cgroupfs_path(&o->cgroupfs, it->cgroup);
	autofree char *text = NULL;
	char name[40];
	size_t len = 0;

	if (path)
		gpc_container_line(path, &len);
	if (path && (len || o->cgroupfs.is_unified)) {
		o->cgroup_fn(o->ctx, it->process, it->cgroup, path);
		return;
	}
	snprintf(name, sizeof name, "/proc/%d/cgroup", it->pid);
	if (gpc_read_file(AT_FDCWD, name, CGROUP_MAX, &text, NULL, NULL) == GPC_OK)
		o->cgroup_fn(o->ctx, it->process, 0, text);
}

static bool next_item(struct gpc_opener *o, struct item *ret)
{
	autolock(&o->lock);

	o->is_busy = false;
	while (!o->n && !o->is_stopping) {
		pthread_cond_broadcast(&o->idle);
		pthread_cond_wait(&o->work, &o->lock);
	}
	if (o->is_stopping)
		return false;
	*ret = o->queue[o->head];
	o->head = (o->head + 1) % QUEUE_MAX;
	o->n--;
	o->is_busy = true;
	return true;
}

static void *run(void *arg)
{
	struct gpc_opener *o = arg;
	struct item it;

	while (next_item(o, &it)) {
		if (it.image)
			open_image(o, &it);
		else if (it.is_cgroup)
			find_cgroup(o, &it);
		else if (it.is_jitdump)
			open_jitdump(o, &it);
		else
			open_perf_map(o, &it);
		free(it.path);
	}
	return NULL;
}

gpc_status gpc_opener_new(struct gpc_images *images, gpc_opener_jit_fn fn, void *ctx,
			  struct gpc_log *log, struct gpc_opener **ret, struct gpc_err *err)
{
	struct gpc_opener *o = calloc(1, sizeof *o);

	if (!o || !(o->queue = calloc(QUEUE_MAX, sizeof *o->queue))) {
		free(o);
		return gpc_err_nomem(err);
	}
	o->images = images;
	o->fn = fn;
	o->ctx = ctx;
	o->log = log;
	gpc_cgroupfs_init(&o->cgroupfs, "/proc/self/mountinfo");
	pthread_mutex_init(&o->lock, NULL);
	gpc_cond_init(&o->work);
	gpc_cond_init(&o->idle);
	if (gpc_patient_new("gpc-file", &o->patient, err) < 0 ||
	    gpc_thread_start(&o->thread, "gpc-open", run, o, err) < 0) {
		gpc_patient_free(o->patient);
		gpc_cgroupfs_deinit(&o->cgroupfs);
		free(o->queue);
		free(o);
		return GPC_E_SYSTEM;
	}
	*ret = o;
	return GPC_OK;
}

void gpc_opener_free(struct gpc_opener *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->is_stopping = true;
	pthread_cond_signal(&o->work);
	pthread_mutex_unlock(&o->lock);
	pthread_join(o->thread, NULL);
	for (; o->n; o->n--, o->head = (o->head + 1) % QUEUE_MAX)
		free(o->queue[o->head].path);
	pthread_cond_destroy(&o->work);
	pthread_cond_destroy(&o->idle);
	pthread_mutex_destroy(&o->lock);
	gpc_patient_free(o->patient);
	gpc_cgroupfs_deinit(&o->cgroupfs);
	free(o->queue);
	free(o);
}

static void put(struct gpc_opener *o, const struct item *it)
{
	bool is_full;

	pthread_mutex_lock(&o->lock);
	is_full = o->n == QUEUE_MAX;
	if (!is_full) {
		o->queue[(o->head + o->n++) % QUEUE_MAX] = *it;
		pthread_cond_signal(&o->work);
	}
	pthread_mutex_unlock(&o->lock);
	if (is_full)
		free(it->path);
	if (is_full && it->image) {
		gpc_warn(o->log, "proc", "too many new files at once: some functions get no names");
		gpc_images_give_up(o->images, it->image);
	}
}

void gpc_opener_file(struct gpc_opener *o, uint32_t image, const struct gpc_process *p,
		     const struct gpc_area *area)
{
	struct item it = {.process = p->id,
			  .start = area->start,
			  .end = area->end,
			  .pid = p->pid,
			  .ppid = p->ppid,
			  .image = image,
			  .path = strdup(gpc_images_path(o->images, image))};

	if (it.path)
		put(o, &it);
}

void gpc_opener_perf_map(struct gpc_opener *o, const struct gpc_process *p)
{
	struct item it = {.process = p->id, .pid = p->pid, .ppid = p->ppid};

	put(o, &it);
}

void gpc_opener_jitdump(struct gpc_opener *o, const struct gpc_process *p,
			const struct gpc_area *area, const char *path)
{
	struct item it = {.process = p->id,
			  .start = area->start,
			  .end = area->end,
			  .pid = p->pid,
			  .is_jitdump = true,
			  .path = strdup(path)};

	if (it.path)
		put(o, &it);
}

void gpc_opener_set_cgroups(struct gpc_opener *o, gpc_opener_cgroup_fn fn)
{
	o->cgroup_fn = fn;
}

bool gpc_opener_is_unified(const struct gpc_opener *o)
{
	return o->cgroupfs.is_unified;
}

void gpc_opener_cgroup(struct gpc_opener *o, const struct gpc_process *p)
{
	struct item it = {.process = p->id, .pid = p->pid, .is_cgroup = true, .cgroup = p->cgroup};

	if (o->cgroup_fn)
		put(o, &it);
}

void gpc_opener_settle(struct gpc_opener *o, uint64_t timeout_ns)
{
	struct timespec until = gpc_timespec(gpc_now_ns() + timeout_ns);
	autolock(&o->lock);

	while ((o->n || o->is_busy) &&
	       pthread_cond_timedwait(&o->idle, &o->lock, &until) != ETIMEDOUT)
		;
}
