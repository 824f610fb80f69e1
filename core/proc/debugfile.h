/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file with the symbols and debug information of a stripped one, where
 * GDB looks for it: by build-id below /usr/lib/debug/.build-id, by .gnu_debuglink
 * beside the file, in .debug, and below /usr/lib/debug. First inside the target's
 * root, then in ours: a container's libraries are often those of a package that
 * the host has debug files of, and the build-id or the CRC tells. */
#ifndef GPC_PROC_DEBUGFILE_H
#define GPC_PROC_DEBUGFILE_H

#include <stdint.h>

struct gpc_debugfiles {
	int own;    /* -1: there is none, or nothing is missing in the file itself */
	int shared; /* what its debug information, wherever it is, has in common with that
		     * of other files and was put elsewhere by dwz; -1: nothing */
};

/* file: open (borrowed); path: as the target sees it. The descriptors are the
 * caller's. */
struct gpc_debugfiles gpc_debugfiles_open(int32_t pid, const char *path, int file);

#endif
