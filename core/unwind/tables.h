/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables by image, built once by a thread of their own and kept under a
 * budget of bytes: beyond it the tables that were not used for the longest time go,
 * and are built again when they are asked for. Thread-safe; asking never waits for
 * a file or for building. */
#ifndef GPC_UNWIND_TABLES_H
#define GPC_UNWIND_TABLES_H

#include "base/log.h"
#include "sym/images.h"
#include "unwind/step.h"

struct gpc_unwind_tables;

/* In the place of an image's number: the code that the kernel maps into all
 * processes. */
#define GPC_UNWIND_VDSO UINT32_MAX

/* images: borrowed. max_bytes: a single table may be larger. */
gpc_status gpc_unwind_tables_new(struct gpc_images *images, size_t max_bytes, struct gpc_log *log,
				 struct gpc_unwind_tables **ret, struct gpc_err *err);
/* Ends its thread: nothing more is built. */
void gpc_unwind_tables_stop(struct gpc_unwind_tables *t);
void gpc_unwind_tables_free(struct gpc_unwind_tables *t); /* NULL is fine */

/* KNOWN: *ret is to be given back. PLAIN: there is none. WAITING: it is being
 * built, or the image's file is still to be opened. */
enum gpc_code_state gpc_unwind_tables_get(struct gpc_unwind_tables *t, uint32_t image,
					  const struct gpc_unwind_table **ret);
void gpc_unwind_tables_put(struct gpc_unwind_tables *t, uint32_t image);

/* ---- code that a process makes ------------------------------------------------- */

/* A number to stand in the place of an image's, for code that this jitdump file tells
 * of. Takes fd. 0: no memory. In its table vaddr is the address in the process. */
uint32_t gpc_unwind_tables_add_jit(struct gpc_unwind_tables *t, int fd);
void gpc_unwind_tables_remove_jit(struct gpc_unwind_tables *t, uint32_t number);
/* Some of the code was executed at since_ns. True: the file was not read since, and will
 * be; its table may tell more then. False: not needed, or it would take too long. */
bool gpc_unwind_tables_renew(struct gpc_unwind_tables *t, uint32_t number, uint64_t since_ns);

/* Moves on whenever a table has come, or is known not to come: only then asking again
 * makes sense. */
uint64_t gpc_unwind_tables_turn(struct gpc_unwind_tables *t);

/* After gpc_images_trim, from the same thread: forgets images that are no more. Those
 * whose file could not be had get another chance. */
void gpc_unwind_tables_trim(struct gpc_unwind_tables *t);

struct gpc_unwind_tables_stats {
	size_t tables, bytes;
	uint64_t built, rows, build_ns, evicted; /* since the beginning */
};
void gpc_unwind_tables_stats(struct gpc_unwind_tables *t, struct gpc_unwind_tables_stats *ret);

#endif
