/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what is installed in a target's folder with packages: METADATA and RECORD in
 * NAME.dist-info, PKG-INFO, installed-files.txt and top_level.txt in NAME.egg-info
 * (packaging.python.org: recording installed projects). A folder may have thousands of
 * them on a slow disk: it is read in turns, one folder at a time, each turn through the
 * root of any process that has the folder, so that it is finished though processes end.
 * [worker] */
#ifndef GPC_PYTHON_READING_H
#define GPC_PYTHON_READING_H

#include <stdbool.h>

#include <gpc/ext/about.h>

#include "dists.h"

struct py_desk; /* where one folder lies open */

enum py_reading {
	PY_READING_DONE,
	PY_READING_MORE, /* the turn is over */
	PY_READING_BUSY, /* another folder lies open */
	PY_READING_NONE  /* it cannot be read */
};

struct py_desk *gpc_py_desk_new(void);    /* NULL: no memory */
void gpc_py_desk_free(struct py_desk *d); /* NULL is fine */

/* Until until_ns, but one package at least. DONE: *ret is the caller's. */
struct py_desk_folder {
	const struct gpc_host *host;
	const struct gpc_target *target;
	const char *path; /* as the target sees it */
	struct gpc_folder_id id;
};
enum py_reading gpc_py_desk_read(struct py_desk *d, const struct py_desk_folder *folder,
				 uint64_t until_ns, struct py_dists **ret);

#endif
