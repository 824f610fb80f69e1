/* SPDX-License-Identifier: Apache-2.0 */
/* Memory images: what a process had in memory, with its mappings and threads, in
 * a file, so that whoever reads runtimes from outside can be tested without the
 * process. docs/images.md describes the format: MessagePack in zstd.
 *
 * Images hold whatever the process held, secrets too: they are made by the owner
 * of the process, readable by him alone. */
#ifndef GPC_PROC_MEM_IMAGE_H
#define GPC_PROC_MEM_IMAGE_H

#include <stdint.h>

#include "base/err.h"
#include "proc/mem.h"

/* ---- making one ------------------------------------------------------------- */

struct gpc_capture {
	const struct gpc_target *target;
	struct gpc_mem *mem;
	uint64_t max_bytes;      /* of memory; what is beyond is left out and said so */
	const char *stacks_path; /* a text with the runtime's own view; or NULL */
};
struct gpc_capture_facts {
	uint64_t bytes, skipped_bytes; /* of memory */
	uint32_t mappings, threads;
};
/* Writes a new file, mode 0600; an existing one is not touched. The process runs
 * on meanwhile: the image is not of one moment. */
gpc_status gpc_mem_image_capture(const struct gpc_capture *c, const char *path,
				 struct gpc_capture_facts *ret, struct gpc_err *err);

/* ---- using one --------------------------------------------------------------- */

struct gpc_mem_image;

struct gpc_mem_image_thread {
	int32_t tid, ns_tid;
	char comm[16];
	char state;
	uint64_t pc, sp; /* of a waiting thread; 0: not known */
};

/* Reads at most max_bytes of memory; the file is foreign. */
gpc_status gpc_mem_image_load(const char *path, uint64_t max_bytes, struct gpc_mem_image **ret,
			      struct gpc_err *err);
/* From the plain MessagePack, for tests. */
gpc_status gpc_mem_image_parse(const void *bytes, size_t n, uint64_t max_bytes,
			       struct gpc_mem_image **ret, struct gpc_err *err);
void gpc_mem_image_free(struct gpc_mem_image *i); /* NULL is fine */

/* The process as it was; pid and files of it mean nothing here. Borrowed. */
const struct gpc_target *gpc_mem_image_target(const struct gpc_mem_image *i);
uint32_t gpc_mem_image_threads(const struct gpc_mem_image *i);
const struct gpc_mem_image_thread *gpc_mem_image_thread(const struct gpc_mem_image *i,
							uint32_t index);
const char *gpc_mem_image_stacks(const struct gpc_mem_image *i); /* "" when there are none */
int64_t gpc_mem_image_read(const struct gpc_mem_image *i, uint64_t addr, void *buf, uint64_t len);
/* For gpc_mem_new: all reads come from the image. */
struct gpc_mem_replay gpc_mem_image_replay(struct gpc_mem_image *i);

#endif
