/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of finished files: each appears there whole or not at all, and none
 * replaces another. Names are relative to a descriptor of the folder, so that a
 * file is written where its link will be even when the folder is moved
 * meanwhile. One thread. */
#ifndef GPC_SINK_OUTDIR_H
#define GPC_SINK_OUTDIR_H

#include <limits.h>
#include <stddef.h>

#include "base/err.h"

struct gpc_outdir_temp {
	int fd;
	char name[NAME_MAX + 1]; /* "": there is none */
};

/* Opens the folder, and makes it first when it is not there. A part of the path
 * that is no folder is named by the error. *ret is the caller's. */
gpc_status gpc_outdir_open(const char *path, int *ret, struct gpc_err *err);

/* A new hidden file to write to. */
gpc_status gpc_outdir_temp(int dir, struct gpc_outdir_temp *ret, struct gpc_err *err);
/* Closes and removes what was not published. */
void gpc_outdir_temp_drop(int dir, struct gpc_outdir_temp *temp);

/* The lowest number for which neither name is taken: profiles of one second. */
unsigned gpc_outdir_free_number(int dir, const char *stem, const char *const *suffixes, size_t n);
/* Gives the file its name: stem and suffix, "-NUMBER" between them unless it is
 * 0, a higher number when that is taken. name has NAME_MAX + 1 bytes. */
gpc_status gpc_outdir_publish(int dir, struct gpc_outdir_temp *temp, const char *stem,
			      const char *suffix, unsigned number, char *name, struct gpc_err *err);

/* Points the link at target, at once. old (NAME_MAX + 1 bytes) gets where it
 * pointed before, "" when it was not there or leads out of the folder. */
gpc_status gpc_outdir_link(int dir, const char *link, const char *target, char *old,
			   struct gpc_err *err);

#endif
