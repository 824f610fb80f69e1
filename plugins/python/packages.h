/* SPDX-License-Identifier: Apache-2.0 */
/* Which package a file of a target belongs to, and which version of it is
 * installed: "PyYAML==6.0", "standard-library==3.11.2". A folder with packages is
 * read by the worker, in turns, after a reader has met a file in it; readers only look
 * up. */
#ifndef GPC_PYTHON_PACKAGES_H
#define GPC_PYTHON_PACKAGES_H

#include <stdbool.h>

#include <gpc/plugin.h>

#include "reading.h"

#define PY_PACKAGE_MAX 160

struct py_packages;

struct py_shelf;

/* version: of the interpreter, "" unknown; copied. shelf: borrowed. NULL: no memory. */
struct py_packages *gpc_py_packages_new(const char *version, struct py_shelf *shelf);
/* Another owner: a forked process has the same folders. */
struct py_packages *gpc_py_packages_get(struct py_packages *p); /* NULL is fine */
void gpc_py_packages_free(struct py_packages *p);               /* NULL is fine */

/* [reader] "": of none. False: that is not known yet. */
bool gpc_py_packages_find(struct py_packages *p, const char *file, char ret[PY_PACKAGE_MAX]);
/* [worker] Reads of the folders that were met since, until until_ns at the desk. False:
 * some are left. */
struct py_packages_turn {
	const struct gpc_host *host;
	struct py_desk *desk;
	uint64_t until_ns;
};
bool gpc_py_packages_read(struct py_packages *p, const struct gpc_target *t,
			  const struct py_packages_turn *turn);

#endif
