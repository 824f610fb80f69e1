/* SPDX-License-Identifier: Apache-2.0 */
/* Opening perf events: what to ask the kernel for, and what to do without when
 * it is older or we may not. */
#ifndef GPC_SOURCE_EVENTS_H
#define GPC_SOURCE_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/log.h"

struct gpc_perf_request {
	const char *name; /* for messages */
	uint32_t type;
	uint32_t precise;
	uint64_t config, config1, config2;
	uint64_t rate; /* Hz, or a period */
	bool is_period;
	bool no_kernel;
	bool samples;         /* false: a dummy event that only carries side-band */
	bool sideband;        /* exec, mmap, fork and exit records */
	bool inherit;         /* later children and threads too */
	uint32_t unwind;      /* enum gpc_unwind_mode of user stacks */
	bool user_state;      /* user registers and the stack with each sample */
	bool no_user_chain;   /* frame pointers of user stacks are not wanted */
	bool pulled;          /* a reader thread may take the ring over (pull_thread.h) */
	uint32_t stack_bytes; /* of the user stack; 0: registers only */
	uint32_t wake_bytes;  /* wake the reader after so many bytes; see gpc_reader_open */
};

/* The system call, replaceable in tests. */
typedef int (*gpc_perf_open_fn)(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
				unsigned long flags);
int gpc_perf_open_syscall(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			  unsigned long flags);

/* Fills the attr with all that we would like to have. */
void gpc_perf_attr(const struct gpc_perf_request *req, struct perf_event_attr *ret);

/* Between samples, where a timer of the kernel's makes them (its clocks do, by frequency);
 * else 0. */
uint64_t gpc_perf_timer_ns(const struct gpc_perf_request *req);

/* Opens, disabled. On EINVAL gives up one wish after another (build-ids,
 * cgroups, kernel symbols, ...), each logged once at debug level; without the
 * right to see the kernel, the kernel's part. attr keeps what was accepted, so
 * that the next CPU starts there. pid -1 is every process. */
gpc_status gpc_perf_open(gpc_perf_open_fn open_fn, struct perf_event_attr *attr, pid_t pid, int cpu,
			 struct gpc_log *log, int *ret, struct gpc_err *err);

/* Is there such an event here, and does it count? For a hardware event runs a busy
 * loop of ours for two milliseconds under it (cycles often count nothing in virtual
 * machines). */
gpc_status gpc_perf_probe(const struct gpc_perf_request *req, struct gpc_err *err);

/* What the kernel's settings and our capabilities allow, for messages: one
 * sentence with the remedy. */
void gpc_perf_explain(char *buf, size_t size);

#endif
