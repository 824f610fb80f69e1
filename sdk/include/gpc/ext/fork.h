/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.fork/1: children of attached processes.
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_FORK_H
#define GPC_EXT_FORK_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A collector with it (asked through gpc_collector.extension) is attached to the children of
 * its processes when they are forked, without match, claim() and attach(): a child's memory
 * is a copy of its parent's, so what is known of that holds. */
struct gpc_fork_api { /* gpc.fork/1 */
	uint32_t struct_size, reserved;
	/* [worker] parent: the tctx of the process that t was copied from. On failure attach()
	 * is called instead. */
	gpc_status (*attach)(void *self, void *parent, const struct gpc_target *t, void **tctx);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_FORK_H */
