/* SPDX-License-Identifier: Apache-2.0 */
/* The flame graph page without its title and its data, made from page/ when the
 * core is built: part 0, title, part 1, data, part 2, data of the profile to
 * compare with or null, part 3. */
#ifndef GPC_ENCODE_PAGE_H
#define GPC_ENCODE_PAGE_H

#include <stddef.h>

#define GPC_PAGE_PARTS 4

struct gpc_page_part {
	const char *text;
	size_t n;
};

extern const struct gpc_page_part gpc_page_parts[GPC_PAGE_PARTS];

#endif
