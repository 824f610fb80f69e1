/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of an ELF image come from: a descriptor or memory. A file is
 * never mapped: it may be truncated while we look at it, and mapped pages would
 * count as our memory. It is never read whole either: a table of a million
 * symbols would not fit our budget. So this reader, and not libelf, which does
 * one or the other. Whatever a file says is checked against its size. */
#ifndef GPC_ELF_SOURCE_H
#define GPC_ELF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_elf_source {
	int fd;               /* borrowed; -1: the image is in memory */
	const uint8_t *bytes; /* borrowed */
	uint64_t size;
};

/* A part of the file. */
struct gpc_elf_range {
	uint64_t offset, size;
};

/* A window on a string table, for many short looks that lie close together. */
struct gpc_elf_window {
	const struct gpc_elf_source *source;
	uint64_t offset;
	size_t n;
	char bytes[4096];
};

gpc_status gpc_elf_source_fd(int fd, struct gpc_elf_source *ret, struct gpc_err *err);
struct gpc_elf_source gpc_elf_source_memory(const void *bytes, size_t n);

/* All n bytes, or false. */
bool gpc_elf_read(const struct gpc_elf_source *source, uint64_t offset, void *buf, size_t n);
/* The same for an array: what is there of it, as a number of whole elements. */
size_t gpc_elf_read_array(const struct gpc_elf_source *source, uint64_t offset, void *buf,
			  size_t size, size_t count);
/* Cuts a part to what the file has. */
void gpc_elf_clamp(const struct gpc_elf_source *source, struct gpc_elf_range *range);

/* The text at offset at of a string table: new, NULL when it is out of bounds
 * or memory is short. Cut after GPC_ELF_NAME_MAX bytes. */
#define GPC_ELF_NAME_MAX 16384
char *gpc_elf_string(const struct gpc_elf_source *source, const struct gpc_elf_range *strings,
		     uint64_t at);
/* True when the n bytes at offset at of a string table equal text. */
bool gpc_elf_window_is(struct gpc_elf_window *window, const struct gpc_elf_range *strings,
		       uint64_t at, const char *text, size_t n);

#endif
