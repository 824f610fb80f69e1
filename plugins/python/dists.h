/* SPDX-License-Identifier: Apache-2.0 */
/* The distributions that are installed in a folder, by what they say of themselves:
 * METADATA and RECORD in NAME.dist-info, PKG-INFO, installed-files.txt and
 * top_level.txt in NAME.egg-info (packaging.python.org: recording installed
 * projects). Foreign files: bounded in number and bytes. */
#ifndef GPC_PYTHON_DISTS_H
#define GPC_PYTHON_DISTS_H

#include <gpc/plugin.h>

struct py_dists;

/* Empty when the folder cannot be read. NULL: no memory. */
struct py_dists *gpc_py_dists_read(const struct gpc_host *h, const struct gpc_target *t,
				   const char *folder);
void gpc_py_dists_free(struct py_dists *d); /* NULL is fine */
size_t gpc_py_dists_bytes(const struct py_dists *d);

/* "NAME==VERSION" of the owner of a file below the folder; "" nobody, or several. */
const char *gpc_py_dists_find(const struct py_dists *d, const char *file);

/* By parts, for tests. */
struct py_dists *gpc_py_dists_new(void);
/* metadata: text of METADATA or PKG-INFO. 0: it names nothing. */
uint32_t gpc_py_dists_add(struct py_dists *d, const char *metadata);
/* list: a line for each file, RECORD's or installed-files.txt's, or top level name. */
void gpc_py_dists_own(struct py_dists *d, uint32_t dist, const char *list);
void gpc_py_dists_end(struct py_dists *d); /* when all were added */

#endif
