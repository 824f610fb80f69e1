/* SPDX-License-Identifier: Apache-2.0 */
/* unwound SECONDS HZ STACK_BYTES WHAT PID...: takes samples of the processes with
 * registers, a copy of the stack and the kernel's chain, and when it is over unwinds
 * each of them in every way. WHAT is "figures": a line of name and value for each of
 * those; or "stacks": a line for each sample, mode, end, functions from the root. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "oracle.h"
#include "proc/opener.h"
#include "source/frames.h"
#include "source/fold.h"
#include "source/native.h"
#include "source/reader.h"
#include "source/sideband.h"
#include "unwound.h"

#define ROUNDS 5 /* of the timed unwinding */

static void need_file(void *ctx, uint32_t image, const struct gpc_process *p,
		      const struct gpc_area *area)
{
	struct unwound *u = ctx;

	gpc_opener_file(u->opener, image, p, area);
}

static void need_jitdump(void *ctx, const struct gpc_process *p, const struct gpc_area *area,
			 const char *path)
{
	struct unwound *u = ctx;

	gpc_opener_jitdump(u->opener, p, area, path);
}

/* On the opener's thread. */
static void take_jit_file(void *ctx, uint64_t process, enum gpc_jit_file what, int fd)
{
	struct unwound *u = ctx;
	struct jit_number jit = {.process = process};

	if (what != GPC_JIT_DUMP) {
		close(fd);
		return;
	}
	jit.number = gpc_unwind_tables_add_jit(u->native.tables, fd);
	pthread_mutex_lock(&u->lock);
	if (!vec_push(&u->jits, jit))
		exit(3);
	pthread_mutex_unlock(&u->lock);
}

static uint32_t jit_of(struct unwound *u, uint64_t process)
{
	uint32_t ret = 0;

	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; i < u->jits.n; i++)
		if (u->jits.at[i].process == process)
			ret = u->jits.at[i].number;
	pthread_mutex_unlock(&u->lock);
	return ret;
}

static void *copy(const void *from, size_t n)
{
	void *to = malloc(n + 1);

	if (!to)
		exit(3);
	if (n)
		memcpy(to, from, n);
	return to;
}

static void keep(struct unwound *u, const struct gpc_perf_record *r)
{
	struct kept k = {.sample = r->sample, .tid = r->tid};
	struct gpc_process *p;

	gpc_table_at(u->table, r->time);
	p = gpc_table_sampled(u->table, (int32_t)r->pid, 0);
	if (!p || !r->sample.n_regs)
		return;
	gpc_table_space(u->table, p);
	k.process = p;
	k.space = gpc_space_get(p->space);
	k.sample.ips = copy(r->sample.ips, r->sample.n_ips * sizeof(uint64_t));
	k.sample.regs = copy(r->sample.regs, r->sample.n_regs * sizeof(uint64_t));
	k.sample.stack = copy(r->sample.stack, r->sample.stack_bytes);
	if (!vec_push(&u->kept, k))
		exit(3);
}

static void on_record(void *ctx, const struct gpc_perf_record *r, uint32_t stream,
		      const struct gpc_pulled *pulled)
{
	struct unwound *u = ctx;

	(void)stream;
	(void)pulled;
	if (r->type == PERF_RECORD_SAMPLE)
		keep(u, r);
	else
		gpc_sideband_apply(u->table, r);
}

static void set_up(struct unwound *u)
{
	struct gpc_images_limits limits = {.symbol_bytes = 64u << 20, .max_files = 512};
	struct gpc_table_needs needs = {.ctx = u, .file = need_file, .jitdump = need_jitdump};
	struct gpc_err err;

	if (gpc_images_new(&limits, NULL, &u->images, &err) < 0 ||
	    gpc_table_new("/proc", u->images, &needs, NULL, &u->table, &err) < 0 ||
	    gpc_opener_new(u->images, take_jit_file, u, NULL, &u->opener, &err) < 0 ||
	    gpc_unwind_tables_new(u->images, 64u << 20, NULL, &u->native.tables, &err) < 0 ||
	    gpc_reader_new(NULL, &u->reader, &err) < 0) {
		fprintf(stderr, "unwound: %s\n", err.text);
		exit(3);
	}
}

static void record(struct unwound *u, double seconds, const struct gpc_perf_request *req,
		   const int32_t *pids, uint32_t n)
{
	struct gpc_reader_visitor v = {.ctx = u, .record = on_record};
	uint64_t until = gpc_now_ns() + (uint64_t)(seconds * 1e9);
	struct gpc_err err;
	uint32_t stream;

	if (gpc_reader_open(u->reader, req, pids, n, &stream, &err) < 0) {
		fprintf(stderr, "unwound: %s\n", err.text);
		exit(3);
	}
	puts("ready");
	fflush(stdout);
	while (gpc_now_ns() < until) {
		usleep(50000);
		gpc_reader_drain(u->reader, gpc_now_ns() - 2 * GPC_MS_NS, &v);
	}
	gpc_reader_drain(u->reader, UINT64_MAX, &v);
	u->recorded_ns = gpc_now_ns();
	gpc_opener_settle(u->opener, 2 * GPC_SECOND_NS);
}

static enum gpc_native_answer unwind(struct unwound *u, const struct kept *k,
				     enum gpc_unwind_mode mode, struct gpc_pulled *ret)
{
	struct gpc_native_question q = {.sample = &k->sample,
					.space = k->space,
					.jit = jit_of(u, k->process->id),
					.taken_ns = u->recorded_ns,
					.mode = mode};
	enum gpc_native_answer answer;

	for (unsigned tries = 0; tries < 1000; tries++) {
		answer = gpc_native_unwind(&u->native, &q, ret);
		if (answer != GPC_NATIVE_LATER)
			return answer;
		usleep(5000);
	}
	q.is_last = true;
	return gpc_native_unwind(&u->native, &q, ret);
}

/* ---- stacks ---------------------------------------------------------------------- */

static void print_frame(struct unwound *u, uint64_t raw)
{
	struct gpc_symbol symbol = {0};
	const char *path;

	if (raw == GPC_RAW_CUT) {
		printf("[truncated]");
		return;
	}
	if ((raw & GPC_RAW_KIND) == GPC_RAW_VDSO) {
		printf("[vdso]");
		return;
	}
	if ((raw & GPC_RAW_KIND) != GPC_RAW_FILE) {
		printf("[unknown]");
		return;
	}
	path = gpc_images_path(u->images, gpc_raw_image(raw));
	if (gpc_images_symbol(u->images, gpc_raw_image(raw), gpc_raw_offset(raw), &symbol) ==
		    GPC_OK &&
	    symbol.name)
		printf("%s", symbol.name);
	else
		printf("(%s)", path);
}

static void print_stack(struct unwound *u, const struct kept *k, const char *mode,
			enum gpc_native_answer answer, const struct gpc_pulled *found)
{
	static struct gpc_folded folded;
	bool is_chain = answer == GPC_NATIVE_CHAIN, is_first = true;

	gpc_fold(u->table, k->process, k->space, &k->sample, is_chain ? NULL : found, &folded);
	printf("%s %s ", mode,
	       is_chain                                                 ? "chain"
	       : folded.n && folded.frames[folded.n - 1] == GPC_RAW_CUT ? "cut"
									: "root");
	for (uint32_t i = folded.n; i-- > 0;) {
		if (folded.frames[i] >> 63 && (folded.frames[i] & GPC_RAW_KIND) == GPC_RAW_KERNEL)
			continue;
		printf("%s", is_first ? "" : ";");
		print_frame(u, folded.frames[i]);
		is_first = false;
	}
	putchar('\n');
}

static void print_stacks(struct unwound *u)
{
	static const char *const modes[] = {"fp", "dwarf", "smart"};
	static struct gpc_pulled found;

	for (size_t i = 0; i < u->kept.n; i++)
		for (int m = 0; m < 3; m++) {
			enum gpc_native_answer answer =
				unwind(u, &u->kept.at[i], (enum gpc_unwind_mode)m, &found);

			print_stack(u, &u->kept.at[i], modes[m], answer, &found);
		}
}

/* ---- figures ----------------------------------------------------------------------- */

struct ways {
	uint64_t n, complete[3], depth[3], worse;
};

/* The chain by itself, as smart sees it: smart over a stack of which nothing is
 * known but the chain. */
static void alone(struct unwound *u, const struct kept *k, struct gpc_pulled *ret)
{
	struct kept blind = *k;

	blind.sample.stack_bytes = 0;
	unwind(u, &blind, GPC_UNWIND_SMART, ret);
}

static bool is_complete(const struct gpc_pulled *p)
{
	return p->n && p->frames[p->n - 1] != GPC_RAW_CUT;
}

static uint32_t depth(const struct gpc_pulled *p)
{
	return p->n - !is_complete(p);
}

static bool is_below(const struct gpc_pulled *a, const struct gpc_pulled *b)
{
	if (is_complete(a) != is_complete(b))
		return !is_complete(a);
	return depth(a) < depth(b);
}

static void compare(struct unwound *u, struct ways *w)
{
	static struct gpc_pulled by[3];

	for (size_t i = 0; i < u->kept.n; i++) {
		const struct kept *k = &u->kept.at[i];

		alone(u, k, &by[0]);
		unwind(u, k, GPC_UNWIND_DWARF, &by[1]);
		unwind(u, k, GPC_UNWIND_SMART, &by[2]);
		w->n++;
		for (int m = 0; m < 3; m++) {
			w->complete[m] += is_complete(&by[m]);
			w->depth[m] += depth(&by[m]);
		}
		w->worse += is_below(&by[2], &by[0]) || is_below(&by[2], &by[1]);
	}
}

static void time_warm(struct unwound *u)
{
	static struct gpc_pulled found;
	uint64_t begin, frames = u->native.stats.frames;

	begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < u->kept.n; i++)
			unwind(u, &u->kept.at[i], GPC_UNWIND_SMART, &found);
	begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	frames = u->native.stats.frames - frames;
	printf("frame_ns %.1f\n", (double)begin / (double)(frames ? frames : 1));
	printf("sample_ns %.1f\n", (double)begin / (double)ROUNDS / (double)u->kept.n);
}

static void print_figures(struct unwound *u)
{
	static const char *const modes[] = {"fp", "dwarf", "smart"};
	struct gpc_unwind_tables_stats stats;
	struct ways w = {0};

	compare(u, &w);
	printf("samples %" PRIu64 "\n", w.n);
	for (int m = 0; m < 3; m++) {
		printf("%s_complete %" PRIu64 "\n", modes[m], w.complete[m]);
		printf("%s_frames %" PRIu64 "\n", modes[m], w.depth[m]);
	}
	printf("smart_worse %" PRIu64 "\n", w.worse);
	time_warm(u);
	gpc_unwind_tables_stats(u->native.tables, &stats);
	printf("tables %zu\ntable_bytes %zu\ntable_rows %" PRIu64 "\ntable_build_us %" PRIu64 "\n",
	       stats.tables, stats.bytes, stats.rows, stats.build_ns / 1000);
	oracle_compare(u);
}

/* A copy of what the process has there, from its file; for the oracle. */
enum gpc_native_answer unwound_unwind(struct unwound *u, const struct kept *k,
				      struct gpc_pulled *ret)
{
	return unwind(u, k, GPC_UNWIND_DWARF, ret);
}

int main(int argc, char **argv)
{
	static struct unwound u = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct gpc_perf_request req = {.name = "cpu-clock",
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .samples = true,
				       .sideband = true,
				       .inherit = true,
				       .user_state = true};
	int32_t pids[64];
	uint32_t n = 0;

	if (argc < 6)
		return 2;
	req.rate = (uint64_t)atoi(argv[2]);
	req.stack_bytes = (uint32_t)atoi(argv[3]);
	for (int i = 5; i < argc && n < 64; i++)
		pids[n++] = atoi(argv[i]);
	set_up(&u);
	record(&u, atof(argv[1]), &req, pids, n);
	if (strcmp(argv[4], "stacks") == 0)
		print_stacks(&u);
	else
		print_figures(&u);
	return 0;
}
