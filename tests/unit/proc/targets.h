/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a process of targets/target.c and reads what it tells of itself. */
#ifndef GPC_TESTS_TARGETS_H
#define GPC_TESTS_TARGETS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "proc/target.h"

#define SAID_MAX 80

struct said_thread {
	int tid;
	void *self, *pointer, *variable, *linked, *library; /* library NULL: not used */
};
struct said_block {
	char name[16];
	uint8_t *at;
	size_t n;
};
struct told {
	pid_t pid;
	FILE *from;
	int to;
	struct said_thread threads[SAID_MAX];
	struct said_block blocks[8];
	void *function, *data, *needle;
	unsigned n_threads, n_blocks;
	struct gpc_target_view *view;
};

static inline void told_line(struct told *t, const char *line)
{
	struct said_thread *th = &t->threads[t->n_threads];
	struct said_block *b = &t->blocks[t->n_blocks];

	if (t->n_threads < SAID_MAX &&
	    sscanf(line, "thread %d %p %p %p %p %p", &th->tid, &th->self, &th->pointer,
		   &th->variable, &th->linked, &th->library) >= 4)
		t->n_threads++;
	if (t->n_blocks < 8 &&
	    sscanf(line, "block %15s %p %zu", b->name, (void **)&b->at, &b->n) == 3)
		t->n_blocks++;
	sscanf(line, "place function %p", &t->function);
	sscanf(line, "place data %p", &t->data);
	sscanf(line, "place needle %p", &t->needle);
}

/* False: it did not come up. argv[0] is the program's path. */
static inline int told_start(struct told *t, char *const argv[])
{
	struct gpc_target_id id = {.id = 5};
	int up[2], down[2];
	char line[300];

	memset(t, 0, sizeof *t);
	if (pipe2(up, O_CLOEXEC) < 0 || pipe2(down, O_CLOEXEC) < 0)
		return 0;
	t->pid = fork();
	if (t->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(down[0], 0);
		dup2(up[1], 1);
		execv(argv[0], argv);
		_exit(127);
	}
	close(up[1]);
	close(down[0]);
	t->to = down[1];
	t->from = fdopen(up[0], "r");
	while (fgets(line, sizeof line, t->from) && strcmp(line, "ready\n") != 0)
		told_line(t, line);
	id.pid = t->pid;
	return t->n_threads && gpc_target_read(&id, &t->view, NULL) == GPC_OK;
}

static inline const struct said_block *told_block(const struct told *t, const char *name)
{
	for (unsigned i = 0; i < t->n_blocks; i++)
		if (strcmp(t->blocks[i].name, name) == 0)
			return &t->blocks[i];
	return NULL;
}

static inline void told_end(struct told *t)
{
	child_end(t->pid);
	if (t->from)
		fclose(t->from);
	if (t->to > 0)
		close(t->to);
	gpc_target_put(t->view);
}

#endif
