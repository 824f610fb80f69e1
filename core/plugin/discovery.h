/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which collector looks at which process. Told of changes by the
 * process table, it reads a process in full, asks the match tables of all
 * process-scope collectors, then their claim(), and attaches the best of each
 * runtime. On a thread of its own.
 *
 * What an executable's name and symbols say is remembered per file; what mapped
 * files say belongs to a process and is asked again after an exec or a new
 * executable mapping. */
#ifndef GPC_PLUGIN_DISCOVERY_H
#define GPC_PLUGIN_DISCOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "plugin/instance.h"
#include "proc/table.h"

struct gpc_discovery;

struct gpc_discovery_setup {
	struct gpc_instance *const *instances; /* borrowed for life */
	unsigned n_instances;
	const int32_t *pids; /* only these and what they start; 0: all */
	uint32_t n_pids;
	uint64_t min_age_ns; /* younger processes wait (--min-duration) */
	/* Looks a process up in the table, entering it when need be. False: gone. */
	bool (*identify)(void *ctx, int32_t pid, struct gpc_target_id *ret);
	/* Fills in what the core knows beyond /proc. Optional; may wait a little. */
	void (*complete)(void *ctx, struct gpc_target_view *v);
	void *ctx;
	struct gpc_log *log;
};

gpc_status gpc_discovery_new(const struct gpc_discovery_setup *setup, struct gpc_discovery **ret,
			     struct gpc_err *err);
void gpc_discovery_free(struct gpc_discovery *d); /* NULL is fine */

/* From the table, under its lock: never blocks. */
void gpc_discovery_changed(struct gpc_discovery *d, const struct gpc_process *p,
			   const struct gpc_process_event *ev);
/* A collector asks for a process it found itself. Any thread. */
gpc_status gpc_discovery_attach(struct gpc_discovery *d, struct gpc_instance *i, int32_t pid);

#endif
