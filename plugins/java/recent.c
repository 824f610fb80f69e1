/* SPDX-License-Identifier: Apache-2.0 */
#include "recent.h"

/* Words of a cell. */
struct seen {
	uint64_t first_ns, last_ns;
};
struct seen_blob {
	uint64_t addr, method, compile_id;
	struct seen seen;
};
struct seen_method {
	struct seen seen;
	struct method method;
};
#define BLOB_WORDS   (sizeof(struct seen_blob) / 8)
#define METHOD_WORDS (sizeof(struct seen_method) / 8)
_Static_assert(BLOB_WORDS < GPC_JAVA_LINE && METHOD_WORDS < 2 * GPC_JAVA_LINE &&
		       sizeof(struct method) % 8 == 0,
	       "a line holds one, or two");

static uint32_t slot_of(uint64_t addr, uint32_t slots)
{
	return (uint32_t)((addr * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % slots;
}

static uint64_t *blob_cell(const struct java_recent *r, uint64_t addr)
{
	return gpc_java_line(r->blobs, slot_of(addr, GPC_JAVA_RECENT_BLOBS));
}

static uint64_t *method_cell(const struct java_recent *r, uint64_t addr)
{
	return gpc_java_line(r->methods, 2 * slot_of(addr, GPC_JAVA_RECENT_METHODS));
}

static uint64_t until_of(const struct seen *s)
{
	uint64_t age = s->last_ns - s->first_ns, ns = GPC_JAVA_RECENT_NS, until;

	while (ns < GPC_JAVA_RECENT_MAX_NS && 2 * ns * GPC_JAVA_RECENT_PART <= age)
		ns *= 2;
	until = s->last_ns + ns;
	return until - until % (ns / 2);
}

/* What is there of b. */
static bool find_blob(const uint64_t *cell, const struct blob *b, struct seen *ret)
{
	struct seen_blob found;

	if (!gpc_java_cell_read(cell, &found, BLOB_WORDS) || found.addr != b->addr ||
	    found.method != b->method || (int32_t)found.compile_id != b->compile_id)
		return false;
	*ret = found.seen;
	return true;
}

JAVA_HOT uint64_t gpc_java_recent_blob(const struct java_recent *r, const struct blob *b,
				       uint64_t now_ns)
{
	struct seen seen;

	if (!find_blob(blob_cell(r, b->addr), b, &seen))
		return 0;
	return now_ns < until_of(&seen) ? until_of(&seen) : 0;
}

uint64_t gpc_java_recent_blob_is(struct java_recent *r, const struct blob *b, uint64_t now_ns)
{
	uint64_t *cell = blob_cell(r, b->addr);
	struct seen_blob is = {b->addr, b->method, (uint32_t)b->compile_id, {now_ns, now_ns}};
	struct seen before;

	if (find_blob(cell, b, &before) && before.first_ns < now_ns)
		is.seen.first_ns = before.first_ns;
	gpc_java_cell_write(cell, &is, BLOB_WORDS);
	return until_of(&is.seen);
}

JAVA_HOT bool gpc_java_recent_method(const struct java_recent *r, uint64_t addr, uint64_t now_ns,
				     struct method *ret)
{
	const uint64_t *cell = method_cell(r, addr);
	struct seen_method found;

	if (!gpc_java_cell_read(cell, &found, METHOD_WORDS) || found.method.addr != addr ||
	    now_ns >= until_of(&found.seen))
		return false;
	*ret = found.method;
	return true;
}

void gpc_java_recent_method_is(struct java_recent *r, const struct method *m, uint64_t now_ns)
{
	uint64_t *cell = method_cell(r, m->addr);
	struct seen_method found, is;

	/* With zeros between its members. */
	memset(&is, 0, sizeof is);
	is.seen = (struct seen){now_ns, now_ns};
	is.method = *m;
	if (gpc_java_cell_read(cell, &found, METHOD_WORDS) &&
	    gpc_java_method_same(&found.method, m) && found.seen.first_ns < now_ns)
		is.seen.first_ns = found.seen.first_ns;
	gpc_java_cell_write(cell, &is, METHOD_WORDS);
}
