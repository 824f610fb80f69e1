/* SPDX-License-Identifier: Apache-2.0 */
/* The process table: what the core knows of processes, kept from exec, mmap,
 * fork and exit events in the order of time, and from /proc once for a process
 * that was there before us and has used CPU (its first sample).
 *
 * One entry is one process image, (pid, start time, exec count): an exec makes
 * a new one, and samples taken before it stay with the old one. Entries of
 * processes that are gone live until gpc_table_trim, so that a window can be
 * finished. Not thread-safe: the owner holds its lock. */
#ifndef GPC_PROC_TABLE_H
#define GPC_PROC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "proc/space.h"
#include "sym/images.h"

struct gpc_process {
	uint64_t id; /* gpc_target.id; never used twice */
	int32_t pid, ppid;
	uint32_t exec_count;
	uint32_t window;           /* of its latest sample */
	uint64_t cgroup;           /* of its latest sample; 0: not known */
	uint64_t exit_ns;          /* 0: lives */
	struct gpc_space *space;   /* NULL: not known yet */
	struct gpc_process *older; /* an earlier image of the same pid */
	int perf_map_fd;           /* -1: none; see gpc_table_needs */
	int jitdump_fd;            /* the same */
	uint64_t jitdump_ns;       /* when it was asked for; 0: it was not */
	uint32_t unwind_jit;       /* the source's: its number for that file */
	char comm[16];             /* at exec; else of the main thread when first seen */
	bool is_sampled;           /* used CPU since we know it */
	bool is_forked;            /* its fork was seen */
	bool is_headless;          /* its main thread ended, others go on */
	bool is_kernel;            /* a kernel thread, or swapper */
	bool has_jit;              /* code without a file was sampled */
	bool is_announced;         /* discovery was told */
	bool is_placed;            /* its control group was asked for */
	uint8_t places_asked;      /* so often */
	char *container;           /* see gpc_table_place; NULL: none known */
	bool is_given;             /* somebody asked for it: its id is known outside */
};

/* What the table asks for; called under the owner's lock, must not block. */
struct gpc_table_needs {
	void *ctx;
	/* The image's file should be opened while the process lives. */
	void (*file)(void *ctx, uint32_t image, const struct gpc_process *p,
		     const struct gpc_area *area);
	/* Its perf map should be opened while the process lives. */
	void (*perf_map)(void *ctx, const struct gpc_process *p);
	/* It maps a jitdump file: the same. */
	void (*jitdump)(void *ctx, const struct gpc_process *p, const struct gpc_area *area,
			const char *path);
	/* ev->kind: GPC_PROC_, or GPC_PROC_SAMPLED when a process used CPU for the
	 * first time. p is NULL for a process the table does not know (it was
	 * there before us and has slept since). */
	void (*changed)(void *ctx, const struct gpc_process *p, const struct gpc_process_event *ev);
};
#define GPC_PROC_SAMPLED (1u << 31)

struct gpc_table;

/* For who tells the table from a thread of its own. */
struct gpc_table_access {
	struct gpc_table *table;
	void (*lock)(void *ctx); /* the owner's */
	void (*unlock)(void *ctx);
	void *ctx;
};

/* procfs: "/proc"; tests pass their own tree. */
gpc_status gpc_table_new(const char *procfs, struct gpc_images *images,
			 const struct gpc_table_needs *needs, struct gpc_log *log,
			 struct gpc_table **ret, struct gpc_err *err);
void gpc_table_free(struct gpc_table *t);
/* Nobody will tell of mappings: those of a process are read after its exec, and
 * again when it is seen to have used CPU (gpc_table_used). */
void gpc_table_without_mmaps(struct gpc_table *t);

/* ---- events, in the order of time --------------------------------------- */

struct gpc_table_mmap {
	int32_t pid;
	uint64_t start, length, offset;
	struct gpc_image_key key;
	const char *path;
};

/* The time of what is told next. */
void gpc_table_at(struct gpc_table *t, uint64_t time_ns);
void gpc_table_fork(struct gpc_table *t, int32_t pid, int32_t ppid);
void gpc_table_exec(struct gpc_table *t, int32_t pid, const char *comm);
void gpc_table_mmap(struct gpc_table *t, const struct gpc_table_mmap *m);
void gpc_table_exit(struct gpc_table *t, int32_t pid);
/* A control group came to be; id is what samples carry. */
void gpc_table_cgroup(struct gpc_table *t, uint64_t id, const char *path);
/* What /proc/PID/cgroup says. The line that names a container is kept, and is
 * inherited by children and by the program that takes over. */
void gpc_table_place(struct gpc_process *p, const char *cgroup);
/* Events were lost: what is known of mappings may be wrong. */
void gpc_table_distrust(struct gpc_table *t);

/* ---- samples ------------------------------------------------------------- */

/* The process of a sample, reading its name from /proc if it is new. NULL: no
 * memory. The two pseudo processes: 0 is "swapper", -1 (a task past its exit)
 * ":-1". */
struct gpc_process *gpc_table_sampled(struct gpc_table *t, int32_t pid, uint32_t window);
/* Tells again of all live processes that were sampled, for who did not listen
 * when they were. */
void gpc_table_tell_sampled(struct gpc_table *t);
/* Its mappings, read from /proc if need be (from the parent's for a child that
 * has gone without an exec). Never NULL; may be empty. */
const struct gpc_space *gpc_table_space(struct gpc_table *t, struct gpc_process *p);

/* A sample of p ran code of this mapping: its file is asked for if it was closed, or
 * refused, since it was mapped. */
void gpc_table_met(struct gpc_table *t, const struct gpc_process *p, const struct gpc_area *area);

/* The process used CPU, as somebody else than perf has seen (scan.h). */
void gpc_table_used(struct gpc_table *t, int32_t pid);

/* ---- looking ------------------------------------------------------------- */

struct gpc_process *gpc_table_find(struct gpc_table *t, int32_t pid);
struct gpc_process *gpc_table_by_id(struct gpc_table *t, uint64_t id);
/* Its path in the hierarchy of control groups ("/" is the root); NULL: not told
 * (older than us). Borrowed until the next gpc_table_cgroup. */
const char *gpc_table_cgroup_path(const struct gpc_table *t, uint64_t id);
/* The control group that tells the process's container, by its latest sample, else
 * by gpc_table_place. NULL: in none, as far as is known. Borrowed as the above. */
const char *gpc_table_container(const struct gpc_table *t, const struct gpc_process *p);
size_t gpc_table_count(const struct gpc_table *t);
/* Enters, or finds, a live process without a sample. NULL: no such process. */
struct gpc_process *gpc_table_enter(struct gpc_table *t, int32_t pid);

/* After window seq was delivered: forgets the processes that ended before it,
 * and the mappings of those that slept through the last windows. */
void gpc_table_trim(struct gpc_table *t, uint32_t window, uint64_t end_ns);
/* Adds every image that a process maps to set (image -> 0). For gpc_images_trim. */
bool gpc_table_images(const struct gpc_table *t, struct gpc_u64map *set);

#endif
