/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hot.h"
#include "base/thread.h"
#include "base/vec.h"

struct open_mem {
	uint64_t target, used; /* used: the clock of its latest read */
	int fd;
	uint32_t readers, keepers;
};

struct gpc_mem {
	unsigned max_files;
	struct gpc_mem_replay replay;
	pthread_mutex_t lock; /* covers what follows */
	vec(struct open_mem) open;
	uint64_t clock;
};

gpc_status gpc_mem_new(unsigned max_files, const struct gpc_mem_replay *replay,
		       struct gpc_mem **ret, struct gpc_err *err)
{
	struct gpc_mem *m = calloc(1, sizeof *m);

	if (!m)
		return gpc_err_nomem(err);
	m->max_files = max_files;
	if (replay)
		m->replay = *replay;
	gpc_mutex_init_inherit(&m->lock);
	*ret = m;
	return GPC_OK;
}

void gpc_mem_free(struct gpc_mem *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->open.n; i++)
		close(m->open.at[i].fd);
	vec_deinit(&m->open);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- locked ------------------------------------------------------------------ */

static struct open_mem *find(struct gpc_mem *m, uint64_t target)
{
	for (size_t i = 0; i < m->open.n; i++)
		if (m->open.at[i].target == target)
			return &m->open.at[i];
	return NULL;
}

static void drop(struct gpc_mem *m, struct open_mem *o)
{
	close(o->fd);
	*o = m->open.at[--m->open.n];
}

static void make_room(struct gpc_mem *m)
{
	struct open_mem *oldest = NULL;

	if (m->open.n < m->max_files)
		return;
	for (size_t i = 0; i < m->open.n; i++) {
		struct open_mem *o = &m->open.at[i];

		if (!o->readers && !o->keepers && (!oldest || o->used < oldest->used))
			oldest = o;
	}
	if (oldest)
		drop(m, oldest);
}

/* Takes *fd, unless another thread was here first. */
static struct open_mem *add(struct gpc_mem *m, uint64_t target, int *fd)
{
	struct open_mem *known = find(m, target), o = {.target = target, .fd = *fd};

	if (known)
		return known;
	make_room(m);
	if (!vec_push(&m->open, o))
		return NULL;
	*fd = -1;
	return &m->open.at[m->open.n - 1];
}

/* ---- not locked: the kernel keeps this waiting while the process is within an exec,
 * which may take as long as a file system wants -------------------------------------- */

static gpc_status open_memory(int32_t pid, int *ret)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret >= 0)
		return GPC_OK;
	return errno == EACCES || errno == EPERM   ? GPC_E_PERM
	       : errno == ENOENT || errno == ESRCH ? GPC_E_GONE
						   : GPC_E_SYSTEM;
}

/* ---- shared -------------------------------------------------------------------- */

gpc_status gpc_mem_open(struct gpc_mem *m, uint64_t target, int32_t pid, struct gpc_err *err)
{
	struct open_mem *o;
	autoclose int fd = -1;
	gpc_status st;

	if (m->replay.read)
		return GPC_OK;
	st = open_memory(pid, &fd);
	if (st < 0)
		return gpc_err_set(err, st, "memory of process %d: %s", pid, gpc_status_name(st));
	autolock(&m->lock);
	o = add(m, target, &fd);
	if (!o)
		return gpc_err_nomem(err);
	o->keepers++;
	return GPC_OK;
}

void gpc_mem_close(struct gpc_mem *m, uint64_t target)
{
	struct open_mem *o;
	autolock(&m->lock);

	o = find(m, target);
	if (!o || !o->keepers)
		return;
	if (--o->keepers == 0 && !o->readers)
		drop(m, o);
}

static int use(struct gpc_mem *m, struct open_mem *o)
{
	o->readers++;
	o->used = ++m->clock;
	return o->fd;
}

static int use_known(struct gpc_mem *m, uint64_t target)
{
	struct open_mem *o;
	autolock(&m->lock);

	o = find(m, target);
	return o ? use(m, o) : -1;
}

/* The descriptor, which stays open until end_read. */
static int begin_read(struct gpc_mem *m, uint64_t target, int32_t pid, gpc_status *st)
{
	struct open_mem *o;
	autoclose int made = -1;
	int fd = use_known(m, target);

	if (fd >= 0)
		return fd;
	*st = pid ? open_memory(pid, &made) : GPC_E_GONE;
	if (*st < 0)
		return -1;
	autolock(&m->lock);
	o = add(m, target, &made);
	*st = o ? GPC_OK : GPC_E_NOMEM;
	return o ? use(m, o) : -1;
}

static void end_read(struct gpc_mem *m, uint64_t target)
{
	struct open_mem *o;
	autolock(&m->lock);

	o = find(m, target);
	if (o && o->readers)
		o->readers--;
}

/* The kernel answers EIO for what is not mapped (and for a page that somebody
 * owes), nothing at all when the image is no more. */
static int64_t answer(ssize_t n, int sys, uint64_t len)
{
	if (n > 0 || (n == 0 && len == 0))
		return n;
	if (n == 0)
		return GPC_E_GONE;
	return sys == EIO || sys == EFAULT     ? GPC_E_CORRUPT
	       : sys == ESRCH                  ? GPC_E_GONE
	       : sys == EPERM || sys == EACCES ? GPC_E_PERM
					       : GPC_E_SYSTEM;
}

GPC_HOT int64_t gpc_mem_read(struct gpc_mem *m, uint64_t target, int32_t pid, uint64_t addr,
			     void *buf, uint64_t len)
{
	gpc_status st;
	ssize_t n;
	int fd, sys;

	if (m->replay.read)
		return m->replay.read(m->replay.ctx, target, addr, buf, len);
	if (addr > INT64_MAX - len)
		return GPC_E_CORRUPT;
	fd = begin_read(m, target, pid, &st);
	if (fd < 0)
		return st;
	n = pread(fd, buf, len, (off_t)addr);
	sys = errno;
	end_read(m, target);
	return answer(n, sys, len);
}

static int64_t gather_one_by_one(struct gpc_mem *m, uint64_t target, int32_t pid,
				 const struct gpc_mem_range *ranges, unsigned n)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		int64_t got =
			gpc_mem_read(m, target, pid, ranges[i].addr, ranges[i].buf, ranges[i].len);

		if (got < 0)
			return sum ? sum : got;
		sum += got;
		if ((uint64_t)got < ranges[i].len)
			return sum;
	}
	return sum;
}

int64_t gpc_mem_gather(struct gpc_mem *m, uint64_t target, int32_t pid,
		       const struct gpc_mem_range *ranges, unsigned n)
{
	struct iovec local[64], remote[64];
	ssize_t got;

	if (m->replay.read || n > 64)
		return gather_one_by_one(m, target, pid, ranges, n);
	for (unsigned i = 0; i < n; i++) {
		local[i] = (struct iovec){ranges[i].buf, ranges[i].len};
		remote[i] = (struct iovec){(void *)(uintptr_t)ranges[i].addr, ranges[i].len};
	}
	got = process_vm_readv(pid, local, n, remote, n, 0);
	/* Where seccomp or an old kernel takes the call away, or the main thread has ended. */
	if (got < 0 && (errno == ENOSYS || errno == EPERM || errno == ESRCH))
		return gather_one_by_one(m, target, pid, ranges, n);
	return answer(got, errno, n);
}
