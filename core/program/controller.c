/* SPDX-License-Identifier: Apache-2.0 */
#include "program/controller.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

#define STAT_SIZE 1024

/* State and start time (fields 3 and 22) stand behind the name, which may hold
 * anything but ends at the last parenthesis. False: no such process. */
static bool read_stat(int32_t pid, char *state, uint64_t *start_time)
{
	char path[32], text[STAT_SIZE];
	char *at;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (gpc_read_small(AT_FDCWD, path, text, sizeof text) <= 0)
		return false;
	at = strrchr(text, ')');
	return at && sscanf(at + 1,
			    " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%*s %*s %" SCNu64,
			    state, start_time) == 2;
}

static bool is_running(int32_t pid, uint64_t *start_time)
{
	char state;

	return read_stat(pid, &state, start_time) && state != 'Z' && state != 'X';
}

gpc_status gpc_controller_init(struct gpc_controller *c, int32_t pid, struct gpc_err *err)
{
	uint64_t start_time = 0;

	if (pid && !is_running(pid, &start_time))
		return gpc_err_set(err, GPC_E_GONE, "Controller process %d is not running", pid);
	*c = (struct gpc_controller){pid, start_time};
	return GPC_OK;
}

bool gpc_controller_is_gone(const struct gpc_controller *c)
{
	uint64_t start_time;

	return c->pid && (!is_running(c->pid, &start_time) || start_time != c->start_time);
}
