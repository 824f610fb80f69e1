/* SPDX-License-Identifier: Apache-2.0 */
/* gprofiler-core capture PID FILE: a memory image, for tests of whatever reads
 * runtimes from outside. */
#include "core_impl.h"
#include "plugin/needs.h"
#include "proc/mem_image.h"
#include "proc/target.h"

#define IMAGE_MAX (UINT64_C(1) << 30)

GPC_EXPORT gpc_status gpc_core_capture(struct gpc_core *core, int32_t pid, const char *path,
				       FILE *out, struct gpc_err *err)
{
	struct gpc_target_id id = {.pid = pid, .id = 1};
	struct gpc_capture_facts facts = {0};
	struct gpc_target_view *view;
	struct gpc_rights rights;
	struct gpc_mem *mem = NULL;
	const char *stacks = gpc_options_text(core->options, "stacks");
	gpc_status st;

	gpc_try(gpc_rights_read(core->proc_fd, &rights, err));
	if (gpc_rights_meet(&rights, "CAP_SYS_PTRACE") != GPC_NEED_MET)
		return gpc_err_set(err, GPC_E_PERM,
				   "capture reads all memory of a process: run it as root");
	gpc_try(gpc_target_read(&id, &view, err));
	st = view->target.n_maps ? gpc_mem_new(4, NULL, &mem, err)
				 : gpc_err_set(err, GPC_E_UNSUPPORTED,
					       "process %d is a kernel thread: it has no memory of "
					       "its own",
					       pid);
	if (st == GPC_OK) {
		struct gpc_capture c = {.target = &view->target,
					.mem = mem,
					.max_bytes = IMAGE_MAX,
					.stacks_path = stacks};

		st = gpc_mem_image_capture(&c, path, &facts, err);
	}
	if (st == GPC_OK)
		fprintf(out,
			"%s: process %d (%s), %u mappings, %u threads, %llu MiB of memory (%llu "
			"KiB left out)\n"
			"It holds whatever the process held, secrets too: keep it to yourself.\n",
			path, pid, view->target.comm, facts.mappings, facts.threads,
			(unsigned long long)(facts.bytes >> 20),
			(unsigned long long)(facts.skipped_bytes >> 10));
	gpc_mem_free(mem);
	gpc_target_put(view);
	return st;
}
