/* SPDX-License-Identifier: Apache-2.0 */
#include "py_stacks.h"

#include <stdio.h>
#include <stdlib.h>

#define THREADS 1024

bool py_stacks_open(struct py_stacks *s, struct py_host *host)
{
	struct py_wording wording = {.has_running_lines = true};
	struct py_target *t = &s->target;

	memset(s, 0, sizeof *s);
	s->host = host;
	s->options.has_line_numbers = 1;
	s->python = (struct python){.host = &host->host,
				    .options = &s->options,
				    .codes = gpc_py_codes_all_new()};
	wording.all = s->python.codes;
	t->python = &s->python;
	t->target = host->target;
	t->elf = &host->elf;
	py_writer_init(&s->writer);
	if (gpc_py_runtime_claim(t->target) == 0 ||
	    gpc_py_runtime_find(&host->host, t->target, &t->runtime) < 0 ||
	    gpc_py_threads_init(&t->threads) < 0)
		return false;
	(void)t->elf->threads_open(&host->host, t->target, &t->native);
	t->codes = gpc_py_codes_new(&wording);
	return t->codes != NULL;
}

void py_stacks_close(struct py_stacks *s)
{
	if (s->target.native)
		s->target.elf->threads_close(s->target.native);
	gpc_py_threads_deinit(&s->target.threads);
	gpc_py_codes_free(s->target.codes);
	gpc_py_codes_all_free(s->python.codes);
	py_writer_deinit(&s->writer);
}

struct tids {
	int32_t at[THREADS];
	unsigned n;
};

static bool note(void *ctx, const struct py_thread_info *info)
{
	struct tids *t = ctx;

	t->at[t->n++] = info->ns_tid;
	return t->n < THREADS;
}

static int by_number(const void *a, const void *b)
{
	return *(const int32_t *)a - *(const int32_t *)b;
}

/* As a reader would be asked, for a thread that stands still. */
static void put_thread(struct py_stacks *s, int32_t tid, FILE *to)
{
	gpc_frame frames[512];
	struct gpc_pull_run runs[128];
	struct gpc_pull_sample sample = {.struct_size = sizeof sample, .tid = tid, .ns_tid = tid};
	struct gpc_pull_out out = {.struct_size = sizeof out,
				   .room = 512,
				   .room_runs = 128,
				   .frames = frames,
				   .runs = runs,
				   .writer = &s->writer.writer};
	gpc_status st = gpc_py_walk(&s->python, &s->target, &sample, &out);

	fprintf(to, "thread %d", tid);
	if (st < 0)
		fprintf(to, " error %d", (int)st);
	fputc('\n', to);
	for (uint32_t i = 0; i < out.n; i++)
		fprintf(to, "%s\n", py_writer_text(&s->writer, frames[i]));
}

char *py_stacks_text(struct py_stacks *s)
{
	struct py_memory m = {&s->host->host, s->host->target, NULL};
	struct py_threads_of of = gpc_py_threads_of(&s->target, &m);
	struct tids tids = {.n = 0};
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	gpc_status st = gpc_py_threads_each(&of, note, &tids);

	if (st < 0)
		fprintf(to, "threads: error %d\n", (int)st);
	qsort(tids.at, tids.n, sizeof *tids.at, by_number);
	for (unsigned i = 0; i < tids.n; i++)
		put_thread(s, tids.at[i], to);
	fclose(to);
	return text;
}
