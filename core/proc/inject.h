/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a target, not only read from it: sockets of its own that are
 * connected to, files that are put beside it, signals. Everything happens as its
 * user would do it, and never outside of its root. [worker] threads: the user of the
 * calling thread changes for the length of one call. */
#ifndef GPC_PROC_INJECT_H
#define GPC_PROC_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* A socket that the target itself made and listens on. *ret is connected, does not
 * block, and is the caller's. GPC_E_GONE: there is no such file. */
gpc_status gpc_inject_connect(const struct gpc_target *t, const char *path, int *ret,
			      struct gpc_err *err);

/* A file that was made, to be removed. */
struct gpc_injected_file {
	int folder;
	char name[64];
};
/* New and empty. GPC_E_BUSY: it is there already. */
gpc_status gpc_inject_file(const struct gpc_target *t, const char *path,
			   struct gpc_injected_file *ret, struct gpc_err *err);
/* Also of a target that has gone. */
void gpc_inject_remove(struct gpc_injected_file *file);

/* Only one that the target catches, and that does not stand still: a signal that
 * nobody catches would end it. */
gpc_status gpc_inject_signal(const struct gpc_target *t, int32_t number, struct gpc_err *err);

/* Has it a thread of this name? */
bool gpc_inject_has_thread(int32_t pid, const char *name);

#endif
