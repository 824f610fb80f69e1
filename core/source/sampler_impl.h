/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a sampler, for sampler.c (life, streams, windows) and
 * sampler_count.c (samples), sampler_pull.c (readers). */
#ifndef GPC_SOURCE_SAMPLER_IMPL_H
#define GPC_SOURCE_SAMPLER_IMPL_H

#include <pthread.h>

#include "base/vec.h"
#include "proc/opener.h"
#include "source/crowd.h"
#include "source/fold.h"
#include "source/native.h"
#include "source/place.h"
#include "source/rawfile.h"
#include "source/reader.h"
#include "source/sampler.h"
#include "source/threads.h"

struct gpc_stream {
	uint32_t ring; /* the reader's number for it */
	bool is_open;
	bool is_dense; /* its rings hold less than a second's samples */
	enum gpc_unwind_mode unwind;
	uint64_t samples, lost, throttled;
	struct gpc_stacks *now, *aside;
};

/* A sample that waits for unwind tables, with all it needs of its moment. */
struct gpc_late_sample {
	uint32_t stream;
	uint64_t process, key; /* see gpc_key */
	uint64_t taken_ns, since_ns;
	struct gpc_space *space;
	struct gpc_perf_sample sample;
	uint8_t *bytes; /* what sample points into */
	size_t n;
};

/* A process whose jitdump file is read for unwinding. */
struct gpc_known_jit {
	uint64_t process;
	uint32_t number;
};

struct gpc_sampler {
	struct gpc_sampler_config config;
	struct gpc_log *log;
	struct gpc_images *images;
	struct gpc_kernel_syms *kernel;
	struct gpc_opener *opener;
	struct gpc_rawfile *rawfile;

	pthread_mutex_t lock; /* covers what follows */
	struct gpc_table *table;
	struct gpc_reader *reader;
	vec(struct gpc_stream) streams;
	uint32_t window;
	uint64_t limit_ns; /* samples from here on belong to the next window */
	uint64_t window_samples, cpus_due_ns;
	uint64_t events; /* of processes, ever */
	bool kernel_changed, has_sideband;
	struct gpc_folded folded;
	struct gpc_native native;
	struct gpc_native_rules rules;
	struct gpc_pulled unwound;
	vec(struct gpc_late_sample) late;
	size_t late_bytes;
	vec(struct gpc_known_jit) jits;
	uint64_t late_turn; /* gpc_unwind_tables_turn when they were looked at */
	struct gpc_place place;
	struct gpc_threads threads; /* empty unless the config asks for them */
	int proc_fd;

	/* Pull. */
	struct gpc_mem *mem;
	struct gpc_pulls *pulls;
	uint32_t epoch; /* of the names that readers use */
	bool has_pull, is_pulling;
	uint32_t pull_stack_bytes;
	enum gpc_priority priority;
	struct gpc_crowd crowd;

	pthread_t thread;
	int tick_ms; /* the thread's own */
	int stop_fd;
	bool is_running;
};

/* sampler_count.c; locked */
void gpc_sampler_count(struct gpc_sampler *s, uint32_t stream, const struct gpc_perf_record *r,
		       const struct gpc_pulled *pulled);
/* Counts those that waited, as far as their tables are there; all: the others too,
 * by what there is. */
void gpc_sampler_count_late(struct gpc_sampler *s, bool all);
void gpc_sampler_forget_late(struct gpc_sampler *s);

/* sampler_pull.c; locked */
/* What a stream must carry for unwinding and for pull. */
void gpc_sampler_ask_user_state(const struct gpc_sampler *s, struct gpc_perf_request *req);
void gpc_sampler_check_pull(struct gpc_sampler *s);
bool gpc_sampler_is_dense(struct gpc_sampler *s, const struct gpc_perf_request *req, uint32_t ring);
/* How long nobody need look at rings that do not wake the source's thread. */
int gpc_sampler_tick_ms(const struct gpc_sampler *s);
/* Processes that are pulled are unwound so too. Not locked. */
void gpc_sampler_set_unwind(struct gpc_sampler *s, enum gpc_unwind_mode mode);

/* sampler_needs.c: what the process table and the opener call. */
struct gpc_table_needs gpc_sampler_needs(struct gpc_sampler *s);
/* Lets go of the files of processes that are no more. */
void gpc_sampler_trim_jits(struct gpc_sampler *s);
void gpc_sampler_jit_file(void *ctx, uint64_t process, enum gpc_jit_file kind, int fd);

#endif
