/* SPDX-License-Identifier: Apache-2.0 */
#include "source/slot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hot.h"
#include "base/thread.h"

#define QUEUE_MAX (8u << 20)

/* An entry of the queue; then the record, then the frames. Its size is a
 * multiple of 8. */
struct entry {
	uint32_t size, record_size;
	uint64_t time;
	uint32_t n, epoch;
};

struct gpc_slot *gpc_slot_new(uint32_t cpu, uint32_t stream)
{
	struct gpc_slot *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->cpu = cpu;
	s->stream = stream;
	s->fd = s->watched = -1;
	return s;
}

void gpc_slot_free(struct gpc_slot *s)
{
	if (!s)
		return;
	gpc_ring_unmap(&s->ring);
	for (size_t i = 0; i < s->others.n; i++)
		close(s->others.at[i]);
	if (s->fd >= 0)
		close(s->fd);
	vec_deinit(&s->others);
	vec_deinit(&s->queue);
	free(s);
}

int gpc_slot_next_fd(const struct gpc_slot *s, int fd)
{
	size_t next = 0;

	while (fd != s->fd && next < s->others.n && s->others.at[next++] != fd)
		;
	return next < s->others.n ? s->others.at[next] : -1;
}

/* ---- the source's thread ------------------------------------------------------ */

static const struct entry *front(const struct gpc_slot *s)
{
	return s->head < s->queue.n ? (const struct entry *)(const void *)(s->queue.at + s->head)
				    : NULL;
}

enum gpc_slot_state gpc_slot_next_time(struct gpc_slot *s, uint64_t *ret)
{
	autohold(&s->lock);
	const struct entry *e = front(s);

	if (e) {
		*ret = e->time;
		return GPC_SLOT_READY;
	}
	if (s->in_flight_ns) {
		*ret = s->in_flight_ns;
		return GPC_SLOT_BUSY;
	}
	/* With a reader the ring is its own, but what is in it comes first. */
	if (s->thread)
		gpc_ring_refresh(&s->ring);
	if (!gpc_ring_next_time(&s->ring, ret))
		return GPC_SLOT_EMPTY;
	return s->thread ? GPC_SLOT_BUSY : GPC_SLOT_READY;
}

bool gpc_slot_is_behind(struct gpc_slot *s, uint64_t until_ns)
{
	uint64_t time;
	autohold(&s->lock);

	if (s->in_flight_ns)
		return s->in_flight_ns < until_ns;
	if (!s->thread)
		return false;
	gpc_ring_refresh(&s->ring);
	return gpc_ring_next_time(&s->ring, &time) && time < until_ns;
}

static const void *take_entry(struct gpc_slot *s, void *scratch, size_t *size,
			      struct gpc_pulled *pulled)
{
	const struct entry *e = front(s);
	const uint8_t *record = (const uint8_t *)(e + 1);
	size_t padded = (e->record_size + 7u) & ~7u;

	memcpy(scratch, record, e->record_size);
	memcpy(pulled->frames, record + padded, e->n * sizeof *pulled->frames);
	pulled->n = e->n;
	pulled->epoch = e->epoch;
	*size = e->record_size;
	s->head += e->size;
	if (s->head == s->queue.n)
		s->head = s->queue.n = 0;
	return scratch;
}

const void *gpc_slot_take(struct gpc_slot *s, void *scratch, size_t *size,
			  struct gpc_pulled *pulled)
{
	autohold(&s->lock);

	pulled->n = 0;
	if (front(s))
		return take_entry(s, scratch, size, pulled);
	return s->thread ? NULL : gpc_ring_take(&s->ring, scratch, size);
}

void gpc_slot_refresh(struct gpc_slot *s)
{
	autohold(&s->lock);

	if (!s->thread)
		gpc_ring_refresh(&s->ring);
}

void gpc_slot_release(struct gpc_slot *s)
{
	autohold(&s->lock);

	if (!s->thread)
		gpc_ring_release(&s->ring);
}

/* ---- the reader's thread -------------------------------------------------------- */

/* Locked. */
GPC_HOT static const void *lift(struct gpc_slot *s, void *buf, size_t *size)
{
	const void *record;
	uint64_t time = 0;

	gpc_ring_refresh(&s->ring);
	if (!gpc_ring_next_time(&s->ring, &time))
		return NULL;
	record = gpc_ring_take(&s->ring, buf, size);
	if (record)
		s->in_flight_ns = time ? time : 1;
	return record;
}

/* Moves what is left to the front before the queue grows. */
GPC_HOT static bool make_room(struct gpc_slot *s, size_t n)
{
	if (s->head && s->queue.n + n > s->queue.room) {
		memmove(s->queue.at, s->queue.at + s->head, s->queue.n - s->head);
		s->queue.n -= s->head;
		s->head = 0;
	}
	return s->queue.n + n <= QUEUE_MAX && vec_reserve(&s->queue, n);
}

/* A sample without its copy of the stack: one of no length stands in its place. */
GPC_HOT static void copy_without_stack(uint8_t *to, const uint8_t *record, size_t n, uint32_t from,
				       uint32_t end)
{
	struct perf_event_header head;

	memcpy(&head, record, sizeof head);
	head.size = (uint16_t)(n - (end - from) + sizeof(uint64_t));
	memcpy(to, record, from);
	memcpy(to, &head, sizeof head);
	memset(to + from, 0, sizeof(uint64_t));
	memcpy(to + from + sizeof(uint64_t), record + end, n - end);
}

/* Is there a part to be left out? */
static bool has_stack(const struct gpc_pulled *p, size_t n)
{
	return p && p->stack_to && p->stack_to <= n &&
	       p->stack_from >= sizeof(struct perf_event_header) &&
	       p->stack_from + sizeof(uint64_t) <= p->stack_to;
}

/* Locked. */
GPC_HOT static void put(struct gpc_slot *s, const void *record, size_t n,
			const struct gpc_pulled *pulled)
{
	uint32_t frames = pulled ? pulled->n : 0;
	bool is_shorter = has_stack(pulled, n);
	size_t kept = is_shorter ? n - (pulled->stack_to - pulled->stack_from) + 8 : n;
	size_t padded = (kept + 7) & ~(size_t)7;
	struct entry e = {.size = (uint32_t)(sizeof e + padded + frames * sizeof(uint64_t)),
			  .record_size = (uint32_t)kept,
			  .n = frames,
			  .epoch = pulled ? pulled->epoch : 0};
	uint8_t *to;

	e.time = s->in_flight_ns;
	s->in_flight_ns = 0;
	if (make_room(s, e.size)) {
		to = s->queue.at + s->queue.n;
		memcpy(to, &e, sizeof e);
		if (is_shorter)
			copy_without_stack(to + sizeof e, record, n, pulled->stack_from,
					   pulled->stack_to);
		else
			memcpy(to + sizeof e, record, n);
		if (frames)
			memcpy(to + sizeof e + padded, pulled->frames, frames * sizeof(uint64_t));
		s->queue.n += e.size;
	} else {
		s->dropped++;
	}
	gpc_ring_release(&s->ring);
}

void gpc_slot_put(struct gpc_slot *s, const void *record, size_t n, const struct gpc_pulled *pulled)
{
	autohold(&s->lock);

	put(s, record, n, pulled);
}

GPC_HOT const void *gpc_slot_lift(struct gpc_slot *s, void *buf, size_t *size)
{
	autohold(&s->lock);

	return lift(s, buf, size);
}

GPC_HOT const void *gpc_slot_next(struct gpc_slot *s, const void *record, size_t n,
				  const struct gpc_pulled *pulled, void *buf, size_t *size)
{
	autohold(&s->lock);

	put(s, record, n, pulled);
	return lift(s, buf, size);
}
