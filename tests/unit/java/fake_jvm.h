/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a JVM that never was: tables of structures with offsets of their
 * own, a code cache, methods, and a thread's stack. Whoever wants to see something
 * go wrong changes bytes of it.
 *
 *   leaf   compiled by C2, with an inlined method      A.hot, B.spin
 *   calls  the interpreter                             C.main
 *   calls  call stub                                   call_stub
 *   calls  native code */
#ifndef GPC_TESTS_FAKE_JVM_H
#define GPC_TESTS_FAKE_JVM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gpc/plugin.h>

#define FAKE_BASE    UINT64_C(0x7f1200000000)
#define FAKE_BYTES   0x20000
#define FAKE_CODE    (FAKE_BASE + 0x10000) /* 64 segments of 128 bytes */
#define FAKE_SEGMENT 128
#define FAKE_STACK   (FAKE_BASE + 0x18000)
#define FAKE_NATIVE  UINT64_C(0x7f4400001234)
#define FAKE_TID     42

struct fake_symbol {
	const char *name;
	uint64_t at;
};

struct fake_jvm {
	struct gpc_host host;
	struct gpc_target target;
	uint8_t *bytes;
	uint64_t next; /* free space */
	uint64_t structs, types, constants;
	uint32_t n_structs, n_types, n_constants;
	uint32_t n_symbols;
	struct fake_symbol symbols[24];
	uint64_t now, reads;
	/* what tests look at */
	uint64_t hot, spin, main_method; /* Method* */
	uint64_t nmethod, nmethod_id;    /* address of its compile id */
	uint64_t leaf_pc, leaf_sp, leaf_fp;
	uint64_t interp_pc, interp_fp, entry_fp, call_stub_return, thread;
};

/* NULL: no memory. */
struct fake_jvm *fake_jvm_new(void);
void fake_jvm_free(struct fake_jvm *j);
void *fake_at(struct fake_jvm *j, uint64_t addr);
void fake_put64(struct fake_jvm *j, uint64_t addr, uint64_t value);
void fake_put32(struct fake_jvm *j, uint64_t addr, uint32_t value);

#endif
