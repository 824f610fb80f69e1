/* SPDX-License-Identifier: Apache-2.0 */
/* Writes jitdump files (Linux, tools/perf/Documentation/jitdump-specification.txt). */
#ifndef GPC_TEST_JITFILE_H
#define GPC_TEST_JITFILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct jitfile {
	uint8_t bytes[65536];
	size_t n;
};

static inline void jit_put(struct jitfile *f, const void *at, size_t n)
{
	assert_true(n <= sizeof f->bytes - f->n);
	memcpy(f->bytes + f->n, at, n);
	f->n += n;
}

static inline void jit_put32(struct jitfile *f, uint32_t v)
{
	jit_put(f, &v, sizeof v);
}

static inline void jit_put64(struct jitfile *f, uint64_t v)
{
	jit_put(f, &v, sizeof v);
}

static inline void jit_begin(struct jitfile *f)
{
	memset(f, 0, sizeof *f);
	jit_put32(f, 0x4a695444);
	jit_put32(f, 1);
	jit_put32(f, 48); /* a header of a later version, longer than what we know */
	jit_put32(f, 62);
	jit_put32(f, 0);
	jit_put32(f, 4321);
	jit_put64(f, 1);
	jit_put64(f, 0);
	jit_put64(f, UINT64_MAX);
}

static inline void jit_prefix(struct jitfile *f, uint32_t id, size_t size)
{
	jit_put32(f, id);
	jit_put32(f, (uint32_t)(16 + size));
	jit_put64(f, 7);
}

static inline void jit_put_load(struct jitfile *f, uint64_t at, uint64_t size, uint64_t index,
				const char *name)
{
	uint8_t code[256] = {0};

	jit_prefix(f, 0, 40 + strlen(name) + 1 + size);
	jit_put64(f, 0);
	jit_put64(f, at);
	jit_put64(f, at);
	jit_put64(f, size);
	jit_put64(f, index);
	jit_put(f, name, strlen(name) + 1);
	jit_put(f, code, size);
}

static inline void jit_put_move(struct jitfile *f, uint64_t from, uint64_t to, uint64_t size,
				uint64_t index)
{
	jit_prefix(f, 1, 48);
	jit_put64(f, 0);
	jit_put64(f, to);
	jit_put64(f, from);
	jit_put64(f, to);
	jit_put64(f, size);
	jit_put64(f, index);
}

/* Two lines in a file, a third in another. */
static inline void jit_put_lines(struct jitfile *f, uint64_t at)
{
	jit_prefix(f, 2, 16 + 3 * 16 + 5 + 2 + 5);
	jit_put64(f, at);
	jit_put64(f, 3);
	jit_put64(f, at);
	jit_put32(f, 10);
	jit_put32(f, 0);
	jit_put(f, "a.js", 5);
	jit_put64(f, at + 8);
	jit_put32(f, 11);
	jit_put32(f, 0);
	jit_put(f, "\xff", 2);
	jit_put64(f, at + 16);
	jit_put32(f, 5);
	jit_put32(f, 0);
	jit_put(f, "b.js", 5);
}

static inline void jit_put_frames(struct jitfile *f, const void *bytes, size_t n, size_t header)
{
	jit_prefix(f, 4, 24 + n);
	jit_put64(f, n);
	jit_put64(f, header);
	jit_put64(f, n);
	jit_put(f, bytes, n);
}

#endif
