/* SPDX-License-Identifier: Apache-2.0 */
/* A host for the Python collector's parts without a core: over a process that
 * lives, or over a memory image. Over a process it keeps what was asked, so that
 * an image of just that can be written. */
#ifndef GPC_TEST_PY_HOST_H
#define GPC_TEST_PY_HOST_H

#include <gpc/plugin.h>

#include "base/vec.h"
#include "proc/mem.h"
#include "proc/mem_image.h"
#include "proc/target.h"

struct py_range {
	uint64_t at, end;
};

struct py_host {
	struct gpc_host host; /* first */
	struct gpc_elf_api elf;
	const struct gpc_target *target;
	struct gpc_target_view *view; /* of a process */
	struct gpc_mem *mem;
	struct gpc_mem_image *image;
	vec(struct py_range) read;
	vec(char) told; /* lines "symbol NAME START BYTES", "section ...", "thread PTHREAD TID" */
	/* What an image answers can be changed on its way; or NULL. */
	void (*corrupt)(void *ctx, uint8_t *buf, uint64_t n);
	void *corrupt_ctx;
	uint64_t now_ns;
	char report[512]; /* the last one */
};

bool py_host_open(struct py_host *h, int32_t pid);
/* stacks of the image: what py_host told when it was written, and more. */
bool py_host_load(struct py_host *h, const char *path);
void py_host_use(struct py_host *h, struct gpc_mem_image *image); /* takes it */
void py_host_close(struct py_host *h);
/* Writes what was read; text: a file with more lines. */
bool py_host_write(struct py_host *h, const char *text, const char *path);

/* A writer whose frames are numbers of texts "function|file|line". */
#define PY_HOST_FRAMES 4096
struct py_writer {
	struct gpc_writer writer; /* first */
	vec(char *) texts;
	vec(char *) frames;
};
void py_writer_init(struct py_writer *w);
void py_writer_deinit(struct py_writer *w);
const char *py_writer_text(const struct py_writer *w, gpc_frame frame); /* "?" for none */

#endif
