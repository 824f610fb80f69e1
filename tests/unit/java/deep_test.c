/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of compiled methods, of which all is known: what is read of them, and when again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "vm_stage.h"

#define DEEP 6

/* DEEP frames of A.hot below, one called by the other, each with B.spin in it. */
static gpc_status walk_deep(struct fake_vm *v)
{
	struct fake_jvm *j = v->jvm;
	uint64_t sp = j->leaf_sp;

	for (int i = 0; i < DEEP; i++, sp -= 48) {
		fake_put64(j, sp - 16, 0x1234);
		fake_put64(j, sp - 8, j->leaf_pc + 12);
	}
	v->copy_bytes = 1024;
	j->reads = 0;
	return fake_vm_walk(v, j->leaf_pc, sp, 1);
}

static void deep_frames_are(const struct fake_vm *v, const char *above)
{
	char text[1024] = "B.spin(J)J_i A.hot(J)J_j ";

	for (int i = 0; i < DEEP; i++)
		strcat(text, above);
	frames_are(v, strcat(text, "pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub"));
}

/* What is known of a stack that was copied is not read again; the one read is the copy. */
static void test_nothing_is_read_again(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(walk_deep(v), GPC_OK);
		deep_frames_are(v, "B.spin(J)J_i A.hot(J)J_j ");
		assert_int_equal(v->state.sp, j->entry_fp + 16);
	}
	assert_int_equal(j->reads, 1);
	/* Names of another epoch are made anew. */
	v->writer.epoch++;
	v->n_made = 0;
	walk_deep(v);
	deep_frames_are(v, "B.spin(J)J_i A.hot(J)J_j ");
	assert_int_equal(v->n_made, 4);
	/* No room: cut where it ends. */
	v->room = 8;
	assert_int_equal(walk_deep(v), GPC_OK);
	assert_int_equal(v->n, 8);
	assert_string_equal(v->frames[7], "[stack cut]");
}

/* The callers' code was thrown away, and other code lies there, with calls at the same
 * places: it is not taken for the old one for longer than a look is good for. */
static void test_callers_are_looked_at_again(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	for (int i = 0; i < 3; i++)
		walk_deep(v);
	fake_put32(j, j->nmethod_id, 78);
	fake_put64(j, j->nmethod + 56, j->main_method);
	j->now += GPC_JAVA_RECENT_NS - 1;
	walk_deep(v);
	deep_frames_are(v, "B.spin(J)J_i A.hot(J)J_j ");
	j->now++;
	walk_deep(v);
	assert_string_equal(v->frames[0], "pkg/C$$Lambda.main([Ljava/lang/String|)V_j");
	for (uint32_t i = 0; i < v->n; i++)
		assert_null(strstr(v->frames[i], "hot"));
	/* What was there for long counts for longer. */
	j->now += 20 * GPC_JAVA_RECENT_MAX_NS;
	j->now -= j->now % GPC_JAVA_RECENT_MAX_NS;
	walk_deep(v);
	fake_put32(j, j->nmethod_id, 79);
	fake_put64(j, j->nmethod + 56, j->hot);
	j->now += GPC_JAVA_RECENT_MAX_NS - 1;
	walk_deep(v);
	assert_string_equal(v->frames[1], "pkg/C$$Lambda.main([Ljava/lang/String|)V_j");
	j->now++;
	walk_deep(v);
	deep_frames_are(v, "B.spin(J)J_i A.hot(J)J_j ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		vm_test(test_nothing_is_read_again),
		vm_test(test_callers_are_looked_at_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
