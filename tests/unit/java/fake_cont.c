/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_jvm.h"

/* A version that never was. */
#define ENTRY_AT 48 /* of JavaThread */
#define WORDS    40

/* UNSIGNED5 of 20 and later, for numbers below 191. */
static uint8_t small(uint32_t v)
{
	return (uint8_t)(v + 1);
}

struct field {
	const char *name;
	uint32_t offset, flags;
};

/* A class with these members; the last one says that it has a first value. */
static uint64_t klass(struct fake_jvm *j, const char *name, const struct field *fields, uint32_t n,
		      uint64_t super)
{
	uint64_t at = fake_make(j, 96), pool = fake_make(j, 16 + 8 * (n + 2));
	uint64_t array = fake_make(j, 64);
	uint8_t *bytes = fake_at(j, array + 4);
	uint32_t k = 0;

	bytes[k++] = small(n);
	bytes[k++] = small(0);
	for (uint32_t i = 0; i < n; i++) {
		fake_put64(j, pool + 16 + 8 * (i + 1), fake_symbol(j, fields[i].name));
		bytes[k++] = small(i + 1);
		bytes[k++] = small(1);
		bytes[k++] = small(fields[i].offset);
		bytes[k++] = small(2);
		bytes[k++] = small(fields[i].flags);
		if (fields[i].flags & 1)
			bytes[k++] = small(9);
	}
	fake_put32(j, array, k);
	fake_put64(j, at + 24, fake_symbol(j, name));
	fake_put64(j, at + 40, super);
	fake_put32(j, at + 48, FAKE_CHUNK | 1);
	fake_put64(j, at + 56, pool);
	fake_put64(j, at + 64, array);
	return at;
}

static uint64_t object(struct fake_jvm *j, uint64_t klass_at, uint64_t bytes)
{
	uint64_t at = fake_make(j, bytes);

	fake_put64(j, at, 1);
	fake_put32(j, at + 8, (uint32_t)(klass_at - FAKE_BASE));
	return at;
}

static void variable(struct fake_jvm *j, const char *type, const char *name, const char *kind,
		     uint64_t value)
{
	uint64_t at = fake_make(j, 8);

	fake_put64(j, at, value);
	fake_entry(j, type, name, kind, at, true);
}

static void tables(struct fake_jvm *j)
{
	fake_entry(j, "JavaThread", "_cont_entry", "ContinuationEntry*", ENTRY_AT, false);
	fake_entry(j, "Klass", "_super", "Klass*", 40, false);
	fake_entry(j, "Klass", "_layout_helper", "jint", 48, false);
	fake_entry(j, "InstanceKlass", "_constants", "ConstantPool*", 56, false);
	fake_entry(j, "InstanceKlass", "_fieldinfo_stream", "Array<u1>*", 64, false);
	fake_entry(j, "Array<u1>", "_data", "", 4, false);
	fake_entry(j, "oopDesc", "_metadata._compressed_klass", "narrowKlass", 8, false);
	variable(j, "CompressedOops", "_base", "address", FAKE_BASE);
	variable(j, "CompressedOops", "_shift", "int", 0);
	variable(j, "CompressedKlassPointers", "_base", "address", FAKE_BASE);
	variable(j, "CompressedKlassPointers", "_shift", "int", 0);
	variable(j, "JDK_Version", "_current", "JDK_Version", 21);
}

/* Scopes were written for 17. */
static void newer_scopes(struct fake_jvm *j)
{
	uint64_t data;

	memcpy(&data, fake_at(j, j->nmethod + 64), 8);
	for (int i = 0; i < 7; i++)
		(*(uint8_t *)fake_at(j, data + (uint64_t)i))++;
}

static uint64_t enter_special(struct fake_jvm *j)
{
	uint64_t at = fake_blob(j, 40, 4, "native nmethod", 8);

	fake_put64(j, at + 56,
		   fake_method(j, "jdk/internal/vm/Continuation", "enterSpecial", "()V"));
	fake_put32(j, at + 96, 5);
	*(uint8_t *)fake_at(j, fake_code(at) + 27) = 0xe8;
	return fake_code(at) + 32;
}

/* A.hot's frame, then the interpreter's, with distances in place of addresses. */
static uint64_t make_chunk(struct fake_jvm *j, uint64_t chunk_klass, uint64_t last)
{
	uint64_t at = object(j, chunk_klass, FAKE_CHUNK + 8 * WORDS), sp = at + FAKE_CHUNK + 16, fp,
		 constant;

	memcpy(&constant, fake_at(j, j->main_method + 8), 8);
	fake_put64(j, sp - 8, fake_code(j->nmethod) + 32);
	fake_put64(j, sp + 32, 12);
	fake_put64(j, sp + 40, j->interp_pc);
	fp = sp + 32 + 8 * 12;
	fake_put64(j, fp - 64, constant + 16 + 5);
	fake_put64(j, fp - 24, j->main_method);
	fake_put64(j, fp - 8, 4); /* arguments beyond the end */
	fake_put64(j, fp + 8, last);
	fake_put32(j, at + FAKE_SIZE, WORDS);
	fake_put32(j, at + FAKE_SP, 2);
	fake_put32(j, at + FAKE_BOTTOM, (uint32_t)(fp + 16 - at - FAKE_CHUNK) / 8);
	return at;
}

void fake_cont_make(struct fake_jvm *j, struct fake_cont *ret)
{
	static const struct field tail[] = {{"scope", 12, 0}, {"tail", FAKE_TAIL, 1}, {"x", 16, 0}};
	static const struct field chunk[] = {{"parent", FAKE_PARENT, 0},
					     {"size", FAKE_SIZE, 1},
					     {"sp", FAKE_SP, 0},
					     {"bottom", FAKE_BOTTOM, 0}};
	uint64_t base = klass(j, "jdk/internal/vm/Continuation", tail, 3, 0), last, stub;
	uint64_t own = klass(j, "java/lang/VirtualThread$VThreadContinuation", tail, 1, base);

	tables(j);
	newer_scopes(j);
	last = enter_special(j);
	stub = fake_blob(j, 26, 3, "StubRoutines (continuation stubs)", 0);
	ret->barrier = fake_code(stub) + 16;
	ret->chunk_klass = klass(j, "jdk/internal/vm/StackChunk", chunk, 4, 0);
	ret->chunk = make_chunk(j, ret->chunk_klass, last);
	ret->continuation = object(j, own, 32);
	fake_put32(j, ret->continuation + FAKE_TAIL, (uint32_t)(ret->chunk - FAKE_BASE));
	/* The leaf returns to the stub; above lie the entry and enterSpecial's frame. */
	ret->entry = j->leaf_sp + 48;
	fake_put64(j, j->leaf_sp + 32, 12); /* as in the heap */
	fake_put64(j, j->leaf_sp + 40, ret->barrier);
	fake_put64(j, ret->entry, 0);
	fake_put64(j, ret->entry + 8, ret->continuation);
	fake_put64(j, ret->entry + 48, j->interp_fp);
	fake_put64(j, ret->entry + 56, j->interp_pc);
	fake_put64(j, j->thread + ENTRY_AT, ret->entry);
}

uint64_t fake_cont_parent(struct fake_jvm *j, const struct fake_cont *c)
{
	uint64_t at = make_chunk(j, c->chunk_klass, c->barrier);

	fake_put32(j, c->chunk + FAKE_PARENT, (uint32_t)(at - FAKE_BASE));
	return at;
}
