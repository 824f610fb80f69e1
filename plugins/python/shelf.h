/* SPDX-License-Identifier: Apache-2.0 */
/* What is installed in folders with packages, once for all processes that have the
 * folder, by its device and inode. Bounded in bytes: what was not asked for the longest
 * goes, and is read again when somebody asks. Thread-safe. */
#ifndef GPC_PYTHON_SHELF_H
#define GPC_PYTHON_SHELF_H

#include <stdbool.h>

#include <gpc/ext/about.h>

#include "dists.h"

struct py_shelf;

struct py_shelf *gpc_py_shelf_new(size_t max_bytes); /* NULL: no memory */
void gpc_py_shelf_free(struct py_shelf *s);          /* NULL is fine */

/* [worker] Takes dists. */
void gpc_py_shelf_put(struct py_shelf *s, const struct gpc_folder_id *id, struct py_dists *dists);
bool gpc_py_shelf_has(struct py_shelf *s, const struct gpc_folder_id *id);
/* [reader] As gpc_py_dists_find, copied. False: the folder is not there, or no more. */
bool gpc_py_shelf_find(struct py_shelf *s, const struct gpc_folder_id *id, const char *file,
		       char *ret, size_t size);
size_t gpc_py_shelf_bytes(struct py_shelf *s);

#endif
