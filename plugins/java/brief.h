/* SPDX-License-Identifier: Apache-2.0 */
/* Places that frames of a stack mostly are at, with no more than going up needs: a frame
 * takes one cache line, and no lock. What is kept is what was found last; all of it is in
 * the cache of places as well. Readers of several CPUs use it at once (cell.h). */
#ifndef GPC_JAVA_BRIEF_H
#define GPC_JAVA_BRIEF_H

#include "cache.h"
#include "cell.h"

#define GPC_JAVA_BRIEFS       512 /* a power of two; 64 KB for each JVM when all are used */
#define GPC_JAVA_BRIEF_NEAR   6   /* frames that its line has room for */
#define GPC_JAVA_BRIEF_FRAMES (GPC_JAVA_BRIEF_NEAR + 16)

/* Where a compiled method is executed; or a return address that a call left there, in a
 * method, the interpreter, or call stub. */
struct brief {
	uint64_t key;            /* gpc_java_brief_key */
	uint64_t until_ns;       /* until then its code counts as what it was found to be */
	uint32_t epoch;          /* of frames */
	uint32_t at;             /* from where its code begins */
	int32_t ra;              /* of RULE_SHAPE: from sp to the return address */
	uint8_t rule, n, has_fp; /* has_fp: the caller's fp is right below that */
	uint8_t reserved;
	uint32_t ids[GPC_JAVA_BRIEF_FRAMES]; /* of frames, innermost first */
};

struct java_briefs {
	uint64_t at[GPC_JAVA_LINES(GPC_JAVA_BRIEFS)];
	uint64_t more[GPC_JAVA_LINES(GPC_JAVA_BRIEFS)]; /* the ids that are too many for that */
};

static inline uint64_t gpc_java_brief_key(uint64_t pc, bool is_return)
{
	return pc << 1 | is_return;
}

/* False: it must be looked up. */
bool gpc_java_brief_get(const struct java_briefs *b, uint64_t key, uint32_t epoch, uint64_t now_ns,
			struct brief *ret);
/* Not of every place: see above. */
void gpc_java_brief_put(struct java_briefs *b, const struct place *p, uint64_t until_ns);

static inline gpc_frame gpc_java_brief_frame(const struct brief *b, uint32_t i)
{
	return GPC_FRAME_TAG | b->ids[i];
}

#endif
