/* SPDX-License-Identifier: Apache-2.0 */
/* The Java collector: which JVMs, and the answers at samples. */
#include <stdio.h>
#include <stdlib.h>

#include <gpc/log.h>
#include <gpc/plugin.h>

#include "about.h"
#include "roles.h"
#include "tell.h"
#include "walk.h"

#define EM_X86_64_   62
#define STACK_BYTES  1024 /* copied with each sample; what is beyond is read */
#define RETRY_NS     UINT64_C(50000000)
#define TRIES_QUICK  200 /* 10 s; then every second, as long as it takes */
#define TELLS_MAX    40
#define LAYOUT_TRIES 200 /* on a busy machine it takes seconds to load libjvm.so */

enum { TOKEN_RETRY = 1 };

struct java {
	const struct gpc_host *host;
	const struct options *options;
	const struct gpc_pull_api *pull;
	struct gpc_step_api step;
};

struct jvm {
	struct vm vm;
	uint32_t tries;
	bool has_layout;
	bool is_ready; /* its code is claimed */
	bool is_told;  /* the core knows what it is */
};

static gpc_status java_create(const struct gpc_host *h, const void *options, void **self)
{
	struct java *j = calloc(1, sizeof *j);

	if (!j)
		return GPC_E_NOMEM;
	j->host = h;
	j->options = options;
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
	return GPC_OK;
}

static void java_stop(void *self)
{
	(void)self;
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
	gpc_java_places_deinit(&vm->vm.places);
	gpc_java_methods_deinit(&vm->vm.methods);
	gpc_java_threads_deinit(&vm->vm.threads);
	gpc_java_recent_deinit(&vm->vm.recent);
	free(vm);
}

static struct jvm *new_jvm(struct java *j, const struct gpc_target *t)
{
	struct jvm *vm = calloc(1, sizeof *vm);

	if (!vm)
		return NULL;
	vm->vm.mem = (struct jmem){j->host, t};
	vm->vm.options = j->options;
	gpc_java_recent_init(&vm->vm.recent);
	if (!(gpc_java_places_init(&vm->vm.places) & gpc_java_methods_init(&vm->vm.methods) &
	      gpc_java_threads_init(&vm->vm.threads))) {
		free_jvm(vm);
		return NULL;
	}
	return vm;
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
	jvm->is_ready = true;
	jvm->is_told = gpc_java_tell(vm, false);
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
	(void)self;
	free_jvm(tctx);
}

static gpc_status java_ready(void *self, void *tctx, const struct gpc_ready *r,
			     struct gpc_writer *w)
{
	struct java *j = self;
	struct jvm *vm = tctx;
	gpc_status st = vm->is_ready ? GPC_OK : get_ready(j, vm);

	(void)w;
	if (vm->is_ready && !vm->is_told)
		vm->is_told = gpc_java_tell(&vm->vm, vm->tries >= TELLS_MAX);
	if (st == GPC_E_BUSY || (st == GPC_OK && !vm->is_told)) {
		if (++vm->tries != TRIES_QUICK)
			return GPC_OK;
		return j->host->set_timer(j->host, vm->vm.mem.target, 20 * RETRY_NS, r->token);
	}
	j->host->set_timer(j->host, vm->vm.mem.target, 0, r->token);
	if (st < 0 && st != GPC_E_SKIPPED)
		gpc_host_reportf(j->host, vm->vm.mem.target, st, "its code cache cannot be read");
	return GPC_OK;
}

/* ---- samples ------------------------------------------------------------------------- */

static gpc_status java_step(void *self, void *tctx, const struct gpc_pull_sample *s,
			    struct gpc_step_state *state, struct gpc_pull_out *out)
{
	struct jvm *vm = tctx;
	struct walk w;

	(void)self;
	gpc_java_walk_init(&w, &vm->vm, s, state, out);
	return gpc_java_walk(&w);
}

static gpc_status java_begin(void *self, void *tctx, const struct gpc_pull_sample *s,
			     struct gpc_step_state *state)
{
	struct vm *vm = &((struct jvm *)tctx)->vm;
	uint64_t thread = gpc_java_thread_of(&vm->threads, &vm->mem, &vm->layout, s->ns_tid);

	(void)self;
	gpc_java_go_on(vm, gpc_java_thread_anchor(&vm->mem, &vm->layout, thread), state);
	return GPC_OK;
}

static gpc_status java_finish(void *self, void *tctx, const struct gpc_pull_sample *s,
			      int32_t has_runtime, struct gpc_pull_out *out)
{
	const struct options *o = ((struct java *)self)->options;
	const char *name = s->thread_name, *role = has_runtime ? NULL : gpc_java_role(name);
	char text[64];

	(void)tctx;
	if (o->thread_names && *name) {
		snprintf(text, sizeof text, "[%s tid=%d]", name, s->ns_tid ? s->ns_tid : s->tid);
		role = text;
	}
	if (role && out->room)
		out->frames[out->n++] = gpc_java_plain_frame(out->writer, role);
	return GPC_OK;
}

static const void *java_extension(void *self, const char *id)
{
	struct java *j = self;

	if (strcmp(id, "gpc.step/1") != 0)
		return NULL;
	j->step = (struct gpc_step_api){.struct_size = sizeof j->step,
					.stack_bytes = STACK_BYTES,
					.step = java_step,
					.begin = java_begin,
					.finish = java_finish};
	return &j->step;
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
