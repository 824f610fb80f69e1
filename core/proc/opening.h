/* SPDX-License-Identifier: Apache-2.0 */
/* Files of targets, opened on a thread that is left behind when their file system
 * does not answer (base/patient.h). */
#ifndef GPC_PROC_OPENING_H
#define GPC_PROC_OPENING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/patient.h"
#include "proc/debugfile.h"

#define GPC_OPENING_NS UINT64_C(5000000000)

/* As gpc_root_open of pid, or gpc_regular_open where pid is 0. -1: it is not there; or
 * GPC_E_TIMEOUT. *st, if given, is the file's. */
int gpc_opening_file(struct gpc_patient *p, int32_t pid, const char *path, struct stat *st);
/* As gpc_debugfiles_open. */
gpc_status gpc_opening_debug(struct gpc_patient *p, int32_t pid, const char *path, int file,
			     struct gpc_debugfiles *ret);

#endif
