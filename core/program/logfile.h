/* SPDX-License-Identifier: Apache-2.0 */
/* A log file that starts anew at a size and keeps some old ones: PATH.1 is the
 * latest of them. Only regular files rotate: PATH may be a device or a pipe.
 * One thread at a time. */
#ifndef GPC_PROGRAM_LOGFILE_H
#define GPC_PROGRAM_LOGFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_logfile {
	int fd;     /* -1: not open; tried again now and then */
	char *path; /* owned */
	int64_t size, max_size;
	int64_t backups;
	bool is_regular;
	uint64_t retry_ns; /* not open: when it is tried again */
};

/* Makes the folders too. After a failure writing tries again later. */
gpc_status gpc_logfile_init(struct gpc_logfile *f, const char *path, int64_t max_size,
			    int64_t backups, struct gpc_err *err);
void gpc_logfile_deinit(struct gpc_logfile *f);
/* After someone has moved the file away. */
gpc_status gpc_logfile_reopen(struct gpc_logfile *f, struct gpc_err *err);
/* While the file is not open the text is dropped, with GPC_E_SYSTEM, and err only filled
 * when it has been tried again. */
gpc_status gpc_logfile_write(struct gpc_logfile *f, const char *text, size_t n,
			     struct gpc_err *err);

#endif
