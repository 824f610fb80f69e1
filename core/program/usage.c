/* SPDX-License-Identifier: Apache-2.0 */
#include "program/usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

#define US_NS 1000
#define ROOT  "/sys/fs/cgroup"

struct place {
	const char *root, *path;
};

static bool read_text(const struct place *at, const char *controller, const char *file, char *text,
		      size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s%s%s%s", at->root, controller, at->path, file);
	return gpc_read_small(AT_FDCWD, path, text, size) > 0;
}

static bool read_number(const struct place *at, const char *controller, const char *file,
			uint64_t *ret)
{
	char text[64];

	return read_text(at, controller, file, text, sizeof text) &&
	       sscanf(text, "%" SCNu64, ret) == 1;
}

static bool read_v2(const struct place *at, struct gpc_usage *ret)
{
	char text[2048];
	const char *line;

	if (!read_text(at, "", "/cpu.stat", text, sizeof text) ||
	    !read_number(at, "", "/memory.current", &ret->memory_bytes))
		return false;
	line = strstr(text, "usage_usec ");
	if (!line || sscanf(line, "usage_usec %" SCNu64, &ret->cpu_ns) != 1)
		return false;
	ret->cpu_ns *= US_NS;
	read_number(at, "", "/memory.peak", &ret->highest_bytes); /* since Linux 5.19 */
	return true;
}

static bool read_v1(const struct place *at, struct gpc_usage *ret)
{
	if (!read_number(at, "/cpuacct", "/cpuacct.usage", &ret->cpu_ns) ||
	    !read_number(at, "/memory", "/memory.usage_in_bytes", &ret->memory_bytes))
		return false;
	read_number(at, "/memory", "/memory.max_usage_in_bytes", &ret->highest_bytes);
	return true;
}

gpc_status gpc_usage_read(const char *root, const char *path, struct gpc_usage *ret,
			  struct gpc_err *err)
{
	struct place at = {root, path};
	struct gpc_usage found = {0};

	if (!read_v2(&at, &found) && !read_v1(&at, &found))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "no CPU and memory usage in %s%s", root,
				   path);
	*ret = found;
	return GPC_OK;
}

/* The path of the unified hierarchy ("0::/a/b"), else that of memory. */
static void own_path(char *ret, size_t size)
{
	char text[4096];
	const char *at = NULL;

	ret[0] = '\0';
	if (gpc_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof text) <= 0)
		return;
	at = strstr(text, ":memory:");
	at = at ? at + strlen(":memory:") : strstr(text, "0::");
	if (!at)
		return;
	at += strncmp(at, "0::", 3) == 0 ? 3 : 0;
	snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
	if (strcmp(ret, "/") == 0)
		ret[0] = '\0';
}

gpc_status gpc_usage_own(struct gpc_usage *ret, struct gpc_err *err)
{
	char path[2048];

	own_path(path, sizeof path);
	if (gpc_usage_read(ROOT, path, ret, NULL) >= 0)
		return GPC_OK;
	/* A container may see the host's path but only its own group. */
	return gpc_usage_read(ROOT, "", ret, err);
}
