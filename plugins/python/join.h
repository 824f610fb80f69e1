/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames of the native stack are the interpreter's loop, and which Python
 * frames each of them executes. */
#ifndef GPC_PYTHON_JOIN_H
#define GPC_PYTHON_JOIN_H

#include "python.h"

/* Adds runs to out where registers and stack prove them; else none. */
void gpc_py_join(const struct py_target *t, const struct gpc_pull_sample *s,
		 const struct py_stack *stack, struct gpc_pull_out *out);

#endif
