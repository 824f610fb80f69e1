/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a virtual thread that are in the heap. A thread that goes on gets its
 * frames back few at a time; the others stay in StackChunk objects, and the last one
 * that is there returns to a stub that fetches more (OpenJDK
 * runtime/continuationFreezeThaw.cpp, runtime/stackChunkFrameStream.inline.hpp). */
#ifndef GPC_JAVA_CONTINUATION_H
#define GPC_JAVA_CONTINUATION_H

#include <pthread.h>

#include "objects.h"

/* What was found out at the first such thread. */
struct java_cont_facts {
	bool is_known;            /* entry: */
	int32_t entry;            /* of JavaThread: its ContinuationEntry; -1: not found */
	uint64_t continuation;    /* a class that has tail at: */
	int32_t tail;             /* the newest chunk */
	uint64_t chunk;           /* the class StackChunk; its members: */
	int32_t parent, size, sp; /* an older chunk; words of stack; the first in use */
	int32_t bottom, args;     /* -1, or: where frames end; the same, words from the end */
	uint32_t start;           /* from a chunk's begin to its stack */
};

struct java_continuations {
	pthread_mutex_t lock;
	struct java_cont_facts facts;
};

struct walk;
/* [reader] state is the stub, barrier its address: adds the frames in the heap, or one
 * that says that there are some. True: state has moved to where the stack goes on. */
bool gpc_java_heap_frames(struct walk *w, uint64_t barrier);

#endif
