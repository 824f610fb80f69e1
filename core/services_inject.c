/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.inject/1: what collectors do to processes, and what must be gone again. */
#include "core_impl.h"
#include "proc/inject.h"

#define FILES_MAX 1024

static struct gpc_core *core_of(const struct gpc_host *h)
{
	return gpc_instance_services(gpc_instance_of_host(h))->ctx;
}

/* For whoever looks why nothing is seen of a process. */
static gpc_status told(const struct gpc_host *h, gpc_status st, const struct gpc_err *err)
{
	if (st < 0)
		gpc_debug(&core_of(h)->log, gpc_instance_name(gpc_instance_of_host(h)), "%s",
			  err->text);
	return st;
}

static gpc_status inject_connect(const struct gpc_host *h, const struct gpc_target *t,
				 const char *path, int32_t *fd)
{
	struct gpc_err err;
	int found;
	gpc_status st = gpc_inject_connect(t, path, &found, &err);

	if (st == GPC_OK)
		*fd = found;
	return st == GPC_E_GONE ? st : told(h, st, &err);
}

/* Nothing of a target's file system is waited for under the lock. */
static gpc_status inject_file(const struct gpc_host *h, const struct gpc_target *t,
			      const char *path)
{
	struct gpc_core *core = core_of(h);
	struct gpc_core_injected one = {.target = t->id, .owner = gpc_instance_of_host(h)};
	struct gpc_err err;
	gpc_status st = gpc_inject_file(t, path, &one.file, &err);
	bool is_kept;

	if (st < 0)
		return told(h, st, &err);
	pthread_mutex_lock(&core->lock);
	is_kept = core->injected.n < FILES_MAX && vec_push(&core->injected, one);
	pthread_mutex_unlock(&core->lock);
	if (is_kept)
		return GPC_OK;
	gpc_inject_remove(&one.file);
	return GPC_E_NOMEM;
}

/* One of those files, which leaves the list. */
static bool take_injected(struct gpc_core *core, const struct gpc_instance *owner, uint64_t target,
			  struct gpc_injected_file *ret)
{
	bool has = false;

	pthread_mutex_lock(&core->lock);
	for (size_t k = 0; k < core->injected.n && !has; k++) {
		struct gpc_core_injected *one = &core->injected.at[k];

		if (one->owner != owner || one->target != target)
			continue;
		*ret = one->file;
		*one = core->injected.at[--core->injected.n];
		has = true;
	}
	pthread_mutex_unlock(&core->lock);
	return has;
}

void gpc_core_remove_injected(struct gpc_core *core, const struct gpc_instance *owner,
			      uint64_t target)
{
	struct gpc_injected_file file;

	while (take_injected(core, owner, target, &file))
		gpc_inject_remove(&file);
}

static void inject_remove(const struct gpc_host *h, const struct gpc_target *t)
{
	gpc_core_remove_injected(core_of(h), gpc_instance_of_host(h), t->id);
}

static gpc_status inject_signal(const struct gpc_host *h, const struct gpc_target *t,
				int32_t number)
{
	struct gpc_err err;

	return told(h, gpc_inject_signal(t, number, &err), &err);
}

static int32_t inject_has_thread(const struct gpc_host *h, const struct gpc_target *t,
				 const char *name)
{
	(void)h;
	return gpc_inject_has_thread(t->pid, name);
}

const void *gpc_core_inject_extension(const struct gpc_core *core)
{
	static const struct gpc_inject_api api = {.struct_size = sizeof api,
						  .connect = inject_connect,
						  .make_file = inject_file,
						  .remove_files = inject_remove,
						  .send_signal = inject_signal,
						  .has_thread = inject_has_thread};

	return core->opts.max_touch >= GPC_TOUCH_INJECTS ? &api : NULL;
}
