/* SPDX-License-Identifier: Apache-2.0 */
/* The full view of a process that collectors get (struct gpc_target), read from
 * /proc when somebody asks for it. Immutable, counted by references; get and
 * put are thread-safe. */
#ifndef GPC_PROC_TARGET_H
#define GPC_PROC_TARGET_H

#include <stdbool.h>

#include "base/err.h"

struct gpc_target_view {
	struct gpc_target target;
	int refs;
	struct gpc_target_view *base; /* whose texts and maps these are; NULL: its own */
	char *container;              /* target.container, unless that is "" */
	char *text;                   /* what target's strings and maps point into */
	struct gpc_map *maps;
	char comm[16], exe[4096];
	uint64_t exe_dev, exe_ino; /* identity of the executable's file */
	int64_t exe_mtime_ns;
};

enum { GPC_LIBC_NONE, GPC_LIBC_GLIBC, GPC_LIBC_MUSL }; /* gpc_target.libc */
/* Which C library a mapped file is, by its name. */
uint8_t gpc_libc_of_file(const char *path);

struct gpc_target_id {
	int32_t pid;
	uint64_t id;
	uint32_t exec_count;
	struct gpc_patient *patient; /* reads its mappings; NULL: whoever asks waits himself */
};

/* One reference. GPC_E_GONE: no such process, or a zombie. */
gpc_status gpc_target_read(const struct gpc_target_id *id, struct gpc_target_view **ret,
			   struct gpc_err *err);
/* Of a child of parent's, which has not executed another program since: what is the same
 * is shared with the parent's view. */
gpc_status gpc_target_fork(struct gpc_target_view *parent, const struct gpc_target_id *id,
			   struct gpc_target_view **ret, struct gpc_err *err);
/* Before anybody else has it. name is copied; without memory nothing changes. */
void gpc_target_set_container(struct gpc_target_view *v, const char *name);
struct gpc_target_view *gpc_target_get(struct gpc_target_view *v);
void gpc_target_put(struct gpc_target_view *v); /* NULL is fine */
/* Is it still the same process (pid and start time), and no zombie? */
bool gpc_target_lives(const struct gpc_target_view *v);

enum gpc_target_now {
	GPC_TARGET_SAME,
	GPC_TARGET_OTHER, /* it has ended, or has become another program */
	GPC_TARGET_GREW   /* it has mapped code since */
};
/* What has become of the process since the view was read. GREW: *fresh is the caller's. */
enum gpc_target_now gpc_target_compare(const struct gpc_target_view *v,
				       struct gpc_target_view **fresh);

#endif
