/* SPDX-License-Identifier: Apache-2.0 */
/* gprofiler-core once: one session as text. */
#ifndef GPC_PROGRAM_ONCE_H
#define GPC_PROGRAM_ONCE_H

#include "program/table.h"

void gpc_once_print(const struct gpc_table *t, const struct gpc_summary *s);

#endif
