/* SPDX-License-Identifier: Apache-2.0 */
#include "method.h"

#include "scopes.h"

#define TABLE_MAX  8192
#define POOL_BYTES 2048
#define ESCAPE     0xff

/* ---- the method ------------------------------------------------------------------- */

/* An entry of a pool that is a Symbol; its lowest bit is a mark. */
static bool read_entry(const struct jmem *m, const struct layout *l, uint64_t pool, uint16_t index,
		       uint64_t *ret)
{
	if (!gpc_java_read_u64(m, pool + l->size[T_CONSTANT_POOL] + 8 * (uint64_t)index, ret))
		return false;
	*ret &= ~UINT64_C(1);
	return true;
}

/* Most pools are short enough for one read. */
static bool read_symbols(const struct jmem *m, const struct layout *l, struct method *ret)
{
	uint8_t bytes[POOL_BYTES];
	uint32_t last = ret->name > ret->signature ? ret->name : ret->signature;
	uint32_t head = l->size[T_CONSTANT_POOL], n = head + 8 * (last + 1);
	uint32_t holder = (uint32_t)l->field[F_POOL_HOLDER];
	uint64_t klass;

	if (n <= sizeof bytes && holder + 8 <= n && gpc_java_read(m, ret->pool, bytes, n)) {
		klass = gpc_java_u64(bytes, holder);
		ret->name_symbol = gpc_java_u64(bytes, head + 8u * ret->name) & ~UINT64_C(1);
		ret->signature_symbol =
			gpc_java_u64(bytes, head + 8u * ret->signature) & ~UINT64_C(1);
	} else if (!gpc_java_read_u64(m, ret->pool + holder, &klass) ||
		   !read_entry(m, l, ret->pool, ret->name, &ret->name_symbol) ||
		   !read_entry(m, l, ret->pool, ret->signature, &ret->signature_symbol)) {
		return false;
	}
	return gpc_java_read_u64(m, klass + (uint32_t)l->field[F_KLASS_NAME], &ret->class_symbol);
}

bool gpc_java_method_read(const struct jmem *m, const struct layout *l, uint64_t addr,
			  struct method *ret)
{
	uint8_t bytes[GPC_JAVA_METHOD_MAX];
	uint32_t n = l->size[T_CONST_METHOD], head = l->size[T_METHOD];

	if (addr % 8 || n > sizeof bytes || head > sizeof bytes ||
	    !gpc_java_read(m, addr, bytes, head))
		return false;
	ret->addr = addr;
	ret->constant = gpc_java_u64(bytes, (uint32_t)l->field[F_METHOD_CONST]);
	ret->access = gpc_java_u16(bytes, (uint32_t)l->field[F_METHOD_ACCESS]);
	if (ret->constant % 8 || !gpc_java_read(m, ret->constant, bytes, n))
		return false;
	ret->pool = gpc_java_u64(bytes, (uint32_t)l->field[F_CONST_POOL]);
	ret->flags = (uint32_t)gpc_java_number(l, F_CONST_FLAGS, bytes);
	ret->code_size = gpc_java_u16(bytes, (uint32_t)l->field[F_CONST_CODE_SIZE]);
	ret->name = gpc_java_u16(bytes, (uint32_t)l->field[F_CONST_NAME]);
	ret->signature = gpc_java_u16(bytes, (uint32_t)l->field[F_CONST_SIGNATURE]);
	ret->code = ret->constant + n;
	return gpc_java_is_pointer(ret->pool) && ret->pool % 8 == 0 && ret->name &&
	       ret->signature && read_symbols(m, l, ret);
}

JAVA_HOT bool gpc_java_method_same(const struct method *a, const struct method *b)
{
	return a->addr == b->addr && a->constant == b->constant && a->pool == b->pool &&
	       a->flags == b->flags && a->code_size == b->code_size && a->name == b->name &&
	       a->signature == b->signature && a->class_symbol == b->class_symbol &&
	       a->name_symbol == b->name_symbol && a->signature_symbol == b->signature_symbol;
}

/* ---- its texts ------------------------------------------------------------------------ */

bool gpc_java_symbol(const struct jmem *m, const struct layout *l, uint64_t addr, char *ret)
{
	uint8_t bytes[64 + GPC_JAVA_SYMBOL_MAX];
	uint32_t body = (uint32_t)l->field[F_SYMBOL_BODY], at = (uint32_t)l->field[F_SYMBOL_LENGTH];
	uint64_t got;
	uint32_t n;

	if (body > 64 || at > 62)
		return false;
	got = gpc_java_read_some(m, addr, bytes, body + 128);
	if (got < body || got < at + 4)
		return false;
	/* JDK 12 to 14 keep the length in the upper half of a number. */
	n = l->width[F_SYMBOL_LENGTH] == 2 ? gpc_java_u16(bytes, at)
					   : gpc_java_u32(bytes, at) >> 16;
	if (n >= GPC_JAVA_SYMBOL_MAX)
		n = GPC_JAVA_SYMBOL_MAX - 1;
	if (n > got - body && !gpc_java_read(m, addr, bytes, body + n))
		return false;
	memcpy(ret, bytes + body, n);
	ret[n] = '\0';
	return n > 0;
}

bool gpc_java_pool_text(const struct jmem *m, const struct layout *l, uint64_t pool, uint16_t index,
			char *ret)
{
	uint64_t symbol;

	return read_entry(m, l, pool, index, &symbol) && gpc_java_symbol(m, l, symbol, ret);
}

static void read_file(const struct jmem *m, const struct layout *l, uint64_t pool, uint64_t klass,
		      char *ret)
{
	uint64_t at = gpc_java_has(l, F_POOL_SOURCE_FILE)
			      ? pool + (uint32_t)l->field[F_POOL_SOURCE_FILE]
			      : klass + (uint32_t)l->field[F_KLASS_SOURCE_FILE];
	uint16_t index;

	ret[0] = '\0';
	if (!gpc_java_has(l, F_POOL_SOURCE_FILE) && !gpc_java_has(l, F_KLASS_SOURCE_FILE))
		return;
	if (!gpc_java_read(m, at, &index, sizeof index) || !index ||
	    !gpc_java_pool_text(m, l, pool, index, ret))
		ret[0] = '\0';
}

bool gpc_java_method_texts(const struct jmem *m, const struct layout *l,
			   const struct method *method, struct method_texts *ret)
{
	uint64_t klass = 0;

	if (!gpc_java_symbol(m, l, method->class_symbol, ret->class_name) ||
	    !gpc_java_symbol(m, l, method->name_symbol, ret->name) ||
	    !gpc_java_symbol(m, l, method->signature_symbol, ret->signature))
		return false;
	gpc_java_read_u64(m, method->pool + (uint32_t)l->field[F_POOL_HOLDER], &klass);
	read_file(m, l, method->pool, klass, ret->file);
	return ret->signature[0] == '(';
}

/* ---- its lines --------------------------------------------------------------------------- */

static int32_t unsign(uint32_t v)
{
	return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

uint32_t gpc_java_line_of(const uint8_t *table, uint32_t n, uint32_t excluded, int32_t bci)
{
	uint32_t at = 0, value[2];
	int64_t here = 0, line = 0, found = 0;

	while (at < n && table[at]) {
		uint8_t byte = table[at++];

		if (byte != ESCAPE) {
			here += byte >> 3;
			line += byte & 7;
		} else {
			for (int i = 0; i < 2; i++) {
				uint32_t used =
					gpc_java_unsigned5(table + at, n - at, excluded, &value[i]);

				if (!used)
					return (uint32_t)found;
				at += used;
			}
			here += unsign(value[0]);
			line += unsign(value[1]);
		}
		if (here > bci)
			break;
		if (line > 0 && line <= 65535)
			found = line;
	}
	return (uint32_t)found;
}

uint32_t gpc_java_method_line(const struct jmem *m, const struct layout *l,
			      const struct method *method, int32_t bci)
{
	uint8_t table[TABLE_MAX];
	uint32_t n = method->code_size + 64;

	if (bci < 0 || !(method->flags & l->has_line_numbers))
		return 0;
	if (n > sizeof table)
		n = sizeof table;
	n = (uint32_t)gpc_java_read_some(m, method->code + method->code_size, table, n);
	return gpc_java_line_of(table, n, l->unsigned5_excluded, bci);
}
