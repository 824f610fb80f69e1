/* SPDX-License-Identifier: Apache-2.0 */
/* A typed growing array: vec(struct gpc_map) maps = {0}; The owner calls
 * vec_deinit. Growth is by half, so memory follows the content closely. */
#ifndef GPC_BASE_VEC_H
#define GPC_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define vec(type)               \
	struct {                \
		type *at;       \
		size_t n, room; \
	}

static inline bool gpc_vec_grow(void **at, size_t *room, size_t need, size_t size)
{
	size_t want = *room + *room / 2 + 4;
	void *grown;

	if (need <= *room)
		return true;
	if (want < need)
		want = need;
	if (want > SIZE_MAX / size)
		return false;
	grown = realloc(*at, want * size);
	if (!grown)
		return false;
	*at = grown;
	*room = want;
	return true;
}

/* True when there is room for extra more elements. */
#define vec_reserve(v, extra) \
	gpc_vec_grow((void **)&(v)->at, &(v)->room, (v)->n + (extra), sizeof *(v)->at)

/* Appends; false when memory is short (nothing changed then). */
#define vec_push(v, ...) (vec_reserve(v, 1) ? ((v)->at[(v)->n++] = (__VA_ARGS__), true) : false)

#define vec_deinit(v)                   \
	do {                            \
		free((v)->at);          \
		(v)->at = NULL;         \
		(v)->n = (v)->room = 0; \
	} while (0)

#endif
