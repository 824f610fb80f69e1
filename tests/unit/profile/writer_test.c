/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profile/record.h"
#include "profile/writer.h"

struct got {
	unsigned batches, samples;
	uint64_t value;
	size_t bytes;
	struct gpc_frame_entry last;
	struct gpc_names *names;
};

static void see(void *ctx, const struct gpc_sample *s, const gpc_frame *frames)
{
	struct got *got = ctx;

	got->samples++;
	got->value += s->value;
	if (s->n_frames)
		gpc_names_entry(got->names, frames[0], &got->last);
}

static void take_batch(void *ctx, const uint8_t *records, size_t n)
{
	struct gpc_record_visitor v = {.ctx = ctx, .sample = see};
	struct got *got = ctx;

	got->batches++;
	got->bytes += n;
	assert_int_equal(gpc_records_walk(records, n, &v, NULL), GPC_OK);
}

static struct gpc_batch_writer *new_writer(struct got *got, uint64_t budget)
{
	struct gpc_batch_sink sink = {.ctx = got, .batch = take_batch};
	struct gpc_batch_writer *w = NULL;
	gpc_str suffixes[2];

	memset(got, 0, sizeof *got);
	got->names = gpc_names_new(1);
	suffixes[0] = gpc_names_str(got->names, "p", 1);
	suffixes[1] = gpc_names_str(got->names, "pn", 2);
	assert_int_equal(gpc_batch_writer_new(got->names, suffixes, 2, budget, &sink, &w, NULL),
			 GPC_OK);
	return w;
}

static void free_writer(struct gpc_batch_writer *w, struct got *got)
{
	gpc_batch_writer_free(w);
	gpc_names_put(got->names);
}

static gpc_status write_one(struct gpc_batch_writer *w, const gpc_frame *frames, uint32_t n)
{
	struct gpc_sample s = {.target = 3, .value = 1};

	return gpc_write(gpc_batch_writer_get(w), &s, frames, n);
}

static void batches_are_handed_on(void **state)
{
	static gpc_frame frames[65536];
	struct gpc_batch_writer *w;
	struct got got;

	(void)state;
	w = new_writer(&got, 0);
	gpc_batch_writer_flush(w);
	assert_int_equal(got.batches, 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(write_one(w, frames, 30), GPC_OK);
	assert_true(got.batches > 2);
	assert_true(got.samples < 1000);
	gpc_batch_writer_flush(w);
	assert_int_equal(got.samples, 1000);
	assert_int_equal(write_one(w, frames, 65535), GPC_OK);
	assert_int_equal(write_one(w, frames, 65536), GPC_E_BUDGET);
	gpc_batch_writer_flush(w);
	assert_int_equal(got.value, 1001);
	assert_int_equal(gpc_batch_writer_refused(w), 0);
	free_writer(w, &got);
}

static void the_budget_is_exact(void **state)
{
	struct gpc_batch_writer *w;
	gpc_frame frames[10] = {0};
	struct got got;
	int ok = 0;

	(void)state;
	w = new_writer(&got, 128 * 300 + 100); /* 300 records of 128 bytes fit */
	for (int i = 0; i < 1000; i++)
		ok += write_one(w, frames, 10) == GPC_OK;
	assert_int_equal(ok, 300);
	assert_int_equal(gpc_batch_writer_refused(w), 700);
	gpc_batch_writer_flush(w);
	assert_int_equal(got.samples, 300);
	assert_int_equal(write_one(w, frames, 10), GPC_E_BUDGET);
	gpc_batch_writer_window(w, got.names, (gpc_str[]){0, 0});
	assert_int_equal(gpc_batch_writer_refused(w), 0);
	assert_int_equal(write_one(w, frames, 10), GPC_OK);
	free_writer(w, &got);
}

static void frames_get_the_collectors_suffix(void **state)
{
	struct gpc_frame_desc desc = {.struct_size = sizeof desc, .suffix = 2, .line = 4};
	struct gpc_writer *base;
	struct gpc_batch_writer *w;
	struct got got;
	gpc_frame f;

	(void)state;
	w = new_writer(&got, 0);
	base = gpc_batch_writer_get(w);
	assert_int_equal(base->struct_size, sizeof *base);
	assert_int_equal(base->epoch, 1);
	desc.function = base->str(base, "work", 4);
	f = base->frame(base, &desc);
	write_one(w, &f, 1);
	gpc_batch_writer_flush(w);
	assert_string_equal(gpc_names_text(got.names, got.last.suffix, NULL), "pn");
	assert_string_equal(gpc_names_text(got.names, got.last.function, NULL), "work");
	assert_int_equal(got.last.line, 4);
	desc.suffix = 3; /* none of ours */
	f = base->frame(base, &desc);
	write_one(w, &f, 1);
	gpc_batch_writer_flush(w);
	assert_int_equal(got.last.suffix, 0);
	desc.struct_size = offsetof(struct gpc_frame_desc, line); /* an older plugin's */
	f = base->frame(base, &desc);
	write_one(w, &f, 1);
	gpc_batch_writer_flush(w);
	assert_int_equal(got.last.line, 0);
	free_writer(w, &got);
}

static void a_new_epoch(void **state)
{
	struct gpc_names *next = gpc_names_new(2);
	gpc_str suffixes[] = {gpc_names_str(next, "x", 1), 0};
	struct gpc_batch_writer *w;
	struct got got;

	(void)state;
	w = new_writer(&got, 0);
	write_one(w, NULL, 0);
	gpc_batch_writer_window(w, next, suffixes);
	assert_int_equal(got.samples, 1); /* nothing is left behind */
	assert_int_equal(gpc_batch_writer_get(w)->epoch, 2);
	gpc_names_put(next);
	assert_int_equal(gpc_batch_writer_get(w)->str(gpc_batch_writer_get(w), "x", 1), 1);
	free_writer(w, &got);
	gpc_batch_writer_free(NULL);
}

static void a_torn_position_is_dropped(void **state)
{
	struct gpc_batch_writer *w;
	struct got got;

	(void)state;
	w = new_writer(&got, 0);
	write_one(w, NULL, 0);
	gpc_batch_writer_get(w)->pos += 1 << 20;
	gpc_batch_writer_flush(w);
	assert_int_equal(got.batches, 0);
	assert_int_equal(write_one(w, NULL, 0), GPC_OK);
	free_writer(w, &got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_are_handed_on),
		cmocka_unit_test(the_budget_is_exact),
		cmocka_unit_test(frames_get_the_collectors_suffix),
		cmocka_unit_test(a_new_epoch),
		cmocka_unit_test(a_torn_position_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
