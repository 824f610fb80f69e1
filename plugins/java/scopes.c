/* SPDX-License-Identifier: Apache-2.0 */
#include "scopes.h"

#define PC_BYTES    16
#define BLOCK       64  /* entries read at once */
#define LOWEST      192 /* of bytes that another one follows, whatever is excluded */
#define METHODS_MAX 65536

uint32_t gpc_java_unsigned5(const uint8_t *bytes, uint32_t n, uint32_t excluded, uint32_t *ret)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 5 && i < n; i++) {
		if (bytes[i] < excluded)
			return 0;
		sum += (bytes[i] - excluded) << (6 * i);
		if (bytes[i] < LOWEST || i == 4) {
			*ret = sum;
			return i + 1;
		}
	}
	return 0;
}

/* ---- the entry ------------------------------------------------------------------------ */

static struct pc_entry entry_of(const struct layout *l, const uint8_t *bytes)
{
	return (struct pc_entry){.offset = (int32_t)gpc_java_u32(bytes,
								 (uint32_t)l->field[F_PC_OFFSET]),
				 .scope = gpc_java_u32(bytes, (uint32_t)l->field[F_PC_SCOPE])};
}

static bool read_entry(const struct jmem *m, const struct layout *l, const struct blob *b,
		       uint32_t index, struct pc_entry *ret)
{
	uint8_t bytes[PC_BYTES];

	if (!gpc_java_read(m, b->pcs + (uint64_t)index * PC_BYTES, bytes, PC_BYTES))
		return false;
	*ret = entry_of(l, bytes);
	return true;
}

/* Where the first entry at or behind wanted may be: [from, to), at most BLOCK wide. */
static bool narrow(const struct jmem *m, const struct layout *l, const struct blob *b,
		   int64_t wanted, uint32_t span[2])
{
	struct pc_entry e;

	span[0] = 0;
	span[1] = b->n_pcs;
	while (span[1] - span[0] > BLOCK) {
		uint32_t mid = span[0] + (span[1] - span[0]) / 2;

		if (!read_entry(m, l, b, mid, &e))
			return false;
		if (e.offset < wanted)
			span[0] = mid + 1;
		else
			span[1] = mid + 1;
	}
	return span[0] < span[1];
}

/* That entry, and the one before it. */
static bool find(const struct jmem *m, const struct layout *l, const struct blob *b, int64_t wanted,
		 struct pc_entry ret[2])
{
	uint8_t block[(BLOCK + 2) * PC_BYTES];
	uint32_t span[2], first;

	if (l->field[F_PC_OFFSET] > PC_BYTES - 4 || l->field[F_PC_SCOPE] > PC_BYTES - 4 ||
	    !narrow(m, l, b, wanted, span))
		return false;
	first = span[0] ? span[0] - 1 : 0;
	if (!gpc_java_read(m, b->pcs + (uint64_t)first * PC_BYTES, block,
			   (uint64_t)(span[1] - first) * PC_BYTES))
		return false;
	ret[0] = (struct pc_entry){-1, 0};
	for (uint32_t i = 0; i < span[1] - first; i++) {
		ret[1] = entry_of(l, block + i * PC_BYTES);
		if (ret[1].offset >= wanted)
			return true;
		ret[0] = ret[1];
	}
	return false;
}

bool gpc_java_pc_return(const struct jmem *m, const struct layout *l, const struct blob *b,
			uint64_t pc, struct pc_entry *ret)
{
	int64_t wanted = (int64_t)(pc - b->code_begin);
	struct pc_entry found[2];

	if (!find(m, l, b, wanted, found) || found[1].offset != wanted)
		return false;
	*ret = found[1];
	return true;
}

bool gpc_java_pc_around(const struct jmem *m, const struct layout *l, const struct blob *b,
			uint64_t pc, struct pc_entry ret[2])
{
	return find(m, l, b, (int64_t)(pc - b->code_begin) + 1, ret);
}

/* ---- its scopes -------------------------------------------------------------------------- */

struct raw_scope {
	uint32_t sender, method, bci;
};

static bool read_scope(const struct jmem *m, const struct layout *l, uint64_t addr,
		       struct raw_scope *ret)
{
	uint8_t bytes[16];
	uint32_t n = (uint32_t)gpc_java_read_some(m, addr, bytes, sizeof bytes), at = 0, used;
	uint32_t *const out[] = {&ret->sender, &ret->method, &ret->bci};

	for (int i = 0; i < 3; i++, at += used) {
		used = gpc_java_unsigned5(bytes + at, n - at, l->unsigned5_excluded, out[i]);
		if (!used)
			return false;
	}
	return true;
}

uint32_t gpc_java_scopes(const struct jmem *m, const struct layout *l, const struct blob *b,
			 uint32_t at, struct scope ret[GPC_JAVA_SCOPES_MAX])
{
	uint32_t n = 0;

	while (at && n < GPC_JAVA_SCOPES_MAX) {
		struct raw_scope raw;

		if (!read_scope(m, l, b->scopes + at, &raw) || !raw.method ||
		    raw.method > METHODS_MAX ||
		    !gpc_java_read_u64(m, b->metadata + 8 * (uint64_t)(raw.method - 1),
				       &ret[n].method))
			return 0;
		ret[n++].bci = (int32_t)raw.bci - 1;
		if (raw.sender >= at) /* callers were written first */
			return raw.sender ? 0 : n;
		at = raw.sender;
	}
	return at ? 0 : n;
}
