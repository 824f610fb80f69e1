/* SPDX-License-Identifier: Apache-2.0 */
#include "source/tids.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

gpc_status gpc_tids_read(int32_t pid, struct gpc_tids *ret, struct gpc_err *err)
{
	char path[64];
	autodir DIR *dir = NULL;
	struct dirent *e;

	*ret = (struct gpc_tids){0};
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return gpc_err_sys(err, "process %d", pid);
	while ((e = readdir(dir))) {
		int tid = atoi(e->d_name);

		if (tid > 0 && !vec_push(&ret->list, tid))
			return gpc_err_nomem(err);
	}
	return GPC_OK;
}

void gpc_tids_deinit(struct gpc_tids *t)
{
	vec_deinit(&t->list);
}
