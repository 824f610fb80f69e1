/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks that do nothing, for modules whose tables are the point. */
#ifndef GPC_TESTS_CALLBACKS_H
#define GPC_TESTS_CALLBACKS_H

#include <gpc/plugin.h>

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	(void)h;
	(void)options;
	*self = NULL;
	return GPC_OK;
}

static void destroy(void *self)
{
	(void)self;
}

#endif
