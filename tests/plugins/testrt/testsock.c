/* SPDX-License-Identifier: Apache-2.0 */
/* The collector without a match table: it looks through all processes for a
 * socket /tmp/testsock-PID.sock, PID being what the process calls itself. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gpc/log.h>

#include "testrt.h"

#define LOOK_NS    UINT64_C(200000000)
#define TOKEN_LOOK 100

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	return testrt_create(h, options, "testsock", self);
}

static const char *kind_name(uint32_t kind)
{
	return kind == GPC_PROC_EXEC   ? "exec"
	       : kind == GPC_PROC_MMAP ? "mmap"
	       : kind == GPC_PROC_FORK ? "fork"
				       : "exit";
}

static void on_event(void *self, const struct gpc_process_event *ev)
{
	testrt_trace(self, "event %s %d %d %s", kind_name(ev->kind), ev->pid, ev->ppid, ev->path);
}

static gpc_status start(void *self, const struct gpc_session *s)
{
	struct testrt *rt = self;
	gpc_status st;

	(void)s;
	if (rt->options->trace)
		rt->trace = fopen(rt->options->trace, "ae");
	rt->processes = rt->host->extension(rt->host, "gpc.processes/1");
	if (!rt->processes)
		return gpc_host_reportf(rt->host, NULL, GPC_E_UNSUPPORTED,
					"this core has no gpc.processes/1");
	st = rt->processes->subscribe(rt->host,
				      GPC_PROC_EXEC | GPC_PROC_MMAP | GPC_PROC_FORK | GPC_PROC_EXIT,
				      on_event);
	return st < 0 ? st : rt->host->set_timer(rt->host, NULL, LOOK_NS, TOKEN_LOOK);
}

static void stop(void *self)
{
	testrt_trace(self, "stop");
}

/* Asking again and again for a process would bypass the core's pauses. */
static int is_seen(struct testrt *rt, const struct gpc_target *t)
{
	uint64_t key = t->start_time << 32 ^ (uint64_t)t->exec_count << 24 ^ (uint32_t)t->pid;

	for (uint32_t i = 0; i < rt->n_seen; i++)
		if (rt->seen[i] == key)
			return 1;
	if (rt->n_seen < SEEN_MAX)
		rt->seen[rt->n_seen++] = key;
	return 0;
}

/* A socket is no regular file, so open_file() does not give it; a test may look
 * itself. Nothing is opened, and links are not followed. */
static int32_t look_at(void *arg, const struct gpc_target *t)
{
	struct testrt *rt = arg;
	char path[96];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/root/tmp/testsock-%d.sock", t->pid, t->ns_pid);
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || is_seen(rt, t))
		return 0;
	testrt_trace(rt, "found %d %d", t->pid, rt->processes->attach(rt->host, t->pid));
	return 0;
}

static gpc_status ready(void *self, void *tctx, const struct gpc_ready *r, struct gpc_writer *w)
{
	struct testrt *rt = self;

	if (tctx)
		return testrt_ready(self, tctx, r, w);
	if (r->token == TOKEN_LOOK)
		rt->processes->each(rt->host, look_at, rt);
	return GPC_OK;
}

static const char *const suffixes[] = {"ts", NULL};

const struct gpc_collector testsock_collector = {
	.struct_size = sizeof testsock_collector,
	.scope = GPC_SCOPE_PROCESS,
	.caps = GPC_CAP_CPU | GPC_CAP_ALLOC,
	.touch = GPC_TOUCH_READS,
	.name = "testsock",
	.runtime = "testsock",
	.summary = "plays what tests dictate, for processes with a socket in their /tmp",
	.suffixes = suffixes,
	.events = testrt_events,
	.create = create,
	.destroy = testrt_destroy,
	.start = start,
	.stop = stop,
	.attach = testrt_attach,
	.detach = testrt_detach,
	.ready = ready,
	.window = testrt_window,
};
