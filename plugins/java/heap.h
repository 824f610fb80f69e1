/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's code cache: its heaps, and the blob that an address lies in. A blob is
 * compiled code, the interpreter, a stub, an adapter (OpenJDK
 * src/hotspot/share/memory/heap.hpp, code/codeBlob.hpp, code/nmethod.hpp). */
#ifndef GPC_JAVA_HEAP_H
#define GPC_JAVA_HEAP_H

#include "layout.h"

#define GPC_JAVA_HEAPS 8

struct code_heap {
	uint64_t from, to;     /* reserved: all that may ever hold code */
	uint64_t base, segmap; /* first segment; its byte in the map */
	uint64_t header;       /* the CodeHeap itself */
	uint32_t log2_segment;
};

struct code_heaps {
	uint32_t n;
	struct code_heap at[GPC_JAVA_HEAPS];
};

enum blob_kind {
	BLOB_COMPILED, /* nmethod */
	BLOB_NATIVE,   /* nmethod: a wrapper around a native method */
	BLOB_INTERPRETER,
	BLOB_FRAMELESS, /* vtable stubs, adapters: they jump on */
	BLOB_STUBS,     /* StubRoutines: many in one, each as it likes */
	BLOB_RUNTIME    /* with a frame of a known size */
};

struct blob {
	uint64_t addr, code_begin, code_end;
	enum blob_kind kind;
	char name[32];
	int32_t frame_bytes;    /* from sp to the caller's sp, once complete */
	int32_t frame_complete; /* bytes from code_begin */
	/* of nmethods */
	uint64_t method;
	int32_t compile_id, comp_level;
	uint64_t entry;    /* where callers that know the class jump to */
	uint64_t deopt[2]; /* where frames to be deoptimized return to; 0 none */
	uint32_t orig_pc;  /* where from sp their true address is then */
	uint64_t pcs, scopes, metadata;
	uint32_t n_pcs;
};

/* [worker] Reserved ranges and tables of all heaps. */
gpc_status gpc_java_heaps_read(const struct jmem *m, const struct layout *l,
			       struct code_heaps *ret);
bool gpc_java_heaps_has(const struct code_heaps *heaps, uint64_t pc);

/* [reader] The address of the blob that pc lies in; 0: none. */
uint64_t gpc_java_blob_find(const struct jmem *m, const struct layout *l,
			    const struct code_heaps *heaps, uint64_t pc);
bool gpc_java_blob_read(const struct jmem *m, const struct layout *l, uint64_t addr,
			struct blob *ret);
static inline bool gpc_java_blob_is_deopt(const struct blob *b, uint64_t pc)
{
	return pc && (pc == b->deopt[0] || pc == b->deopt[1]);
}

/* Is it still the nmethod it was? */
bool gpc_java_blob_is(const struct jmem *m, const struct layout *l, const struct blob *b);

#endif
