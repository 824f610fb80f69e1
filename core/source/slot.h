/* SPDX-License-Identifier: Apache-2.0 */
/* One CPU of one stream: its perf events and their ring. Records are taken in
 * order by the source's thread, straight from the ring; or, while processes are
 * pulled, by a reader thread of that CPU, which hands them on through the slot's
 * queue together with what it read from the sampled process.
 *
 * The lock covers ring and queue; it is never held while a process is read. */
#ifndef GPC_SOURCE_SLOT_H
#define GPC_SOURCE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/vec.h"
#include "source/ring.h"

#define GPC_RECORD_MAX 65536
#define GPC_PULLED_MAX 2048 /* frames */

/* The user part of a sample's stack, as a reader found it: leaf first, numbers
 * of names of this epoch, or addresses to look up (return addresses have been
 * moved into the call). */
struct gpc_pulled {
	uint32_t n, epoch;
	/* Bytes of the record that the source has no use for: the copy of the stack, with its
	 * length before and behind. None when both are 0. */
	uint32_t stack_from, stack_to;
	uint64_t begun_ns; /* when its reader began with it; 0: nobody looked */
	void *own;         /* what its reader keeps from sample to sample; NULL at first */
	void *asked;       /* atomic: whom the reader asks now; for gpc_pull_hooks.hangs */
	uint64_t frames[GPC_PULLED_MAX];
};

struct gpc_reader_thread; /* pull_thread.h */

struct gpc_slot {
	uint32_t cpu, stream;
	int fd;              /* the event that owns the ring */
	vec(int) others;     /* further events that write into it */
	int watched;         /* of these, the one that the source's poll looks at; -1: none */
	uint64_t enabled_ns; /* how long it has counted, when last looked at */
	uint64_t next_time;  /* for the heap of slots */
	uint64_t mean_ns;    /* between samples, where a timer makes them; else 0 */

	struct gpc_lock lock; /* covers what follows */
	struct gpc_ring ring;
	vec(uint8_t) queue; /* entries from head on */
	size_t head;
	uint64_t dropped;                 /* entries over the queue's bound */
	uint64_t in_flight_ns;            /* time of the record a reader works on; 0: none */
	struct gpc_reader_thread *thread; /* NULL: the ring is read directly */
};

struct gpc_slot *gpc_slot_new(uint32_t cpu, uint32_t stream); /* NULL: no memory */
void gpc_slot_free(struct gpc_slot *s);                       /* NULL is fine */

/* The event after fd, when poll says of that one POLLHUP for ever because its thread
 * has ended, while others still write into the ring. -1: it was the last. */
int gpc_slot_next_fd(const struct gpc_slot *s, int fd);

/* ---- the source's thread --------------------------------------------------- */

enum gpc_slot_state { GPC_SLOT_EMPTY, GPC_SLOT_READY, GPC_SLOT_BUSY };
/* Time of the next record. BUSY: a reader works on one of that time, or is to. */
enum gpc_slot_state gpc_slot_next_time(struct gpc_slot *s, uint64_t *ret);
/* Has a reader a record older than until_ns still to read, or in work? Whatever is
 * queued before it. */
bool gpc_slot_is_behind(struct gpc_slot *s, uint64_t until_ns);
/* Takes it: in the ring, or in scratch (GPC_RECORD_MAX bytes, 8-aligned).
 * pulled->n is 0 when no reader added anything. NULL: nothing there. */
const void *gpc_slot_take(struct gpc_slot *s, void *scratch, size_t *size,
			  struct gpc_pulled *pulled);
/* Looks for what the kernel has written meanwhile; gives space back. */
void gpc_slot_refresh(struct gpc_slot *s);
void gpc_slot_release(struct gpc_slot *s);

/* ---- the reader's thread ---------------------------------------------------- */

/* The next record of the ring, which is in flight then: in place, or in buf
 * (GPC_RECORD_MAX bytes, 8-aligned) when it wraps. NULL: none. */
const void *gpc_slot_lift(struct gpc_slot *s, void *buf, size_t *size);
/* Queues it with what was read (pulled may be NULL): it is in flight no more, and its
 * place in the ring is the kernel's again. */
void gpc_slot_put(struct gpc_slot *s, const void *record, size_t n,
		  const struct gpc_pulled *pulled);
/* Both at once: one is queued, the next is in flight. */
const void *gpc_slot_next(struct gpc_slot *s, const void *record, size_t n,
			  const struct gpc_pulled *pulled, void *buf, size_t *size);

#endif
