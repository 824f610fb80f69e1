/* SPDX-License-Identifier: Apache-2.0 */
#include "source/crowd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"

#define LOOK_NS (2 * GPC_SECOND_NS)
#define PART    16 /* a twelfth of that is what readers make wait themselves */

/* The time in which some thread waited, since boot (Documentation/accounting/psi.rst). */
static bool read_waited(const char *path, uint64_t *ret)
{
	char text[256];
	const char *total;

	if (gpc_read_small(AT_FDCWD, path, text, sizeof text) <= 0 || strncmp(text, "some ", 5))
		return false;
	total = strstr(text, "total=");
	if (!total)
		return false;
	*ret = strtoull(total + 6, NULL, 10);
	return true;
}

bool gpc_crowd_is_calm(struct gpc_crowd *c, uint64_t now_ns, const char *path)
{
	uint64_t waited_us, span_ns = now_ns - c->looked_ns, before = c->waited_us;
	bool is_first = !c->looked_ns;

	if (!is_first && span_ns < LOOK_NS)
		return c->is_calm;
	if (!read_waited(path ? path : "/proc/pressure/cpu", &waited_us)) {
		c->looked_ns = 0;
		c->is_calm = false;
		return false;
	}
	c->looked_ns = now_ns;
	c->waited_us = waited_us;
	c->is_calm = !is_first && (waited_us - before) * 1000 <= span_ns / PART;
	return c->is_calm;
}
