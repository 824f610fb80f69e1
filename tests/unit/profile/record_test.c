/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profile/record.h"

struct seen {
	unsigned samples, frames;
	uint64_t target, frame_sum;
};

struct batch {
	uint64_t words[64];
	size_t n; /* bytes */
};

static void see(void *ctx, const struct gpc_sample *s, const gpc_frame *frames)
{
	struct seen *seen = ctx;

	seen->samples++;
	seen->target = s->target;
	seen->frames += s->n_frames;
	for (unsigned i = 0; i < s->n_frames; i++)
		seen->frame_sum += frames[i];
}

static gpc_status walk(const struct batch *b, struct seen *seen)
{
	struct gpc_record_visitor v = {.ctx = seen, .sample = see};

	memset(seen, 0, sizeof *seen);
	return gpc_records_walk((const uint8_t *)b->words, b->n, &v, NULL);
}

static void add_sample(struct batch *b, uint64_t target, uint16_t n_frames)
{
	struct gpc_sample s = {.target = target, .value = 1};

	s.head.type = GPC_REC_SAMPLE;
	s.head.size = (uint32_t)(sizeof s + n_frames * sizeof(gpc_frame));
	s.n_frames = n_frames;
	s.frames_at = sizeof s;
	memcpy((char *)b->words + b->n, &s, sizeof s);
	b->n += sizeof s;
	for (uint64_t i = 0; i < n_frames; i++)
		b->words[b->n / 8 + i] = i + 1;
	b->n += n_frames * sizeof(gpc_frame);
}

static struct gpc_sample *first(struct batch *b)
{
	return (struct gpc_sample *)(void *)b->words;
}

static void samples_are_visited(void **state)
{
	struct batch b = {.n = 0};
	struct gpc_record other = {.type = 77, .size = 16};
	struct seen seen;

	(void)state;
	assert_int_equal(walk(&b, &seen), GPC_OK);
	add_sample(&b, 5, 3);
	memcpy((char *)b.words + b.n, &other, sizeof other);
	b.n += 16;
	add_sample(&b, 6, 0);
	assert_int_equal(walk(&b, &seen), GPC_OK);
	assert_int_equal(seen.samples, 2);
	assert_int_equal(seen.target, 6);
	assert_int_equal(seen.frames, 3);
	assert_int_equal(seen.frame_sum, 6);
}

static void a_larger_head_is_skipped(void **state)
{
	struct batch b = {.n = 0};
	struct seen seen;

	(void)state;
	add_sample(&b, 5, 3);
	first(&b)->n_frames = 2;
	first(&b)->frames_at += 8;
	assert_int_equal(walk(&b, &seen), GPC_OK);
	assert_int_equal(seen.frame_sum, 5);
}

static void every_lie_is_found(void **state)
{
	struct batch good = {.n = 0}, b;
	struct seen seen;
	struct gpc_err err;

	(void)state;
	add_sample(&good, 5, 3);
#define LIE(change)                                       \
	b = good;                                         \
	change;                                           \
	assert_int_equal(walk(&b, &seen), GPC_E_CORRUPT); \
	assert_int_equal(seen.samples, 0)
	LIE(b.n = 4);
	LIE(b.n -= 8);
	LIE(first(&b)->head.size = 0);
	LIE(first(&b)->head.size = 4);
	LIE(first(&b)->head.size += 8);
	LIE(first(&b)->head.size -= 1);
	LIE(first(&b)->head.size = UINT32_MAX & ~7u);
	LIE(first(&b)->head.size = 40);
	LIE(first(&b)->n_frames = 4);
	LIE(first(&b)->n_frames = UINT16_MAX);
	LIE(first(&b)->frames_at = 0);
	LIE(first(&b)->frames_at = 40);
	LIE(first(&b)->frames_at += 4);
	LIE((first(&b)->frames_at += 4, first(&b)->n_frames = 2));
	LIE(first(&b)->frames_at += 8);
	LIE(first(&b)->frames_at = UINT32_MAX & ~7u);
#undef LIE
	b = good;
	add_sample(&b, 6, 1);
	b.n += 4;
	assert_int_equal(gpc_records_walk((const uint8_t *)b.words, b.n,
					  &(struct gpc_record_visitor){&seen, see}, &err),
			 GPC_E_CORRUPT);
	assert_non_null(strstr(err.text, "at 128"));
	assert_int_equal(gpc_records_walk((const uint8_t *)b.words + 4, 8,
					  &(struct gpc_record_visitor){&seen, see}, &err),
			 GPC_E_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_visited),
		cmocka_unit_test(a_larger_head_is_skipped),
		cmocka_unit_test(every_lie_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
