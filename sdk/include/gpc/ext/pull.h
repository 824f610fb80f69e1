/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.walk/1, gpc.step/1: frames at a perf sample (pull).
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_PULL_H
#define GPC_EXT_PULL_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A collector with one of these (asked through gpc_collector.extension) writes
 * no samples of its own: at each perf sample of a process it is attached to, the
 * core asks it for the thread's runtime frames and puts them between the kernel
 * and native ones. Counts are perf's; idle threads cost nothing.
 *
 * [reader] Called on a reader thread of the core: pinned to the CPU of the
 * sampled thread, at real-time priority where possible, so that the thread does
 * not run on before the answer. Several readers may call at once, for different
 * threads of one process too. No call may block, allocate much, attach or open
 * files; of the host only read_mem, now_ns, log, and of the writer str and
 * frame may be called. An answer that takes longer than the budget is cut and
 * counted; a process whose reads hang is left alone. */
enum {
	/* The thread has not run since the sample was taken, as far as is known when
	 * the collector is called; it is checked once more behind the answer. */
	GPC_PULL_EXACT = 1u << 0,
	/* native is right as far as it goes, but does not reach the stack's root. Without
	 * it native is whole, or of frame pointers, which may have gone astray. */
	GPC_PULL_NATIVE_CUT = 1u << 1
};
struct gpc_pull_sample {
	uint32_t struct_size;
	uint32_t flags; /* GPC_PULL_ */
	int32_t tid;    /* in the core's pid namespace */
	int32_t ns_tid; /* in the target's own; 0 unknown */
	int32_t cpu;
	uint32_t n_regs;
	uint64_t time_ns;
	uint64_t pc, sp, fp;  /* user mode; all 0: not known */
	const uint64_t *regs; /* in the order of asm/perf_regs.h, of regs_mask */
	uint64_t regs_mask;
	const uint8_t *stack; /* copy of the user stack from sp on */
	uint32_t stack_bytes; /* may be 0 */
	uint32_t n_native;
	/* User part of the native stack, leaf first: the place executed, then return
	 * addresses. For step(), and without GPC_PULL_EXACT, along frame pointers only. */
	const uint64_t *native;
	/* As the kernel has it; "" when it is not known yet, and without finish(). */
	const char *thread_name;
	/* For each native frame where its part of the stack ends: the stack pointer that its
	 * caller goes on with. 0: not known; NULL: of none. */
	const uint64_t *native_sp;
};

/* Which native frames a run of the answer's frames replaces: native[native_at,
 * native_at + native_n). native_n 0: it goes before native[native_at] (after
 * the last one for n_native). Runs in order, from the leaf on, without overlap. A
 * run must only be given when registers or stack prove it. */
struct gpc_pull_run {
	uint32_t frames_at, frames_n;
	uint32_t native_at, native_n;
};

/* The answer's room is the core's; n and n_runs are 0 when called. */
struct gpc_pull_out {
	uint32_t struct_size;
	uint32_t room, n;
	uint32_t room_runs, n_runs;
	uint32_t reserved;
	gpc_frame *frames;         /* leaf first, ids from writer->frame() */
	struct gpc_pull_run *runs; /* none: the frames stand alone, marked as not joined */
	struct gpc_writer *writer; /* for str() and frame() only: it takes no samples */
};

struct gpc_walk_api { /* gpc.walk/1 */
	uint32_t struct_size;
	uint32_t stack_bytes; /* of user stack wanted with each sample; 0: none */
	/* [reader] All runtime frames of the thread. GPC_OK with n 0: none now. An
	 * error is counted; the native stack stays. */
	gpc_status (*walk)(void *self, void *tctx, const struct gpc_pull_sample *s,
			   struct gpc_pull_out *out);
};

struct gpc_step_state { /* of one frame; user mode */
	uint32_t struct_size;
	uint32_t is_leaf; /* 1: pc is being executed; 0: it is a return address */
	uint64_t pc, sp, fp;
	/* Where the collector's frames go on above native code; next_sp 0: not known. A
	 * collector sets it when it leaves a frame of native code in state. The core
	 * goes there when its unwinder finds no caller, or passes it. */
	uint64_t next_pc, next_sp, next_fp;
};
struct gpc_step_api { /* gpc.step/1 */
	uint32_t struct_size;
	uint32_t stack_bytes;
	/* [reader] state is a frame in one of the collector's ranges
	 * (gpc.pull/1). Adds its frames (inlined ones first) and moves state to the
	 * caller, whose sp must be higher. The core goes on with its native
	 * unwinder, or with another step, as often as the stack does. pc 0 ends
	 * the stack. An error is counted; the native stack stays. */
	gpc_status (*step)(void *self, void *tctx, const struct gpc_pull_sample *s,
			   struct gpc_step_state *state, struct gpc_pull_out *out);
	/* [reader] Optional. The sample was taken in native code: sets state->next_.
	 * An error counts as not known. */
	gpc_status (*begin)(void *self, void *tctx, const struct gpc_pull_sample *s,
			    struct gpc_step_state *state);
	/* [reader] Optional. Adds frames at the root end of a stack that is whole.
	 * has_runtime 0: there are no frames of step() in it. */
	gpc_status (*finish)(void *self, void *tctx, const struct gpc_pull_sample *s,
			     int32_t has_runtime, struct gpc_pull_out *out);
};

struct gpc_pull_api { /* gpc.pull/1, of the host */
	uint32_t struct_size, reserved;
	/* [worker,reader] Code addresses [start, end) of the target belong to the
	 * collector's step(). At most 1024 ranges a process. */
	gpc_status (*claim_range)(const struct gpc_host *h, const struct gpc_target *t,
				  uint64_t start, uint64_t end);
	gpc_status (*release_range)(const struct gpc_host *h, const struct gpc_target *t,
				    uint64_t start, uint64_t end);
};

struct gpc_native_unwind_api { /* gpc.native-unwind/1, of the host */
	uint32_t struct_size, reserved;
	/* [reader] One frame up from state by the core's native unwinder (call frame
	 * information where the code has it, else frame pointers). GPC_E_CORRUPT: there is no
	 * plausible caller. */
	gpc_status (*up)(const struct gpc_host *h, const struct gpc_target *t,
			 const struct gpc_pull_sample *s, struct gpc_step_state *state);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_PULL_H */
