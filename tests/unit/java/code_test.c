/* SPDX-License-Identifier: Apache-2.0 */
/* Code as C1 and C2 make it, byte for byte from JDK 8, 17 and 25. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "code.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, (uint32_t)sizeof((const uint8_t[]){__VA_ARGS__})

static void prologue(const uint8_t *code, uint32_t n, uint32_t pc, int32_t ra, int32_t fp)
{
	struct frame_shape s = {-1, -1};

	assert_true(gpc_java_code_prologue(code, n, pc, &s));
	assert_int_equal(s.ra, ra);
	assert_int_equal(s.fp, fp);
}

/* mov [rsp-0x14000], eax; push rbp; mov rbp, rsp; sub rsp, 0x30 */
#define BANG                                                                                      \
	BYTES(0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, \
	      0x30, 0x90)
/* sub rsp, 0x18; mov [rsp+0x10], rbp */
#define SMALL BYTES(0x48, 0x81, 0xec, 0x18, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x90)

static void test_prologues(void **state)
{
	struct frame_shape s;

	(void)state;
	prologue(BANG, 0, 0, -1);
	prologue(BANG, 7, 0, -1);
	prologue(BANG, 8, 8, 0);
	prologue(BANG, 11, 8, 0);
	prologue(BANG, 15, 0x38, 0x30);
	prologue(SMALL, 7, 0x18, -1);
	prologue(SMALL, 12, 0x18, 0x10);
	/* Within an instruction; beyond what is there; something unknown. */
	assert_false(gpc_java_code_prologue(BANG, 3, &s));
	assert_false(gpc_java_code_prologue(BYTES(0x55), 2, &s));
	assert_false(gpc_java_code_prologue(BYTES(0x0f, 0x0b), 2, &s));
	/* A frame that shrinks */
	assert_false(gpc_java_code_prologue(BYTES(0x48, 0x83, 0xec, 0xf0), 4, &s));
}

static void epilogue(const uint8_t *code, uint32_t n, int32_t ra, int32_t fp)
{
	struct frame_shape s = {-1, -2};

	assert_true(gpc_java_code_epilogue(code, n, &s));
	assert_int_equal(s.ra, ra);
	assert_int_equal(s.fp, fp);
}

static void test_epilogues(void **state)
{
	struct frame_shape s;

	(void)state;
	epilogue(BYTES(0xc3), 0, -1);
	epilogue(BYTES(0x5d, 0xc3), 8, 0);
	/* 17: pop rbp; cmp rsp, [r15+0x350]; ja; ret */
	epilogue(BYTES(0x5d, 0x49, 0x3b, 0xa7, 0x50, 3, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3), 8, 0);
	epilogue(BYTES(0x49, 0x3b, 0x67, 0x50, 0x0f, 0x87, 1, 0, 0, 0, 0xc3), 0, -1);
	epilogue(BYTES(0x0f, 0x87, 1, 0, 0, 0, 0xc3), 0, -1);
	/* 11: mov r10, [r15+0x108]; test [r10], eax; ret */
	epilogue(BYTES(0x4d, 0x8b, 0x97, 8, 1, 0, 0, 0x41, 0x85, 0x02, 0xc3), 0, -1);
	/* 8: pop rbp; test [rip+x], eax; ret */
	epilogue(BYTES(0x5d, 0x85, 0x05, 1, 2, 3, 4, 0xc3), 8, 0);
	/* The frame is still there, or this is something else. */
	assert_false(gpc_java_code_epilogue(BYTES(0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3), &s));
	assert_false(gpc_java_code_epilogue(BYTES(0x5d), &s));
	assert_false(gpc_java_code_epilogue(BYTES(0x5d, 0x0f, 0x87, 1), &s));
	assert_false(gpc_java_code_epilogue(BYTES(0x90, 0xc3), &s));
}

static void test_calls(void **state)
{
	(void)state;
	assert_true(gpc_java_code_is_call(BYTES(0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4)));
	assert_true(gpc_java_code_is_call(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd1)));
	assert_true(gpc_java_code_is_call(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd2)));
	/* call [rax+0x40] */
	assert_true(gpc_java_code_is_call(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x40)));
	assert_false(gpc_java_code_is_call(BYTES(0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4)));
	/* jmp rax */
	assert_false(gpc_java_code_is_call(BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0)));
	assert_false(gpc_java_code_is_call(NULL, 0));
}

static void test_polls(void **state)
{
	(void)state;
	assert_true(gpc_java_code_is_poll(BYTES(0x85, 0x05, 1, 2, 3, 4)));
	assert_true(gpc_java_code_is_poll(BYTES(0x85, 0x00)));
	assert_true(gpc_java_code_is_poll(BYTES(0x41, 0x85, 0x02)));
	assert_true(gpc_java_code_is_poll(BYTES(0x41, 0x85, 0x45, 0x00)));
	assert_true(gpc_java_code_is_poll(BYTES(0x49, 0x3b, 0x67, 0x28)));
	assert_true(gpc_java_code_is_poll(BYTES(0x49, 0x3b, 0xa7, 0x28, 1, 0, 0)));
	/* test eax, eax; test [r10], ecx; test [rsp], eax */
	assert_false(gpc_java_code_is_poll(BYTES(0x85, 0xc0)));
	assert_false(gpc_java_code_is_poll(BYTES(0x41, 0x85, 0x0a)));
	assert_false(gpc_java_code_is_poll(BYTES(0x85, 0x04, 0x24)));
	assert_false(gpc_java_code_is_poll(BYTES(0x41, 0x85)));
	assert_false(gpc_java_code_is_poll(NULL, 0));
}

static void test_lengths(void **state)
{
	/* objdump -d agrees */
	static const struct {
		uint8_t n, bytes[12];
	} rows[] = {
		{1, {0x55}},
		{3, {0x48, 0x89, 0xe5}},
		{4, {0x48, 0x83, 0xec, 0x20}},
		{7, {0x48, 0x81, 0xec, 1, 2, 3, 4}},
		{7, {0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff}},
		{10, {0x49, 0xba, 0x2d, 0x7f, 0x95, 0x4c, 0x2d, 0xf4, 0x51, 0x58}}, /* movabs */
		{4, {0x4d, 0x0f, 0xaf, 0xc2}},                                      /* imul */
		{7, {0x4d, 0x8b, 0x97, 8, 1, 0, 0}},
		{3, {0x41, 0x85, 0x02}},
		{6, {0x85, 0x05, 1, 2, 3, 4}},
		{6, {0x0f, 0x8c, 0, 0xfe, 0xff, 0xff}},
		{2, {0x7c, 0xf0}},
		{5, {0xe8, 1, 2, 3, 4}},
		{4, {0xc5, 0xfd, 0x6f, 0x00}},          /* vmovdqa */
		{5, {0xc4, 0xe2, 0x7d, 0x58, 0xc0}},    /* vpbroadcastd */
		{6, {0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1}}, /* vextracti128 */
		{6, {0x62, 0xf1, 0x7d, 0x48, 0x6f, 0x00}},
		{3, {0xc5, 0xf8, 0x77}},
		{5, {0x66, 0x0f, 0x6f, 0x04, 0x24}},
		{8, {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
		{5, {0x66, 0xc7, 0x00, 1, 2}},
		{3, {0xf6, 0xc1, 1}},
		{3, {0x48, 0xf7, 0xd8}},
		{5, {0x41, 0x83, 0x7c, 0x24, 8}}, /* cut below */
	};
	uint32_t last = sizeof rows / sizeof *rows - 1;

	(void)state;
	for (uint32_t i = 0; i < last; i++) {
		assert_int_equal(gpc_java_code_length(rows[i].bytes, rows[i].n), rows[i].n);
		assert_int_equal(gpc_java_code_length(rows[i].bytes, 12), rows[i].n);
		assert_int_equal(gpc_java_code_length(rows[i].bytes, rows[i].n - 1u), 0);
	}
	assert_int_equal(gpc_java_code_length(rows[last].bytes, rows[last].n), 0);
	assert_int_equal(gpc_java_code_length(NULL, 0), 0);
}

static void test_registers(void **state)
{
	enum { AX = 1, CX = 2, DX = 4, R8 = 0x100, R10 = 0x400, R11 = 0x800 };
	static const struct {
		uint8_t n, bytes[10];
		uint32_t writes, compared;
	} rows[] = {
		{3, {0x41, 0xff, 0xc3}, R11, 0},                   /* inc r11d */
		{4, {0x41, 0x83, 0xc3, 0x10}, R11, 0},             /* add r11d, 16 */
		{3, {0x45, 0x3b, 0xd8}, 0, R11 | R8},              /* cmp r11d, r8d */
		{3, {0x45, 0x39, 0xc3}, 0, R11 | R8},              /* the other way */
		{3, {0x83, 0xf9, 5}, 0, CX},                       /* cmp ecx, 5 */
		{2, {0x3c, 5}, 0, AX},                             /* cmp al, 5 */
		{5, {0x44, 0x3b, 0x54, 0x24, 0x30}, 0, R10},       /* cmp r10d, [rsp+48] */
		{3, {0x45, 0x33, 0xdb}, R11, 0},                   /* xor r11d, r11d */
		{6, {0x41, 0xbb, 1, 0, 0, 0}, R11, 0},             /* mov r11d, 1 */
		{10, {0x49, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, R8, 0}, /* movabs r8 */
		{3, {0x4d, 0x8b, 0xd0}, R10, 0},                   /* mov r10, r8 */
		{5, {0x4c, 0x89, 0x54, 0x24, 0x20}, 0, 0},         /* mov [rsp+32], r10 */
		{4, {0x45, 0x8d, 0x43, 1}, R8, 0},                 /* lea r8d, [r11+1] */
		{4, {0x4d, 0x0f, 0xaf, 0xc2}, R8 | R10, 0},        /* imul r8, r10: at least */
		{3, {0x49, 0xf7, 0xea}, AX | DX, 0},               /* imul r10 */
		{2, {0x48, 0x99}, AX | DX, 0},                     /* cqo */
		{2, {0x7c, 0xfa}, 0, 0},                           /* jl */
		{6, {0x0f, 0x8c, 0, 0, 0, 0}, 0, 0},               /* jl */
		{3, {0x41, 0x58, 0x90}, R8, 0},                    /* pop r8 */
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(gpc_java_code_writes(rows[i].bytes, rows[i].n), rows[i].writes);
		assert_int_equal(gpc_java_code_compared(rows[i].bytes, rows[i].n),
				 rows[i].compared);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologues), cmocka_unit_test(test_epilogues),
		cmocka_unit_test(test_calls),     cmocka_unit_test(test_polls),
		cmocka_unit_test(test_lengths),   cmocka_unit_test(test_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
