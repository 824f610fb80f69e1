/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/debugfile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/debuglink.h"
#include "proc/root.h"

#define DEBUG_FOLDER "/usr/lib/debug"

struct search {
	int32_t pid; /* 0: our own root */
	struct gpc_debuglink link;
};

static int try_path(const struct search *s, const char *path)
{
	autoclose int fd = -1;
	gpc_status st = s->pid ? gpc_root_open(s->pid, path, &fd, NULL, NULL)
			       : gpc_regular_open(path, &fd, NULL, NULL);

	if (st < 0 || !gpc_debuglink_is(&s->link, fd))
		return -1;
	return take_fd(&fd);
}

static int by_build_id(const struct search *s)
{
	char path[sizeof DEBUG_FOLDER + 2 * GPC_ELF_BUILD_ID_MAX + 32];
	int n = snprintf(path, sizeof path, DEBUG_FOLDER "/.build-id/%02x/", s->link.build_id[0]);

	if (s->link.build_id_len < 2)
		return -1;
	for (size_t i = 1; i < s->link.build_id_len; i++)
		n += snprintf(path + n, sizeof path - (size_t)n, "%02x", s->link.build_id[i]);
	snprintf(path + n, sizeof path - (size_t)n, ".debug");
	return try_path(s, path);
}

static int by_link(const struct search *s, const char *file)
{
	static const struct {
		const char *before, *behind; /* the file's folder */
	} places[] = {{"", ""}, {"", ".debug/"}, {DEBUG_FOLDER, ""}};
	const char *slash = strrchr(file, '/');

	if (!slash || !*s->link.name)
		return -1;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		autofree char *path = NULL;
		int fd;

		if (asprintf(&path, "%s%.*s%s%s", places[i].before, (int)(slash - file) + 1, file,
			     places[i].behind, s->link.name) < 0) {
			path = NULL;
			return -1;
		}
		/* A file that names itself has no other. */
		fd = strcmp(path, file) == 0 ? -1 : try_path(s, path);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

static bool read_link(int file, struct gpc_debuglink *ret)
{
	struct gpc_elf_source source;
	struct gpc_elf elf;

	if (gpc_elf_source_fd(file, &source, NULL) < 0 || gpc_elf_init(&elf, &source, NULL) < 0)
		return false;
	gpc_debuglink_read(&elf, ret);
	gpc_elf_deinit(&elf);
	return true;
}

int gpc_debugfile_open(int32_t pid, const char *path, int file)
{
	struct search s = {.pid = pid};
	int fd;

	if (!read_link(file, &s.link) || (s.link.has_symbols && s.link.has_lines))
		return -1;
	for (int turn = 0; turn < 2; turn++) {
		fd = by_build_id(&s);
		if (fd < 0)
			fd = by_link(&s, path);
		if (fd >= 0 || !s.pid)
			return fd;
		s.pid = 0;
	}
	return -1;
}
