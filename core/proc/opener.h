/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files of targets while their processes live, on a thread of its own: a
 * file on a dead network server must not hold up the reader of samples. */
#ifndef GPC_PROC_OPENER_H
#define GPC_PROC_OPENER_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "proc/table.h"
#include "sym/images.h"

struct gpc_opener;

/* Called on the opener's thread with what a process says of the code it makes;
 * takes fd. */
enum gpc_jit_file { GPC_JIT_PERF_MAP, GPC_JIT_DUMP };
typedef void (*gpc_opener_jit_fn)(void *ctx, uint64_t process, enum gpc_jit_file kind, int fd);

/* Called on the opener's thread. cgroup not 0: text is that group's path. Else it
 * is what /proc/PID/cgroup says of the process. */
typedef void (*gpc_opener_cgroup_fn)(void *ctx, uint64_t process, uint64_t cgroup,
				     const char *text);

gpc_status gpc_opener_new(struct gpc_images *images, gpc_opener_jit_fn fn, void *ctx,
			  struct gpc_log *log, struct gpc_opener **ret, struct gpc_err *err);
/* Waits for the file being opened, forgets the others. NULL is fine. */
void gpc_opener_free(struct gpc_opener *o);

/* Before the first gpc_opener_cgroup; ctx is that of gpc_opener_new. */
void gpc_opener_set_cgroups(struct gpc_opener *o, gpc_opener_cgroup_fn fn);
/* Is there one hierarchy of control groups, whose path says all? */
bool gpc_opener_is_unified(const struct gpc_opener *o);

/* None blocks. A full queue gives the image up, which shows as its module's
 * name in the profile. */
void gpc_opener_file(struct gpc_opener *o, uint32_t image, const struct gpc_process *p,
		     const struct gpc_area *area);
void gpc_opener_perf_map(struct gpc_opener *o, const struct gpc_process *p);
void gpc_opener_jitdump(struct gpc_opener *o, const struct gpc_process *p,
			const struct gpc_area *area, const char *path);

/* Finds out in which control group p is, p->cgroup if that is not 0. */
void gpc_opener_cgroup(struct gpc_opener *o, const struct gpc_process *p);

/* Waits until the queue is empty, at most timeout_ns. */
void gpc_opener_settle(struct gpc_opener *o, uint64_t timeout_ns);

#endif
