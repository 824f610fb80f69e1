/* SPDX-License-Identifier: Apache-2.0 */
/* What the profile says of a Python process beside its stacks. */
#ifndef GPC_PYTHON_ABOUT_H
#define GPC_PYTHON_ABOUT_H

#include "python.h"

/* [worker] Once, at attach. */
void gpc_py_about(const struct py_target *t);

#endif
