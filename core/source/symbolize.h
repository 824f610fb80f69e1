/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the raw stacks of a window, once per distinct frame. Runs on the
 * control thread after the window was cut. */
#ifndef GPC_SOURCE_SYMBOLIZE_H
#define GPC_SOURCE_SYMBOLIZE_H

#include "profile/names.h"
#include "profile/stacks.h"
#include "source/jitcode.h"
#include "source/sampler.h"
#include "sym/vdso.h"

struct gpc_symbolizer {
	struct gpc_sampler *sampler;
	struct gpc_names *names;
	struct gpc_log *log;
	const struct gpc_vdso *vdso; /* NULL: none */
	bool insert_dso;             /* " (file)" after each native name */
	bool demangle;
	bool inlines;    /* inlined functions are frames of their own */
	bool addresses;  /* frames have addresses, build-ids and lines: functions of one name,
			  * and lines of one function differ */
	bool is_foreign; /* raw is a collector's: numbers of names, addresses as the
			  * process has them, or nonsense */
	struct gpc_jit_spent jit_spent;
	bool kernel_hidden; /* set when the kernel's addresses could not be had */
};

/* Adds raw's stacks to out, whose frames are numbers of names. Stacks that
 * differ only inside functions become one. */
gpc_status gpc_symbolize(struct gpc_symbolizer *y, const struct gpc_stacks *raw,
			 struct gpc_stacks *out, struct gpc_err *err);

#endif
