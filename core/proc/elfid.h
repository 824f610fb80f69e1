/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies a program's file in a profile's header: "buildid:..." of its note, else
 * "sha1:..." of its bytes. Files that were read once are remembered. Thread-safe. */
#ifndef GPC_PROC_ELFID_H
#define GPC_PROC_ELFID_H

#include "base/err.h"

#define GPC_ELFID_MAX 64

struct gpc_elfids;

struct gpc_elfids *gpc_elfids_new(void); /* NULL: no memory */
void gpc_elfids_free(struct gpc_elfids *e);

/* Of a mapped file whose base name matches the glob (NULL: the executable). Reads all of a
 * file without a note, in turns of some milliseconds: GPC_E_RETRY says that more is left, or
 * that another file is being read, and to ask again. GPC_E_BUDGET: it is too large. */
gpc_status gpc_elfids_of(struct gpc_elfids *e, const struct gpc_target *t, const char *glob,
			 char ret[GPC_ELFID_MAX], struct gpc_err *err);

#endif
