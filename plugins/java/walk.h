/* SPDX-License-Identifier: Apache-2.0 */
/* One answer: from a frame in generated code up to the first one outside of it. */
#ifndef GPC_JAVA_WALK_H
#define GPC_JAVA_WALK_H

#include "vm.h"

#define GPC_JAVA_CHUNK   4096
#define GPC_JAVA_CHECKED 64

/* An interpreter's frame. */
struct interp_frame {
	struct method method;
	int32_t bci;
	uint64_t sender_sp, sender_fp, sender_pc;
};

struct walk {
	struct vm *vm;
	const struct gpc_pull_sample *sample;
	struct gpc_step_state *state;
	struct gpc_pull_out *out;
	uint64_t now_ns, deadline_ns;
	struct java_anchor next; /* where Java goes on above the native code we came to */
	bool is_stale;           /* the stack beyond the copy is not of that moment */
	bool is_full;
	bool is_stub; /* the frame at state is of code that is no method */
	/* What was read of the stack beyond the sample's copy. */
	uint64_t chunk_at, chunk_n;
	uint8_t chunk[GPC_JAVA_CHUNK];
	/* nmethods that were found to be as they are remembered. */
	uint32_t n_checked;
	uint64_t checked[GPC_JAVA_CHECKED];
	struct place place; /* scratch */
	struct brief brief; /* scratch; key 0: none */
	/* The interpreter's frame that was looked at last, to be a caller's; interp_fp 0: none. */
	uint64_t interp_fp, interp_sp;
	struct interp_frame interp;
};

void gpc_java_walk_init(struct walk *w, struct vm *vm, const struct gpc_pull_sample *s,
			struct gpc_step_state *state, struct gpc_pull_out *out);

/* walk.c */
gpc_status gpc_java_walk(struct walk *w);
/* Above native code in state Java goes on at anchor, if that can be. */
void gpc_java_go_on(const struct vm *vm, struct java_anchor anchor, struct gpc_step_state *state);

/* stack.c: a word of the thread's stack. */
bool gpc_java_stack(struct walk *w, uint64_t addr, uint64_t *ret);
/* A register of the sample by its number in x86's asm/perf_regs.h; 0 when it has none. */
enum { JAVA_REG_AX = 0, JAVA_REG_BX = 1, JAVA_REG_R13 = 21 };
uint64_t gpc_java_register(const struct gpc_pull_sample *s, unsigned number);

/* place.c: what is known of a place. Of a leaf: the code executed there. NULL:
 * there is no code, or memory is not as it should be. Valid until the next call. */
const struct place *gpc_java_place(struct walk *w, uint64_t pc, bool is_return);
/* The same where it is remembered in short; else NULL. Valid until the next call. */
const struct brief *gpc_java_brief(struct walk *w, uint64_t pc, bool is_return);

/* frames.c */
void gpc_java_add(struct walk *w, gpc_frame frame);
/* The frame of a method; line 0: none. 0: its names cannot be read. */
gpc_frame gpc_java_frame(struct walk *w, uint64_t method, int32_t bci, uint32_t suffix);
gpc_frame gpc_java_plain_frame(struct gpc_writer *out, const char *name);
/* As gpc_java_method_read, not again if that was a moment ago. */
bool gpc_java_known_method(struct walk *w, uint64_t addr, struct method *ret);

/* interp.c: is there an interpreter's frame at fp, with sp below it? bcp: where the
 * interpreter is, of a leaf; else 0. */
bool gpc_java_interp_frame(struct walk *w, uint64_t fp, uint64_t sp, uint64_t bcp,
			   struct interp_frame *ret);
/* Adds the frame at state and moves up. */
gpc_status gpc_java_interp_up(struct walk *w);

/* callers.c: where a return address is, when nothing says it. */
/* Can pc be where a call from there returns to? sp, fp: of the frame that it would
 * return to. */
bool gpc_java_is_caller(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp);
/* Moves up to the first caller found from sp on. */
bool gpc_java_search_caller(struct walk *w);
/* The same of a method's frame: a leaf may have none; else from sp + bytes on. */
bool gpc_java_search_from(struct walk *w, uint32_t bytes);

#endif
