/* SPDX-License-Identifier: Apache-2.0 */
#include "program/pidfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define TEXT_SIZE 16

/* No newline: gProfiler writes none. */
static void pid_text(char *ret)
{
	snprintf(ret, TEXT_SIZE, "%d", getpid());
}

gpc_status gpc_pidfile_write(const char *path, struct gpc_err *err)
{
	autoclose int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		     0644);
	char text[TEXT_SIZE];

	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	pid_text(text);
	if (gpc_write_all(fd, text, strlen(text), err) < 0)
		return gpc_err_prefix(err, "%s", path);
	return GPC_OK;
}

void gpc_pidfile_remove(const char *path)
{
	char text[TEXT_SIZE], found[TEXT_SIZE];

	pid_text(text);
	if (gpc_read_small(AT_FDCWD, path, found, sizeof found) > 0 && strcmp(found, text) == 0)
		unlink(path);
}
