/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.tick/1, for --python-sampling=push: the frames of a thread that was interrupted by a
 * timer of the core. */
#ifndef GPC_PYTHON_PUSH_H
#define GPC_PYTHON_PUSH_H

#include "python.h"

/* [reader] Those that hold the lock of an interpreter: they execute Python now. */
uint32_t gpc_py_push_threads(void *self, void *tctx, int32_t *ns_tids, uint32_t room);
/* [reader] */
gpc_status gpc_py_push_tick(void *self, void *tctx, const struct gpc_pull_sample *s,
			    struct gpc_writer *w);

#endif
