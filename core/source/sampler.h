/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a core: perf rings drained by one thread in the order of time,
 * side-band into the process table, samples into one table of raw stacks per
 * stream. The control thread cuts the tables at the end of a window.
 *
 * One lock covers the process table, the rings and the tables; it is held for
 * the length of a drain. Everything here locks by itself, except what says
 * "locked". */
#ifndef GPC_SOURCE_SAMPLER_H
#define GPC_SOURCE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "proc/table.h"
#include "profile/stacks.h"
#include "source/events.h"
#include "source/native.h"
#include "source/pull.h"
#include "source/pull_thread.h"
#include "sym/images.h"
#include "sym/kernel.h"

struct gpc_sampler;

struct gpc_sampler_config {
	const int32_t *pids; /* only these and what they start; borrowed for life */
	uint32_t n_pids;     /* 0: the whole machine */
	size_t stack_bytes;  /* cap of one stream's table */
	bool threads;        /* rows by thread (gpc_key), with names */
	enum gpc_priority reader_priority;
	const char *raw_path; /* test hook: all records go to this file; or NULL */
	/* Discovery is told of processes (gpc_table_needs.changed): locked, must
	 * not block. May be NULL. */
	void (*changed)(void *ctx, const struct gpc_process *p, const struct gpc_process_event *ev);
	/* A process used CPU in this control group (see gpc_container_ids): locked,
	 * must not block. NULL: nobody wants to know of control groups. */
	void (*placed)(void *ctx, const char *cgroup);
	void *ctx;
};

gpc_status gpc_sampler_new(const struct gpc_sampler_config *config, struct gpc_log *log,
			   struct gpc_sampler **ret, struct gpc_err *err);
/* Stops the thread and closes everything. NULL is fine. False: a reader hangs in a
 * collector and may come back; what collectors can reach must stay for ever. */
bool gpc_sampler_free(struct gpc_sampler *s);

/* Opens the side-band and starts the thread. Without the right to it the table
 * lives from /proc alone, which is logged. Samples from end_ns on wait in the
 * rings for gpc_sampler_cut. */
gpc_status gpc_sampler_start(struct gpc_sampler *s, uint64_t end_ns, struct gpc_err *err);
bool gpc_sampler_has_sideband(const struct gpc_sampler *s);

/* ---- streams -------------------------------------------------------------- */

/* Opens the first candidate that counts here; *ret_index says which. The
 * stream's number is from 0 up and not used twice. */
gpc_status gpc_sampler_open(struct gpc_sampler *s, const struct gpc_perf_request *candidates,
			    uint32_t n, uint32_t *ret_stream, uint32_t *ret_index,
			    struct gpc_err *err);
void gpc_sampler_close(struct gpc_sampler *s, uint32_t stream);

struct gpc_stream_stats { /* since open */
	uint64_t samples, lost, throttled;
	uint32_t cpus;
	bool no_kernel;
	uint64_t ring_bytes;
};
void gpc_sampler_stats(struct gpc_sampler *s, uint32_t stream, struct gpc_stream_stats *ret);

/* ---- windows -------------------------------------------------------------- */

/* The first window begins, and ends at end_ns. */
void gpc_sampler_begin(struct gpc_sampler *s, uint64_t end_ns);
/* The running window ends now, if not yet: samples from now on wait in the rings.
 * Returns its end, for gpc_sampler_cut. */
uint64_t gpc_sampler_end_now(struct gpc_sampler *s);
/* Ends the running window: waits until end_ns has passed (its announced end, or what
 * gpc_sampler_end_now returned), drains the rings up to
 * it and puts the tables of all streams aside for gpc_sampler_take; later
 * samples count for the next window, which ends at next_end_ns. names: what
 * readers make numbers of from then on. */
void gpc_sampler_cut(struct gpc_sampler *s, uint64_t end_ns, uint64_t next_end_ns,
		     struct gpc_names *names);
/* The stacks of the window that was cut. The table stays the sampler's: give it
 * back before the next cut. NULL: no such stream. */
struct gpc_stacks *gpc_sampler_take(struct gpc_sampler *s, uint32_t stream);
void gpc_sampler_give_back(struct gpc_sampler *s, uint32_t stream);
/* When the window has been delivered: forgets what ended before its end. */
void gpc_sampler_trim(struct gpc_sampler *s, uint64_t end_ns);

/* ---- the table ------------------------------------------------------------ */

void gpc_sampler_lock(struct gpc_sampler *s);
void gpc_sampler_unlock(struct gpc_sampler *s);
struct gpc_table *gpc_sampler_table(struct gpc_sampler *s); /* locked */
struct gpc_images *gpc_sampler_images(struct gpc_sampler *s);
struct gpc_kernel_syms *gpc_sampler_kernel(struct gpc_sampler *s); /* control thread */
/* Streams opened from now on carry user registers and so many bytes of the user
 * stack, so that processes can be pulled; names as in gpc_sampler_cut. */
void gpc_sampler_set_pull(struct gpc_sampler *s, uint32_t stack_bytes, struct gpc_names *names);
/* Who is pulled. After adding and removing: */
struct gpc_pulls *gpc_sampler_pulls(struct gpc_sampler *s);
/* starts the readers with the first process and ends them after the last. */
void gpc_sampler_pull_changed(struct gpc_sampler *s);
struct gpc_mem *gpc_sampler_mem(struct gpc_sampler *s);
struct gpc_reader_facts {
	bool is_running;
	enum gpc_priority priority; /* what could be had */
	uint64_t cpu_ns;            /* of the readers that live */
};
void gpc_sampler_reader_facts(struct gpc_sampler *s, struct gpc_reader_facts *ret);
/* How unwinding by call frame information went, since the start. */
void gpc_sampler_unwinding(struct gpc_sampler *s, struct gpc_native_stats *ret,
			   struct gpc_unwind_tables_stats *tables);
/* Waits until the files asked for so far have been opened, or the time is over. */
void gpc_sampler_settle(struct gpc_sampler *s, uint64_t timeout_ns);
/* The name of a thread that was sampled, copied; "": not known. */
void gpc_sampler_thread(struct gpc_sampler *s, uint64_t process, int32_t tid, char ret[16]);
/* Samples seen in the running window, for the progress line. */
uint64_t gpc_sampler_progress(struct gpc_sampler *s);

#endif
