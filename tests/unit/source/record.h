/* SPDX-License-Identifier: Apache-2.0 */
/* Perf records made by hand, for tests: the layout is written down here a
 * second time, from the manual page of perf_event_open. */
#ifndef GPC_TESTS_RECORD_H
#define GPC_TESTS_RECORD_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rec {
	uint64_t words[65536 / 8];
	size_t n;
};

static inline void rec_bytes(struct rec *r, const void *bytes, size_t n)
{
	memcpy((uint8_t *)r->words + r->n, bytes, n);
	r->n += n;
}

static inline void rec_u32(struct rec *r, uint32_t v)
{
	rec_bytes(r, &v, sizeof v);
}

static inline void rec_u64(struct rec *r, uint64_t v)
{
	rec_bytes(r, &v, sizeof v);
}

/* With its NUL, filled up to eight bytes with more of them. */
static inline void rec_text(struct rec *r, const char *s)
{
	static const char zeros[8] = {0};
	size_t n = strlen(s) + 1;

	rec_bytes(r, s, n);
	rec_bytes(r, zeros, (8 - n % 8) % 8);
}

static inline void rec_begin(struct rec *r, uint32_t type, uint16_t misc)
{
	struct perf_event_header head = {.type = type, .misc = misc};

	r->n = 0;
	rec_bytes(r, &head, sizeof head);
}

/* What the header says of the record's length, be it true or not. */
static inline void rec_claim(struct rec *r, uint16_t size)
{
	memcpy((uint8_t *)r->words + offsetof(struct perf_event_header, size), &size, sizeof size);
}

static inline void rec_end(struct rec *r)
{
	rec_claim(r, (uint16_t)r->n);
}

struct rec_id { /* what stands in a sample's first fields, or in the trailer */
	uint32_t pid, tid, cpu;
	uint64_t time, id, stream_id;
};

static inline void rec_trailer(struct rec *r, uint64_t type, const struct rec_id *id)
{
	if (type & PERF_SAMPLE_TID) {
		rec_u32(r, id->pid);
		rec_u32(r, id->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		rec_u64(r, id->time);
	if (type & PERF_SAMPLE_ID)
		rec_u64(r, id->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		rec_u64(r, id->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		rec_u32(r, id->cpu);
		rec_u32(r, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		rec_u64(r, id->id);
	rec_end(r);
}

/* A sample of the kind that the core asks for. */
#define REC_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static inline void rec_sample(struct rec *r, const struct rec_id *id, const uint64_t *ips,
			      uint64_t n)
{
	rec_begin(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	rec_u64(r, id->id);
	rec_u64(r, n ? ips[n - 1] : 0);
	rec_u32(r, id->pid);
	rec_u32(r, id->tid);
	rec_u64(r, id->time);
	rec_u32(r, id->cpu);
	rec_u32(r, 0);
	rec_u64(r, 1);
	rec_u64(r, n);
	for (uint64_t i = 0; i < n; i++)
		rec_u64(r, ips[i]);
	rec_end(r);
}

#endif
