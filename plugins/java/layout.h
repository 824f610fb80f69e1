/* SPDX-License-Identifier: Apache-2.0 */
/* Where HotSpot keeps what: offsets, addresses, sizes and constants, as this very
 * JVM publishes them in its own tables (gHotSpotVMStructs, gHotSpotVMTypes,
 * gHotSpotVMIntConstants, gHotSpotVMLongConstants; OpenJDK
 * src/hotspot/share/runtime/vmStructs.cpp), read once at attach. */
#ifndef GPC_JAVA_LAYOUT_H
#define GPC_JAVA_LAYOUT_H

#include "mem.h"

/* Of structs that are read as a whole. */
#define GPC_JAVA_BLOB_MAX   1024
#define GPC_JAVA_METHOD_MAX 256

enum vm_field { /* offsets of members; -1 where this JVM has none */
		F_ARRAY_LEN,
		F_ARRAY_DATA,
		F_HEAP_MEMORY,
		F_HEAP_SEGMAP,
		F_HEAP_LOG2_SEGMENT,
		F_SPACE_LOW_BOUNDARY,
		F_SPACE_HIGH_BOUNDARY,
		F_SPACE_LOW,
		F_SPACE_HIGH,
		F_BLOCK_USED,
		F_BLOB_NAME,
		F_BLOB_SIZE,
		F_BLOB_FRAME_COMPLETE,
		F_BLOB_FRAME_SIZE,
		F_BLOB_CODE_BEGIN,
		F_BLOB_CODE_END,
		F_BLOB_CODE_OFFSET,
		F_BLOB_DATA_OFFSET,
		F_BLOB_MUTABLE_DATA,
		F_BLOB_RELOCATION_SIZE,
		F_BLOB_KIND,
		F_NM_METHOD,
		F_NM_SCOPES_DATA_BEGIN,
		F_NM_SCOPES_DATA_OFFSET,
		F_NM_SCOPES_PCS_OFFSET,
		F_NM_DEPENDENCIES_OFFSET,
		F_NM_METADATA_OFFSET,
		F_NM_IMMUTABLE_DATA,
		F_NM_DEOPT_BEGIN,
		F_NM_DEOPT_OFFSET,
		F_NM_DEOPT_MH_BEGIN, /* at calls of method handles */
		F_NM_DEOPT_MH_OFFSET,
		F_NM_ORIG_PC_OFFSET,
		F_NM_ENTRY,
		F_NM_ENTRY_OFFSET,
		F_NM_COMPILE_ID,
		F_NM_COMP_LEVEL,
		F_PC_OFFSET,
		F_PC_SCOPE,
		F_METHOD_CONST,
		F_METHOD_ACCESS,
		F_CONST_POOL,
		F_CONST_FLAGS,
		F_CONST_CODE_SIZE,
		F_CONST_NAME,
		F_CONST_SIGNATURE,
		F_POOL_HOLDER,
		F_POOL_LENGTH,
		F_POOL_SOURCE_FILE,
		F_KLASS_SOURCE_FILE,
		F_KLASS_NAME,
		F_KLASS_SUPER,
		F_KLASS_LAYOUT,
		F_KLASS_POOL,
		F_KLASS_FIELDS, /* 21 on: a stream that tells members of objects */
		F_BYTES_DATA,   /* of an Array<u1> */
		F_OBJECT_KLASS, /* of an object, in short form or not */
		F_SYMBOL_LENGTH,
		F_SYMBOL_BODY,
		F_THREAD_NEXT,
		F_THREAD_OSTHREAD,
		F_THREAD_ANCHOR,
		F_THREAD_STACK_BASE,
		F_THREAD_STACK_SIZE,
		F_THREAD_CONT_ENTRY,
		F_OSTHREAD_ID,
		F_ANCHOR_SP,
		F_ANCHOR_PC,
		F_ANCHOR_FP,
		F_WRAPPER_ANCHOR,
		F_LIST_LENGTH,
		F_LIST_THREADS,
		F_FLAG_NAME,
		F_FLAG_ADDR,
		F_FLAG_FLAGS,
		F_FLAG_TYPE,
		F_FIELDS
};

enum vm_static { /* addresses of variables; 0 where this JVM has none */
		 S_HEAPS,
		 S_HEAP, /* JDK 8: one heap */
		 S_LOW_BOUND,
		 S_HIGH_BOUND,
		 S_THREADS_LIST,
		 S_THREAD_FIRST,
		 S_CALL_STUB_RETURN,
		 S_FLAGS,
		 S_NUM_FLAGS,
		 S_JDK_VERSION,
		 S_VM_MAJOR,
		 S_VM_RELEASE,
		 S_VM_INFO,
		 S_JAVA_COMMAND,
		 S_JVM_ARGS,
		 S_NUM_JVM_ARGS,
		 S_JVM_FLAGS,
		 S_NUM_JVM_FLAGS,
		 S_OOP_BASE, /* of references in their short form */
		 S_OOP_SHIFT,
		 S_KLASS_BASE,
		 S_KLASS_SHIFT,
		 S_CONT_RETURN, /* 25 on: where a virtual thread's first frame returns to */
		 S_STATICS
};

enum vm_type {
	T_HEAP_BLOCK,
	T_CONST_METHOD,
	T_CONSTANT_POOL,
	T_METHOD,
	T_CODE_BLOB,
	T_NMETHOD,
	T_FLAG,
	T_TYPES
};

struct layout {
	int32_t field[F_FIELDS];
	uint8_t width[F_FIELDS]; /* of a number: 1, 2, 4 or 8 bytes */
	uint64_t at[S_STATICS];
	uint32_t size[T_TYPES];
	int32_t entry_wrapper;     /* words from an entry frame's fp to its JavaCallWrapper */
	uint32_t has_line_numbers; /* bit of ConstMethod's flags */
	uint32_t loop_reasons;     /* bits of Deoptimization::DeoptReason: guards of loops */
	uint32_t major;            /* 8, 11, 17 ... */
	/* What follows from the version, not from the tables. */
	uint32_t unsigned5_excluded; /* bytes below it do not occur: 0 or 1 */
	int32_t bcp_words;           /* from an interpreter frame's fp to its saved bcp */
};

/* [worker] why gets a sentence when it fails. */
gpc_status gpc_java_layout_read(const struct jmem *m, struct layout *ret, char *why, uint32_t room);

static inline bool gpc_java_has(const struct layout *l, enum vm_field f)
{
	return l->field[f] >= 0;
}

/* A number of its own width within bytes, which hold the struct from its start. */
int64_t gpc_java_number(const struct layout *l, enum vm_field f, const void *bytes);

#endif
