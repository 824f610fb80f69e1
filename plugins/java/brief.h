/* SPDX-License-Identifier: Apache-2.0 */
/* Places that most frames of a stack return to, with no more than going up needs: a frame
 * takes one cache line, and no lock. What is kept is what was found last; all of it is in
 * the cache of places as well. Readers of several CPUs use it at once (cell.h). */
#ifndef GPC_JAVA_BRIEF_H
#define GPC_JAVA_BRIEF_H

#include "cache.h"
#include "cell.h"

#define GPC_JAVA_BRIEFS       512 /* a power of two; 64 KB for each JVM when all are used */
#define GPC_JAVA_BRIEF_NEAR   6   /* frames that its line has room for */
#define GPC_JAVA_BRIEF_FRAMES (GPC_JAVA_BRIEF_NEAR + 16)

/* A return address that a call left there, in a method, the interpreter, or call stub. */
struct brief {
	uint64_t pc, until_ns; /* until then its code counts as what it was found to be */
	int32_t ra, fp;        /* of RULE_SHAPE */
	uint32_t epoch;        /* of frames */
	uint16_t rule, n;
	uint32_t ids[GPC_JAVA_BRIEF_FRAMES]; /* of frames, innermost first */
};

struct java_briefs {
	uint64_t at[GPC_JAVA_LINES(GPC_JAVA_BRIEFS)];
	uint64_t more[GPC_JAVA_LINES(GPC_JAVA_BRIEFS)]; /* the ids that are too many for that */
};

/* False: it must be looked up. */
bool gpc_java_brief_get(const struct java_briefs *b, uint64_t pc, uint32_t epoch, uint64_t now_ns,
			struct brief *ret);
/* Not of every place: see above. */
void gpc_java_brief_put(struct java_briefs *b, const struct place *p, uint64_t until_ns);

static inline gpc_frame gpc_java_brief_frame(const struct brief *b, uint32_t i)
{
	return GPC_FRAME_TAG | b->ids[i];
}

#endif
