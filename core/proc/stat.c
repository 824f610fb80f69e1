/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/stat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	/* Fields 3 (state) 4 (ppid) 9 (flags) 14, 15 (times) 22 (start): proc(5). */
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
		   "%*d %llu",
		   &ret->state, &ret->ppid, &ret->flags, &user, &system, &start) != 6)
		return false;
	ret->cpu_ticks = user + system;
	ret->start_time = start;
	return true;
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
