/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest plugin of the SDK, as the core would run it. */
#include "place.h"

struct told { /* what the plugin gave to the writer */
	char function[32];
	uint16_t suffix;
	gpc_frame next; /* 0: memory is short */
};

static gpc_str keep_str(struct gpc_writer *w, const char *s, uint32_t len)
{
	struct told *told = w->impl;

	assert_true(len < sizeof told->function);
	memcpy(told->function, s, len);
	return 1;
}

static gpc_frame keep_frame(struct gpc_writer *w, const struct gpc_frame_desc *f)
{
	struct told *told = w->impl;

	assert_int_equal(f->struct_size, sizeof *f);
	assert_int_equal(f->function, 1);
	told->suffix = f->suffix;
	return told->next;
}

static struct gpc_loaded_module *load(struct place *p)
{
	struct gpc_loaded_module *m = NULL;
	struct gpc_err err = {0};
	size_t n;
	char *bytes;

	assert_int_equal(gpc_read_file(AT_FDCWD, TEST_MINIMAL, MAX_FILE, &bytes, &n, NULL), GPC_OK);
	place_write(p, "minimal.so", bytes, n);
	free(bytes);
	if (gpc_module_load(p->file, &m, &err) < 0)
		fail_msg("%s", err.text);
	return m;
}

static void writes_a_sample_for_each_window(void **state)
{
	struct gpc_loaded_module *m = load(*state);
	const struct gpc_collector *c = &m->collectors[0];
	const struct gpc_host host = {.struct_size = sizeof host};
	const struct gpc_target target = {.struct_size = sizeof target, .id = 77};
	const struct gpc_window win = {.struct_size = sizeof win};
	struct told told = {.next = GPC_FRAME_TAG | 5};
	uint64_t space[32] = {0};
	struct gpc_writer w = {.struct_size = sizeof w,
			       .pos = (uint8_t *)space,
			       .end = (uint8_t *)(space + 32),
			       .impl = &told,
			       .str = keep_str,
			       .frame = keep_frame};
	const struct gpc_sample *s = (void *)space;
	void *self, *tctx;

	assert_int_equal(m->n_collectors, 1);
	assert_string_equal(c->suffixes[0], "nap");
	assert_int_equal(c->create(&host, NULL, &self), GPC_OK);
	assert_int_equal(c->attach(self, &target, &tctx), GPC_OK);
	assert_int_equal(c->window(self, tctx, &win, &w), GPC_OK);
	assert_int_equal(s->target, 77);
	assert_int_equal(s->event, c->events[0].id);
	assert_int_equal(s->n_frames, 1);
	assert_int_equal(*(const gpc_frame *)((const char *)s + s->frames_at), told.next);
	assert_string_equal(told.function, "asleep");
	assert_int_equal(told.suffix, 1);
	assert_int_equal(w.pos - (uint8_t *)space, s->head.size);
	told.next = 0;
	assert_int_equal(c->window(self, tctx, &win, &w), GPC_E_NOMEM);
	c->detach(self, tctx);
	c->destroy(self);
	gpc_module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(writes_a_sample_for_each_window, place_setup,
						place_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
