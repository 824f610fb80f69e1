/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hot.h"

gpc_status gpc_ring_map(int fd, size_t bytes, size_t min_bytes, struct gpc_ring *ret,
			struct gpc_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (; bytes >= min_bytes && bytes >= page; bytes /= 2) {
		void *at = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (at != MAP_FAILED) {
			ret->page = at;
			ret->data = (uint8_t *)at + page;
			ret->size = bytes;
			ret->head = ret->tail = 0;
			ret->last_time = 0;
			return GPC_OK;
		}
		if (errno != EPERM && errno != ENOMEM)
			break;
	}
	return gpc_err_sys(err, "map a perf ring of %zu bytes (see kernel.perf_event_mlock_kb)",
			   bytes < min_bytes ? min_bytes : bytes);
}

void gpc_ring_unmap(struct gpc_ring *ring)
{
	if (ring->page && (!ring->users || atomic_fetch_sub(ring->users, 1) == 1)) {
		munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->size);
		free(ring->users);
	}
	ring->page = NULL;
	ring->users = NULL;
}

bool gpc_ring_share(struct gpc_ring *ring, struct gpc_ring *ret)
{
	if (!ring->users) {
		ring->users = malloc(sizeof *ring->users);
		if (!ring->users)
			return false;
		atomic_init(ring->users, 1);
	}
	atomic_fetch_add(ring->users, 1);
	*ret = *ring;
	return true;
}

GPC_HOT void gpc_ring_refresh(struct gpc_ring *ring)
{
	/* Pairs with the kernel's barrier before it publishes data_head. */
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* Copies n bytes from position at, around the end of the ring if need be. */
static void copy_out(const struct gpc_ring *ring, uint64_t at, void *to, size_t n)
{
	size_t from = at & (ring->size - 1);
	size_t first = ring->size - from < n ? (size_t)(ring->size - from) : n;

	memcpy(to, ring->data + from, first);
	memcpy((uint8_t *)to + first, ring->data, n - first);
}

/* The header at the tail; a senseless one (or a head that is further away than
 * the ring is long) means the ring is beyond repair up to its head, so the rest
 * is dropped. */
static bool next_header(struct gpc_ring *ring, struct perf_event_header *head)
{
	uint64_t left = ring->head - ring->tail;

	if (left < sizeof *head)
		return false;
	copy_out(ring, ring->tail, head, sizeof *head);
	if (left > ring->size || head->size < sizeof *head || head->size > left || head->size % 8) {
		ring->tail = ring->head;
		return false;
	}
	return true;
}

GPC_HOT bool gpc_ring_next_time(struct gpc_ring *ring, uint64_t *ret)
{
	struct perf_event_header head;
	uint64_t time = 0;
	size_t at;

	if (!next_header(ring, &head))
		return false;
	at = gpc_perf_time_offset(&head, &ring->format);
	if (at)
		copy_out(ring, ring->tail + at, &time, sizeof time);
	/* An interrupt can put a younger record before an older one: keep order. */
	if (time < ring->last_time)
		time = ring->last_time;
	ring->last_time = time;
	*ret = time;
	return true;
}

GPC_HOT const void *gpc_ring_take(struct gpc_ring *ring, void *scratch, size_t *size)
{
	struct perf_event_header head;
	size_t from = ring->tail & (ring->size - 1);

	if (!next_header(ring, &head))
		return NULL;
	*size = head.size;
	ring->tail += head.size;
	if (from + head.size <= ring->size)
		return ring->data + from;
	copy_out(ring, ring->tail - head.size, scratch, head.size);
	return scratch;
}

GPC_HOT void gpc_ring_release(struct gpc_ring *ring)
{
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}
