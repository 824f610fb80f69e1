/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MANY 100000 /* profiles of one second, or attempts at a name */

/* mkdir's errors name the part below the one that is in the way: find that. */
static gpc_status explain(const char *path, struct gpc_err *err)
{
	autofree char *copy = strdup(path);
	struct stat st;

	for (char *at = copy; at && *at; at++) {
		char *slash = strchrnul(at + 1, '/');
		char kept = *slash;

		*slash = '\0';
		if (stat(copy, &st) < 0)
			break;
		if (!S_ISDIR(st.st_mode))
			return gpc_err_set(err, GPC_E_SYSTEM, "%s is no directory", copy);
		*slash = kept;
		at = slash - 1;
	}
	return GPC_E_SYSTEM;
}

static int open_dir(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

gpc_status gpc_outdir_open(const char *path, int *ret, struct gpc_err *err)
{
	int fd = open_dir(path);

	if (fd < 0 && errno == ENOENT) {
		if (gpc_mkdirs(path, 0755, err) < 0)
			return explain(path, err);
		fd = open_dir(path);
	}
	if (fd < 0) {
		gpc_err_sys(err, "open directory %s", path);
		return explain(path, err);
	}
	*ret = fd;
	return GPC_OK;
}

gpc_status gpc_outdir_temp(int dir, struct gpc_outdir_temp *ret, struct gpc_err *err)
{
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t random;

		if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
			random = ((uint64_t)getpid() << 32) + i;
		snprintf(ret->name, sizeof ret->name, ".profile-%016" PRIx64 ".tmp", random);
		ret->fd = openat(dir, ret->name,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (ret->fd >= 0)
			return GPC_OK;
		if (errno != EEXIST)
			break;
	}
	gpc_err_sys(err, "create a file");
	ret->name[0] = '\0';
	return GPC_E_SYSTEM;
}

void gpc_outdir_temp_drop(int dir, struct gpc_outdir_temp *temp)
{
	if (temp->fd >= 0)
		close(take_fd(&temp->fd));
	if (*temp->name)
		unlinkat(dir, temp->name, 0);
	temp->name[0] = '\0';
}

static void number_name(char *name, const char *stem, const char *suffix, unsigned number)
{
	char middle[16] = "";

	if (number)
		snprintf(middle, sizeof middle, "-%u", number);
	snprintf(name, NAME_MAX + 1, "%s%s%s", stem, middle, suffix);
}

static bool is_there(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

unsigned gpc_outdir_free_number(int dir, const char *stem, const char *const *suffixes, size_t n)
{
	char name[NAME_MAX + 1];

	for (unsigned number = 0; number < MANY; number++) {
		bool is_taken = false;

		for (size_t i = 0; i < n; i++) {
			number_name(name, stem, suffixes[i], number);
			is_taken = is_taken || is_there(dir, name);
		}
		if (!is_taken)
			return number;
	}
	return MANY;
}

/* rename() that does not replace; some file systems cannot do it in one step. */
static int rename_new(int dir, const char *from, const char *to)
{
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (is_there(dir, to)) {
		errno = EEXIST;
		return -1;
	}
	return renameat(dir, from, dir, to);
}

gpc_status gpc_outdir_publish(int dir, struct gpc_outdir_temp *temp, const char *stem,
			      const char *suffix, unsigned number, char *name, struct gpc_err *err)
{
	/* Network file systems tell of a full disk as late as here. */
	if (close(take_fd(&temp->fd)) < 0) {
		gpc_err_sys(err, "close");
		return GPC_E_SYSTEM;
	}
	for (unsigned end = number + MANY; number < end; number++) {
		number_name(name, stem, suffix, number);
		if (rename_new(dir, temp->name, name) == 0) {
			temp->name[0] = '\0';
			return GPC_OK;
		}
		if (errno != EEXIST)
			break;
	}
	gpc_err_sys(err, "rename to %s", name);
	return GPC_E_SYSTEM;
}

/* Where the link points, "" for anything but a name in this folder. */
static void read_link(int dir, const char *link, char *ret)
{
	char text[NAME_MAX + 1];
	ssize_t n = readlinkat(dir, link, text, NAME_MAX);

	if (n <= 0 || n == NAME_MAX || memchr(text, '/', (size_t)n))
		n = 0;
	text[n] = '\0';
	memcpy(ret, text, (size_t)n + 1);
}

gpc_status gpc_outdir_link(int dir, const char *link, const char *target, char *old,
			   struct gpc_err *err)
{
	char temp[NAME_MAX + 1];

	read_link(dir, link, old);
	snprintf(temp, sizeof temp, "%s.tmp", link);
	unlinkat(dir, temp, 0); /* left over by someone who was killed here */
	if (symlinkat(target, dir, temp) == 0 && renameat(dir, temp, dir, link) == 0)
		return GPC_OK;
	gpc_err_sys(err, "link %s to %s", link, target);
	unlinkat(dir, temp, 0);
	return GPC_E_SYSTEM;
}
