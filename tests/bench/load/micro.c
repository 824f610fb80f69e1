/* SPDX-License-Identifier: Apache-2.0 */
/* micro: nanoseconds of each step of a sample's way, over 2,000 stacks of 30
 * frames in 12 mappings of one process. One line for each step: name, ns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "proc/table.h"
#include "profile/stacks.h"
#include "source/decode.h"
#include "source/fold.h"

#define STACKS 2000
#define DEPTH  30
#define PID    4000000 /* above any real one: the table never reads /proc for it */
#define AREAS  12
#define ROUNDS 200
#define RUNS   9

struct bench {
	struct gpc_images *images;
	struct gpc_table *table;
	struct gpc_stacks *stacks;
	uint64_t *records; /* STACKS of them, each of words */
	size_t words;
	struct gpc_perf_format format;
	struct gpc_folded folded;
	uint64_t sum; /* so that nothing is optimised away */
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t area_start(unsigned area)
{
	return UINT64_C(0x7f0000000000) + area * UINT64_C(0x1000000);
}

static void map_areas(struct bench *b)
{
	gpc_table_exec(b->table, PID, "bench");
	for (unsigned i = 0; i < AREAS; i++) {
		struct gpc_table_mmap m = {.pid = PID,
					   .start = area_start(i),
					   .length = 0x800000,
					   .key = {.inode = 100 + i, .dev_major = 8},
					   .path = "/usr/lib/bench.so"};

		gpc_table_mmap(b->table, &m);
	}
}

/* As the kernel writes them: neighbouring frames are often in one file. */
static void write_records(struct bench *b)
{
	uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP;
	uint64_t random = 1;

	b->format = (struct gpc_perf_format){.sample_type = type, .sample_id_all = true};
	for (unsigned s = 0; s < STACKS; s++) {
		uint64_t *w = b->records + s * b->words;
		struct perf_event_header head = {.type = PERF_RECORD_SAMPLE,
						 .misc = PERF_RECORD_MISC_USER,
						 .size = (uint16_t)(b->words * 8)};
		unsigned area = 0;

		memcpy(w, &head, sizeof head);
		w[3] = (uint64_t)PID << 32 | PID;
		w[4] = s + 1;
		w[6] = 1;
		w[7] = DEPTH + 1;
		w[8] = (uint64_t)PERF_CONTEXT_USER;
		for (unsigned i = 0; i < DEPTH; i++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			if (random >> 62 == 0)
				area = (unsigned)(random >> 40) % AREAS;
			w[9 + i] = area_start(area) + (random >> 41);
		}
		w[2] = w[9];
	}
}

static int set_up(struct bench *b)
{
	struct gpc_images_limits limits = {1 << 20, 16};
	struct gpc_table_needs needs = {0};

	b->words = 10 + DEPTH;
	b->records = calloc(STACKS, b->words * 8);
	if (!b->records || gpc_images_new(&limits, NULL, &b->images, NULL) < 0 ||
	    gpc_table_new("/proc", b->images, &needs, NULL, &b->table, NULL) < 0 ||
	    gpc_stacks_new(0, &b->stacks, NULL) < 0)
		return -1;
	map_areas(b);
	write_records(b);
	return 0;
}

/* ---- the steps, each with those before it ------------------------------------ */

static void decode(struct bench *b, unsigned s, struct gpc_perf_record *r)
{
	if (!gpc_perf_decode(b->records + s * b->words, b->words * 8, &b->format, r) ||
	    r->sample.n_ips != DEPTH + 1)
		abort();
	b->sum += r->sample.ip;
}

static void step_decode(struct bench *b, unsigned s)
{
	struct gpc_perf_record r;

	decode(b, s, &r);
}

static struct gpc_process *step_folded(struct bench *b, unsigned s)
{
	struct gpc_perf_record r;
	struct gpc_process *p;

	decode(b, s, &r);
	p = gpc_table_sampled(b->table, (int32_t)r.pid, 1);
	gpc_fold(b->table, p, NULL, &r.sample, NULL, &b->folded);
	if (b->folded.n != DEPTH || b->folded.has_jit)
		abort();
	return p;
}

static void step_fold(struct bench *b, unsigned s)
{
	b->sum += step_folded(b, s)->id;
}

static void step_count(struct bench *b, unsigned s)
{
	struct gpc_process *p = step_folded(b, s);

	gpc_stacks_add(b->stacks, p->id, b->folded.frames, b->folded.n, 1);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median of some runs; stacks in an order that no cache can guess. */
static double measure(struct bench *b, void (*step)(struct bench *b, unsigned s))
{
	double runs[RUNS];

	for (unsigned run = 0; run < RUNS; run++) {
		uint64_t begin = cpu_ns();

		for (uint64_t i = 0; i < (uint64_t)ROUNDS * STACKS; i++)
			step(b, (unsigned)(i * 1217 % STACKS));
		runs[run] = (double)(cpu_ns() - begin) / ROUNDS / STACKS;
	}
	qsort(runs, RUNS, sizeof *runs, compare);
	return runs[RUNS / 2];
}

int main(void)
{
	struct bench b = {0};
	double decoded, folded, counted;

	if (set_up(&b) < 0)
		return 1;
	decoded = measure(&b, step_decode);
	folded = measure(&b, step_fold);
	counted = measure(&b, step_count);
	printf("decode %.1f\nfold %.1f\ncount %.1f\nall %.1f\n", decoded, folded - decoded,
	       counted - folded, counted);
	if (gpc_stacks_total(b.stacks) != (uint64_t)RUNS * ROUNDS * STACKS ||
	    gpc_stacks_rows(b.stacks) != STACKS)
		return 1;
	gpc_stacks_free(b.stacks);
	gpc_table_free(b.table);
	gpc_images_free(b.images);
	free(b.records);
	return b.sum == 1;
}
