/* SPDX-License-Identifier: Apache-2.0 */
/* Which PyThreadState belongs to a thread of the system. Known ones cost one
 * check; a new one costs a walk through the interpreters' lists, where the newest
 * stand first. Readers share it. */
#ifndef GPC_PYTHON_THREADS_H
#define GPC_PYTHON_THREADS_H

#include "layout.h"
#include "memory.h"

#define PY_THREADS_SLOTS 4096 /* a power of two; a full table forgets */

struct py_thread {
	int32_t ns_tid; /* 0: free */
	uint32_t reserved;
	uint64_t state; /* 0: it had none when the list began with head */
	uint64_t head;
	uint64_t until_ns; /* a thread without a state is looked for again then */
};

/* What one reader writes while another reads is not known to that one: who is woken for a
 * sample waits for nobody. */
struct py_threads {
	uint32_t turn; /* atomic; odd: somebody writes */
	struct py_thread *slots;
};

struct py_threads_of {
	const struct py_memory *memory;
	const struct py_layout *layout;
	uint64_t list;                     /* address of the head of the interpreters' list */
	const struct gpc_elf_api *elf;     /* for versions that know no thread numbers */
	struct gpc_target_threads *native; /* or NULL */
};

gpc_status gpc_py_threads_init(struct py_threads *t);
void gpc_py_threads_deinit(struct py_threads *t);

struct py_thread_state {
	uint64_t at; /* 0: the thread runs no Python */
	/* What stood there when it was looked at, as far as the layout goes: PY_THREAD_MAX, or
	 * gpc_py_thread_bytes of frames.h, if that is less. */
	uint8_t bytes[512];
};
gpc_status gpc_py_threads_find(struct py_threads *t, const struct py_threads_of *of, int32_t ns_tid,
			       struct py_thread_state *ret);

/* The thread, in the target's pid namespace, that a state belongs to; 0: not known. */
int32_t gpc_py_thread_tid(const struct py_threads_of *of, uint64_t state);

/* Calls fn for each thread state of each interpreter until it returns false. */
struct py_thread_info {
	uint64_t state;
	int32_t ns_tid; /* 0: not known */
	uint32_t reserved;
};
gpc_status gpc_py_threads_each(const struct py_threads_of *of,
			       bool (*fn)(void *ctx, const struct py_thread_info *info), void *ctx);

#endif
