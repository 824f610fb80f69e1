/* SPDX-License-Identifier: Apache-2.0 */
/* The Python collector: its instance, and what it knows of a process. */
#ifndef GPC_PYTHON_PYTHON_H
#define GPC_PYTHON_PYTHON_H

#include "codes.h"
#include "gil.h"
#include "options.h"
#include "packages.h"
#include "reading.h"
#include "runtime.h"
#include "shelf.h"
#include "threads.h"

struct py_target;

#define PY_TARGETS_MAX 4096
enum { PY_EVENT_CPU = 1 };

struct python {
	const struct gpc_host *host;
	const struct py_options *options;
	struct gpc_walk_api walk;
	struct gpc_tick_api tick;
	struct gpc_fork_api fork;
	/* What processes share. */
	struct py_shelf *shelf;
	struct py_codes_all *codes;
	struct py_desk *desk;
	unsigned next_files; /* the process whose files are read next */
	uint64_t read_after_ns, trim_after_ns;
	bool is_reading; /* the timer is the fast one */
	/* [worker] Attached processes; those beyond are walked, too, but no more. */
	struct py_target *targets[PY_TARGETS_MAX];
	unsigned n_targets;
};

struct py_target {
	const struct python *python;
	const struct gpc_target *target;
	struct py_runtime runtime;
	struct py_codes *codes;
	struct py_packages *packages; /* NULL: not wanted */
	struct py_threads threads;
	struct py_gils gils; /* push only */
	bool is_told;        /* of its files */
	const struct gpc_elf_api *elf;
	struct gpc_target_threads *native; /* NULL: not needed, or not to be had */
};

struct py_threads_of gpc_py_threads_of(const struct py_target *t, const struct py_memory *m);

/* [reader] gpc.walk/1 */
gpc_status gpc_py_walk(void *self, void *tctx, const struct gpc_pull_sample *s,
		       struct gpc_pull_out *out);

#endif
