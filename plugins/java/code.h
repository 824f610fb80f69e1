/* SPDX-License-Identifier: Apache-2.0 */
/* Where the return address is while compiled code makes or leaves its frame. Only
 * the few instructions that HotSpot's compilers use there are known (x86-64:
 * OpenJDK cpu/x86/macroAssembler_x86.cpp verified_entry, c1_MacroAssembler_x86.cpp
 * build_frame, x86_64.ad MachPrologNode and MachEpilogNode). */
#ifndef GPC_JAVA_CODE_H
#define GPC_JAVA_CODE_H

#include <stdbool.h>
#include <stdint.h>

#define GPC_JAVA_CODE_BYTES 96

struct frame_shape {
	int32_t ra; /* from sp to the return address */
	int32_t fp; /* from sp to the caller's fp; -1: it is still in its register */
};

/* code: n bytes from where callers enter; pc: how many of them have been executed.
 * False: something else than known stands before pc. */
bool gpc_java_code_prologue(const uint8_t *code, uint32_t n, uint32_t pc, struct frame_shape *ret);
/* code: n bytes from the place that is executed. False: it is no epilogue. */
bool gpc_java_code_epilogue(const uint8_t *code, uint32_t n, struct frame_shape *ret);
/* The length of an instruction; 0: it is cut, or not known. insn_x86.c */
uint32_t gpc_java_code_length(const uint8_t *code, uint32_t n);
/* General registers (bit 0: rax, in the order of their numbers) that it may write, at least;
 * and those that it compares, of a comparison. insn_x86.c */
uint32_t gpc_java_code_writes(const uint8_t *code, uint32_t len);
uint32_t gpc_java_code_compared(const uint8_t *code, uint32_t len);
/* code: the n bytes before a return address. */
bool gpc_java_code_is_call(const uint8_t *code, uint32_t n);
/* Does a safepoint poll begin with these bytes? */
bool gpc_java_code_is_poll(const uint8_t *code, uint32_t n);

#endif
