/* SPDX-License-Identifier: Apache-2.0 */
/* Writes call frame information byte by byte. */
#ifndef GPC_TEST_UNWIND_FRAME_H
#define GPC_TEST_UNWIND_FRAME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/cfi.h"

struct frame {
	uint8_t bytes[4096];
	size_t n, entry; /* entry: where the open one began */
};

static inline void put(struct frame *f, const void *bytes, size_t n)
{
	assert_true(f->n + n <= sizeof f->bytes);
	memcpy(f->bytes + f->n, bytes, n);
	f->n += n;
}

static inline void put8(struct frame *f, uint8_t v)
{
	put(f, &v, 1);
}

static inline void put32(struct frame *f, uint32_t v)
{
	put(f, &v, 4);
}

static inline void put64(struct frame *f, uint64_t v)
{
	put(f, &v, 8);
}

static inline void open_entry(struct frame *f)
{
	f->entry = f->n;
	put32(f, 0);
}

static inline void close_entry(struct frame *f)
{
	uint32_t length = (uint32_t)(f->n - f->entry - 4);

	memcpy(f->bytes + f->entry, &length, 4);
}

/* x86-64's usual beginning: CFA is rsp + 8, the return address at CFA - 8. */
static const uint8_t x86_first[] = {0x0c, 7, 8, 0x80 | 16, 1};

/* A CIE of .eh_frame, version 1, code in bytes, data in eights downwards. */
static inline void put_cie(struct frame *f, const char *augmentation, uint8_t encoding)
{
	open_entry(f);
	put32(f, 0);
	put8(f, 1);
	put(f, augmentation, strlen(augmentation) + 1);
	put8(f, 1);
	put8(f, 0x78); /* -8 */
	put8(f, 16);
	put8(f, 1); /* bytes of augmentation data */
	put8(f, encoding);
	put(f, x86_first, sizeof x86_first);
	close_entry(f);
}

/* An entry for [start, start + size) with absolute addresses (encoding 0), whose CIE
 * stands at 0. */
static inline void put_fde(struct frame *f, uint64_t start, uint64_t size, const uint8_t *ops,
			   size_t n)
{
	open_entry(f);
	put32(f, (uint32_t)f->n);
	put64(f, start);
	put64(f, size);
	put8(f, 0);
	put(f, ops, n);
	close_entry(f);
}

/* .debug_frame of DWARF 4: an entry for [0x401000, 0x401030). */
static inline void put_debug_frame(struct frame *f, const uint8_t *ops, size_t n)
{
	open_entry(f);
	put32(f, UINT32_MAX);
	put8(f, 4);
	put8(f, 0);
	put8(f, 8);
	put8(f, 0);
	put8(f, 1);
	put8(f, 0x78);
	put8(f, 16);
	put(f, x86_first, sizeof x86_first);
	close_entry(f);
	open_entry(f);
	put32(f, 0); /* its CIE's place */
	put64(f, 0x401000);
	put64(f, 0x30);
	put(f, ops, n);
	close_entry(f);
}

static inline struct gpc_cfi_section section_of(const struct frame *f)
{
	return (struct gpc_cfi_section){f->bytes, f->n, 0x9000, true};
}

#endif
