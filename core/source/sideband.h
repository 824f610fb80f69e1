/* SPDX-License-Identifier: Apache-2.0 */
/* Perf's side-band records, told to the process table. */
#ifndef GPC_SOURCE_SIDEBAND_H
#define GPC_SOURCE_SIDEBAND_H

#include "proc/table.h"
#include "source/decode.h"

/* True when the kernel's own symbols have changed (a module, a BPF program). */
bool gpc_sideband_apply(struct gpc_table *t, const struct gpc_perf_record *r);

#endif
