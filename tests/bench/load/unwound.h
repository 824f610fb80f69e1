/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_UNWOUND_H
#define BENCH_UNWOUND_H

#include <pthread.h>

#include "base/vec.h"
#include "proc/opener.h"
#include "source/native.h"
#include "source/reader.h"

/* A sample with all it needs. */
struct kept {
	struct gpc_perf_sample sample;
	uint32_t tid;
	struct gpc_process *process;
	struct gpc_space *space;
};

/* gpc_unwind_tables_add_jit's, of a process. */
struct jit_number {
	uint64_t process;
	uint32_t number;
};

struct unwound {
	struct gpc_images *images;
	struct gpc_table *table;
	struct gpc_opener *opener;
	struct gpc_reader *reader;
	struct gpc_native native;
	vec(struct kept) kept;
	uint64_t recorded_ns; /* when that was over */
	pthread_mutex_t lock; /* covers what follows */
	vec(struct jit_number) jits;
};

/* By call frame information. */
enum gpc_native_answer unwound_unwind(struct unwound *u, const struct kept *k,
				      struct gpc_pulled *ret);

#endif
