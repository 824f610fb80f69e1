/* SPDX-License-Identifier: Apache-2.0 */
#include "program/heartbeat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

gpc_status gpc_heartbeat_touch(const char *path, struct gpc_err *err)
{
	autoclose int fd =
		open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);

	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	if (futimens(fd, NULL) < 0)
		return gpc_err_sys(err, "touch %s", path);
	return GPC_OK;
}
