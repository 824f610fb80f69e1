/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 (FIPS 180-4), for names of files as others make them. Not for anything that must
 * withstand somebody who wants two files to have one name. */
#ifndef GPC_BASE_SHA1_H
#define GPC_BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define GPC_SHA1_BYTES 20

struct gpc_sha1 {
	uint32_t h[5];
	uint64_t n; /* bytes so far */
	uint8_t block[64];
};

void gpc_sha1_init(struct gpc_sha1 *s);
void gpc_sha1_add(struct gpc_sha1 *s, const void *bytes, size_t n);
void gpc_sha1_end(struct gpc_sha1 *s, uint8_t ret[GPC_SHA1_BYTES]);

#endif
