/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of one function, in a file of which a symbol names the first only. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/loop.h"
#include "py_fake.h"

#define HDR      PY_FAKE_BASE
#define FDES     (PY_FAKE_BASE + 0x800)
#define FUNCTION (PY_FAKE_BASE + 0x2000) /* 0x100 bytes */
#define OTHER    (PY_FAKE_BASE + 0x3000) /* a function that is none of its pieces */
#define COLD     (PY_FAKE_BASE + 0x4000) /* a large piece, and a small one that it jumps to */
#define COLDER   (PY_FAKE_BASE + 0x8000)
#define END      (PY_FAKE_BASE + 0x8100)

static void put_fde(struct py_fake *f, uint64_t at, uint8_t first)
{
	f->bytes[at - PY_FAKE_BASE + 16] = 0; /* no augmentation */
	f->bytes[at - PY_FAKE_BASE + 17] = first;
}

static void put_jump(struct py_fake *f, uint64_t at, uint64_t to, bool is_conditional)
{
	uint8_t *code = f->bytes + (at - PY_FAKE_BASE);

	if (is_conditional) {
		*code++ = 0x0F;
		*code++ = 0x84;
		at++;
	} else {
		*code++ = 0xE9;
	}
	py_fake_put32(f, at + 1, (uint32_t)(to - at - 5));
}

static void make(struct py_fake *f)
{
	static const uint64_t code[] = {FUNCTION, FUNCTION + 0x100, OTHER, COLD, COLDER, END};
	static const uint8_t head[4] = {1, 0x1B, 0x03, 0x3B};

	py_fake_init(f);
	memset(f->bytes + (FUNCTION - PY_FAKE_BASE), 0x90, END - FUNCTION);
	memcpy(f->bytes, head, sizeof head);
	py_fake_put32(f, HDR + 8, 6);
	for (uint32_t i = 0; i < 6; i++) {
		py_fake_put32(f, HDR + 12 + 8 * i, (uint32_t)(code[i] - HDR));
		py_fake_put32(f, HDR + 16 + 8 * i, (uint32_t)(FDES + 64 * i - HDR));
		put_fde(f, FDES + 64 * i, i == 3 || i == 4 ? 0x0E : 0x41);
	}
	put_jump(f, FUNCTION + 0x10, OTHER, false); /* a tail call */
	put_jump(f, FUNCTION + 0x20, COLD + 0x123, true);
	put_jump(f, COLD + 0x3000, COLDER, false);
	put_jump(f, COLD + 0x3100, FUNCTION + 0x40, false);
	f->places[0] = (struct py_fake_place){"_PyEval_EvalFrameDefault", FUNCTION, 0x100};
	f->places[1] = (struct py_fake_place){".eh_frame_hdr", HDR, 0x100};
}

static void pieces_are_where_its_jumps_lead(void **state)
{
	struct py_fake f;
	struct py_loop l;

	(void)state;
	make(&f);
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 14), &l);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.parts[0].start, FUNCTION);
	assert_int_equal(l.parts[0].end, FUNCTION + 0x100);
	assert_int_equal(l.parts[1].start, COLD);
	assert_int_equal(l.parts[1].end, COLDER);
	assert_int_equal(l.parts[2].start, COLDER);
	assert_int_equal(l.parts[2].end, END);
	assert_false(l.has_tail_calls);
}

static void a_small_one_has_tail_calls(void **state)
{
	struct py_fake f;
	struct py_loop l;

	(void)state;
	make(&f);
	put_fde(&f, FDES + 64 * 3, 0x41); /* the large piece is a function */
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 14), &l);
	assert_int_equal(l.n, 1);
	assert_true(l.has_tail_calls);
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 13), &l);
	assert_false(l.has_tail_calls);
}

static void jumps_of_arm64(void **state)
{
	struct py_fake f;
	struct py_loop l;

	(void)state;
	make(&f);
	f.target.machine = EM_AARCH64;
	memset(f.bytes + (FUNCTION - PY_FAKE_BASE), 0, END - FUNCTION);
	/* b.eq COLD + 0x100; b COLDER + 0x10 (words on from where they stand) */
	py_fake_put32(&f, FUNCTION + 8, 0x54000000 | ((COLD + 0x100 - FUNCTION - 8) / 4) << 5);
	py_fake_put32(&f, COLD + 0x200, 0x14000000 | (COLDER + 0x10 - COLD - 0x200) / 4);
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 14), &l);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.parts[2].start, COLDER);
	/* Backwards. */
	py_fake_put32(&f, COLD + 0x200, 0);
	py_fake_put32(&f, FUNCTION + 8, 0);
	f.places[0].start = COLD;
	f.places[0].bytes = 0x4000;
	put_fde(&f, FDES, 0x0E);
	py_fake_put32(&f, COLD + 0x40,
		      0x14000000 | ((uint32_t)((int64_t)(FUNCTION - COLD - 0x20) / 4) & 0x3FFFFFF));
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 14), &l);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.parts[1].start, FUNCTION);
}

static void without_an_index(void **state)
{
	struct py_fake f;
	struct py_loop l;

	(void)state;
	make(&f);
	f.bytes[0] = 2; /* another version of it */
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 12), &l);
	assert_int_equal(l.n, 1);
	make(&f);
	py_fake_put32(&f, HDR + 8, 0x7FFFFFFF); /* more than it has room for */
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 12), &l);
	assert_int_equal(l.n, 1);
	f.places[1].name = NULL;
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 12), &l);
	assert_int_equal(l.n, 1);
	f.places[0].name = NULL;
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 12), &l);
	assert_int_equal(l.n, 0);
}

/* Code that jumps everywhere costs a bounded time. */
static void work_is_bounded(void **state)
{
	struct py_fake f;
	struct py_loop l;

	(void)state;
	make(&f);
	f.places[0].bytes = 0xF00;
	for (uint64_t at = FUNCTION; at + 6 < FUNCTION + 0xF00; at += 5)
		put_jump(&f, at, OTHER + at % 0x1000, false);
	for (uint64_t at = COLD; at + 6 < COLDER; at += 5)
		put_jump(&f, at, OTHER + at % 0x1000, false);
	put_jump(&f, FUNCTION, COLD + 0x123, false);
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 12), &l);
	assert_true(f.reads <= 4200);
	assert_int_equal(l.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_where_its_jumps_lead),
		cmocka_unit_test(a_small_one_has_tail_calls),
		cmocka_unit_test(jumps_of_arm64),
		cmocka_unit_test(without_an_index),
		cmocka_unit_test(work_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
