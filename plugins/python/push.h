/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling on a timer of our own, for --python-sampling=push: at each tick the
 * thread of each process that executes Python. */
#ifndef GPC_PYTHON_PUSH_H
#define GPC_PYTHON_PUSH_H

#include "python.h"

/* [control] */
gpc_status gpc_py_push_start(struct python *p, const struct gpc_session *s, uint64_t token);
/* [worker] */
gpc_status gpc_py_push_tick(struct python *p, struct gpc_writer *w);

#endif
