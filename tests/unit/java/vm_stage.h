/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of walks: a collector attached to a fake JVM, and its answer in one line. After
 * cmocka.h. */
#ifndef GPC_TESTS_VM_STAGE_H
#define GPC_TESTS_VM_STAGE_H

#include <stdio.h>
#include <string.h>

#include "fake_vm.h"

static inline int set_up(void **state)
{
	struct fake_vm *v = fake_vm_new(fake_jvm_new());

	assert_non_null(v);
	assert_int_equal(fake_vm_attach(v), GPC_OK);
	*state = v;
	return 0;
}

static inline int tear_down(void **state)
{
	fake_vm_free(*state);
	return 0;
}

static inline void frames_are(const struct fake_vm *v, const char *wanted)
{
	char text[1024] = "";

	for (uint32_t i = 0; i < v->n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
			 v->frames[i]);
	assert_string_equal(text, wanted);
}

#define vm_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

#endif
