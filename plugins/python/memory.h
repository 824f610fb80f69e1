/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a target: through the host, and from the copy of the stack that comes
 * with a sample, which is of the sampled moment and costs no system call. */
#ifndef GPC_PYTHON_MEMORY_H
#define GPC_PYTHON_MEMORY_H

#include <stdbool.h>
#include <string.h>

#include <gpc/plugin.h>

/* What runs at samples lies together: few pages of code, each of which is cold. */
#define PY_HOT __attribute__((hot))

struct py_memory {
	const struct gpc_host *host;
	const struct gpc_target *target;
	const struct gpc_pull_sample *sample; /* or NULL */
};

/* Bytes read, at most n; below n at the end of a mapping; 0: nothing there. */
static inline size_t gpc_py_read_some(const struct py_memory *m, uint64_t at, void *buf, size_t n)
{
	const struct gpc_pull_sample *s = m->sample;
	int64_t got;

	if (s && s->stack_bytes >= n && at >= s->sp && at - s->sp <= s->stack_bytes - n) {
		memcpy(buf, s->stack + (at - s->sp), n);
		return n;
	}
	if (at < 4096 || at >> 56)
		return 0;
	got = m->host->read_mem(m->host, m->target, at, buf, n);
	return got > 0 ? (size_t)got : 0;
}

static inline bool gpc_py_read(const struct py_memory *m, uint64_t at, void *buf, size_t n)
{
	return gpc_py_read_some(m, at, buf, n) == n;
}

static inline bool gpc_py_read_u64(const struct py_memory *m, uint64_t at, uint64_t *ret)
{
	return gpc_py_read(m, at, ret, sizeof *ret);
}

/* Members of a structure that was read into a buffer. */
static inline uint64_t gpc_py_u64(const uint8_t *block, uint16_t at)
{
	uint64_t value;

	memcpy(&value, block + at, sizeof value);
	return value;
}

static inline uint32_t gpc_py_u32(const uint8_t *block, uint16_t at)
{
	uint32_t value;

	memcpy(&value, block + at, sizeof value);
	return value;
}

#endif
