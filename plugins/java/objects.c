/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include "method.h"
#include "scopes.h"

#define KLASS_IN_MARK 42 /* markWord::klass_shift */
#define MARK_MOVED    3  /* markWord::marked_value: the rest is where the object is now */
#define STREAM_MAX    1024
#define MEMBERS_MAX   64
#define SUPERS_MAX    16

/* ---- how the heap is written ----------------------------------------------------------- */

static bool read_shift(const struct jmem *m, uint64_t at, uint32_t *ret)
{
	return at && gpc_java_read_u32(m, at, ret) && *ret < 32;
}

void gpc_java_heap_read(const struct jmem *m, const struct layout *l,
			const struct java_flags *flags, struct java_heap *ret)
{
	*ret = (struct java_heap){.has_short_oops = flags->has_short_oops,
				  .has_short_klasses = flags->has_short_klasses,
				  .has_klass_in_mark = flags->has_klass_in_mark,
				  .is_coloured = flags->has_zgc && flags->is_generational};
	if (l->major < 21 || !gpc_java_has(l, F_OBJECT_KLASS))
		return;
	ret->is_known = read_shift(m, l->at[S_OOP_SHIFT], &ret->oop_shift) && l->at[S_OOP_BASE] &&
			gpc_java_read_u64(m, l->at[S_OOP_BASE], &ret->oop_base) &&
			read_shift(m, l->at[S_KLASS_SHIFT], &ret->klass_shift) &&
			l->at[S_KLASS_BASE] &&
			gpc_java_read_u64(m, l->at[S_KLASS_BASE], &ret->klass_base);
}

/* ---- references -------------------------------------------------------------------------- */

/* On x86 the address begins right above the one bit of 12 to 15 that is set
 * (zAddress.hpp, ZPointerLoadShift). */
static uint64_t uncoloured(uint64_t v)
{
	uint32_t bits = (uint32_t)(v >> 12) & 15;

	if (!bits || bits & (bits - 1))
		return 0;
	return v >> (13 + (uint32_t)__builtin_ctz(bits));
}

uint64_t gpc_java_reference(const struct jmem *m, const struct java_heap *h, uint64_t addr)
{
	uint64_t wide;
	uint32_t narrow;

	if (h->has_short_oops) {
		if (!gpc_java_read_u32(m, addr, &narrow) || !narrow)
			return 0;
		return h->oop_base + ((uint64_t)narrow << h->oop_shift);
	}
	if (!gpc_java_read_u64(m, addr, &wide) || !wide)
		return 0;
	return h->is_coloured ? uncoloured(wide) : wide;
}

bool gpc_java_object(const struct jmem *m, const struct layout *l, const struct java_heap *h,
		     uint64_t *object, uint64_t *klass)
{
	uint8_t head[16];
	uint64_t mark;

	for (int moves = 0; moves < 2; moves++) {
		if (*object % 8 || !gpc_java_read(m, *object, head, sizeof head))
			return false;
		mark = gpc_java_u64(head, 0);
		if ((mark & 3) != MARK_MOVED)
			break;
		*object = mark & ~UINT64_C(3);
	}
	if (h->has_klass_in_mark)
		*klass = h->klass_base + (mark >> KLASS_IN_MARK << h->klass_shift);
	else if (l->field[F_OBJECT_KLASS] != 8)
		return false;
	else if (h->has_short_klasses)
		*klass = h->klass_base + ((uint64_t)gpc_java_u32(head, 8) << h->klass_shift);
	else
		*klass = gpc_java_u64(head, 8);
	return gpc_java_is_pointer(*klass) && *klass % 8 == 0;
}

/* ---- classes ------------------------------------------------------------------------------- */

bool gpc_java_klass_is(const struct jmem *m, const struct layout *l, uint64_t klass,
		       const char *name)
{
	char text[GPC_JAVA_SYMBOL_MAX];
	uint64_t symbol;

	return gpc_java_read_u64(m, klass + (uint32_t)l->field[F_KLASS_NAME], &symbol) &&
	       gpc_java_symbol(m, l, symbol, text) && strcmp(text, name) == 0;
}

struct stream {
	uint8_t bytes[STREAM_MAX];
	uint32_t n, at, excluded;
	bool is_bad;
};

static uint32_t next_of(struct stream *s)
{
	uint32_t value = 0;
	uint32_t used =
		s->is_bad ? 0
			  : gpc_java_unsigned5(s->bytes + s->at, s->n - s->at, s->excluded, &value);

	s->is_bad = !used;
	s->at += used;
	return value;
}

static bool open_stream(const struct jmem *m, const struct layout *l, uint64_t klass,
			struct stream *ret)
{
	uint64_t array;
	uint32_t n;

	if (!gpc_java_has(l, F_KLASS_FIELDS) || !gpc_java_has(l, F_BYTES_DATA) ||
	    !gpc_java_read_u64(m, klass + (uint32_t)l->field[F_KLASS_FIELDS], &array) ||
	    !gpc_java_read_u32(m, array, &n) || !n)
		return false;
	*ret = (struct stream){.n = n < STREAM_MAX ? n : STREAM_MAX,
			       .excluded = l->unsigned5_excluded};
	return gpc_java_read(m, array + (uint32_t)l->field[F_BYTES_DATA], ret->bytes, ret->n);
}

/* FieldInfoStream: how many, how many injected ones, then of each: name, signature,
 * offset, access, flags, and what the flags say. */
struct member {
	uint32_t name, offset;
};

static struct member next_member(struct stream *s)
{
	enum { IS_INITIALIZED = 1, IS_GENERIC = 4, IS_CONTENDED = 16 };
	struct member ret;
	uint32_t flags;

	ret.name = next_of(s);
	next_of(s);
	ret.offset = next_of(s);
	next_of(s);
	flags = next_of(s);
	if (flags & IS_INITIALIZED)
		next_of(s);
	if (flags & IS_GENERIC)
		next_of(s);
	if (flags & IS_CONTENDED)
		next_of(s);
	return ret;
}

bool gpc_java_members(const struct jmem *m, const struct layout *l, uint64_t klass,
		      const char *const *names, int32_t *ret, uint32_t n)
{
	char text[GPC_JAVA_SYMBOL_MAX];
	struct stream s;
	uint64_t pool;
	uint32_t count;

	for (uint32_t i = 0; i < n; i++)
		ret[i] = -1;
	if (!gpc_java_has(l, F_KLASS_POOL) ||
	    !gpc_java_read_u64(m, klass + (uint32_t)l->field[F_KLASS_POOL], &pool) ||
	    !open_stream(m, l, klass, &s))
		return false;
	count = next_of(&s);
	next_of(&s);
	for (uint32_t k = 0; k < count && k < MEMBERS_MAX; k++) {
		struct member one = next_member(&s);

		if (s.is_bad)
			return false;
		if (one.name > UINT16_MAX || one.offset > 4096 ||
		    !gpc_java_pool_text(m, l, pool, (uint16_t)one.name, text))
			continue;
		for (uint32_t i = 0; i < n; i++)
			if (strcmp(text, names[i]) == 0)
				ret[i] = (int32_t)one.offset;
	}
	return true;
}
