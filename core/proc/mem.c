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

/* An open file. Its place in memory stays for who follows a hint to it. */
struct open_mem {
	uint64_t target;  /* atomic; 0: none any more */
	uint32_t readers; /* atomic; comes before a look at target, and drop's comes after */
	uint32_t keepers;
	uint64_t used; /* the clock of its latest read through the list */
	int fd;
	bool is_closing; /* by its last reader */
};

#define HINTS 16

struct gpc_mem {
	unsigned max_files;
	struct gpc_mem_replay replay;
	pthread_mutex_t lock; /* covers what follows */
	vec(struct open_mem *) open;
	vec(struct open_mem *) spare;
	uint64_t clock;
	/* By target: those that are read at samples, found without the lock. Atomic. */
	struct open_mem *hints[HINTS];
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
	for (size_t i = 0; i < m->open.n; i++) {
		close(m->open.at[i]->fd);
		free(m->open.at[i]);
	}
	for (size_t i = 0; i < m->spare.n; i++)
		free(m->spare.at[i]);
	vec_deinit(&m->open);
	vec_deinit(&m->spare);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- locked ------------------------------------------------------------------ */

static struct open_mem *find(struct gpc_mem *m, uint64_t target)
{
	for (size_t i = 0; i < m->open.n; i++)
		if (m->open.at[i]->target == target)
			return m->open.at[i];
	return NULL;
}

static bool is_read(const struct open_mem *o)
{
	return __atomic_load_n(&o->readers, __ATOMIC_SEQ_CST) > 0;
}

/* There is room for it: it was in the list of the open ones. */
static void retire(struct gpc_mem *m, struct open_mem *o)
{
	close(o->fd);
	o->is_closing = false;
	(void)vec_push(&m->spare, o);
}

static void drop(struct gpc_mem *m, struct open_mem *o)
{
	size_t i = 0;

	while (m->open.at[i] != o)
		i++;
	m->open.at[i] = m->open.at[--m->open.n];
	__atomic_store_n(&o->target, 0, __ATOMIC_SEQ_CST);
	if (is_read(o))
		o->is_closing = true;
	else
		retire(m, o);
}

static void make_room(struct gpc_mem *m)
{
	struct open_mem *oldest = NULL;

	if (m->open.n < m->max_files)
		return;
	for (size_t i = 0; i < m->open.n; i++) {
		struct open_mem *o = m->open.at[i];

		if (!is_read(o) && !o->keepers && (!oldest || o->used < oldest->used))
			oldest = o;
	}
	if (oldest)
		drop(m, oldest);
}

/* One to use, in the list; NULL: no memory. */
static struct open_mem *new_open(struct gpc_mem *m)
{
	struct open_mem *o;

	/* All of them may become spare ones. */
	if (!vec_reserve(&m->open, 1) || !vec_reserve(&m->spare, m->open.n + 1))
		return NULL;
	o = m->spare.n ? m->spare.at[--m->spare.n] : calloc(1, sizeof *o);
	if (o)
		m->open.at[m->open.n++] = o;
	return o;
}

/* Takes *fd, unless another thread was here first. */
static struct open_mem *add(struct gpc_mem *m, uint64_t target, int *fd)
{
	struct open_mem *o = find(m, target);

	if (o)
		return o;
	make_room(m);
	o = new_open(m);
	if (!o)
		return NULL;
	o->fd = *fd;
	*fd = -1;
	o->used = 0;
	o->keepers = 0;
	__atomic_store_n(&o->target, target, __ATOMIC_SEQ_CST);
	return o;
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
	if (--o->keepers == 0 && !is_read(o))
		drop(m, o);
}

static struct open_mem **hint_of(struct gpc_mem *m, uint64_t target)
{
	return &m->hints[(target * UINT64_C(0x9E3779B97F4A7C15)) >> 60];
}

/* Locked. */
static struct open_mem *use(struct gpc_mem *m, struct open_mem *o)
{
	__atomic_add_fetch(&o->readers, 1, __ATOMIC_SEQ_CST);
	o->used = ++m->clock;
	if (o->keepers)
		__atomic_store_n(hint_of(m, o->target), o, __ATOMIC_RELEASE);
	return o;
}

static struct open_mem *use_known(struct gpc_mem *m, uint64_t target)
{
	struct open_mem *o;
	autolock(&m->lock);

	o = find(m, target);
	return o ? use(m, o) : NULL;
}

/* It was dropped while it was read. */
static void close_late(struct gpc_mem *m, struct open_mem *o)
{
	autolock(&m->lock);

	if (o->is_closing && !is_read(o))
		retire(m, o);
}

GPC_HOT static void end_read(struct gpc_mem *m, struct open_mem *o)
{
	if (!__atomic_sub_fetch(&o->readers, 1, __ATOMIC_SEQ_CST) &&
	    !__atomic_load_n(&o->target, __ATOMIC_SEQ_CST))
		close_late(m, o);
}

GPC_HOT static struct open_mem *use_hint(struct gpc_mem *m, uint64_t target)
{
	struct open_mem *o = __atomic_load_n(hint_of(m, target), __ATOMIC_ACQUIRE);

	if (!o)
		return NULL;
	__atomic_add_fetch(&o->readers, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&o->target, __ATOMIC_SEQ_CST) == target)
		return o;
	end_read(m, o);
	return NULL;
}

/* Stays open until end_read. */
static struct open_mem *begin_read(struct gpc_mem *m, uint64_t target, int32_t pid, gpc_status *st)
{
	struct open_mem *o = use_known(m, target);
	autoclose int made = -1;

	if (o)
		return o;
	*st = pid ? open_memory(pid, &made) : GPC_E_GONE;
	if (*st < 0)
		return NULL;
	autolock(&m->lock);
	o = add(m, target, &made);
	*st = o ? GPC_OK : GPC_E_NOMEM;
	return o ? use(m, o) : NULL;
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
	struct open_mem *o;
	gpc_status st;
	ssize_t n;
	int sys;

	if (m->replay.read)
		return m->replay.read(m->replay.ctx, target, addr, buf, len);
	if (addr > INT64_MAX - len)
		return GPC_E_CORRUPT;
	o = use_hint(m, target);
	if (!o)
		o = begin_read(m, target, pid, &st);
	if (!o)
		return st;
	n = pread(o->fd, buf, len, (off_t)addr);
	sys = n < 0 ? errno : 0;
	end_read(m, o);
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
