/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.inject/1: what is done to a process. Not there when --max-touch is less than
 * injects. Everything is done as the target's user, in its root.
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_INJECT_H
#define GPC_EXT_INJECT_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpc_inject_api {
	uint32_t struct_size, reserved;
	/* [worker] Connects to a socket in the target's file system that it made itself. *fd does
	 * not block, and is the caller's. GPC_E_GONE: there is none. */
	gpc_status (*connect)(const struct gpc_host *h, const struct gpc_target *t,
			      const char *path, int32_t *fd);
	/* [worker] Makes an empty file. It is removed by remove_files, at the latest when the
	 * collector leaves the target. GPC_E_BUSY: it is there already. */
	gpc_status (*make_file)(const struct gpc_host *h, const struct gpc_target *t,
				const char *path);
	void (*remove_files)(const struct gpc_host *h, const struct gpc_target *t);
	/* [worker] A signal, if the target catches it. */
	gpc_status (*send_signal)(const struct gpc_host *h, const struct gpc_target *t,
				  int32_t number);
	/* [worker] 1: it has a thread of this name, as the kernel has it. */
	int32_t (*has_thread)(const struct gpc_host *h, const struct gpc_target *t,
			      const char *name);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_INJECT_H */
