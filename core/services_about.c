/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.about/1: what collectors say of processes, for the profile. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core_impl.h"
#include "proc/facts.h"
#include "proc/root.h"
#include "profile/about.h"

static struct gpc_core *core_of(const struct gpc_host *h)
{
	return gpc_instance_services(gpc_instance_of_host(h))->ctx;
}

static gpc_status tell_appid(const struct gpc_host *h, const struct gpc_target *t, const char *text)
{
	return gpc_abouts_appid(core_of(h)->abouts, t->id, text);
}

static gpc_status tell_member(const struct gpc_host *h, const struct gpc_target *t, const char *key,
			      const char *value)
{
	return gpc_abouts_member(core_of(h)->abouts, t->id, key, value);
}

static gpc_status tell_json(const struct gpc_host *h, const struct gpc_target *t, const char *key,
			    const char *text)
{
	return gpc_abouts_json(core_of(h)->abouts, t->id, key, text);
}

static const struct gpc_list *appid_args(const struct gpc_host *h)
{
	return &core_of(h)->opts.app_id_args_filters;
}

static gpc_status tell_fact(const struct gpc_host *h, const struct gpc_target *t, uint32_t which,
			    char *ret, uint64_t size)
{
	struct gpc_mem *mem = gpc_instance_services(gpc_instance_of_host(h))->mem;

	switch (which) {
	case GPC_FACT_CWD:
		return gpc_target_cwd(t, ret, size);
	case GPC_FACT_EXECFN:
		return gpc_target_execfn(t, mem, ret, size);
	default:
		return GPC_E_UNSUPPORTED;
	}
}

static gpc_status inherit(const struct gpc_host *h, const struct gpc_target *t,
			  const struct gpc_target *parent)
{
	return gpc_abouts_inherit(core_of(h)->abouts, t->id, parent->id);
}

static gpc_status each_entry(const struct gpc_host *h, const struct gpc_target *t, const char *path,
			     int32_t (*fn)(void *arg, const char *name), void *arg)
{
	autodir DIR *dir = NULL;
	struct dirent *e;
	int fd = -1;

	(void)h;
	gpc_try(gpc_root_folder(t->pid, path, &fd, NULL));
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return GPC_E_SYSTEM;
	}
	while ((e = readdir(dir)) && !fn(arg, e->d_name))
		;
	return GPC_OK;
}

static gpc_status folder_id(const struct gpc_host *h, const struct gpc_target *t, const char *path,
			    struct gpc_folder_id *ret)
{
	autoclose int fd = -1;
	struct stat st;

	(void)h;
	gpc_try(gpc_root_folder(t->pid, path, &fd, NULL));
	if (fstat(fd, &st) < 0)
		return GPC_E_SYSTEM;
	*ret = (struct gpc_folder_id){.device = st.st_dev,
				      .inode = st.st_ino,
				      .changed_ns = st.st_mtim.tv_sec * INT64_C(1000000000) +
						    st.st_mtim.tv_nsec};
	return GPC_OK;
}

const void *gpc_core_about_extension(void)
{
	static const struct gpc_about_api api = {.struct_size = sizeof api,
						 .appid = tell_appid,
						 .member = tell_member,
						 .fact = tell_fact,
						 .folder = each_entry,
						 .json = tell_json,
						 .appid_args = appid_args,
						 .inherit = inherit,
						 .folder_id = folder_id};

	return &api;
}

static bool is_known(void *ctx, uint64_t process)
{
	struct gpc_core *core = ctx;

	return gpc_table_by_id(gpc_sampler_table(core->sampler), process) != NULL;
}

void gpc_core_trim_abouts(struct gpc_core *core)
{
	gpc_sampler_lock(core->sampler);
	gpc_abouts_trim(core->abouts, is_known, core);
	gpc_sampler_unlock(core->sampler);
}
