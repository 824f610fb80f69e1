/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detailed.h"

static void pprof_brings_everything_back(void **state)
{
	struct gpc_profile *p = gpc_detailed_new(), *back;
	struct gpc_text bytes = gpc_text_of(p, "pprof");
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_frame_text text = {.struct_size = sizeof text};
	struct gpc_event event = {.struct_size = sizeof event};
	uint64_t cursor = 0;

	(void)state;
	assert_int_equal(gpc_decode(bytes.bytes.at, bytes.bytes.n, NULL, &back, NULL), GPC_OK);
	gpc_profile_info(back, &info);
	assert_int_equal(info.n_events, 2);
	assert_int_equal(info.begin_unix_ns, INT64_C(1770091506000000000));
	assert_int_equal(info.duration_ns, UINT64_C(60000000000));
	assert_int_equal(info.samples, 19);
	gpc_profile_event(back, 1, &event);
	assert_string_equal(event.name, "page-faults");
	assert_string_equal(event.unit, "count");
	gpc_profile_next(back, &cursor, &stack);
	gpc_profile_next(back, &cursor, &stack);
	gpc_profile_next(back, &cursor, &stack);
	assert_int_equal(stack.value, 7);
	assert_int_equal(stack.pid, 70);
	assert_int_equal(stack.tid, 72);
	assert_string_equal(stack.thread, "two");
	assert_string_equal(stack.pod, "web-1");
	assert_string_equal(stack.pod_namespace, "shop");
	gpc_profile_frame(back, stack.frames[0], &text);
	assert_int_equal(text.address, 0x2000);
	assert_string_equal(text.module, "/usr/lib/libx.so");
	assert_string_equal(text.build_id, "c0ffee");
	gpc_assert_col(back, GPC_DETAILED_COL);
	vec_deinit(&bytes.bytes);
	gpc_profile_put(back);
	gpc_profile_put(p);
}

static void decode(const void *bytes, size_t n, gpc_status want, const char *error)
{
	struct gpc_err err = {0};
	struct gpc_profile *p = NULL;
	gpc_status st = gpc_decode_pprof(bytes, n, &p, &err);

	assert_int_equal(st, want);
	if (st < 0)
		assert_non_null(strstr(err.text, error));
	else
		gpc_profile_put(p);
}

/* A sample type and a sample, by hand: protobuf's rules, not our writer's. */
static void bad_bytes_are_told(void **state)
{
	(void)state;
	decode("", 0, GPC_E_CORRUPT, "expected a profile, not nothing");
	decode("\x0a\x02\x08\x01", 4, GPC_OK, "");
	decode("\x0a\x05\x08\x01", 4, GPC_E_CORRUPT, "byte 2: expected as many bytes");
	decode("\x0a", 1, GPC_E_CORRUPT, "byte 1: expected more of a number");
	decode("\x0f", 1, GPC_E_CORRUPT, "byte 1: expected a field of a known wire type");
	decode("\x08\x01", 2, GPC_E_CORRUPT, "byte 1: expected a text or a message");
	decode("\x0a\x00\x12\x02\x10\x05", 6, GPC_OK, "");
	decode("\x0a\x00\x12\x00", 4, GPC_E_CORRUPT,
	       "sample at byte 4: expected one value for each sample type");
	decode("\x0a\x00\x12\x04\x08\x09\x10\x05", 8, GPC_E_CORRUPT,
	       "sample at byte 4: expected locations that the file has");
	decode("\x0a\x00\x12\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15, GPC_E_CORRUPT,
	       "expected values that are not negative");
	decode("\x1f\x8b\x08\x00", 4, GPC_E_CORRUPT, "the file is cut short");
	decode("\x1f\x8b\x07\x00\x00\x00\x00\x00\x00\x00", 10, GPC_E_CORRUPT, "gzip: byte");
}

/* Frames of a location times locations of a sample: small files, large stacks. */
static void stacks_have_a_bound(void **state)
{
	struct gpc_text file = {0};
	/* a type, a function 1, then a location 1 of 300 lines of it */
	static const uint8_t head[] = {0x0a, 0x00, 0x2a, 0x02, 0x08, 0x01,
				       0x22, 0xd2, 0x09, 0x08, 0x01};
	static const uint8_t sample[] = {0x12, 0xf1, 0x04, 0x0a, 0xec, 0x04};

	(void)state;
	gpc_text_keep(&file, head, sizeof head);
	for (int i = 0; i < 308; i++)
		gpc_text_keep(&file, "\x22\x02\x08\x01", 4);
	gpc_text_keep(&file, sample, sizeof sample);
	for (int i = 0; i < 620; i++)
		gpc_text_keep(&file, "\x01", 1);
	gpc_text_keep(&file, "\x10\x05", 2);
	decode(file.bytes.at, file.bytes.n, GPC_E_BUDGET, "a stack of more than 65535 frames");
	vec_deinit(&file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pprof_brings_everything_back),
		cmocka_unit_test(bad_bytes_are_told),
		cmocka_unit_test(stacks_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
