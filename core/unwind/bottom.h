/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel put a program's arguments: below them is its first frame. */
#ifndef GPC_UNWIND_BOTTOM_H
#define GPC_UNWIND_BOTTOM_H

#include "unwind/memory.h"

/* Do argc, argv, envp and the auxiliary vector begin within a few words of sp? Then
 * what sp belongs to was called by the program's entry, or nearly so. */
bool gpc_unwind_is_bottom(struct gpc_unwind_memory *m, uint64_t sp);

#endif
