/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a virtual thread that are in the heap, over a JVM that never was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake_vm.h"

#define MAIN         "pkg/C$$Lambda.main([Ljava/lang/String|)V_0"
#define HOT          "B.spin(J)J_i A.hot(J)J_j "
#define ENTER        "jdk/internal/vm/Continuation.enterSpecial()V_j "
#define WHOLE        HOT HOT MAIN " " ENTER MAIN " call_stub"
#define MARKED       HOT "[frames in the heap] " MAIN " call_stub"
#define NARROW(addr) ((uint32_t)((addr)-FAKE_BASE))

struct world {
	struct fake_vm *v;
	struct fake_cont c;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct fake_jvm *j = fake_jvm_new();

	assert_non_null(w);
	assert_non_null(j);
	fake_cont_make(j, &w->c);
	w->v = fake_vm_new(j);
	assert_int_equal(fake_vm_attach(w->v), GPC_OK);
	assert_true(w->v->vm.heap.is_known);
	w->v->vm.heap.has_short_oops = true;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	fake_vm_free(w->v);
	free(w);
	return 0;
}

static void walk_is(struct fake_vm *v, const char *wanted)
{
	char text[2048] = "";

	assert_int_equal(fake_vm_walk(v, v->jvm->leaf_pc, v->jvm->leaf_sp, v->jvm->leaf_fp),
			 GPC_OK);
	for (uint32_t i = 0; i < v->n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
			 v->frames[i]);
	assert_string_equal(text, wanted);
}

static void test_whole(void **state)
{
	struct world *w = *state;

	walk_is(w->v, WHOLE);
	assert_int_equal(w->v->state.pc, FAKE_NATIVE);
	walk_is(w->v, WHOLE); /* what was learnt is still right */
	assert_true(w->v->vm.continuations.facts.tail == FAKE_TAIL);
}

static void test_an_older_chunk(void **state)
{
	struct world *w = *state;
	uint64_t older = fake_cont_parent(w->v->jvm, &w->c);
	uint64_t fp = w->c.chunk + FAKE_CHUNK + 16 + 32 + 96, last;

	/* The older one ends where the thread began, the newer one at the stub. */
	memcpy(&last, fake_at(w->v->jvm, fp + 8), 8);
	fake_put64(w->v->jvm, older + FAKE_CHUNK + 16 + 32 + 96 + 8, last);
	fake_put64(w->v->jvm, fp + 8, w->c.barrier);
	walk_is(w->v, HOT HOT MAIN " " HOT MAIN " " ENTER MAIN " call_stub");
	/* The newer one is used up. */
	fake_put32(w->v->jvm, w->c.chunk + FAKE_SP, 22);
	fake_put32(w->v->jvm, w->c.chunk + FAKE_BOTTOM, 22);
	walk_is(w->v, WHOLE);
}

static void test_other_heaps(void **state)
{
	struct world *w = *state;
	struct fake_jvm *j = w->v->jvm;
	uint64_t copy;

	/* References of eight bytes */
	w->v->vm.heap.has_short_oops = false;
	fake_put64(j, w->c.continuation + FAKE_TAIL, w->c.chunk);
	walk_is(w->v, WHOLE);
	/* of ZGC */
	w->v->vm.heap.is_coloured = true;
	for (uint32_t bit = 0; bit < 4; bit++) {
		fake_put64(j, w->c.continuation + FAKE_TAIL,
			   w->c.chunk << (13 + bit) | UINT64_C(1) << (12 + bit) | 0x120);
		walk_is(w->v, WHOLE);
	}
	fake_put64(j, w->c.continuation + FAKE_TAIL, w->c.chunk << 16 | 0x3120);
	walk_is(w->v, HOT MAIN " call_stub"); /* no such colour: as null */
	/* The class is in the header. */
	w->v->vm.heap.is_coloured = false;
	w->v->vm.heap.has_klass_in_mark = true;
	fake_put64(j, w->c.continuation + FAKE_TAIL, w->c.chunk);
	copy = w->c.chunk_klass - FAKE_BASE;
	fake_put64(j, w->c.chunk, copy << 42 | 1);
	copy = 0;
	memcpy(&copy, fake_at(j, w->c.continuation + 8), 4);
	fake_put64(j, w->c.continuation, copy << 42 | 1);
	walk_is(w->v, WHOLE);
}

static void test_an_object_that_was_moved(void **state)
{
	struct world *w = *state;
	struct fake_jvm *j = w->v->jvm;
	uint64_t copy = fake_make(j, 32 + 8 * 40);

	memcpy(fake_at(j, copy), fake_at(j, w->c.chunk), 32 + 8 * 40);
	memset(fake_at(j, w->c.chunk + 8), 0xee, 32);
	fake_put64(j, w->c.chunk, copy | 3);
	walk_is(w->v, WHOLE);
}

/* One thing is not as it must be: the rest of the stack stays. */
static void test_marked(void **state)
{
	static const struct {
		bool is_chunk;
		uint32_t at;
	} rows[] = {{false, 8}, {true, 8}, {true, FAKE_SIZE}, {true, FAKE_SP}, {true, FAKE_BOTTOM}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct world *w;

		if (i) {
			tear_down(state);
			set_up(state);
		}
		w = *state;
		fake_put32(w->v->jvm,
			   (rows[i].is_chunk ? w->c.chunk : w->c.continuation) + rows[i].at,
			   0x7ffffff1);
		walk_is(w->v, MARKED);
	}
	tear_down(state);
	set_up(state);
	{
		struct world *w = *state;

		fake_put64(w->v->jvm, w->v->jvm->thread + 48, w->c.entry + 0x100000);
		walk_is(w->v, MARKED);
		fake_put64(w->v->jvm, w->v->jvm->thread + 48, 0);
		walk_is(w->v, MARKED);
		fake_put64(w->v->jvm, w->v->jvm->thread + 48, w->c.entry);
		walk_is(w->v, WHOLE);
		w->v->vm.heap.is_known = false;
		walk_is(w->v, MARKED);
	}
}

/* What was read stays, what is behind it is marked. */
static void test_a_frame_that_is_none(void **state)
{
	struct world *w = *state;

	fake_put64(w->v->jvm, w->c.chunk + FAKE_CHUNK + 16 + 40, 1);
	walk_is(w->v, HOT HOT "[frames in the heap] " MAIN " call_stub");
}

static void test_a_chunk_that_is_its_own_parent(void **state)
{
	struct world *w = *state;

	fake_put32(w->v->jvm, w->c.chunk + FAKE_PARENT, NARROW(w->c.chunk));
	assert_int_equal(fake_vm_walk(w->v, w->v->jvm->leaf_pc, w->v->jvm->leaf_sp,
				      w->v->jvm->leaf_fp),
			 GPC_OK);
	assert_int_equal(w->v->n, FAKE_FRAMES);
	assert_string_equal(w->v->frames[FAKE_FRAMES - 1], "[stack cut]");
}

/* Before 25 the stub itself tells where threads have their entry. */
static void test_the_stub_tells(void **state)
{
	struct world *w = *state;
	uint8_t *code = fake_at(w->v->jvm, w->c.barrier);

	w->v->vm.layout.field[F_THREAD_CONT_ENTRY] = -1;
	memcpy(code, "\x49\x8b\xa7\x30\x00\x00\x00", 7);
	walk_is(w->v, WHOLE);
	assert_int_equal(w->v->vm.continuations.facts.entry, 48);
	w->v->vm.continuations.facts = (struct java_cont_facts){0};
	code[0] = 0x90;
	walk_is(w->v, MARKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_older_chunk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_heaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_object_that_was_moved, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_marked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_frame_that_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_chunk_that_is_its_own_parent, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_stub_tells, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
