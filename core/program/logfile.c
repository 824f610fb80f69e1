/* SPDX-License-Identifier: Apache-2.0 */
#include "program/logfile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#define RETRY_NS (10 * GPC_SECOND_NS)

static gpc_status make_parents(const char *path, struct gpc_err *err)
{
	autofree char *dir = strdup(path);
	char *slash;

	if (!dir)
		return gpc_err_nomem(err);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return GPC_OK;
	*slash = '\0';
	return gpc_mkdirs(dir, 0755, err);
}

static void close_file(struct gpc_logfile *f)
{
	if (f->fd >= 0)
		close(take_fd(&f->fd));
}

gpc_status gpc_logfile_reopen(struct gpc_logfile *f, struct gpc_err *err)
{
	struct stat st;

	close_file(f);
	f->retry_ns = gpc_now_ns() + RETRY_NS;
	if (!f->path)
		return gpc_err_nomem(err);
	gpc_try(make_parents(f->path, err));
	/* Non-blocking: a pipe without a reader must not hold us up. */
	f->fd = open(f->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		     0644);
	if (f->fd < 0)
		return gpc_err_sys(err, "open %s", f->path);
	if (fstat(f->fd, &st) < 0)
		st = (struct stat){0};
	f->is_regular = S_ISREG(st.st_mode);
	f->size = f->is_regular ? st.st_size : 0;
	return GPC_OK;
}

gpc_status gpc_logfile_init(struct gpc_logfile *f, const char *path, int64_t max_size,
			    int64_t backups, struct gpc_err *err)
{
	*f = (struct gpc_logfile){.fd = -1,
				  .path = strdup(path),
				  .max_size = max_size,
				  .backups = backups};
	return gpc_logfile_reopen(f, err);
}

void gpc_logfile_deinit(struct gpc_logfile *f)
{
	close_file(f);
	free(take(f->path));
}

/* PATH.NUMBER, PATH itself for 0; new. */
static char *backup_name(const struct gpc_logfile *f, int64_t number)
{
	char *name = NULL;

	if (number == 0)
		return strdup(f->path);
	return asprintf(&name, "%s.%" PRId64, f->path, number) < 0 ? NULL : name;
}

static bool move_up(const struct gpc_logfile *f, int64_t number)
{
	autofree char *from = backup_name(f, number);
	autofree char *to = backup_name(f, number + 1);

	return from && to && rename(from, to) == 0;
}

/* The highest number in the unbroken row of old files that stays below the
 * limit: what lies above it is replaced. */
static int64_t last_backup(const struct gpc_logfile *f)
{
	for (int64_t number = 0; number < f->backups - 1; number++) {
		autofree char *name = backup_name(f, number + 1);

		if (!name || access(name, F_OK) < 0)
			return number;
	}
	return f->backups - 1;
}

/* A file that cannot be moved away grows on. */
static gpc_status rotate(struct gpc_logfile *f, struct gpc_err *err)
{
	for (int64_t number = last_backup(f); number >= 0; number--)
		if (!move_up(f, number))
			return gpc_err_sys(err, "rotate %s", f->path);
	return gpc_logfile_reopen(f, err);
}

gpc_status gpc_logfile_write(struct gpc_logfile *f, const char *text, size_t n, struct gpc_err *err)
{
	gpc_status rotated = GPC_OK;

	/* What kept it from being opened (descriptors, the disk) may have passed. */
	if (f->fd < 0 && f->path && gpc_now_ns() >= f->retry_ns)
		gpc_try(gpc_logfile_reopen(f, err));
	if (f->fd < 0)
		return f->path ? GPC_E_SYSTEM : GPC_OK;
	if (f->is_regular && f->size > 0 && f->size + (int64_t)n > f->max_size)
		rotated = rotate(f, err);
	if (f->fd < 0)
		return rotated;
	if (gpc_write_all(f->fd, text, n, err) < 0)
		return gpc_err_prefix(err, "%s", f->path);
	f->size += (int64_t)n;
	return rotated;
}
