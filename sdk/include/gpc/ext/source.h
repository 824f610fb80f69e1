/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.source/1: perf events, counted by the core.
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_SOURCE_H
#define GPC_EXT_SOURCE_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The core opens a perf event on every CPU (or for the session's processes),
 * drains the rings in time order, folds the samples of [kernel, native] stacks
 * under the collector that opened it, and symbolizes them. */
enum {
	GPC_SOURCE_PERIOD = 1u << 0,   /* rate is a period of the event, not Hz */
	GPC_SOURCE_NO_KERNEL = 1u << 1 /* leave the kernel's part out */
};
enum {                      /* how the user part of a stack is found */
       GPC_UNWIND_BY_FP,    /* by the kernel, along frame pointers */
       GPC_UNWIND_BY_DWARF, /* by call frame information, over a copy of the stack */
       GPC_UNWIND_BY_BOTH   /* of the two the complete one, then the deeper */
};
struct gpc_source_event {
	uint32_t struct_size;
	uint16_t event;   /* gpc_event.id its samples count under */
	uint16_t flags;   /* GPC_SOURCE_ */
	uint32_t type;    /* perf_event_attr.type */
	uint32_t precise; /* perf_event_attr.precise_ip, 0..3 */
	uint64_t config, config1, config2;
	uint64_t rate;        /* Hz per CPU, or the period */
	const char *name;     /* for messages */
	uint32_t unwind;      /* GPC_UNWIND_BY_ */
	uint32_t stack_bytes; /* of the stack to copy, unless BY_FP; at most 65528 */
};
struct gpc_source_stats { /* since open */
	uint32_t struct_size;
	int32_t opened; /* which candidate; its index */
	uint64_t samples, lost, throttled;
	uint32_t cpus;      /* CPUs (or tasks) measured now */
	uint32_t no_kernel; /* 1: the kernel's part could not be had */
};
struct gpc_source;
struct gpc_source_api {
	uint32_t struct_size, reserved;
	/* [control] From start(). Opens the first of the n candidates that the
	 * kernel accepts and that can be seen to count. Where collectors with
	 * gpc.walk/1 or gpc.step/1 are loaded the kernel's clocks go before all
	 * others. */
	gpc_status (*open)(const struct gpc_host *h, const struct gpc_source_event *candidates,
			   uint32_t n, struct gpc_source **ret);
	/* [any] */
	void (*stats)(struct gpc_source *s, struct gpc_source_stats *ret);
	/* [control] */
	void (*close)(struct gpc_source *s);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_SOURCE_H */
