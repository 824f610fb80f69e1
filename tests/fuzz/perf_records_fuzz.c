/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of perf records as a broken kernel, or a file with recorded rings,
 * may give them: decoded one by one, and through a ring. The first two bytes
 * choose the format and the place in the ring where it begins. */
#include <stdlib.h>
#include <string.h>

#include "source/decode.h"
#include "source/ring.h"

#define RING_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const uint64_t types[] = {
	0,
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP,
	PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_RAW |
		PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_TIME,
};

/* Touches all that a decoded record points to; its bytes are [from, from + n). */
static uint64_t use(const struct gpc_perf_record *r, const uint8_t *from, size_t n)
{
	const char *text = NULL;
	uint64_t sum = r->time;

	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		for (uint32_t i = 0; i < r->sample.n_ips; i++) {
			uint64_t ip;

			memcpy(&ip, (const uint8_t *)r->sample.ips + 8 * (size_t)i, 8);
			sum += ip;
		}
		return sum;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (r->mmap.build_id_len > sizeof r->mmap.build_id)
			abort();
		text = r->mmap.path;
		break;
	case PERF_RECORD_COMM:
		text = r->comm;
		break;
	case PERF_RECORD_CGROUP:
		text = r->cgroup.path;
		break;
	case PERF_RECORD_KSYMBOL:
		text = r->ksymbol.name;
		break;
	default:
		return sum;
	}
	if ((const uint8_t *)text < from || (const uint8_t *)text + strlen(text) >= from + n)
		abort();
	return sum;
}

/* Each record alone, in memory that ends where it ends. */
static void one_by_one(const uint8_t *at, size_t left, const struct gpc_perf_format *format)
{
	while (left >= sizeof(struct perf_event_header)) {
		struct perf_event_header head;
		struct gpc_perf_record r;
		size_t n;
		uint8_t *copy;

		memcpy(&head, at, sizeof head);
		n = head.size < left ? head.size : left;
		if (n < sizeof head)
			n = sizeof head;
		copy = malloc(n);
		if (!copy)
			abort();
		memcpy(copy, at, n);
		if (gpc_perf_decode(copy, n, format, &r)) {
			size_t time_at = gpc_perf_time_offset(&head, format);

			use(&r, copy, n);
			if (time_at && memcmp(copy + time_at, &r.time, sizeof r.time) != 0)
				abort();
		}
		free(copy);
		at += n;
		left -= n;
	}
}

static void drain(struct gpc_ring *ring, uint64_t *scratch)
{
	uint64_t time, last = 0;

	gpc_ring_refresh(ring);
	while (gpc_ring_next_time(ring, &time)) {
		struct gpc_perf_record r;
		size_t n = 0;
		const void *at = gpc_ring_take(ring, scratch, &n);

		if (!at || time < last)
			abort();
		last = time;
		if (gpc_perf_decode(at, n, &ring->format, &r))
			use(&r, at, n);
	}
	gpc_ring_release(ring);
	if (ring->page->data_tail > ring->page->data_head)
		abort();
}

static void through_a_ring(const uint8_t *at, size_t left, const struct gpc_perf_format *format,
			   uint64_t start)
{
	struct perf_event_mmap_page page = {.data_head = start, .data_tail = start};
	struct gpc_ring ring = {.page = &page,
				.data = calloc(1, RING_BYTES),
				.size = RING_BYTES,
				.tail = start,
				.format = *format};
	uint64_t *scratch = malloc(65536);

	if (!ring.data || !scratch)
		abort();
	while (left) {
		uint64_t room = RING_BYTES - (page.data_head - page.data_tail);
		size_t n = left < room ? left : (size_t)room;

		/* An incomplete record that fills the ring is never completed. */
		if (!n)
			break;
		for (size_t i = 0; i < n; i++)
			ring.data[(page.data_head + i) % RING_BYTES] = at[i];
		page.data_head += n;
		at += n;
		left -= n;
		drain(&ring, scratch);
	}
	/* And a head that lies. */
	page.data_head += start * 977;
	drain(&ring, scratch);
	free(scratch);
	free(ring.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct gpc_perf_format format;

	if (n < 2)
		return 0;
	format.sample_type = types[bytes[0] & 3];
	format.sample_id_all = bytes[0] & 4;
	one_by_one(bytes + 2, n - 2, &format);
	through_a_ring(bytes + 2, n - 2, &format, (uint64_t)bytes[1] * 8);
	return 0;
}
