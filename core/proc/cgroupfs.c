/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroupfs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MOUNTINFO_MAX (4u << 20)
#define FILEID_KERNFS 0xfe /* a file handle that is the number of a file of kernfs */

/* What a line of mountinfo says that we need. The texts are cut out of it. */
struct mount {
	char *at, *type, *options;
};

/* "ID PARENT DEV ROOT MOUNT OPTIONS [...] - TYPE SOURCE OPTIONS" */
static bool split(char *line, struct mount *ret)
{
	char *tail = strstr(line, " - ");
	char *save = NULL;

	if (!tail)
		return false;
	*tail = '\0';
	ret->at = strtok_r(line, " ", &save);
	for (int i = 0; ret->at && i < 4; i++)
		ret->at = strtok_r(NULL, " ", &save);
	ret->type = strtok_r(tail + 3, " ", &save);
	ret->options = strtok_r(NULL, " ", &save);
	ret->options = strtok_r(NULL, " ", &save);
	return ret->at && ret->type && ret->options;
}

static bool has_option(const char *options, const char *wanted)
{
	size_t n = strlen(wanted);

	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, wanted, n) == 0 && (at[n] == ',' || !at[n]))
			return true;
	}
	return false;
}

/* perf_event belongs to one hierarchy: an old one that says so, else v2's. */
static void consider(struct gpc_cgroupfs *c, const struct mount *m, bool *has_old)
{
	bool is_old = strcmp(m->type, "cgroup") == 0;
	char *mount;

	if (is_old)
		c->is_unified = false;
	if (*has_old || (is_old ? !has_option(m->options, "perf_event")
				: strcmp(m->type, "cgroup2") != 0 || c->mount))
		return;
	mount = strdup(m->at);
	if (!mount)
		return;
	free(c->mount);
	c->mount = mount;
	*has_old = is_old;
}

void gpc_cgroupfs_init(struct gpc_cgroupfs *c, const char *mountinfo)
{
	autofree char *text = NULL;
	char *save = NULL;
	bool has_old = false;

	*c = (struct gpc_cgroupfs){.fd = -1, .is_unified = true};
	if (gpc_read_file(AT_FDCWD, mountinfo, MOUNTINFO_MAX, &text, NULL, NULL) < 0) {
		c->is_unified = false;
		return;
	}
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mount m;

		if (split(line, &m))
			consider(c, &m, &has_old);
	}
	if (!c->mount)
		c->is_unified = false;
	else
		c->fd = open(c->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void gpc_cgroupfs_deinit(struct gpc_cgroupfs *c)
{
	gpc_cleanup_close(&c->fd);
	free(c->mount);
	*c = (struct gpc_cgroupfs){.fd = -1};
}

char *gpc_cgroupfs_path(const struct gpc_cgroupfs *c, uint64_t id)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + sizeof id];
	} handle = {.head = {.handle_bytes = sizeof id, .handle_type = FILEID_KERNFS}};
	char self[40], path[PATH_MAX];
	size_t skip = c->mount ? strlen(c->mount) : 0;
	autoclose int fd = -1;
	ssize_t n;

	if (c->fd < 0 || !id)
		return NULL;
	memcpy(handle.head.f_handle, &id, sizeof id);
	fd = open_by_handle_at(c->fd, &handle.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof path - 1);
	if (n < (ssize_t)skip || memcmp(path, c->mount, skip) != 0)
		return NULL;
	path[n] = '\0';
	if (path[skip] == '\0')
		return strdup("/");
	return path[skip] == '/' ? strdup(path + skip) : NULL;
}
