/* SPDX-License-Identifier: Apache-2.0 */
/* A slot whose ring has no kernel: the test plays the producer, from one thread. */
#ifndef GPC_TESTS_FAKE_RING_H
#define GPC_TESTS_FAKE_RING_H

#include <stdlib.h>

#include "record.h"
#include "source/slot.h"

#define FAKE_RING (64u << 10)

struct fake_ring {
	struct perf_event_mmap_page page;
	uint8_t data[FAKE_RING];
};

static inline struct gpc_slot *fake_slot(struct fake_ring *f)
{
	struct gpc_slot *s = gpc_slot_new(0, 0);

	if (!s)
		abort();
	memset(f, 0, sizeof *f);
	s->ring.page = &f->page;
	s->ring.data = f->data;
	s->ring.size = FAKE_RING;
	s->ring.format = (struct gpc_perf_format){.sample_type = REC_TYPE, .sample_id_all = true};
	return s;
}

static inline void fake_slot_free(struct gpc_slot *s)
{
	/* There is nothing to unmap, and a reader may be left that knows the ring. */
	if (s->ring.users && atomic_fetch_sub(s->ring.users, 1) == 1)
		free(s->ring.users);
	s->ring.page = NULL;
	s->ring.users = NULL;
	gpc_slot_free(s);
}

/* False: there is no room. */
static inline bool fake_produce(struct fake_ring *f, const struct rec *r)
{
	uint64_t head = f->page.data_head;
	uint64_t tail = __atomic_load_n(&f->page.data_tail, __ATOMIC_ACQUIRE);

	if (head + r->n - tail > FAKE_RING)
		return false;
	for (size_t i = 0; i < r->n; i++)
		f->data[(head + i) % FAKE_RING] = ((const uint8_t *)r->words)[i];
	__atomic_store_n(&f->page.data_head, head + r->n, __ATOMIC_RELEASE);
	return true;
}

static inline bool fake_sample(struct fake_ring *f, uint64_t time, uint32_t pid, uint64_t n_ips)
{
	struct rec *r = malloc(sizeof *r);
	struct rec_id id = {.pid = pid, .tid = pid, .time = time};
	uint64_t ips[512] = {0};
	bool done;

	if (!r)
		abort();
	for (uint64_t i = 0; i < n_ips; i++)
		ips[i] = time * 1000 + i;
	rec_sample(r, &id, ips, n_ips);
	done = fake_produce(f, r);
	free(r);
	return done;
}

#endif
