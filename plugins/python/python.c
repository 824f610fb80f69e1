/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: which processes, and what is kept of each. */
#include "python.h"

#include <stdlib.h>

#include <gpc/log.h>

#include "about.h"
#include "push.h"

#define MS_NS     UINT64_C(1000000)
#define IDLE_NS   (1000 * MS_NS) /* between two looks whether there are files to read */
#define BUSY_NS   (20 * MS_NS)   /* while there are */
#define READ_NS   (3 * MS_NS)    /* for files, before processes that come are due */
#define READ_PART 10             /* of the time, at most */
#define SHELF_MAX ((size_t)16 << 20)
#define CODES_MAX ((size_t)48 << 20)
enum { TIMER_FILES = 1 };

static void destroy(void *self)
{
	struct python *p = self;

	gpc_py_desk_free(p->desk);
	gpc_py_shelf_free(p->shelf);
	gpc_py_codes_all_free(p->codes);
	free(p);
}

static gpc_status probe(void *self)
{
	const struct python *p = self;

	if (p->options->mode == PY_MODE_PYPERF)
		return gpc_host_reportf(p->host, NULL, GPC_E_UNSUPPORTED,
					"--python-mode=pyperf: reading Python within the kernel is "
					"not there yet; --python-mode=auto reads it from outside, "
					"at each sample");
	return GPC_OK;
}

/* ---- processes ---------------------------------------------------------------------- */

static int32_t claim(void *self, const struct gpc_target *t)
{
	(void)self;
	return gpc_py_runtime_claim(t);
}

static void target_free(struct py_target *t)
{
	if (!t)
		return;
	if (t->native)
		t->elf->threads_close(t->native);
	gpc_py_threads_deinit(&t->threads);
	gpc_py_codes_free(t->codes);
	gpc_py_packages_free(t->packages);
	free(t);
}

static gpc_status open_target(struct python *p, struct py_target *t)
{
	struct py_wording wording = {.has_running_lines = p->options->has_line_numbers,
				     .all = p->codes};
	gpc_status st = gpc_py_runtime_find(p->host, t->target, &t->runtime);

	if (st < 0)
		return st;
	t->elf = p->host->extension(p->host, "gpc.elf/1");
	/* Threads of old versions are known by their pthread_t, and so are those of
	 * newer ones after a fork. */
	if (t->elf)
		(void)t->elf->threads_open(p->host, t->target, &t->native);
	if (!t->native && t->runtime.layout.thread_native_id == PY_NONE)
		return gpc_host_reportf(p->host, t->target, GPC_E_UNSUPPORTED,
					"Python: its C library is not known, and this version of "
					"Python knows no thread numbers");
	if (p->options->versions)
		wording.packages = t->packages = gpc_py_packages_new(t->runtime.version, p->shelf);
	t->codes = gpc_py_codes_new(&wording);
	return t->codes ? gpc_py_threads_init(&t->threads) : GPC_E_NOMEM;
}

/* A child's memory is a copy of its parent's: all that was found there is in its place. */
static gpc_status copy_target(const struct py_target *parent, struct py_target *t)
{
	t->runtime = parent->runtime;
	t->elf = parent->elf;
	if (parent->native && (!GPC_HAS(t->elf, threads_fork) ||
			       t->elf->threads_fork(parent->native, t->target, &t->native) < 0))
		return GPC_E_UNSUPPORTED;
	t->packages = gpc_py_packages_get(parent->packages);
	t->codes = gpc_py_codes_fork(parent->codes);
	return t->codes ? gpc_py_threads_init(&t->threads) : GPC_E_NOMEM;
}

/* The timer that files are read by. */
static gpc_status read_at_pace(struct python *p, bool is_reading)
{
	if (is_reading == p->is_reading)
		return GPC_OK;
	p->is_reading = is_reading;
	return p->host->set_timer(p->host, NULL, is_reading ? BUSY_NS : IDLE_NS, TIMER_FILES);
}

/* parent: of a forked child what is known of the process it was copied from; or NULL. */
static gpc_status attach_to(struct python *p, const struct py_target *parent,
			    const struct gpc_target *target, struct py_target **ret)
{
	struct py_target *t = calloc(1, sizeof *t);
	gpc_status st;

	if (!t)
		return GPC_E_NOMEM;
	t->python = p;
	t->target = target;
	st = parent ? copy_target(parent, t) : open_target(p, t);
	if (st < 0) {
		target_free(t);
		return st;
	}
	if (p->n_targets < PY_TARGETS_MAX)
		p->targets[p->n_targets++] = t;
	*ret = t;
	(void)read_at_pace(p, true);
	return GPC_OK;
}

static gpc_status attach(void *self, const struct gpc_target *target, void **tctx)
{
	struct python *p = self;
	struct py_target *t;
	gpc_status st = attach_to(p, NULL, target, &t);

	if (st < 0)
		return st;
	gpc_host_logf(p->host, GPC_DEBUG, "process %d: Python %s in %s", target->pid,
		      t->runtime.version, t->runtime.path);
	gpc_py_about(t);
	/* At once where it is known, or stands in the file: it may not live long. */
	t->is_told = gpc_py_about_files(t);
	*tctx = t;
	return GPC_OK;
}

static gpc_status attach_child(void *self, void *parent, const struct gpc_target *target,
			       void **tctx)
{
	const struct py_target *from = parent;
	struct py_target *t;
	gpc_status st = attach_to(self, from, target, &t);

	if (st < 0)
		return st;
	gpc_py_about_child(t, from);
	t->is_told = from->is_told;
	*tctx = t;
	return GPC_OK;
}

static void detach(void *self, void *tctx)
{
	struct python *p = self;

	for (unsigned i = 0; i < p->n_targets; i++)
		if (p->targets[i] == tctx) {
			p->targets[i] = p->targets[--p->n_targets];
			break;
		}
	target_free(tctx);
}

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	struct python *p = calloc(1, sizeof *p);

	if (!p)
		return GPC_E_NOMEM;
	p->host = h;
	p->options = options;
	p->shelf = gpc_py_shelf_new(SHELF_MAX);
	p->codes = gpc_py_codes_all_new();
	p->desk = gpc_py_desk_new();
	if (!p->shelf || !p->codes || !p->desk) {
		destroy(p);
		return GPC_E_NOMEM;
	}
	p->walk = (struct gpc_walk_api){.struct_size = sizeof p->walk,
					.stack_bytes = 512,
					.walk = gpc_py_walk};
	p->tick = (struct gpc_tick_api){.struct_size = sizeof p->tick,
					.threads = gpc_py_push_threads,
					.tick = gpc_py_push_tick};
	p->fork = (struct gpc_fork_api){.struct_size = sizeof p->fork, .attach = attach_child};
	*self = p;
	return GPC_OK;
}

/* ---- timers --------------------------------------------------------------------------- */

static gpc_status start(void *self, const struct gpc_session *s)
{
	struct python *p = self;

	(void)s;
	return p->host->set_timer(p->host, NULL, IDLE_NS, TIMER_FILES);
}

static void stop(void *self)
{
	(void)self; /* timers end by themselves */
}

/* False: more of its files are to be read. */
static bool read_files_of(struct py_target *t, const struct py_packages_turn *turn)
{
	bool is_done = !t->packages || gpc_py_packages_read(t->packages, t->target, turn);

	if (!t->is_told && turn->host->now_ns(turn->host) < turn->until_ns)
		t->is_told = gpc_py_about_files(t);
	return is_done && t->is_told;
}

/* What takes long, and is not needed to read stacks: a little at a time, because processes
 * that come wait for it. In turn, so that all come to it whatever folders some have. True:
 * there is more. */
static bool read_files(struct python *p, uint64_t begin)
{
	struct py_packages_turn turn = {p->host, p->desk, begin + READ_NS};
	bool is_done = true;
	unsigned i;

	if (begin < p->read_after_ns)
		return p->is_reading;
	for (i = 0; i < p->n_targets && !p->host->should_stop(p->host) &&
		    p->host->now_ns(p->host) < turn.until_ns;
	     i++)
		is_done &= read_files_of(p->targets[p->next_files++ % p->n_targets], &turn);
	p->read_after_ns = begin + READ_PART * (p->host->now_ns(p->host) - begin);
	return !is_done || i < p->n_targets;
}

static gpc_status ready(void *self, void *tctx, const struct gpc_ready *r, struct gpc_writer *w)
{
	(void)tctx;
	struct python *p = self;
	uint64_t now = p->host->now_ns(p->host);

	(void)r;
	(void)w;
	if (now >= p->trim_after_ns) {
		(void)gpc_py_codes_trim(p->codes, CODES_MAX);
		p->trim_after_ns = now + IDLE_NS - BUSY_NS / 2;
	}
	return read_at_pace(p, read_files(p, p->host->now_ns(p->host)));
}

static const void *extension(void *self, const char *id)
{
	struct python *p = self;

	if (strcmp(id, "gpc.walk/1") == 0 && p->options->sampling == PY_SAMPLING_PULL)
		return &p->walk;
	if (strcmp(id, "gpc.fork/1") == 0)
		return &p->fork;
	if (strcmp(id, "gpc.tick/1") == 0 && p->options->sampling == PY_SAMPLING_PUSH)
		return &p->tick;
	return NULL;
}

/* ---- tables --------------------------------------------------------------------------- */

static const char *const needs[] = {"CAP_SYS_PTRACE", NULL};
static const char *const suffixes[] = {"p", NULL};
static const struct gpc_match match[] = {
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_MAPPED, .glob = "libpython*"},
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_EXE, .glob = "python*"},
	/* Linked into another program: its extension modules need the API. */
	{.struct_size = sizeof(struct gpc_match),
	 .kind = GPC_MATCH_SYMBOL,
	 .glob = "Py_Initialize"},
	/* The same, and stripped of all symbols: from 3.10 on. */
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_SECTION, .glob = ".PyRuntime"},
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_MAPPED, .glob = "*.cpython-*"},
	{0},
};
static const struct gpc_event events[] = {
	{.struct_size = sizeof(struct gpc_event),
	 .id = PY_EVENT_CPU,
	 .flags = GPC_EVENT_CPU_TIME,
	 .name = "cpu-time",
	 .unit = "samples"},
	{0},
};

static const struct gpc_collector collector = {
	.struct_size = sizeof collector,
	.scope = GPC_SCOPE_PROCESS,
	.caps = GPC_CAP_CPU,
	.touch = GPC_TOUCH_READS,
	.name = "python",
	.runtime = "python",
	.summary = "CPython 2.7 and 3.6 to 3.15, read from outside",
	.needs = needs,
	.suffixes = suffixes,
	.match = match,
	.events = events,
	.create = create,
	.destroy = destroy,
	.probe = probe,
	.claim = claim,
	.attach = attach,
	.detach = detach,
	.start = start,
	.stop = stop,
	.ready = ready,
	.extension = extension,
};
static const struct gpc_collector *const collectors[] = {&collector, NULL};

static const struct gpc_module module = {
	.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.options_bytes = sizeof(struct py_options),
	.name = "python",
	.version = GPC_VERSION,
	.summary = "Python frames in the machine's stacks",
	.options = gpc_py_options,
	.collectors = collectors,
};

GPC_MODULE(python, 0, module)
