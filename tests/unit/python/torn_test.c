/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run on while they are read, and threads of several interpreters. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/code.h"
#include "../../../plugins/python/frames.h"
#include "../../../plugins/python/threads.h"
#include "py_fake.h"

#define THREAD (PY_FAKE_BASE + 0x100)
#define CFRAME (PY_FAKE_BASE + 0x800)
#define FRAME  (PY_FAKE_BASE + 0x1000) /* 0x400 bytes each */
#define CODE   (PY_FAKE_BASE + 0x8000) /* of frame i: 16 * i bytes on */
#define FRAMES 8

/* A thread of frames 0 to 7, each called by the next one; the top is its own. */
struct scene {
	struct py_fake fake;
	struct py_layout layout;
	const struct py_layout *l;
	unsigned walks; /* frame by frame, begun at the top */
	unsigned moves; /* how often it still returns while it is read */
	unsigned top;
	bool is_asked; /* the thread was looked at, and the frame not yet */
};

static uint64_t frame_of(unsigned i)
{
	return FRAME + 0x400 * (uint64_t)i;
}

static void set_top(struct scene *s, unsigned top)
{
	s->top = top;
	if (s->l->thread_frame != PY_NONE)
		py_fake_put(&s->fake, THREAD + s->l->thread_frame, frame_of(top));
	else
		py_fake_put(&s->fake, CFRAME + s->l->cframe_frame, frame_of(top));
}

/* The frame that is executed returns when it is looked at. */
static void before(struct py_fake *f, uint64_t at, uint64_t n)
{
	struct scene *s = f->ctx;

	if (at <= THREAD && at + n > THREAD)
		s->is_asked = true;
	if (!s->is_asked || at > frame_of(s->top) || at + n <= frame_of(s->top))
		return;
	s->is_asked = false;
	s->walks++;
	if (s->moves) {
		s->moves--;
		set_top(s, s->top + 1);
	}
}

/* What 3.13 and later have is not in the tables: a thread that names its frame itself. */
static void choose_layout(struct scene *s, uint16_t version)
{
	bool is_published = version >= PY_VERSION(3, 13);
	const struct py_layout *l =
		gpc_py_layout_find(is_published ? PY_VERSION(3, 12) : version, false);

	assert_non_null(l);
	s->layout = *l;
	if (is_published) {
		s->layout.version = version;
		s->layout.thread_frame = l->thread_cframe;
		s->layout.thread_cframe = PY_NONE;
	}
	s->l = &s->layout;
}

static void begin(struct scene *s, uint16_t version, unsigned moves)
{
	memset(s, 0, sizeof *s);
	py_fake_init(&s->fake);
	s->fake.ctx = s;
	choose_layout(s, version);
	if (s->l->thread_cframe != PY_NONE)
		py_fake_put(&s->fake, THREAD + s->l->thread_cframe, CFRAME);
	for (unsigned i = 0; i < FRAMES; i++) {
		py_fake_put(&s->fake, frame_of(i) + s->l->frame_code, CODE + 16 * i);
		py_fake_put(&s->fake, frame_of(i) + s->l->frame_back,
			    i + 1 < FRAMES ? frame_of(i + 1) : 0);
	}
	if (s->l->frame_is_entry != PY_NONE)
		for (unsigned i = 0; i < FRAMES; i++)
			s->fake.bytes[frame_of(i) - PY_FAKE_BASE + s->l->frame_is_entry] = 1;
	set_top(s, 0);
	s->moves = moves;
	s->fake.before = before;
}

static const uint16_t versions[] = {PY_VERSION(2, 7),  PY_VERSION(3, 6),  PY_VERSION(3, 7),
				    PY_VERSION(3, 8),  PY_VERSION(3, 9),  PY_VERSION(3, 10),
				    PY_VERSION(3, 11), PY_VERSION(3, 12), PY_VERSION(3, 13),
				    PY_VERSION(3, 14), PY_VERSION(3, 15)};
#define N_VERSIONS (sizeof versions / sizeof *versions)

static void check(const struct py_stack *stack, unsigned top)
{
	assert_int_equal(stack->n, FRAMES - top);
	for (unsigned i = top; i < FRAMES; i++)
		assert_int_equal(stack->frames[i - top].code, CODE + 16 * i);
}

static void a_thread_that_stands_still_is_read_once(void **state)
{
	struct scene s;
	struct py_stack stack;

	(void)state;
	for (unsigned i = 0; i < N_VERSIONS; i++) {
		begin(&s, versions[i], 0);
		assert_int_equal(gpc_py_frames(&s.fake.memory, s.l, THREAD, &stack), GPC_OK);
		check(&stack, 0);
		assert_int_equal(s.walks, 1);
	}
}

static void one_that_moved_is_read_again(void **state)
{
	struct scene s;
	struct py_stack stack;

	(void)state;
	for (unsigned i = 0; i < N_VERSIONS; i++)
		for (unsigned moves = 1; moves <= 2; moves++) {
			begin(&s, versions[i], moves);
			assert_int_equal(gpc_py_frames(&s.fake.memory, s.l, THREAD, &stack),
					 GPC_OK);
			check(&stack, moves);
			assert_int_equal(s.walks, moves + 1);
		}
}

static void twice_at_most(void **state)
{
	struct scene s;
	struct py_stack stack;

	(void)state;
	for (unsigned i = 0; i < N_VERSIONS; i++) {
		begin(&s, versions[i], 3);
		assert_int_equal(gpc_py_frames(&s.fake.memory, s.l, THREAD, &stack), GPC_E_CORRUPT);
		assert_int_equal(s.walks, 3);
	}
}

/* It has not run, says who asks: what is there is looked at once. */
static void exact_samples_are_believed(void **state)
{
	struct gpc_pull_sample sample = {.struct_size = sizeof sample, .flags = GPC_PULL_EXACT};
	struct scene s;
	struct py_stack stack;
	unsigned reads;

	(void)state;
	for (unsigned i = 0; i < N_VERSIONS; i++) {
		begin(&s, versions[i], 0);
		assert_int_equal(gpc_py_frames(&s.fake.memory, s.l, THREAD, &stack), GPC_OK);
		reads = s.fake.reads;
		begin(&s, versions[i], 0);
		s.fake.memory.sample = &sample;
		assert_int_equal(gpc_py_frames(&s.fake.memory, s.l, THREAD, &stack), GPC_OK);
		check(&stack, 0);
		assert_true(s.fake.reads < reads);
	}
}

static void chains_without_an_end(void **state)
{
	struct scene s;
	struct py_stack stack;

	(void)state;
	for (unsigned i = 0; i < N_VERSIONS; i++) {
		begin(&s, versions[i], 0);
		py_fake_put(&s.fake, frame_of(7) + s.l->frame_back, frame_of(3));
		s.fake.before = NULL;
		if (gpc_py_frames(&s.fake.memory, s.l, THREAD, &stack) == GPC_OK)
			assert_true(stack.is_cut);
		assert_true(stack.n <= PY_FRAMES_MAX);
		/* Into the void. */
		py_fake_put(&s.fake, frame_of(7) + s.l->frame_back, PY_FAKE_BASE - 8);
		assert_int_equal(gpc_py_frames(&s.fake.memory, s.l, THREAD, &stack), GPC_E_CORRUPT);
	}
}

/* ---- code objects --------------------------------------------------------------------------- */

static void what_is_no_code_is_noticed(void **state)
{
	enum { TYPE = PY_FAKE_BASE + 0x7000, NAME = PY_FAKE_BASE + 0x7800 };
	struct py_code *code = NULL;
	struct scene s;
	uint64_t type = 0;

	(void)state;
	for (unsigned i = 0; i < N_VERSIONS; i++) {
		begin(&s, versions[i], 0);
		py_fake_put(&s.fake, CODE + s.l->ob_type, TYPE);
		py_fake_put(&s.fake, TYPE + s.l->type_name, NAME);
		py_fake_text(&s.fake, NAME, "function");
		type = 0;
		assert_true(gpc_py_code_read(&s.fake.memory, s.l, CODE, &type, &code) < 0);
		assert_null(code);
		assert_int_equal(type, 0);
		/* It is known which type code has: this is another. */
		type = TYPE + 16;
		assert_true(gpc_py_code_read(&s.fake.memory, s.l, CODE, &type, &code) < 0);
	}
}

/* ---- interpreters --------------------------------------------------------------------------- */

#define LIST   (PY_FAKE_BASE + 0x40)
#define INTERP (PY_FAKE_BASE + 0xA000) /* 0x1000 bytes each */
#define TID    77

static uint64_t interp_of(unsigned i)
{
	return INTERP + 0x1000 * (uint64_t)i;
}

static uint64_t state_of(unsigned i)
{
	return interp_of(i) + 0x800;
}

/* Three interpreters, in each of which the thread has a state; one has frames. */
static void begin_interpreters(struct scene *s, unsigned running)
{
	begin(s, PY_VERSION(3, 12), 0);
	s->fake.before = NULL;
	py_fake_put(&s->fake, LIST, interp_of(0));
	for (unsigned i = 0; i < 3; i++) {
		uint64_t cframe = state_of(i) + 0x400;

		py_fake_put(&s->fake, interp_of(i) + s->l->interp_next,
			    i < 2 ? interp_of(i + 1) : 0);
		py_fake_put(&s->fake, interp_of(i) + s->l->interp_threads, state_of(i));
		py_fake_put(&s->fake, state_of(i) + s->l->thread_native_id, TID);
		py_fake_put(&s->fake, state_of(i) + s->l->thread_cframe, cframe);
		py_fake_put(&s->fake, cframe + s->l->cframe_frame, i == running ? frame_of(0) : 0);
	}
}

static void the_interpreter_that_runs_is_found(void **state)
{
	struct py_threads threads;
	struct scene s;
	struct py_thread_state found;

	(void)state;
	for (unsigned running = 0; running < 3; running++) {
		struct py_threads_of of = {.memory = &s.fake.memory, .list = LIST};

		begin_interpreters(&s, running);
		of.layout = s.l;
		assert_int_equal(gpc_py_threads_init(&threads), GPC_OK);
		assert_int_equal(gpc_py_threads_find(&threads, &of, TID, &found), GPC_OK);
		assert_int_equal(found.at, state_of(running));
		/* It goes on in another one: what was known is not true any more. */
		py_fake_put(&s.fake, state_of(running) + 0x400 + s.l->cframe_frame, 0);
		py_fake_put(&s.fake, state_of((running + 1) % 3) + 0x400 + s.l->cframe_frame,
			    frame_of(0));
		assert_int_equal(gpc_py_threads_find(&threads, &of, TID, &found), GPC_OK);
		assert_int_equal(found.at, state_of((running + 1) % 3));
		gpc_py_threads_deinit(&threads);
	}
}

static void lists_that_change_while_they_are_read(void **state)
{
	struct py_threads threads;
	struct scene s;
	struct py_threads_of of = {.memory = &s.fake.memory, .list = LIST};
	struct py_thread_state found;

	(void)state;
	begin_interpreters(&s, 0);
	of.layout = s.l;
	assert_int_equal(gpc_py_threads_init(&threads), GPC_OK);
	/* A circle of states, and one of interpreters. */
	py_fake_put(&s.fake, state_of(0) + s.l->thread_next, state_of(1));
	py_fake_put(&s.fake, state_of(1) + s.l->thread_next, state_of(0));
	assert_true(gpc_py_threads_find(&threads, &of, TID + 1, &found) < 0);
	begin_interpreters(&s, 0);
	py_fake_put(&s.fake, interp_of(2) + s.l->interp_next, interp_of(0));
	assert_true(gpc_py_threads_find(&threads, &of, TID + 1, &found) < 0);
	assert_true(s.fake.reads < 1000);
	/* One that was freed. */
	begin_interpreters(&s, 2);
	py_fake_put(&s.fake, interp_of(0) + s.l->interp_next, 0x4141414141414141);
	assert_true(gpc_py_threads_find(&threads, &of, TID + 1, &found) < 0);
	gpc_py_threads_deinit(&threads);
}

/* ---- readers of several CPUs ------------------------------------------------------ */

#define READERS 3
#define TURNS   2000

struct reader {
	struct py_threads *shared;
	int32_t tid;
	unsigned wrong;
};

/* The thread goes on in another interpreter each time, so that each look writes. */
static void *look_again_and_again(void *arg)
{
	struct reader *r = arg;
	struct scene s;
	struct py_threads_of of = {.memory = &s.fake.memory, .list = LIST};
	struct py_thread_state found;

	begin_interpreters(&s, 0);
	of.layout = s.l;
	for (unsigned i = 0; i < 3; i++)
		py_fake_put(&s.fake, state_of(i) + s.l->thread_native_id, (uint64_t)r->tid);
	for (unsigned i = 0; i < TURNS; i++) {
		for (unsigned k = 0; k < 3; k++)
			py_fake_put(&s.fake, state_of(k) + 0x400 + s.l->cframe_frame,
				    k == i % 3 ? frame_of(0) : 0);
		if (gpc_py_threads_find(r->shared, &of, r->tid, &found) < 0 ||
		    found.at != state_of(i % 3))
			r->wrong++;
	}
	return NULL;
}

/* Their threads stand in neighbouring places of one table. */
static void readers_share_what_is_known(void **state)
{
	struct reader readers[READERS];
	pthread_t threads[READERS];
	struct py_threads shared;

	(void)state;
	assert_int_equal(gpc_py_threads_init(&shared), GPC_OK);
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.shared = &shared, .tid = TID + i};
		assert_int_equal(pthread_create(&threads[i], NULL, look_again_and_again,
						&readers[i]),
				 0);
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].wrong, 0);
	}
	gpc_py_threads_deinit(&shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_stands_still_is_read_once),
		cmocka_unit_test(one_that_moved_is_read_again),
		cmocka_unit_test(twice_at_most),
		cmocka_unit_test(exact_samples_are_believed),
		cmocka_unit_test(chains_without_an_end),
		cmocka_unit_test(what_is_no_code_is_noticed),
		cmocka_unit_test(the_interpreter_that_runs_is_found),
		cmocka_unit_test(lists_that_change_while_they_are_read),
		cmocka_unit_test(readers_share_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
