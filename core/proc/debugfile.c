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
	struct gpc_altlink shared;
};

static int open_path(const struct search *s, const char *path)
{
	int fd;
	gpc_status st = s->pid ? gpc_root_open(s->pid, path, &fd, NULL, NULL)
			       : gpc_regular_open(path, &fd, NULL, NULL);

	return st < 0 ? -1 : fd;
}

static int try_path(const struct search *s, const char *path)
{
	autoclose int fd = open_path(s, path);

	return fd >= 0 && gpc_debuglink_is(&s->link, fd) ? take_fd(&fd) : -1;
}

static int try_shared(const struct search *s, const char *path)
{
	autoclose int fd = open_path(s, path);

	return fd >= 0 && gpc_altlink_is(&s->shared, fd) ? take_fd(&fd) : -1;
}

#define ID_PATH_MAX (sizeof DEBUG_FOLDER + 2 * GPC_ELF_BUILD_ID_MAX + 32)

static void path_of_id(const uint8_t *id, size_t n, char ret[ID_PATH_MAX])
{
	int at = snprintf(ret, ID_PATH_MAX, DEBUG_FOLDER "/.build-id/%02x/", id[0]);

	for (size_t i = 1; i < n; i++)
		at += snprintf(ret + at, ID_PATH_MAX - (size_t)at, "%02x", id[i]);
	snprintf(ret + at, ID_PATH_MAX - (size_t)at, ".debug");
}

static int by_build_id(const struct search *s)
{
	char path[ID_PATH_MAX];

	if (s->link.build_id_len < 2)
		return -1;
	path_of_id(s->link.build_id, s->link.build_id_len, path);
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

static bool read_link(int file, struct search *ret)
{
	struct gpc_elf_source source;
	struct gpc_elf elf;

	if (gpc_elf_source_fd(file, &source, NULL) < 0 || gpc_elf_init(&elf, &source, NULL) < 0)
		return false;
	gpc_debuglink_read(&elf, &ret->link);
	gpc_altlink_read(&elf, &ret->shared);
	gpc_elf_deinit(&elf);
	return true;
}

/* In the target's root, then in ours. */
static int in_both(struct search *s, int32_t pid, const char *path,
		   int (*find)(const struct search *, const char *))
{
	int fd;

	s->pid = pid;
	fd = find(s, path);
	if (fd >= 0 || !pid)
		return fd;
	s->pid = 0;
	return find(s, path);
}

static int find_own(const struct search *s, const char *path)
{
	int fd = by_build_id(s);

	return fd >= 0 ? fd : by_link(s, path);
}

/* By build-id; by its name if that is a whole path, else in the folder that packages
 * have it in: the name leads there from the debug file. */
static int find_shared(const struct search *s, const char *path)
{
	const char *slash = strrchr(s->shared.name, '/');
	char by_id[ID_PATH_MAX], in_folder[sizeof DEBUG_FOLDER + sizeof s->shared.name + 8];
	int fd;

	(void)path;
	path_of_id(s->shared.build_id, s->shared.build_id_len, by_id);
	fd = try_shared(s, by_id);
	if (fd < 0 && s->shared.name[0] == '/')
		fd = try_shared(s, s->shared.name);
	if (fd >= 0)
		return fd;
	snprintf(in_folder, sizeof in_folder, DEBUG_FOLDER "/.dwz/%s",
		 slash ? slash + 1 : s->shared.name);
	return try_shared(s, in_folder);
}

struct gpc_debugfiles gpc_debugfiles_open(int32_t pid, const char *path, int file)
{
	struct gpc_debugfiles ret = {-1, -1};
	struct search s, debug = {0};

	if (!read_link(file, &s))
		return ret;
	if (!s.link.has_symbols || !s.link.has_lines)
		ret.own = in_both(&s, pid, path, find_own);
	if (ret.own >= 0 && !s.link.has_lines && read_link(ret.own, &debug))
		s.shared = debug.shared;
	if (*s.shared.name)
		ret.shared = in_both(&s, pid, path, find_shared);
	return ret;
}
