/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

bool gpc_proc_stat_parse(const char *text, struct gpc_proc_stat *ret)
{
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');
	unsigned long long user, system, start;
	size_t n;

	if (!open || !close || close < open)
		return false;
	memset(ret, 0, sizeof *ret);
	n = (size_t)(close - open - 1);
	if (n >= sizeof ret->comm)
		n = sizeof ret->comm - 1;
	memcpy(ret->comm, open + 1, n);
	/* Fields 3 (state) 4 (ppid) 9 (flags) 14, 15 (times) 20 (threads) 22 (start): proc(5). */
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %u "
		   "%*d %llu",
		   &ret->state, &ret->ppid, &ret->flags, &user, &system, &ret->threads,
		   &start) != 7)
		return false;
	ret->cpu_ticks = user + system;
	ret->start_time = start;
	return true;
}

bool gpc_proc_stat_is_over(const struct gpc_proc_stat *st)
{
	return (st->state == 'Z' || st->state == 'X') && st->threads <= 1;
}

bool gpc_proc_stat_read(int procfd, int32_t pid, struct gpc_proc_stat *ret)
{
	char path[32], text[1024];

	snprintf(path, sizeof path, "%d/stat", pid);
	if (gpc_read_small(procfd, path, text, sizeof text) <= 0)
		return false;
	if (gpc_proc_stat_parse(text, ret))
		return true;
	errno = EIO;
	return false;
}

int32_t gpc_proc_other_thread(int dirfd, const char *task, int32_t pid)
{
	int fd = openat(dirfd, task, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(dir))) {
		int32_t tid = (int32_t)strtol(e->d_name, NULL, 10);

		if (tid > 0 && tid != pid)
			return tid;
	}
	return 0;
}
