/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of the target's memory. All of it is foreign: lengths and pointers in it
 * may be anything. */
#ifndef GPC_JAVA_MEM_H
#define GPC_JAVA_MEM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <gpc/plugin.h>

/* What runs at samples lies together: few pages of code, each of which is cold. */
#define JAVA_HOT __attribute__((hot))

#define GPC_JAVA_LOWEST UINT64_C(4096)

struct jmem {
	const struct gpc_host *host;
	const struct gpc_target *target;
};

static inline bool gpc_java_is_pointer(uint64_t addr)
{
	return addr >= GPC_JAVA_LOWEST && !(addr >> 47);
}

/* Up to n bytes; how many there were. */
static inline uint64_t gpc_java_read_some(const struct jmem *m, uint64_t addr, void *buf,
					  uint64_t n)
{
	int64_t got;

	if (!gpc_java_is_pointer(addr))
		return 0;
	got = m->host->read_mem(m->host, m->target, addr, buf, n);
	return got > 0 ? (uint64_t)got : 0;
}

/* All n bytes, or false. */
static inline bool gpc_java_read(const struct jmem *m, uint64_t addr, void *buf, uint64_t n)
{
	return gpc_java_read_some(m, addr, buf, n) == n;
}

static inline bool gpc_java_read_u64(const struct jmem *m, uint64_t addr, uint64_t *ret)
{
	return gpc_java_read(m, addr, ret, sizeof *ret);
}

static inline bool gpc_java_read_u32(const struct jmem *m, uint64_t addr, uint32_t *ret)
{
	return gpc_java_read(m, addr, ret, sizeof *ret);
}

/* A C string; cut at room - 1. False: it cannot be read. */
static inline bool gpc_java_read_text(const struct jmem *m, uint64_t addr, char *ret, uint32_t room)
{
	uint64_t n = gpc_java_read_some(m, addr, ret, room - 1);

	ret[n] = '\0';
	return n > 0;
}

/* Numbers within what was read already; the caller has checked the bounds. */
static inline uint64_t gpc_java_u64(const void *bytes, uint32_t at)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)bytes + at, sizeof v);
	return v;
}

static inline uint32_t gpc_java_u32(const void *bytes, uint32_t at)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)bytes + at, sizeof v);
	return v;
}

static inline uint16_t gpc_java_u16(const void *bytes, uint32_t at)
{
	uint16_t v;

	memcpy(&v, (const uint8_t *)bytes + at, sizeof v);
	return v;
}

#endif
