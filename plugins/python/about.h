/* SPDX-License-Identifier: Apache-2.0 */
/* What the profile says of a Python process beside its stacks. */
#ifndef GPC_PYTHON_ABOUT_H
#define GPC_PYTHON_ABOUT_H

#include "python.h"

/* [worker] Once, at attach. */
void gpc_py_about(const struct py_target *t);
/* Of a forked child: what is known of its parent. */
void gpc_py_about_child(const struct py_target *t, const struct py_target *parent);
/* The rest, which takes longer: what identifies its files. False: they are not all read
 * yet, once more. */
bool gpc_py_about_files(const struct py_target *t);

#endif
