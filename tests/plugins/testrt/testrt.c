/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that does what tests dictate; see README.md. This file holds what
 * both of its collectors do, and the one that finds its processes by match. */
#include "testrt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpc/log.h>

enum { TOKEN_TIMER = 1, TOKEN_FIFO, TOKEN_CHILD };

#define MS_NS UINT64_C(1000000)

void testrt_trace(struct testrt *rt, const char *fmt, ...)
{
	va_list args;

	if (!rt->trace)
		return;
	va_start(args, fmt);
	fprintf(rt->trace, "%s ", rt->name);
	vfprintf(rt->trace, fmt, args);
	fputc('\n', rt->trace);
	va_end(args);
	fflush(rt->trace);
}

/* ---- life ------------------------------------------------------------------ */

gpc_status testrt_create(const struct gpc_host *h, const void *options, const char *name,
			 void **self)
{
	struct testrt *rt = calloc(1, sizeof *rt);

	if (!rt)
		return GPC_E_NOMEM;
	rt->host = h;
	rt->options = options;
	rt->name = name;
	*self = rt;
	return GPC_OK;
}

void testrt_destroy(void *self)
{
	struct testrt *rt = self;

	if (rt->trace)
		fclose(rt->trace);
	free(rt);
}

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	return testrt_create(h, options, "testrt", self);
}

static void trace_list(struct testrt *rt, const char *name, const struct gpc_list *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		testrt_trace(rt, "option %s %s", name, list->at[i]);
}

static void trace_options(struct testrt *rt)
{
	const struct testrt_options *o = rt->options;

	testrt_trace(rt, "option mode %d", o->mode);
	testrt_trace(rt, "option flag %d", o->flag);
	testrt_trace(rt, "option count %lld", (long long)o->count);
	testrt_trace(rt, "option bytes %lld", (long long)o->bytes);
	testrt_trace(rt, "option wait %lld", (long long)o->wait_ns);
	testrt_trace(rt, "option level %lld", (long long)o->level);
	testrt_trace(rt, "option label %s", o->label ? o->label : "-");
	testrt_trace(rt, "option token %zu letters", o->token ? strlen(o->token) : 0);
	trace_list(rt, "words", &o->words);
	trace_list(rt, "patterns", &o->patterns);
}

static void nap(int64_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&ts, &ts) < 0)
		;
}

static gpc_status start(void *self, const struct gpc_session *s)
{
	struct testrt *rt = self;

	if (rt->options->trace)
		rt->trace = fopen(rt->options->trace, "ae");
	trace_options(rt);
	nap(rt->options->wait_ns / 1000000);
	testrt_trace(rt, "start %u %llu", s->hz, (unsigned long long)s->window_ns);
	return GPC_OK;
}

static void stop(void *self)
{
	testrt_trace(self, "stop");
}

/* ---- processes --------------------------------------------------------------- */

/* A process without a script is none of ours. */
static int32_t claim(void *self, const struct gpc_target *t)
{
	struct testrt *rt = self;
	struct script script;
	int32_t sure = 0;

	if (script_read(rt->host, t, rt->name, &script) == GPC_OK) {
		testrt_trace(rt, "thinks %d", t->pid);
		nap(script_number(&script, "claim-ms", 0));
		sure = (int32_t)script_number(&script, "claim", 60);
		script_deinit(&script);
	}
	testrt_trace(rt, "claim %d %d", t->pid, sure);
	if (*t->container)
		testrt_trace(rt, "container %d %s", t->pid, t->container);
	return sure;
}

/* "!attach-fail CODE [TEXT]": with a text it is reported here, else by the
 * core, which has the code alone. */
static gpc_status may_attach(struct testrt *rt, const struct testrt_target *c)
{
	const struct script_line *line;
	uint32_t at = 0;
	char *text;
	gpc_status st;

	line = script_next(&c->script, "attach-fail", &at);
	if (!line)
		return GPC_OK;
	st = (gpc_status)strtol(line->text, &text, 10);
	if (*text == ' ')
		rt->host->report(rt->host, c->target, st, text + 1);
	return st;
}

static gpc_status open_fifo(struct testrt *rt, struct testrt_target *c)
{
	const struct script_line *line;
	char path[512];
	uint32_t at = 0;

	line = script_next(&c->script, "fifo", &at);
	if (!line)
		return GPC_OK;
	/* The core opens regular files only; a test may be bold. */
	snprintf(path, sizeof path, "/proc/%d/root%s", c->target->pid, line->text);
	c->fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (c->fifo < 0)
		return GPC_E_SYSTEM;
	return rt->host->watch_fd(rt->host, c->target, c->fifo, POLLIN, TOKEN_FIFO);
}

static gpc_status spawn(struct testrt *rt, struct testrt_target *c)
{
	const struct script_line *line;
	const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
	struct gpc_spawn s = {.struct_size = sizeof s,
			      .argv = argv,
			      .target = c->target,
			      .token = TOKEN_CHILD,
			      .fds = {-1, -1, -1}};
	int fds[2];
	uint32_t at = 0;
	gpc_status st;

	line = script_next(&c->script, "spawn", &at);
	if (!line)
		return GPC_OK;
	argv[2] = line->text;
	if (script_number(&c->script, "inside", 0))
		s.inside = c->target;
	if (script_number(&c->script, "deadline-ms", 0))
		s.deadline_ns = rt->host->now_ns(rt->host) +
				(uint64_t)script_number(&c->script, "deadline-ms", 0) * MS_NS;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return GPC_E_SYSTEM;
	s.fds[1] = fds[1];
	st = rt->host->spawn(rt->host, &s);
	close(fds[1]);
	c->child_out = fds[0];
	return st;
}

static gpc_status set_up(struct testrt *rt, struct testrt_target *c)
{
	int64_t ms = script_number(&c->script, "timer", 0);
	gpc_status st = may_attach(rt, c);

	if (st == GPC_OK)
		st = open_fifo(rt, c);
	if (st == GPC_OK)
		st = spawn(rt, c);
	if (st == GPC_OK && ms)
		st = rt->host->set_timer(rt->host, c->target, (uint64_t)ms * MS_NS, TOKEN_TIMER);
	return st;
}

static void free_target(struct testrt_target *c)
{
	if (c->fifo >= 0)
		close(c->fifo);
	if (c->child_out >= 0)
		close(c->child_out);
	script_deinit(&c->script);
	free(c);
}

gpc_status testrt_attach(void *self, const struct gpc_target *t, void **tctx)
{
	struct testrt *rt = self;
	struct testrt_target *c = calloc(1, sizeof *c);
	gpc_status st;

	if (!c)
		return GPC_E_NOMEM;
	c->target = t;
	c->fifo = c->child_out = -1;
	st = script_read(rt->host, t, rt->name, &c->script);
	if (st == GPC_OK)
		st = set_up(rt, c);
	testrt_trace(rt, "attach %d %d %llu %s", t->pid, st, (unsigned long long)t->id, t->exe);
	if (st < 0) {
		free_target(c);
		return st;
	}
	*tctx = c;
	return GPC_OK;
}

void testrt_detach(void *self, void *tctx)
{
	struct testrt_target *c = tctx;

	testrt_trace(self, "detach %d %llu", c->target->pid, (unsigned long long)c->target->id);
	free_target(c);
}

/* ---- what was asked for is ready ------------------------------------------------ */

static gpc_status write_text(struct testrt *rt, struct testrt_target *c, const char *root,
			     const char *text, struct gpc_writer *w)
{
	char frames[512];
	struct script_line line = {.text = frames, .value = 1};

	snprintf(frames, sizeof frames, "%s;%s", root, text);
	frames[strcspn(frames, "\n")] = '\0';
	return testrt_write(rt, c, &line, EVENT_CPU, w);
}

static void read_line(int fd, char *buf, size_t size)
{
	ssize_t n = read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
}

static gpc_status child_ended(struct testrt *rt, struct testrt_target *c, const struct gpc_ready *r,
			      struct gpc_writer *w)
{
	char text[320];
	int code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -WTERMSIG(r->status);

	read_line(c->child_out, c->line, sizeof c->line);
	c->line[strcspn(c->line, "\n")] = '\0';
	snprintf(text, sizeof text, "%s;%d", c->line, code);
	testrt_trace(rt, "child %d %d %d %s", c->target->pid, r->child, code, c->line);
	return write_text(rt, c, "child", text, w);
}

gpc_status testrt_ready(void *self, void *tctx, const struct gpc_ready *r, struct gpc_writer *w)
{
	struct testrt *rt = self;
	struct testrt_target *c = tctx;

	switch (r->kind) {
	case GPC_READY_TIMER:
		c->ticks++;
		return testrt_play(rt, c, "tick", EVENT_CPU, w);
	case GPC_READY_FD:
		read_line(r->fd, c->line, sizeof c->line);
		return write_text(rt, c, "fifo", c->line, w);
	case GPC_READY_CHILD:
		return child_ended(rt, c, r, w);
	default:
		return GPC_E_UNSUPPORTED;
	}
}

gpc_status testrt_window(void *self, void *tctx, const struct gpc_window *win, struct gpc_writer *w)
{
	struct testrt *rt = self;
	struct testrt_target *c = tctx;
	struct script fresh;
	gpc_status st;

	/* A test may have changed its mind. */
	if (script_read(rt->host, c->target, rt->name, &fresh) == GPC_OK) {
		script_deinit(&c->script);
		c->script = fresh;
	}
	testrt_trace(rt, "window %d %u %llu %llu ticks %u", c->target->pid, win->seq,
		     (unsigned long long)win->begin_ns, (unsigned long long)win->end_ns, c->ticks);
	st = testrt_play(rt, c, "", EVENT_CPU, w);
	if (st == GPC_OK)
		st = testrt_play(rt, c, "alloc", EVENT_ALLOC, w);
	return st < 0 ? st : testrt_act(rt, c, w);
}

/* ---- tables ----------------------------------------------------------------------- */

static const char *const suffixes[] = {"t", "tn", NULL};

static const struct gpc_match match[] = {
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_EXE, .glob = "testrt-*"},
	{.struct_size = sizeof(struct gpc_match),
	 .kind = GPC_MATCH_MAPPED,
	 .glob = "libtestrt*.so*"},
	{.struct_size = sizeof(struct gpc_match),
	 .kind = GPC_MATCH_SYMBOL,
	 .glob = "testrt_marker"},
	{.struct_size = 0},
};

const struct gpc_event testrt_events[] = {
	{.struct_size = sizeof(struct gpc_event),
	 .id = EVENT_CPU,
	 .flags = GPC_EVENT_CPU_TIME,
	 .name = "cpu-time",
	 .unit = "samples"},
	{.struct_size = sizeof(struct gpc_event),
	 .id = EVENT_ALLOC,
	 .name = "testrt-alloc",
	 .unit = "bytes"},
	{.struct_size = 0},
};

const struct gpc_collector testrt_collector = {
	.struct_size = sizeof testrt_collector,
	.scope = GPC_SCOPE_PROCESS,
	.caps = GPC_CAP_CPU | GPC_CAP_ALLOC,
	.touch = GPC_TOUCH_READS,
	.name = "testrt",
	.runtime = "testrt",
	.summary = "plays what tests dictate, for processes that match",
	.suffixes = suffixes,
	.match = match,
	.events = testrt_events,
	.create = create,
	.destroy = testrt_destroy,
	.start = start,
	.stop = stop,
	.claim = claim,
	.attach = testrt_attach,
	.detach = testrt_detach,
	.ready = testrt_ready,
	.window = testrt_window,
};

static const struct gpc_collector *const collectors[] = {&testrt_collector, &testsock_collector,
							 NULL};

static const struct gpc_module module = {
	.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.options_bytes = sizeof(struct testrt_options),
	.name = "testrt",
	.version = "1",
	.summary = "a runtime for tests",
	.options = testrt_options,
	.collectors = collectors,
};

GPC_MODULE(testrt, 0, module)
