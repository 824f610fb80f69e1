/* SPDX-License-Identifier: Apache-2.0 */
/* How control flows through a method's machine code, and where in it the JVM's tables
 * tell which inlined method is executed: at calls, at polls, and at branches to an
 * uncommon trap, whose call is of the bytecode that the branch is of (OpenJDK
 * opto/graphKit.cpp, GraphKit::uncommon_trap). */
#ifndef GPC_JAVA_FLOW_H
#define GPC_JAVA_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define GPC_JAVA_FLOW_BYTES 32768 /* of a method's code; larger ones are not followed */
#define GPC_JAVA_FLOW_NONE  UINT32_MAX

enum flow_kind {
	FLOW_ON,     /* to the next */
	FLOW_BRANCH, /* to the next, or elsewhere */
	FLOW_JUMP,
	FLOW_CALL, /* and back */
	FLOW_TRAP, /* a call that does not come back */
	FLOW_END
};

struct flow_insn {
	uint32_t at;    /* its offset */
	uint32_t to;    /* of a branch or jump: number of the instruction; or NONE */
	uint32_t scope; /* that the tables tell for it, or 0 */
	uint8_t len;
	uint8_t kind;
	bool is_branch; /* to a trap: the scope is the trap's */
	uint8_t reason; /* of the trap */
};

/* What can be come to from its head and leads back to it. */
struct flow_loop {
	uint32_t head, n; /* n: instructions */
	bool has_scope;
	uint8_t *has; /* a bit for each instruction */
};

struct flow {
	struct flow_insn *insns; /* in the order of addresses */
	uint32_t n;
	uint32_t *sources; /* those that jump, in the order of where to */
	uint32_t n_sources;
	struct flow_loop *loops;
	uint32_t n_loops;
	uint8_t *marks;  /* scratch, one for each instruction */
	uint32_t *queue; /* scratch, as long */
	const uint8_t *code;
	uint32_t loop_reasons;
};

struct flow_entry {
	int32_t offset; /* of a call's end, or of a poll */
	uint32_t scope;
};

/* What a method's tables say, with offsets from where its code begins. */
struct flow_tables {
	const struct flow_entry *entries; /* in the order of offsets */
	uint32_t n;
	int64_t trap;          /* where traps are called */
	uint32_t loop_reasons; /* bits of the reasons of traps before loops */
};

/* code: n bytes, borrowed as long as f is used. False: it cannot be followed; deinit
 * is fine then too. */
bool gpc_java_flow_init(struct flow *f, const uint8_t *code, uint32_t n,
			const struct flow_tables *tables);
void gpc_java_flow_deinit(struct flow *f);
/* The instruction that begins at an offset, or NONE. */
uint32_t gpc_java_flow_find(const struct flow *f, uint32_t offset);

#define GPC_JAVA_FLOW_SCOPES 16

/* What can be said of an instruction. */
struct flow_answer {
	uint32_t own; /* the scope it is of; 0: that cannot be told */
	/* Of a loop then that has no scope in it: those it is come to from, and behind them
	 * those that follow. */
	uint32_t n_before, n;
	uint32_t scopes[GPC_JAVA_FLOW_SCOPES];
	bool is_more;    /* than there is room for, or the method's begin is before it */
	bool is_guarded; /* those before it are of guards of this loop, and nothing else */
	uint32_t around; /* of a loop around it: the scope of its poll, or 0 */
};
void gpc_java_flow_ask(struct flow *f, uint32_t insn, struct flow_answer *ret);

/* ---- flow.c for flow_ask.c ---- */

/* Through instructions that are not marked yet; each is marked when it is queued. */
struct flow_search {
	struct flow *f;
	uint32_t n, next; /* of the queue */
};
void gpc_java_flow_push(struct flow_search *s, uint32_t i);
void gpc_java_flow_before(struct flow_search *s, uint32_t i); /* those that lead to i */
void gpc_java_flow_behind(struct flow_search *s, uint32_t i);

static inline bool gpc_java_flow_falls(const struct flow_insn *in)
{
	return in->kind == FLOW_ON || in->kind == FLOW_BRANCH || in->kind == FLOW_CALL;
}

static inline bool gpc_java_flow_in(const struct flow_loop *l, uint32_t i)
{
	return l->has[i / 8] >> i % 8 & 1;
}

#endif
