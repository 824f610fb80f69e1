/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the memory of a JVM that never was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "vm_stage.h"

#define SP_OF(j) ((j)->leaf_sp)

static const char whole[] = "B.spin(J)J_i A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 "
			    "call_stub";

static void test_layout(void **state)
{
	struct fake_vm *v = *state;
	const struct layout *l = &v->vm.layout;

	assert_int_equal(l->major, 17);
	assert_int_equal(l->field[F_NM_COMPILE_ID], 96);
	assert_int_equal(l->field[F_THREAD_CONT_ENTRY], -1);
	assert_int_equal(l->size[T_NMETHOD], 112);
	assert_int_equal(v->vm.heaps.n, 1);
	assert_int_equal(v->vm.heaps.at[0].from, FAKE_CODE);
}

static void test_whole_stack(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_OK);
	frames_are(v, whole);
	assert_int_equal(v->state.pc, FAKE_NATIVE);
	assert_int_equal(v->state.sp, j->entry_fp + 16);
	assert_int_equal(v->state.is_leaf, 0);
}

static void test_remembered(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t first;

	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	first = j->reads;
	j->reads = 0;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	assert_true(j->reads < 12 && j->reads < first / 2);
	/* Names of another epoch are made anew. */
	v->writer.epoch++;
	v->n_made = 0;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	assert_int_equal(v->n_made, 4);
}

/* The method was thrown away and another one lies there. */
static void test_compile_id(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	/* Read, then looked at again. */
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	fake_put32(j, j->nmethod_id, 78);
	fake_put64(j, j->nmethod + 56, j->main_method);
	/* It is looked at again after a while only. */
	j->now += GPC_JAVA_RECENT_NS - 1;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	j->now++;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, "pkg/C$$Lambda.main([Ljava/lang/String|)V_j "
		      "pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
}

/* A class was unloaded, and one of the same shape has its memory: all addresses are
 * the same, only the names are others. */
static void test_class_unloading(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t constant, pool, klass;

	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	memcpy(&constant, fake_at(j, j->main_method + 8), 8);
	memcpy(&pool, fake_at(j, constant), 8);
	memcpy(&klass, fake_at(j, pool), 8);
	fake_put64(j, klass + 24, fake_symbol(j, "pkg/Next"));
	j->now += GPC_JAVA_RECENT_NS;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, "B.spin(J)J_i A.hot(J)J_j pkg/Next.main([Ljava/lang/String|)V_0 call_stub");
	fake_put64(j, pool + 16 + 8, fake_symbol(j, "run"));
	j->now += GPC_JAVA_RECENT_NS;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, "B.spin(J)J_i A.hot(J)J_j pkg/Next.run([Ljava/lang/String|)V_0 call_stub");
	fake_put64(j, pool + 16 + 16, fake_symbol(j, "()V"));
	j->now += GPC_JAVA_RECENT_NS;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, "B.spin(J)J_i A.hot(J)J_j pkg/Next.run()V_0 call_stub");
	/* Its memory was given back: the frame is no longer one of a method. */
	fake_put64(j, j->main_method + 8, 0);
	j->now += GPC_JAVA_RECENT_NS;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	assert_true(v->n < 4);
}

static void test_c1_and_where_inlining_ends(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	*(uint8_t *)fake_at(j, j->nmethod + 100) = 2;
	fake_vm_walk(v, j->leaf_pc + 20, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_1 pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
}

/* What comes from an AOT cache has other names. */
static void test_names_of_an_aot_cache(void **state)
{
	static const char stubs[] = "initial_blob (stub gen)", adapter[] = "LLI";
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t blob = j->call_stub_return - 64 - 240, name = fake_make(j, sizeof stubs);
	struct blob b;

	memcpy(fake_at(j, name), stubs, sizeof stubs);
	fake_put64(j, blob + 8, name);
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	assert_int_equal(v->state.pc, FAKE_NATIVE);
	memcpy(fake_at(j, name), adapter, sizeof adapter);
	assert_true(gpc_java_blob_read(&v->vm.mem, &v->vm.layout, blob, &b));
	assert_int_equal(b.kind, BLOB_RUNTIME);
	v->vm.layout.field[F_BLOB_KIND] = 22;
	*(uint8_t *)fake_at(j, blob + 22) = 3;
	assert_true(gpc_java_blob_read(&v->vm.mem, &v->vm.layout, blob, &b));
	assert_int_equal(b.kind, BLOB_FRAMELESS);
}

/* The call that returns to 32 leads to a stub behind the code, which has no frame. */
static void test_stub_of_a_call(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t begin = j->leaf_pc - 20, sp = j->leaf_sp - 8;

	fake_put32(j, begin + 28, 100 - 32);
	fake_put64(j, sp, begin + 32);
	fake_vm_walk(v, begin + 100, sp, j->leaf_fp);
	frames_are(v, whole);
	fake_vm_walk(v, begin + 110, sp, j->leaf_fp);
	frames_are(v, whole);
	/* It leads elsewhere: what is executed is code of the method itself. */
	fake_put32(j, begin + 28, 60 - 32);
	fake_vm_walk(v, begin + 110, sp, j->leaf_fp);
	assert_string_equal(v->frames[0], "A.hot(J)J_j");
}

/* A jump from begin + 44 back to begin + 25: a loop. Zeros are instructions of two bytes. */
static void make_loop(struct fake_jvm *j, uint64_t begin)
{
	memcpy(fake_at(j, begin + 32), "\x41\x85\x03\x90", 4); /* test [r11], eax; nop */
	memcpy(fake_at(j, begin + 44), "\x7c\xeb", 2);
	*(uint8_t *)fake_at(j, begin + 59) = 0xe8; /* call */
}

/* The entry behind it is hot's, but the code jumps back to before the one of spin. */
static void test_loop_with_its_poll_behind(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t begin = j->leaf_pc - 20;

	make_loop(j, begin);
	fake_vm_walk(v, begin + 40, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	fake_vm_walk(v, begin + 50, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
}

/* What was followed of methods: the JVM does not change their branches, tests do. */
static void forget(struct fake_vm *v)
{
	gpc_java_flows_deinit(&v->vm.flows);
	memset(&v->vm.flows, 0, sizeof v->vm.flows);
	gpc_java_flows_init(&v->vm.flows);
}

/* A method is followed once; a place in another one takes nothing away from it, eight do. */
static void test_methods_are_followed_once(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t begin = j->leaf_pc - 20;
	struct java_flows *f = &v->vm.flows;
	struct blob b = {.code_begin = begin, .compile_id = 7};

	make_loop(j, begin);
	fake_vm_walk(v, begin + 40, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	assert_non_null(f->at[0]);
	assert_int_equal(f->at[0]->code_begin, begin);
	*(uint8_t *)fake_at(j, begin + 45) = 0xf6; /* not looked at again */
	fake_vm_walk(v, begin + 42, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	assert_null(f->at[1]);
	/* Another compilation at the same place is another method. */
	b.compile_id = f->at[0]->compile_id + 1;
	assert_null(gpc_java_flows_find(f, &b));
	for (int i = 0; i < GPC_JAVA_FLOWS; i++, b.compile_id++) {
		struct java_followed *old =
			gpc_java_flows_put(f, &b, calloc(1, sizeof(struct java_followed)));

		assert_int_equal(old != NULL, i == GPC_JAVA_FLOWS - 1);
		gpc_java_followed_free(old);
		assert_non_null(gpc_java_flows_find(f, &b));
	}
	fake_vm_walk(v, begin + 43, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
}

/* A loop without a poll, between an entry of hot's and one of spin's: it may be either's. */
static void test_loop_without_a_poll(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t begin = j->leaf_pc - 20, pcs;
	int32_t offset;

	memcpy(&offset, fake_at(j, j->nmethod + 84), 4);
	pcs = j->nmethod + (uint64_t)(int64_t)offset;
	fake_put32(j, pcs + 20, 1);
	fake_put32(j, pcs + 36, 4);
	fake_vm_walk(v, begin + 40, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	make_loop(j, begin);
	*(uint8_t *)fake_at(j, begin + 45) = 0xf6; /* to 36, behind the poll */
	forget(v);
	fake_vm_walk(v, begin + 42, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
	fake_vm_walk(v, begin + 50, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	/* A larger one around it that has both does not tell; one with the one behind does. */
	memcpy(fake_at(j, begin + 70), "\x7c\xd1", 2); /* to 25 */
	forget(v);
	fake_vm_walk(v, begin + 38, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
	*(uint8_t *)fake_at(j, begin + 71) = 0xdc; /* to 36 */
	forget(v);
	fake_vm_walk(v, begin + 40, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
}

/* Entries that are no safepoints are of the very instruction before them. */
static void test_loop_with_an_entry_for_each_instruction(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t begin = j->leaf_pc - 20;

	make_loop(j, begin);
	*(uint8_t *)fake_at(j, begin + 59) = 0; /* no call: an entry of another kind */
	fake_vm_walk(v, begin + 40, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
	fake_vm_walk(v, begin + 30, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	/* The instruction that an entry stands at is its own, if that is not what a call
	 * returns to. */
	*(uint8_t *)fake_at(j, begin + 27) = 0;
	fake_vm_walk(v, begin + 32, j->leaf_sp, j->leaf_fp);
	frames_are(v, whole);
	fake_vm_walk(v, begin + 33, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
	/* Or the JVM's flag tells it. */
	*(uint8_t *)fake_at(j, begin + 59) = 0xe8;
	v->vm.non_safepoints = fake_make(j, 8);
	*(uint8_t *)fake_at(j, v->vm.non_safepoints) = 1;
	fake_vm_walk(v, begin + 42, j->leaf_sp, j->leaf_fp);
	frames_are(v, "A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
}

static void test_lines_and_modifiers(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	v->options.line_numbers = JAVA_LINES_OF_FUNCTION;
	v->options.method_modifiers = 1;
	fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp);
	frames_are(v, "public static B.spin:7(J)J_i public static A.hot:9(J)J_j "
		      "public static pkg/C$$Lambda.main:9([Ljava/lang/String|)V_0 call_stub");
	assert_string_equal(v->file, "Source.java");
}

/* Before push, between push and sub: nothing inlined is executed yet; and in an epilogue. */
static void test_frame_being_made(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t begin = j->leaf_pc - 20;
	static const char made[] =
		"A.hot(J)J_j pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub";

	/* sp points to the return address: fp is still the caller's. */
	assert_int_equal(fake_vm_walk(v, begin, j->leaf_sp + 40, j->interp_fp), GPC_OK);
	frames_are(v, made);
	assert_int_equal(fake_vm_walk(v, begin + 1, j->leaf_sp + 32, 1), GPC_OK);
	frames_are(v, made);
	*(uint8_t *)fake_at(j, begin + 24) = 0x5d;
	*(uint8_t *)fake_at(j, begin + 25) = 0xc3;
	assert_int_equal(fake_vm_walk(v, begin + 24, j->leaf_sp + 32, 1), GPC_OK);
	frames_are(v, whole);
	assert_int_equal(fake_vm_walk(v, begin + 25, j->leaf_sp + 40, j->interp_fp), GPC_OK);
	frames_are(v, whole);
}

/* A frame of A.hot below, whose return address was replaced by the handler's. */
static void test_deoptimized(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t begin = j->leaf_pc - 20;

	fake_put64(j, j->leaf_sp - 16, 0x1234);
	fake_put64(j, j->leaf_sp - 8, begin + 128);
	fake_put64(j, j->leaf_sp + 8, begin + 32);
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp - 48, 1), GPC_OK);
	frames_are(v, "B.spin(J)J_i A.hot(J)J_j B.spin(J)J_i A.hot(J)J_j "
		      "pkg/C$$Lambda.main([Ljava/lang/String|)V_0 call_stub");
}

/* Return addresses at which no call can be are not followed. */
static void test_implausible_callers(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	/* So that nothing above is one by chance. */
	fake_put64(j, j->interp_fp + 8, FAKE_NATIVE);
	fake_put64(j, j->leaf_sp + 40, j->leaf_pc);
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_E_CORRUPT);
	fake_put64(j, j->leaf_sp + 40, FAKE_NATIVE);
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_E_CORRUPT);
	fake_put64(j, j->interp_fp + 8, j->call_stub_return);
	fake_put64(j, j->leaf_sp + 40, j->call_stub_return);
	fake_put64(j, j->leaf_sp + 32, j->interp_fp + 4);
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_E_CORRUPT);
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_E_CORRUPT);
}

/* The thread has run on: what is not in the copy is believed only if the copy's end
 * is still as it was. */
static void test_stack_that_has_changed(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	v->copy_bytes = 64;
	v->flags = 0;
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_OK);
	frames_are(v, whole);
	v->is_copy_old = true;
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_OK);
	frames_are(v, "B.spin(J)J_i A.hot(J)J_j [stack cut]");
	assert_int_equal(v->state.pc, 0);
}

static void test_too_deep(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	v->room = 3;
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_OK);
	frames_are(v, "B.spin(J)J_i A.hot(J)J_j [stack cut]");
	assert_int_equal(v->state.pc, 0);
}

static struct java_anchor left(struct fake_vm *v)
{
	return gpc_java_thread_left(&v->vm.threads, &v->vm.mem, &v->vm.layout, FAKE_TID,
				    v->jvm->leaf_sp - 100);
}

/* Native code below: where Java goes on is known to the thread. */
static void test_anchor(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	struct java_anchor a;
	uint64_t thread = gpc_java_thread_of(&v->vm.threads, &v->vm.mem, &v->vm.layout, FAKE_TID);

	assert_int_equal(thread, j->thread);
	assert_int_equal(gpc_java_thread_of(&v->vm.threads, &v->vm.mem, &v->vm.layout,
					    FAKE_TID + 1),
			 0);
	assert_int_equal(gpc_java_thread_of(&v->vm.threads, &v->vm.mem, &v->vm.layout, 0), 0);
	a = left(v);
	assert_int_equal(a.sp, 0);
	/* Without a pc it lies below sp. */
	fake_put64(j, thread + 16, j->leaf_sp);
	fake_put64(j, j->leaf_sp - 8, j->leaf_pc + 12);
	a = left(v);
	assert_int_equal(a.pc, j->leaf_pc + 12);
	v->state = (struct gpc_step_state){.pc = FAKE_NATIVE, .sp = j->leaf_sp - 100};
	gpc_java_go_on(&v->vm, a, &v->state);
	assert_int_equal(v->state.next_sp, j->leaf_sp);
	assert_int_equal(v->state.next_pc, j->leaf_pc + 12);
	/* It was left behind. */
	v->state.sp = j->leaf_sp + 8;
	gpc_java_go_on(&v->vm, a, &v->state);
	assert_int_equal(v->state.next_sp, 0);
	/* The number is another thread's by now. */
	fake_put64(j, j->thread + 8, 0x10);
	assert_int_equal(gpc_java_thread_of(&v->vm.threads, &v->vm.mem, &v->vm.layout, FAKE_TID),
			 0);
}

/* Whose stack it is and where Java was left is one read. */
static void test_anchor_in_one_read(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;

	v->vm.layout.field[F_THREAD_STACK_BASE] = 40;
	v->vm.layout.field[F_THREAD_STACK_SIZE] = 48;
	fake_put64(j, j->thread + 40, j->leaf_sp + 0x1000);
	fake_put64(j, j->thread + 48, 0x2000);
	fake_put64(j, j->thread + 16, j->leaf_sp);
	fake_put64(j, j->thread + 24, j->leaf_pc);
	assert_int_equal(left(v).sp, j->leaf_sp);
	j->reads = 0;
	assert_int_equal(left(v).sp, j->leaf_sp);
	assert_int_equal(j->reads, 1);
	/* Its number is another's now, but the stack is its own: that counts. */
	fake_put64(j, j->thread + 8, 0x10);
	assert_int_equal(left(v).sp, j->leaf_sp);
	/* The stack is another's. */
	fake_put64(j, j->thread + 40, j->leaf_sp - 100);
	assert_int_equal(left(v).sp, 0);
	fake_put64(j, j->thread + 40, j->leaf_sp + 0x2000 - 99);
	assert_int_equal(left(v).sp, 0);
	fake_put64(j, j->thread + 40, j->leaf_sp + 0x2000 - 100);
	assert_int_equal(left(v).sp, j->leaf_sp);
}

/* The wrapper that call stub was given knows where Java was left before. */
static void test_anchor_of_an_entry(void **state)
{
	struct fake_vm *v = *state;
	struct fake_jvm *j = v->jvm;
	uint64_t wrapper = j->entry_fp + 0x100;

	fake_put64(j, j->entry_fp - 48, wrapper);
	fake_put64(j, wrapper + 8, j->entry_fp + 0x200);
	fake_put64(j, wrapper + 16, j->leaf_pc + 12);
	fake_put64(j, wrapper + 24, 99);
	assert_int_equal(fake_vm_walk(v, j->leaf_pc, j->leaf_sp, j->leaf_fp), GPC_OK);
	assert_int_equal(v->state.next_sp, j->entry_fp + 0x200);
	assert_int_equal(v->state.next_pc, j->leaf_pc + 12);
	assert_int_equal(v->state.next_fp, 99);
}

/* ---- several readers at once ------------------------------------------------------------ */

#define READERS 3

struct reader {
	pthread_t thread;
	struct fake_vm *own; /* its writer and answer */
	struct fake_jvm *jvm;
	unsigned whole;
};

static void *read_often(void *arg)
{
	struct reader *r = arg;
	struct vm *vm = r->own->walked;

	for (uint32_t i = 0; i < 2000; i++) {
		/* Epochs end at different times for different readers. */
		r->own->writer.epoch = 1 + i / 500;
		r->whole += fake_vm_walk(r->own, r->jvm->leaf_pc, r->jvm->leaf_sp,
					 r->jvm->leaf_fp) == GPC_OK &&
			    r->own->n == 4;
		gpc_java_thread_of(&vm->threads, &vm->mem, &vm->layout, FAKE_TID + (int)(i % 3));
	}
	return NULL;
}

static void test_several_readers(void **state)
{
	struct fake_vm *v = *state;
	struct reader readers[READERS] = {0};

	for (int i = 0; i < READERS; i++) {
		readers[i].own = fake_vm_new(fake_jvm_new());
		assert_non_null(readers[i].own);
		readers[i].own->walked = &v->vm;
		readers[i].jvm = v->jvm;
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_often, &readers[i]),
				 0);
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].whole, 2000);
		fake_vm_free(readers[i].own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		vm_test(test_layout),
		vm_test(test_whole_stack),
		vm_test(test_remembered),
		vm_test(test_compile_id),
		vm_test(test_class_unloading),
		vm_test(test_c1_and_where_inlining_ends),
		vm_test(test_stub_of_a_call),
		vm_test(test_names_of_an_aot_cache),
		vm_test(test_loop_with_its_poll_behind),
		vm_test(test_loop_without_a_poll),
		vm_test(test_methods_are_followed_once),
		vm_test(test_loop_with_an_entry_for_each_instruction),
		vm_test(test_lines_and_modifiers),
		vm_test(test_frame_being_made),
		vm_test(test_deoptimized),
		vm_test(test_implausible_callers),
		vm_test(test_stack_that_has_changed),
		vm_test(test_too_deep),
		vm_test(test_anchor),
		vm_test(test_anchor_in_one_read),
		vm_test(test_anchor_of_an_entry),
		vm_test(test_several_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
