/* SPDX-License-Identifier: Apache-2.0 */
/* The distributions that are installed in a folder, by what they say of themselves;
 * reading.h reads the folder. Foreign text: bounded in number and bytes. */
#ifndef GPC_PYTHON_DISTS_H
#define GPC_PYTHON_DISTS_H

#include <stddef.h>
#include <stdint.h>

#define PY_DISTS_MAX 2048

struct py_dists;

struct py_dists *gpc_py_dists_new(void);    /* NULL: no memory */
void gpc_py_dists_free(struct py_dists *d); /* NULL is fine */
size_t gpc_py_dists_bytes(const struct py_dists *d);

/* "NAME==VERSION" of the owner of a file below the folder; "" nobody, or several. */
const char *gpc_py_dists_find(const struct py_dists *d, const char *file);

/* metadata: text of METADATA or PKG-INFO. 0: it names nothing. */
uint32_t gpc_py_dists_add(struct py_dists *d, const char *metadata);
/* list: a line for each file, RECORD's or installed-files.txt's, or top level name. */
void gpc_py_dists_own(struct py_dists *d, uint32_t dist, const char *list);
void gpc_py_dists_end(struct py_dists *d); /* when all were added */

#endif
