/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "program/progress.h"

/* The library is not part of this test. */
__attribute__((weak)) const char *gpc_core_get(struct gpc_core *core, const char *name)
{
	(void)core;
	(void)name;
	return NULL;
}

__attribute__((weak)) int64_t gpc_core_get_int(struct gpc_core *core, const char *name)
{
	(void)core;
	(void)name;
	return 0;
}

static const char *text_of(struct gpc_progress p, struct gpc_core_state state, uint64_t now_ns)
{
	static char text[200];

	gpc_progress_text(&p, &state, now_ns, text, sizeof text);
	return text;
}

static void texts(void **state)
{
	struct gpc_progress p = {0};
	struct gpc_core_state s = {.window = 2,
				   .is_running = 1,
				   .end_ns = 60 * GPC_SECOND_NS,
				   .samples = 1234,
				   .hz = 11,
				   .processes = 321};

	(void)state;
	assert_string_equal(text_of(p, s, 12 * GPC_SECOND_NS + 1),
			    "Sampling CPU at 11 Hz, 48 s left, 1234 samples, 321 processes");
	p.is_continuous = true;
	assert_string_equal(
		text_of(p, s, 60 * GPC_SECOND_NS + 1),
		"Session 3: Sampling CPU at 11 Hz, 0 s left, 1234 samples, 321 processes");
	p.is_allocation = true;
	assert_memory_equal(text_of(p, s, 0), "Session 3: Sampling allocations, 60 s", 37);
	s.is_running = 0;
	assert_string_equal(text_of(p, s, 0), "Finishing the profile");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
