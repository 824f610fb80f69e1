/* SPDX-License-Identifier: Apache-2.0 */
/* A core as it is between gpc_core_start and the end of a window, without collectors. */
#ifndef GPC_TESTS_MADE_CORE_H
#define GPC_TESTS_MADE_CORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core_impl.h"
#include "profile/about.h"

/* external: a file, or NULL. */
static inline struct gpc_core *made_core(const char *external)
{
	struct gpc_core_setup setup = {.size = sizeof setup};
	struct gpc_sampler_config config = {.stack_bytes = 1 << 20};
	struct gpc_core *core;
	struct gpc_err err;

	assert_int_equal(gpc_core_new(&setup, &core, NULL), GPC_OK);
	assert_int_equal(gpc_options_apply(core->options, NULL), GPC_OK);
	core->opts.external_metadata = external;
	core->names = gpc_names_new(1);
	core->abouts = gpc_abouts_new();
	if (gpc_core_init_head(core, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(gpc_sampler_new(&config, &core->log, &core->sampler, NULL), GPC_OK);
	gpc_metrics_init(&core->metrics, core->proc_fd);
	return core;
}

/* The next window's profile. */
static inline struct gpc_profile *made_profile(struct gpc_core *core)
{
	struct gpc_window win = {.struct_size = sizeof win, .end_ns = 1000000000};
	struct gpc_profile *p = NULL;
	struct gpc_err err;

	if (gpc_core_finish(core, &win, core->names, INT64_C(1770091506000000000), &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

#endif
