/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's memory, as its collector (tests/plugins/testpull) reads it:
 * a table of threads behind the symbol interp_threads, each with the heap frame
 * that it executes. */
#ifndef GPC_TESTPULL_INTERP_H
#define GPC_TESTPULL_INTERP_H

#include <stdint.h>

#define INTERP_SLOTS     2048 /* a thread lies within INTERP_NEAR of tid % INTERP_SLOTS */
#define INTERP_NEAR      16
#define INTERP_FUNCTIONS 128

struct interp_frame {
	uint64_t up; /* struct interp_frame *; 0: none */
	uint32_t function;
	uint32_t is_entry; /* a C frame of interp_eval begins with it */
	uint32_t at, reserved;
};

struct interp_thread {
	int32_t tid; /* in its own pid namespace; 0: free */
	uint32_t reserved;
	uint64_t top; /* struct interp_frame *; 0: idle */
};

#endif
