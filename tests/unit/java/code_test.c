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

static void test_jumps_back(void **state)
{
	(void)state;
	/* jl -16 (to 14 before), jmp -128, jl rel32 -512 */
	assert_true(gpc_java_code_jumps_back(BYTES(0x90, 0x7c, 0xf0), 10, 100));
	assert_false(gpc_java_code_jumps_back(BYTES(0x90, 0x7c, 0xf0), 14, 100));
	assert_false(gpc_java_code_jumps_back(BYTES(0x90, 0x7c, 0xf0), 1, 10));
	assert_true(gpc_java_code_jumps_back(BYTES(0xeb, 0x80), 100, 200));
	assert_true(gpc_java_code_jumps_back(BYTES(0x0f, 0x8c, 0, 0xfe, 0xff, 0xff), 8, 1024));
	assert_true(gpc_java_code_jumps_back(BYTES(0xe9, 0, 0xfe, 0xff, 0xff), 8, 1024));
	/* Forward; cut; nothing */
	assert_false(gpc_java_code_jumps_back(BYTES(0x7c, 0x10), 0, 100));
	assert_false(gpc_java_code_jumps_back(BYTES(0x0f, 0x8c, 0, 0xfe), 8, 1024));
	assert_false(gpc_java_code_jumps_back(NULL, 0, 0, 1024));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologues),
		cmocka_unit_test(test_epilogues),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_jumps_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
