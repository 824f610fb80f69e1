/* SPDX-License-Identifier: Apache-2.0 */
/* The Java collector: which JVMs, and the answers at samples. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpc/log.h>
#include <gpc/plugin.h>

#include "about.h"
#include "attach.h"
#include "roles.h"
#include "tell.h"
#include "walk.h"
#include "watch.h"

#define EM_X86_64_   62
#define STACK_BYTES  1024 /* copied with each sample; what is beyond is read */
#define RETRY_NS     UINT64_C(50000000)
#define TRIES_QUICK  200 /* 10 s; then every second, as long as it takes */
#define TELLS_MAX    40
#define LAYOUT_TRIES 200 /* on a busy machine it takes seconds to load libjvm.so */

enum { TOKEN_RETRY = 1, TOKEN_KERNEL, TOKEN_ATTACH /* and the one behind it */ };

struct java {
	const struct gpc_host *host;
	const struct options *options;
	const struct gpc_pull_api *pull;
	struct java_watch watch;
};

struct jvm {
	struct vm vm;
	struct java_attach attach;
	struct java_reports reports;
	uint32_t tries;
	bool has_layout;
	/* Its code is claimed. What a sample needs of vm is complete then and does not change;
	 * before, the process is pulled already, but nothing of vm may be read. */
	atomic_bool is_ready;
	bool is_told; /* the core knows what it is */
};

static gpc_status java_create(const struct gpc_host *h, const void *options, void **self)
{
	struct java *j = calloc(1, sizeof *j);

	if (!j)
		return GPC_E_NOMEM;
	j->host = h;
	j->options = options;
	j->watch.fd = -1;
	*self = j;
	return GPC_OK;
}

static void java_destroy(void *self)
{
	free(self);
}

static gpc_status java_probe(void *self)
{
	struct java *j = self;

	j->pull = j->host->extension(j->host, "gpc.pull/1");
	if (!j->pull)
		return gpc_host_reportf(j->host, NULL, GPC_E_UNSUPPORTED,
					"this core has no gpc.pull/1");
	return GPC_OK;
}

static gpc_status java_start(void *self, const struct gpc_session *s)
{
	struct java *j = self;

	(void)s;
	if (j->options->mode == JAVA_AP)
		gpc_host_logf(j->host, GPC_INFO,
			      "--java-mode=ap means auto: JVMs are read from outside, nothing is "
			      "loaded into them");
	gpc_java_watch_start(&j->watch, j->host, "/dev/kmsg", TOKEN_KERNEL);
	return GPC_OK;
}

static void java_stop(void *self)
{
	gpc_java_watch_stop(&((struct java *)self)->watch);
}

/* ---- JVMs -------------------------------------------------------------------------- */

static bool maps_file(const struct gpc_target *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_maps; i++) {
		const struct gpc_map *m =
			(const void *)((const char *)t->maps + (size_t)i * t->map_stride);
		const char *base = strrchr(m->path, '/');

		if (base && strncmp(base + 1, name, strlen(name)) == 0)
			return true;
	}
	return false;
}

static gpc_status skip(struct java *j, const struct gpc_target *t, const char *why)
{
	return gpc_host_reportf(j->host, t, GPC_E_SKIPPED, "%s", why);
}

static void free_jvm(struct jvm *vm)
{
	gpc_java_attach_end(&vm->attach, &vm->vm);
	gpc_java_reports_close(&vm->reports);
	gpc_java_vm_deinit(&vm->vm);
	free(vm);
}

static struct jvm *new_jvm(struct java *j, const struct gpc_target *t)
{
	struct jvm *vm = calloc(1, sizeof *vm);

	if (!vm)
		return NULL;
	vm->vm.mem = (struct jmem){j->host, t};
	vm->vm.options = j->options;
	gpc_java_attach_init(&vm->attach, TOKEN_ATTACH);
	if (!gpc_java_vm_init(&vm->vm)) {
		free_jvm(vm);
		return NULL;
	}
	return vm;
}

static void tell_attached(struct java *j, struct jvm *jvm)
{
	const struct gpc_about_api *about = j->host->extension(j->host, "gpc.about/1");
	const struct gpc_target *t = jvm->vm.mem.target;
	char text[1024];

	if (jvm->attach.state == ATTACH_FAILED)
		gpc_host_logf(j->host, GPC_INFO, "JVM %d was not attached to: %s", t->pid,
			      jvm->attach.why);
	else if (jvm->attach.state == ATTACH_DONE && about &&
		 gpc_java_version_text(&jvm->attach.properties, text, sizeof text))
		about->member(j->host, t, "java_version", text);
}

/* What the core is to know of it; the JVM may not have come that far yet. */
static void tell(struct java *j, struct jvm *jvm)
{
	struct java_about about;

	jvm->is_told = gpc_java_tell(&jvm->vm, jvm->tries >= TELLS_MAX);
	if (!jvm->is_told)
		return;
	gpc_java_about_read(&jvm->vm.mem, &jvm->vm.layout, &about);
	gpc_java_watch_name(&j->watch, jvm->vm.mem.target->pid, about.command);
	if (j->options->allow_attach) {
		gpc_java_attach_begin(&jvm->attach, &jvm->vm,
				      (uint64_t)j->options->jattach_timeout);
		tell_attached(j, jvm);
	}
}

/* GPC_E_BUSY: the JVM has not come that far yet. */
static gpc_status get_ready(struct java *j, struct jvm *jvm)
{
	struct vm *vm = &jvm->vm;
	char why[128];
	gpc_status st;

	/* The tables are not there while libjvm.so is still being loaded. */
	if (!jvm->has_layout && gpc_java_layout_read(&vm->mem, &vm->layout, why, sizeof why) < 0)
		return jvm->tries < LAYOUT_TRIES ? GPC_E_BUSY : skip(j, vm->mem.target, why);
	jvm->has_layout = true;
	/* Stubs are made when all heaps are there. */
	if (vm->layout.at[S_CALL_STUB_RETURN] &&
	    (!gpc_java_read_u64(&vm->mem, vm->layout.at[S_CALL_STUB_RETURN],
				&vm->call_stub_return) ||
	     !vm->call_stub_return))
		return GPC_E_BUSY;
	st = gpc_java_heaps_read(&vm->mem, &vm->layout, &vm->heaps);
	if (st < 0)
		return st;
	vm->non_safepoints = gpc_java_flag_address(&vm->mem, &vm->layout, "DebugNonSafepoints");
	for (uint32_t i = 0; i < vm->heaps.n; i++) {
		st = j->pull->claim_range(j->host, vm->mem.target, vm->heaps.at[i].from,
					  vm->heaps.at[i].to);
		if (st < 0)
			return st;
	}
	gpc_java_flags_read(&vm->mem, &vm->layout, &vm->flags);
	gpc_java_heap_read(&vm->mem, &vm->layout, &vm->flags, &vm->heap);
	gpc_java_reports_open(&jvm->reports, vm);
	jvm->is_ready = true;
	tell(j, jvm);
	gpc_host_logf(j->host, GPC_DEBUG, "JDK %u in process %d: %u code heaps", vm->layout.major,
		      vm->mem.target->pid, vm->heaps.n);
	return GPC_OK;
}

static gpc_status java_attach(void *self, const struct gpc_target *t, void **tctx)
{
	struct java *j = self;
	struct jvm *vm;
	gpc_status st;

	if (maps_file(t, "libj9vm"))
		return skip(j, t, "profiling this JVM is not supported: OpenJ9");
	if (t->machine != EM_X86_64_)
		return skip(j, t, "JVMs are read on x86-64 only");
	vm = new_jvm(j, t);
	if (!vm)
		return GPC_E_NOMEM;
	gpc_java_watch_join(&j->watch, t->pid);
	st = get_ready(j, vm);
	if (st == GPC_E_BUSY || (st == GPC_OK && !vm->is_told))
		st = j->host->set_timer(j->host, t, RETRY_NS, TOKEN_RETRY);
	if (st < 0) {
		free_jvm(vm);
		return st;
	}
	*tctx = vm;
	return GPC_OK;
}

static void java_detach(void *self, void *tctx)
{
	struct jvm *jvm = tctx;

	gpc_java_watch_leave(&((struct java *)self)->watch, jvm->vm.mem.target, &jvm->reports);
	free_jvm(jvm);
}

static void attach_ready(struct java *j, struct jvm *jvm)
{
	bool was_open = jvm->attach.state < ATTACH_DONE;

	gpc_java_attach_ready(&jvm->attach, &jvm->vm);
	if (was_open && jvm->attach.state >= ATTACH_DONE)
		tell_attached(j, jvm);
}

static void retry(struct java *j, struct jvm *jvm)
{
	gpc_status st = jvm->is_ready ? GPC_OK : get_ready(j, jvm);

	if (jvm->is_ready && !jvm->is_told)
		tell(j, jvm);
	if (st == GPC_E_BUSY || (st == GPC_OK && !jvm->is_told)) {
		if (++jvm->tries == TRIES_QUICK)
			j->host->set_timer(j->host, jvm->vm.mem.target, 20 * RETRY_NS, TOKEN_RETRY);
		return;
	}
	j->host->set_timer(j->host, jvm->vm.mem.target, 0, TOKEN_RETRY);
	if (st < 0 && st != GPC_E_SKIPPED)
		gpc_host_reportf(j->host, jvm->vm.mem.target, st, "its code cache cannot be read");
}

static gpc_status java_ready(void *self, void *tctx, const struct gpc_ready *r,
			     struct gpc_writer *w)
{
	struct java *j = self;

	(void)w;
	if (r->token == TOKEN_KERNEL)
		gpc_java_watch_ready(&j->watch);
	else if (tctx && r->token == TOKEN_RETRY)
		retry(j, tctx);
	else if (tctx)
		attach_ready(j, tctx);
	return GPC_OK;
}

/* ---- samples ------------------------------------------------------------------------- */

JAVA_HOT static gpc_status java_step(void *self, void *tctx, const struct gpc_pull_sample *s,
				     struct gpc_step_state *state, struct gpc_pull_out *out)
{
	struct jvm *vm = tctx;
	struct walk w;

	(void)self;
	if (!vm->is_ready)
		return GPC_E_BUSY;
	gpc_java_walk_init(&w, &vm->vm, s, state, out);
	return gpc_java_walk(&w);
}

JAVA_HOT static gpc_status java_begin(void *self, void *tctx, const struct gpc_pull_sample *s,
				      struct gpc_step_state *state)
{
	struct jvm *jvm = tctx;
	struct vm *vm = &jvm->vm;

	(void)self;
	if (!jvm->is_ready)
		return GPC_E_BUSY;
	gpc_java_go_on(vm,
		       gpc_java_thread_left(&vm->threads, &vm->mem, &vm->layout, s->ns_tid, s->sp),
		       state);
	return GPC_OK;
}

JAVA_HOT static gpc_status java_finish(void *self, void *tctx, const struct gpc_pull_sample *s,
				       int32_t has_runtime, struct gpc_pull_out *out)
{
	const struct options *o = ((struct java *)self)->options;
	const char *role = has_runtime ? NULL : gpc_java_role(s->thread_name);
	char text[64];

	(void)tctx;
	if (role && out->n < out->room)
		out->frames[out->n++] = gpc_java_plain_frame(out->writer, role);
	if (!o->thread_names || !*s->thread_name || out->n >= out->room)
		return GPC_OK;
	snprintf(text, sizeof text, "[%s tid=%d]", s->thread_name, s->ns_tid ? s->ns_tid : s->tid);
	out->frames[out->n++] = gpc_java_plain_frame(out->writer, text);
	return GPC_OK;
}

static const void *java_extension(void *self, const char *id)
{
	static const struct gpc_step_api step = {.struct_size = sizeof step,
						 .stack_bytes = STACK_BYTES,
						 .step = java_step,
						 .begin = java_begin,
						 .finish = java_finish};

	(void)self;
	return strcmp(id, "gpc.step/1") == 0 ? &step : NULL;
}

static const char *const needs[] = {"CAP_SYS_PTRACE", NULL};
/* In the order of SUFFIX_. */
static const char *const suffixes[] = {"j", "i", "0", "1", NULL};
static const struct gpc_match match[] = {
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_MAPPED, .glob = "libjvm.so*"},
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_MAPPED, .glob = "libj9vm*.so*"},
	{.struct_size = 0},
};
static const struct gpc_event events[] = {
	{.struct_size = sizeof(struct gpc_event),
	 .id = 1,
	 .flags = GPC_EVENT_CPU_TIME,
	 .name = "cpu-time",
	 .unit = "samples"},
	{.struct_size = 0},
};

static const struct gpc_collector collector = {
	.struct_size = sizeof collector,
	.scope = GPC_SCOPE_PROCESS,
	.caps = GPC_CAP_CPU,
	.touch = GPC_TOUCH_READS,
	.name = "java",
	.runtime = "java",
	.summary = "HotSpot's stacks, read from outside",
	.needs = needs,
	.suffixes = suffixes,
	.match = match,
	.events = events,
	.create = java_create,
	.destroy = java_destroy,
	.probe = java_probe,
	.start = java_start,
	.stop = java_stop,
	.attach = java_attach,
	.detach = java_detach,
	.ready = java_ready,
	.extension = java_extension,
};
static const struct gpc_collector *const collectors[] = {&collector, NULL};

static const struct gpc_module module = {
	.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.options_bytes = sizeof(struct options),
	.name = "java",
	.version = GPC_VERSION,
	.summary = "Java in the picture without touching the JVM",
	.options = gpc_java_options,
	.collectors = collectors,
};
GPC_MODULE(java, 0, module)
