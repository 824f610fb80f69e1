/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from uint64_t to uint64_t, open addressing, linear probing.
 * Key 0 is allowed. For keys that are bytes, hash them (gpc_hash) and compare
 * at the place the value names: gpc_map_probe() walks all candidates. */
#ifndef GPC_BASE_MAP_H
#define GPC_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpc_map_slot {
	uint64_t key, value; /* value: as stored + 1; 0 is an empty slot */
};

struct gpc_u64map {
	struct gpc_map_slot *slots;
	size_t n, room; /* room is 0 or a power of two */
};

uint64_t gpc_hash(const void *bytes, size_t n);

void gpc_u64map_deinit(struct gpc_u64map *m);
/* Forgets the content, keeps the memory. */
void gpc_u64map_clear(struct gpc_u64map *m);
/* False when the key is unknown. */
bool gpc_u64map_get(const struct gpc_u64map *m, uint64_t key, uint64_t *ret);
/* Sets or replaces; value must be below UINT64_MAX. False: no memory. */
bool gpc_u64map_set(struct gpc_u64map *m, uint64_t key, uint64_t value);
bool gpc_u64map_remove(struct gpc_u64map *m, uint64_t key);

/* All values ever add()ed under key, one call after another; *cursor starts at
 * 0. For multimaps keyed by a hash. */
bool gpc_u64map_probe(const struct gpc_u64map *m, uint64_t key, uint64_t *cursor, uint64_t *ret);
/* Adds without looking for the same key. */
bool gpc_u64map_add(struct gpc_u64map *m, uint64_t key, uint64_t value);

#endif
