/* SPDX-License-Identifier: Apache-2.0 */
#include "brief.h"

#define HEAD_WORDS 4
_Static_assert(offsetof(struct brief, ids) == 8 * HEAD_WORDS &&
		       1 + HEAD_WORDS + GPC_JAVA_BRIEF_NEAR / 2 == 8 &&
		       sizeof(struct brief) == 8 * (HEAD_WORDS + GPC_JAVA_BRIEF_FRAMES / 2),
	       "a cell's line holds a brief's head");

static uint32_t slot_of(uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % GPC_JAVA_BRIEFS;
}

/* Words of a brief: those of its line, then those that are beside it. */
static uint32_t words_of(uint32_t n)
{
	return HEAD_WORDS + (n + 1) / 2;
}

static uint64_t load(const struct java_briefs *b, uint32_t slot, uint32_t word)
{
	return word < 7 ? gpc_java_cell_word(gpc_java_line(b->at, slot), 1 + word)
			: gpc_java_cell_word(gpc_java_line(b->more, slot), word - 7);
}

JAVA_HOT bool gpc_java_brief_get(const struct java_briefs *b, uint64_t key, uint32_t epoch,
				 uint64_t now_ns, struct brief *ret)
{
	uint32_t slot = slot_of(key);
	const uint64_t *cell = gpc_java_line(b->at, slot);
	uint64_t begin = gpc_java_cell_begin(cell), word;

	if (load(b, slot, 0) != key)
		return false;
	for (uint32_t i = 0; i < HEAD_WORDS; i++) {
		word = load(b, slot, i);
		memcpy((uint8_t *)ret + 8 * (size_t)i, &word, 8);
	}
	if (ret->n > GPC_JAVA_BRIEF_FRAMES)
		return false; /* it is just being changed */
	for (uint32_t i = HEAD_WORDS; i < words_of(ret->n); i++) {
		word = load(b, slot, i);
		memcpy((uint8_t *)ret + 8 * (size_t)i, &word, 8);
	}
	return gpc_java_cell_end(cell, begin) && ret->key == key && ret->epoch == epoch &&
	       now_ns < ret->until_ns;
}

static bool is_wanted(const struct place *p)
{
	bool is_call = p->is_return && p->is_after_call;

	switch (p->blob.kind) {
	case BLOB_COMPILED:
		return p->rule == RULE_SHAPE && p->n && (!p->is_return || (is_call && p->is_call));
	case BLOB_INTERPRETER:
		/* It returns to places that calls are not made at. */
		return p->rule == RULE_INTERPRETER && p->is_return;
	case BLOB_STUBS:
		return p->rule == RULE_ENTRY && is_call;
	default:
		return false;
	}
}

/* False: it does not fit. */
static bool shorten(const struct place *p, struct brief *ret)
{
	if (p->n > GPC_JAVA_BRIEF_FRAMES || p->pc - p->blob.code_begin > UINT32_MAX ||
	    (p->shape.fp >= 0 && p->shape.fp != p->shape.ra - 8))
		return false;
	ret->key = gpc_java_brief_key(p->pc, p->is_return);
	ret->epoch = p->epoch;
	ret->at = (uint32_t)(p->pc - p->blob.code_begin);
	ret->ra = p->shape.ra;
	ret->has_fp = p->shape.fp >= 0;
	ret->rule = (uint8_t)p->rule;
	ret->n = (uint8_t)p->n;
	for (uint32_t i = 0; i < p->n; i++) {
		ret->ids[i] = (uint32_t)p->frames[i];
		if (gpc_java_brief_frame(ret, i) != p->frames[i])
			return false; /* its number is too long */
	}
	return true;
}

void gpc_java_brief_put(struct java_briefs *b, const struct place *p, uint64_t until_ns)
{
	struct brief brief = {.until_ns = until_ns};
	uint64_t *cell, *more, word;
	uint32_t slot;

	if (!is_wanted(p) || !shorten(p, &brief))
		return;
	slot = slot_of(brief.key);
	cell = gpc_java_line(b->at, slot);
	more = gpc_java_line(b->more, slot);
	if (!gpc_java_cell_change(cell))
		return;
	for (uint32_t i = 0; i < words_of(brief.n); i++) {
		memcpy(&word, (const uint8_t *)&brief + 8 * (size_t)i, 8);
		if (i < 7)
			gpc_java_cell_set(cell, 1 + i, word);
		else
			gpc_java_cell_set(more, i - 7, word);
	}
	gpc_java_cell_done(cell);
}
