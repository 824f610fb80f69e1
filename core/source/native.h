/* SPDX-License-Identifier: Apache-2.0 */
/* The user part of a sample's stack from its registers and the copy of its stack:
 * by the tables of the images that its code is in, and where that is asked for
 * compared with the kernel's chain of frame pointers. Not thread-safe: under the
 * owner's lock. */
#ifndef GPC_SOURCE_NATIVE_H
#define GPC_SOURCE_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/space.h"
#include "source/decode.h"
#include "source/slot.h"
#include "unwind/tables.h"

enum gpc_unwind_mode {
	GPC_UNWIND_FP,    /* the kernel's chain */
	GPC_UNWIND_DWARF, /* call frame information */
	GPC_UNWIND_SMART, /* of the two the complete one, then the deeper */
};

/* Rules of places of images, by a hash of both: stacks are alike, and looking in a table
 * touches memory that nobody else does. A cache line each. Zeroed at first. */
#define GPC_NATIVE_RULES      256
#define GPC_NATIVE_RULE_WORDS 10 /* x86-64: a head of two, and seven registers at most */
#define GPC_NATIVE_MET        62
struct gpc_native_rules {
	struct gpc_native_place {
		uint64_t offset; /* in the image's file */
		uint64_t vaddr;
		uint32_t image; /* 0: none */
		uint16_t rule;  /* gpc_unwind_table_number */
		bool has_rule;  /* that is known */
		bool has_words;
		uint32_t words[GPC_NATIVE_RULE_WORDS]; /* a copy of its struct gpc_packed_rule */
	} at[GPC_NATIVE_RULES];
	/* Those of the last stack: the next one is likely to need them, and they can be on
	 * their way all at once. */
	uint16_t n_met;
	uint8_t met[GPC_NATIVE_MET];
};
_Static_assert(sizeof(struct gpc_native_place) == 64, "a cache line");

struct gpc_native_stats {   /* since the beginning */
	uint64_t samples;   /* that were unwound */
	uint64_t complete;  /* ended at a root */
	uint64_t cut_short; /* ended with the copy of the stack */
	uint64_t chains;    /* smart: the kernel's chain was better */
	uint64_t blind;     /* could not wait for a table, or not longer */
	uint64_t frames;    /* of those found by us */
	uint64_t unwind_ns; /* counted by who asks, if anybody wants to know */
};

struct gpc_native {
	struct gpc_unwind_tables *tables; /* borrowed */
	struct gpc_native_stats stats;
	bool is_chain; /* the last answer is of frame pointers */
	/* NULL, or GPC_PULLED_MAX numbers: of each frame of the last answer the stack pointer
	 * of its caller; of no meaning with is_chain. */
	uint64_t *sps;
	/* NULL, or what was found out at earlier samples. */
	struct gpc_native_rules *recent;
	/* Tables in use since gpc_native_rest. */
	struct {
		uint32_t image; /* 0: none */
		const struct gpc_unwind_table *table;
	} held[16];
};

/* Looks addresses of one process up; for struct gpc_unwind_view. */
struct gpc_native_look {
	struct gpc_native *n;
	const struct gpc_space *space;
	uint32_t jit; /* 0: none; gpc_unwind_tables_add_jit */
	bool awaits_jit;
	uint64_t taken_ns;
	bool jit_is_checked, jit_is_stale;
	const struct gpc_area *last; /* neighbours in a stack are often in one file */
	bool is_last;                /* what a table may come for has none */
	bool is_blind;               /* that was so */
};
enum gpc_code_state gpc_native_find(void *look, uint64_t address, struct gpc_code *ret);
const struct gpc_packed_rule *gpc_native_rule(void *look, const struct gpc_code *code);

enum gpc_native_answer {
	GPC_NATIVE_CHAIN, /* the sample's own chain is all there is */
	GPC_NATIVE_DONE,  /* ret is the user part */
	GPC_NATIVE_LATER, /* tables are being built */
};

struct gpc_native_question {
	const struct gpc_perf_sample *sample;
	const struct gpc_space *space; /* the process's mappings when it was taken */
	uint32_t jit;                  /* its jitdump file's number for unwinding; 0: none */
	bool awaits_jit;               /* there is one, which is being opened */
	uint64_t taken_ns;
	enum gpc_unwind_mode mode;
	bool is_last; /* do without the tables that are not there */
};

/* Where the root was not reached the last frame is GPC_RAW_CUT. ret->epoch is left alone. */
enum gpc_native_answer gpc_native_unwind(struct gpc_native *n, const struct gpc_native_question *q,
					 struct gpc_pulled *ret);
/* When a batch is done: tables are given back. */
void gpc_native_rest(struct gpc_native *n);
/* The same of one; nothing when it is not held. */
void gpc_native_let_go(struct gpc_native *n, uint32_t image);

#endif
