/* SPDX-License-Identifier: Apache-2.0 */
/* A window's counts: (process, stack) -> value, for one event of one
 * collector. Stacks are leaf first; frames are what the caller says (addresses
 * or numbers of gpc_names): equal bytes are the same stack. Memory has a cap;
 * what comes after it is counted per process and never lost in the totals.
 * Iteration is in the order of first appearance, so that equal input gives
 * equal output. One thread at a time. */
#ifndef GPC_PROFILE_STACKS_H
#define GPC_PROFILE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_stacks;

/* The number of a process may carry one of its threads in the upper bits; who
 * wants processes alone takes the lower ones. A process's overflow is one row,
 * whatever its threads. */
#define GPC_KEY_PROCESS_BITS 42
#define GPC_KEY_TID_MAX      ((1 << (64 - GPC_KEY_PROCESS_BITS)) - 1) /* the kernel's own limit */

static inline uint64_t gpc_key(uint64_t process, int32_t tid)
{
	return process |
	       (tid > 0 && tid <= GPC_KEY_TID_MAX ? (uint64_t)tid << GPC_KEY_PROCESS_BITS : 0);
}

static inline uint64_t gpc_key_process(uint64_t key)
{
	return key & ((UINT64_C(1) << GPC_KEY_PROCESS_BITS) - 1);
}

/* 0: none, or not known. */
static inline int32_t gpc_key_tid(uint64_t key)
{
	return (int32_t)(key >> GPC_KEY_PROCESS_BITS);
}

struct gpc_stack_row {
	uint64_t process;        /* gpc_target.id with or without a thread: see gpc_key */
	const gpc_frame *frames; /* borrowed until the table changes */
	uint32_t n_frames;
	uint64_t value;
};

/* max_bytes 0: unlimited. Overflow rows (one a process) may go beyond it. */
gpc_status gpc_stacks_new(size_t max_bytes, struct gpc_stacks **ret, struct gpc_err *err);
void gpc_stacks_free(struct gpc_stacks *s); /* NULL is fine */
/* Empties the table and gives memory beyond keep_bytes back. */
void gpc_stacks_reset(struct gpc_stacks *s, size_t keep_bytes);

/* GPC_E_BUDGET: the cap is reached; the value went to the process's overflow
 * (a row with no frames, n_frames 0). GPC_E_NOMEM: not counted. A value of 0
 * leaves no row. */
gpc_status gpc_stacks_add(struct gpc_stacks *s, uint64_t process, const gpc_frame *frames,
			  uint32_t n_frames, uint64_t value);

size_t gpc_stacks_rows(const struct gpc_stacks *s);
struct gpc_stack_row gpc_stacks_row(const struct gpc_stacks *s, size_t index);
size_t gpc_stacks_bytes(const struct gpc_stacks *s);
uint64_t gpc_stacks_total(const struct gpc_stacks *s);
uint64_t gpc_stacks_overflow(const struct gpc_stacks *s); /* value in overflow rows */

#endif
