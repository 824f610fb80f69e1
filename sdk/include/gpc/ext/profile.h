/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.profile/1: reading a profile, for sinks.
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_PROFILE_H
#define GPC_EXT_PROFILE_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpc_stack { /* one folded stack */
	uint32_t struct_size;
	uint32_t n_frames;
	const gpc_frame *frames; /* leaf first; ids for frame() */
	uint64_t value;
	uint32_t event; /* index for event() */
	int32_t pid;
	const char *comm, *container, *appid; /* never NULL */
	uint32_t metadata;                    /* index into the header's application_metadata */
	uint32_t reserved;
	const char *pod, *pod_namespace, *container_id; /* never NULL */
	const char *thread;                             /* its name; "" unknown */
	uint64_t process;                               /* equal for stacks of one process image */
	int32_t tid;                                    /* 0 unknown: see want() */
	int32_t reserved2;
};
struct gpc_frame_text { /* borrowed as the profile is */
	uint32_t struct_size;
	uint32_t flags;
	const char *function, *file, *module, *suffix; /* never NULL */
	uint32_t line, reserved;
	uint64_t address;     /* in the module, as linked; 0 unknown: see want() */
	const char *build_id; /* of the module, hexadecimal; never NULL */
};
/* What costs more, and is only there when somebody wants it. */
enum {
	GPC_WANT_THREADS = 1u << 0,  /* gpc_stack.tid: a process's stacks by thread */
	GPC_WANT_ADDRESSES = 1u << 1 /* gpc_frame_text.address and .build_id; functions of one
				      * name are told apart */
};
struct gpc_profile_info {
	uint32_t struct_size;
	uint32_t seq;
	int64_t begin_unix_ns, end_unix_ns; /* CLOCK_REALTIME */
	uint64_t duration_ns;
	uint32_t n_events, n_processes;
	uint64_t samples;   /* of the first event */
	const char *header; /* the JSON object of the .col header, one line */
};
struct gpc_profile_api {
	uint32_t struct_size, reserved;
	void (*info)(const struct gpc_profile *p, struct gpc_profile_info *ret);
	/* 0 when there is no such frame. */
	int32_t (*frame)(const struct gpc_profile *p, gpc_frame f, struct gpc_frame_text *ret);
	/* 0 when there is no such event. */
	int32_t (*event)(const struct gpc_profile *p, uint32_t index, struct gpc_event *ret);
	/* *cursor starts at 0; 1: *ret filled; 0: end. */
	int32_t (*next)(const struct gpc_profile *p, uint64_t *cursor, struct gpc_stack *ret);
	/* Streams the profile as "col", "html", "pprof" (gzipped), "speedscope" or
	 * "firefox"; out gets pieces in order and may refuse one with a status
	 * below 0, which encode() returns. */
	gpc_status (*encode)(const struct gpc_profile *p, const char *format,
			     gpc_status (*out)(void *ctx, const void *bytes, uint64_t n),
			     void *ctx);
	/* [control] A sink's create(): profiles are to have these GPC_WANT_. */
	void (*want)(const struct gpc_host *h, uint32_t wants);
	/* The frame on one line, as flame graphs show it: "main (app.py:7)_[p]". At most
	 * size bytes with the NUL; what is too long loses the end of its name, not its
	 * suffix. Returns the length of ret. */
	uint32_t (*text)(const struct gpc_frame_text *f, char *ret, uint32_t size);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_PROFILE_H */
