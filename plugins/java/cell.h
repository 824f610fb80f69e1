/* SPDX-License-Identifier: Apache-2.0 */
/* A few words that readers of several CPUs share without a lock: the first one counts
 * changes and is odd during one. Whoever comes into a change does without: a cell holds
 * what can be found out again. So no reader ever waits for another one, which may have
 * been put aside by a more urgent thread. All zeros: empty. */
#ifndef GPC_JAVA_CELL_H
#define GPC_JAVA_CELL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define GPC_JAVA_LINE 8 /* words of a cache line */
/* Room for n lines, wherever it begins. */
#define GPC_JAVA_LINES(n) (((n) + 1) * GPC_JAVA_LINE - 1)

static inline uint64_t *gpc_java_line(const uint64_t *room, uint32_t line)
{
	return (uint64_t *)(((uintptr_t)room + 8 * GPC_JAVA_LINE - 1) / (8 * GPC_JAVA_LINE) *
			    (8 * GPC_JAVA_LINE)) +
	       (size_t)line * GPC_JAVA_LINE;
}

static inline uint64_t gpc_java_cell_begin(const uint64_t *cell)
{
	return __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}

/* Word 1 is the first one behind the count. */
static inline uint64_t gpc_java_cell_word(const uint64_t *cell, unsigned word)
{
	/* What is loaded later is not loaded before it: the count last. */
	return __atomic_load_n(cell + word, __ATOMIC_ACQUIRE);
}

/* Were all words since begin of one moment? */
static inline bool gpc_java_cell_end(const uint64_t *cell, uint64_t begin)
{
	return begin && !(begin & 1) && __atomic_load_n(cell, __ATOMIC_RELAXED) == begin;
}

/* n words into a struct of that size. */
static inline bool gpc_java_cell_read(const uint64_t *cell, void *ret, unsigned n)
{
	uint64_t begin = gpc_java_cell_begin(cell), word;

	for (unsigned i = 0; i < n; i++) {
		word = gpc_java_cell_word(cell, 1 + i);
		memcpy((uint8_t *)ret + 8 * (size_t)i, &word, 8);
	}
	return gpc_java_cell_end(cell, begin);
}

/* False: somebody else changes it. Else its words are set, and done ends that. */
static inline bool gpc_java_cell_change(uint64_t *cell)
{
	uint64_t count = __atomic_load_n(cell, __ATOMIC_RELAXED);

	return !(count & 1) && __atomic_compare_exchange_n(cell, &count, count + 1, false,
							   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void gpc_java_cell_set(uint64_t *cell, unsigned word, uint64_t value)
{
	/* Not before the count. */
	__atomic_store_n(cell + word, value, __ATOMIC_RELEASE);
}

static inline void gpc_java_cell_done(uint64_t *cell)
{
	__atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

static inline void gpc_java_cell_write(uint64_t *cell, const void *from, unsigned n)
{
	uint64_t word;

	if (!gpc_java_cell_change(cell))
		return;
	for (unsigned i = 0; i < n; i++) {
		memcpy(&word, (const uint8_t *)from + 8 * (size_t)i, 8);
		gpc_java_cell_set(cell, 1 + i, word);
	}
	gpc_java_cell_done(cell);
}

#endif
