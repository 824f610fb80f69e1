/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf messages, read field by field out of memory that nobody has checked. */
#ifndef GPC_DECODE_PBREAD_H
#define GPC_DECODE_PBREAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct gpc_pbread {
	const uint8_t *begin; /* of the file, for places in messages */
	const uint8_t *at, *end;
};

enum { GPC_PB_VARINT = 0, GPC_PB_FIXED64, GPC_PB_BYTES, GPC_PB_FIXED32 = 5 };

struct gpc_pbfield {
	uint32_t number, wire;
	uint64_t value;         /* all but GPC_PB_BYTES */
	struct gpc_pbread part; /* GPC_PB_BYTES */
};

struct gpc_numbers {
	vec(uint64_t) list;
};

static inline struct gpc_pbread gpc_pbread_of(const void *bytes, size_t n)
{
	return (struct gpc_pbread){bytes, bytes, (const uint8_t *)bytes + n};
}

/* 1: *ret is the next field; 0: the end; a status below 0, which says the byte. */
gpc_status gpc_pbread_next(struct gpc_pbread *r, struct gpc_pbfield *ret, struct gpc_err *err);
/* A field that must be a number, or a text or message. */
gpc_status gpc_pbfield_number(const struct gpc_pbfield *f, uint64_t *ret, struct gpc_err *err);
gpc_status gpc_pbfield_part(const struct gpc_pbfield *f, struct gpc_pbread *ret,
			    struct gpc_err *err);
/* Appends one number, or the packed ones. */
gpc_status gpc_pbfield_numbers(const struct gpc_pbfield *f, struct gpc_numbers *to,
			       struct gpc_err *err);

#endif
