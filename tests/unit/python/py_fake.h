/* SPDX-License-Identifier: Apache-2.0 */
/* A process that a test makes up: a piece of memory, some symbols and sections.
 * It can change while it is read. */
#ifndef GPC_TEST_PY_FAKE_H
#define GPC_TEST_PY_FAKE_H

#include <gpc/plugin.h>

#include "../../../plugins/python/memory.h"

#define PY_FAKE_BASE  UINT64_C(0x100000)
#define PY_FAKE_BYTES 65536

struct py_fake_place {
	const char *name;
	uint64_t start, bytes;
};

struct py_fake {
	struct gpc_host host; /* first */
	struct gpc_elf_api elf;
	struct gpc_target target;
	struct py_memory memory;
	uint8_t bytes[PY_FAKE_BYTES]; /* from PY_FAKE_BASE on */
	struct py_fake_place places[8];
	/* Called before each read of these bytes; or NULL. */
	void (*before)(struct py_fake *f, uint64_t at, uint64_t n);
	unsigned reads;
	uint64_t now_ns;
	void *ctx;
	char report[256];
};

void py_fake_init(struct py_fake *f);
void py_fake_put(struct py_fake *f, uint64_t at, uint64_t value);
void py_fake_put32(struct py_fake *f, uint64_t at, uint32_t value);
void py_fake_text(struct py_fake *f, uint64_t at, const char *text);

#endif
