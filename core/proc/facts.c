/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/facts.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define AUXV_MAX 64

static gpc_status read_link(int32_t pid, const char *name, char *ret, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	n = readlink(path, ret, size);
	if (n < 0)
		return GPC_E_GONE;
	if ((size_t)n >= size)
		return GPC_E_BUDGET;
	ret[n] = '\0';
	return GPC_OK;
}

gpc_status gpc_target_cwd(const struct gpc_target *t, char *ret, uint64_t size)
{
	char root[512];
	size_t n;

	gpc_try(read_link(t->pid, "cwd", ret, size));
	/* Links are told as we see them; the target's root may be elsewhere. */
	if (read_link(t->pid, "root", root, sizeof root) < 0 || strcmp(root, "/") == 0)
		return GPC_OK;
	n = strlen(root);
	if (strncmp(ret, root, n) == 0 && (ret[n] == '/' || !ret[n]))
		memmove(ret, ret + n, strlen(ret + n) + 1);
	if (!*ret)
		memcpy(ret, "/", 2);
	return GPC_OK;
}

static gpc_status find_execfn(int32_t pid, uint64_t *ret)
{
	struct {
		uint64_t type, value;
	} entries[AUXV_MAX];
	char path[64];
	autoclose int fd = -1;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, entries, sizeof entries);
	for (ssize_t i = 0; (i + 1) * (ssize_t)sizeof *entries <= n; i++)
		if (entries[i].type == AT_EXECFN) {
			*ret = entries[i].value;
			return GPC_OK;
		}
	return GPC_E_GONE;
}

gpc_status gpc_target_execfn(const struct gpc_target *t, struct gpc_mem *mem, char *ret,
			     uint64_t size)
{
	uint64_t at;
	int64_t got;

	gpc_try(find_execfn(t->pid, &at));
	got = gpc_mem_read(mem, t->id, t->pid, at, ret, size);
	if (got <= 0)
		return GPC_E_GONE;
	return memchr(ret, '\0', (size_t)got) ? GPC_OK : GPC_E_BUDGET;
}
