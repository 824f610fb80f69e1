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
void fake_put16(struct fake_jvm *j, uint64_t addr, uint16_t value);
/* Free space, zeroed. */
uint64_t fake_make(struct fake_jvm *j, uint64_t n);
/* A row of the table of structures. */
void fake_entry(struct fake_jvm *j, const char *type, const char *name, const char *kind,
		uint64_t value, bool is_static);
uint64_t fake_symbol(struct fake_jvm *j, const char *s);
uint64_t fake_method(struct fake_jvm *j, const char *class_name, const char *name,
		     const char *signature);
uint64_t fake_blob(struct fake_jvm *j, uint32_t first, uint32_t n, const char *name, int32_t frame);
uint64_t fake_code(uint64_t blob);

/* fake_cont.c: the leaf is a virtual thread's, which has frames in the heap:
 *   leaf       A.hot, B.spin                          on the stack
 *   calls      A.hot, B.spin; the interpreter, C.main  in a StackChunk
 *   calls      Continuation.enterSpecial               on the stack, then as above
 * Before the attach. */
enum { /* members of Continuation and StackChunk, and where the latter's stack begins */
       FAKE_TAIL = 24,
       FAKE_SIZE = 12,
       FAKE_SP = 16,
       FAKE_BOTTOM = 20,
       FAKE_PARENT = 24,
       FAKE_CHUNK = 32
};
struct fake_cont {
	uint64_t continuation, chunk, barrier, entry, chunk_klass;
};
void fake_cont_make(struct fake_jvm *j, struct fake_cont *ret);
/* A chunk more, with the same frames, as chunk's parent. */
uint64_t fake_cont_parent(struct fake_jvm *j, const struct fake_cont *c);

#endif
