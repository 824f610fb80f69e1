/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/opening.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/root.h"

struct opening {
	int32_t pid;
	char *path;
	int fd; /* what was opened, or whose debug file is looked for */
	bool wants_debug;
	struct stat st;
	struct gpc_debugfiles debug;
};

static void open_now(void *arg)
{
	struct opening *o = arg;
	char byte;

	if (o->wants_debug) {
		o->debug = gpc_debugfiles_open(o->pid, o->path, o->fd);
		return;
	}
	if ((o->pid ? gpc_root_open(o->pid, o->path, &o->fd, &o->st, NULL)
		    : gpc_regular_open(o->path, &o->fd, &o->st, NULL)) < 0)
		o->fd = -1;
	/* A server may be gone though its files can be opened: noticed here, and not where
	 * the file is read. */
	else
		(void)!pread(o->fd, &byte, 1, 0);
}

static void close_if(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void opening_free(void *arg)
{
	struct opening *o = arg;

	close_if(o->fd);
	close_if(o->debug.own);
	close_if(o->debug.shared);
	free(o->path);
	free(o);
}

static struct opening *opening_new(int32_t pid, const char *path)
{
	struct opening *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->pid = pid;
	o->fd = o->debug.own = o->debug.shared = -1;
	o->path = strdup(path);
	if (o->path)
		return o;
	free(o);
	return NULL;
}

static gpc_status run(struct gpc_patient *p, struct opening *o)
{
	return gpc_patient_run(p, &(struct gpc_patient_call){open_now, opening_free, o},
			       GPC_OPENING_NS);
}

int gpc_opening_file(struct gpc_patient *p, int32_t pid, const char *path, struct stat *st)
{
	struct opening *o = opening_new(pid, path);
	int fd;

	if (!o)
		return -1;
	if (run(p, o) < 0)
		return GPC_E_TIMEOUT;
	fd = take_fd(&o->fd);
	if (st)
		*st = o->st;
	opening_free(o);
	return fd;
}

gpc_status gpc_opening_debug(struct gpc_patient *p, int32_t pid, const char *path, int file,
			     struct gpc_debugfiles *ret)
{
	struct opening *o = opening_new(pid, path);

	*ret = (struct gpc_debugfiles){-1, -1};
	if (!o)
		return GPC_E_NOMEM;
	o->wants_debug = true;
	o->fd = fcntl(file, F_DUPFD_CLOEXEC, 0);
	gpc_try(run(p, o));
	*ret = o->debug;
	o->debug = (struct gpc_debugfiles){-1, -1};
	opening_free(o);
	return GPC_OK;
}
