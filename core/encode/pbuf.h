/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf messages, written into memory one after another. A shortage of memory
 * is remembered and told once, at the end. */
#ifndef GPC_ENCODE_PBUF_H
#define GPC_ENCODE_PBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct gpc_pbuf {
	vec(uint8_t) bytes;
	bool is_short_of_memory;
};

void gpc_pbuf_deinit(struct gpc_pbuf *b);
void gpc_pbuf_clear(struct gpc_pbuf *b);
void gpc_pbuf_varint(struct gpc_pbuf *b, uint64_t value);
/* Fields; 0 and the empty text are what a reader takes a missing field for, so
 * gpc_pbuf_u64 leaves 0 out. */
void gpc_pbuf_u64(struct gpc_pbuf *b, uint32_t field, uint64_t value);
void gpc_pbuf_bytes(struct gpc_pbuf *b, uint32_t field, const void *bytes, size_t n);
/* part as a message (or a packed array) inside of b. */
void gpc_pbuf_part(struct gpc_pbuf *b, uint32_t field, const struct gpc_pbuf *part);

#endif
