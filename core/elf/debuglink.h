/* SPDX-License-Identifier: Apache-2.0 */
/* What a stripped file says of the file that its symbols and debug information
 * went to: a build-id that both bear, or .gnu_debuglink, a name and a CRC. */
#ifndef GPC_ELF_DEBUGLINK_H
#define GPC_ELF_DEBUGLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/buildid.h"
#include "elf/file.h"

struct gpc_debuglink {
	uint8_t build_id[GPC_ELF_BUILD_ID_MAX];
	size_t build_id_len; /* 0: none */
	char name[256];      /* without a folder; "": no link */
	uint32_t crc;
	bool has_symbols, has_lines; /* itself: nothing is missing then */
};

/* The file that several debug files share what they have in common in (dwz): a path
 * of any kind and a build-id. */
struct gpc_altlink {
	char name[256]; /* "": none */
	uint8_t build_id[GPC_ELF_BUILD_ID_MAX];
	size_t build_id_len;
};
void gpc_altlink_read(const struct gpc_elf *elf, struct gpc_altlink *ret);
bool gpc_altlink_is(const struct gpc_altlink *link, int fd);

void gpc_debuglink_read(const struct gpc_elf *elf, struct gpc_debuglink *ret);
/* Is fd the file that is meant? By build-id if both have one, else by the CRC of
 * all its bytes: at most GPC_DEBUGLINK_CRC_MAX are read. */
#define GPC_DEBUGLINK_CRC_MAX ((uint64_t)1 << 30)
bool gpc_debuglink_is(const struct gpc_debuglink *link, int fd);

#endif
