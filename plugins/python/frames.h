/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of one thread, as addresses: which code objects, and where in them.
 * Nothing of it is believed: every number is foreign, and the thread may run on
 * while it is read. */
#ifndef GPC_PYTHON_FRAMES_H
#define GPC_PYTHON_FRAMES_H

#include "layout.h"
#include "memory.h"
#include "threads.h"

#define PY_FRAMES_MAX 500
#define PY_GROUPS_MAX 128

struct py_frame {
	uint64_t code;
	uint64_t self;    /* to 3.10: the first argument, an object; 0: not known */
	int32_t at;       /* in bytes from the code's beginning; below 0: not begun */
	uint32_t tlbc;    /* free-threaded: which copy of the bytecode runs */
	uint64_t pointer; /* PY_LASTI_POINTER: where it executes; at is not known yet */
};

/* Frames that one call of the interpreter's loop executes, from the leaf on. */
struct py_group {
	uint32_t end;     /* frames[.. end) */
	uint64_t c_stack; /* an address within that call's C frame; 0: not known */
	uint64_t frame;   /* to 3.10: the frame object that it executes */
};

struct py_stack {
	uint32_t n, n_groups;
	bool is_cut;                           /* deeper than there is room for */
	bool has_open_group;                   /* the last frames' call was not seen to its end */
	struct py_frame frames[PY_FRAMES_MAX]; /* leaf first */
	struct py_group groups[PY_GROUPS_MAX];
};

/* Of the thread state at. GPC_OK with n 0: it executes no Python code now.
 * GPC_E_CORRUPT: what stands there makes no stack. */
gpc_status gpc_py_frames(const struct py_memory *m, const struct py_layout *l, uint64_t thread,
			 struct py_stack *ret);
/* The same when its bytes were read just now. */
gpc_status gpc_py_frames_of(const struct py_memory *m, const struct py_layout *l,
			    const struct py_thread_state *thread, struct py_stack *ret);

/* By family; thread is the thread state's bytes, up to what the layout names. */
#define PY_THREAD_MAX 512
gpc_status gpc_py_frames_old(const struct py_memory *m, const struct py_layout *l,
			     const uint8_t *thread, struct py_stack *ret);
gpc_status gpc_py_frames_new(const struct py_memory *m, const struct py_layout *l,
			     const uint8_t *thread, struct py_stack *ret);
/* Bytes of a thread state that have to be read. */
size_t gpc_py_thread_bytes(const struct py_layout *l);

#endif
