/* SPDX-License-Identifier: Apache-2.0 */
/* Executable files that processes map, each known once however many processes
 * map it and by whatever path. An image is identified by what the kernel says
 * of the mapping: its build-id, or device and inode with generation, or without
 * (/proc). While its file is open it is known by all of these; of two that turn
 * out to be one file one is dropped after the window, and its number means the
 * other. Its file is opened early, while the mapping's process lives, and its
 * symbols are loaded when first asked for; both are kept across windows under a
 * budget.
 *
 * Thread-safe: the reader of perf records adds, the opener offers files, the
 * control thread asks for symbols. */
#ifndef GPC_SYM_IMAGES_H
#define GPC_SYM_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"

#define GPC_BUILD_ID_MAX 20

struct gpc_image_key {
	uint64_t inode, generation; /* 0, 0 with a build-id */
	uint32_t dev_major, dev_minor;
	uint8_t build_id[GPC_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: identified by device and inode */
	uint8_t reserved[3];
};

/* What an address means. Texts are borrowed from the image until the next
 * gpc_images_trim(). */
struct gpc_symbol {
	const char *name;     /* as in the file, without @VERSION; NULL: none covers it */
	uint64_t start, size; /* start: address as linked */
	uint64_t address;     /* of the place asked for, as linked; 0 unknown */
};

/* One of the functions that an instruction belongs to. Texts as in gpc_symbol. */
struct gpc_source_line {
	const char *function; /* inlined; mangled, or plain; NULL: the symbol's */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* 0: not known */
};

/* The innermost first; the last one was not inlined. Borrowed until the next
 * question. */
struct gpc_line_list {
	const struct gpc_source_line *at;
	size_t n; /* 0: there is no debug information for this */
};

struct gpc_images;

struct gpc_images_limits {
	size_t symbol_bytes; /* symbol tables kept across windows */
	unsigned max_files;  /* descriptors held open; more are refused for the window. Debug
			      * files beyond it are not opened. */
};

gpc_status gpc_images_new(const struct gpc_images_limits *limits, struct gpc_log *log,
			  struct gpc_images **ret, struct gpc_err *err);
void gpc_images_free(struct gpc_images *images);

/* The number of the image, from 1 to GPC_IMAGES_MAX; path is as the first process saw
 * it. 0 when memory is short, or so many images are alive (which is told). A number is
 * used again only one gpc_images_trim after that which dropped its image. */
#define GPC_IMAGES_MAX ((1u << 20) - 1) /* what a raw frame has room for */
uint32_t gpc_images_add(struct gpc_images *images, const struct gpc_image_key *key,
			const char *path);
/* Base name of path, for "(libfoo.so)"; full path as the first process saw it. */
const char *gpc_images_path(struct gpc_images *images, uint32_t image);

/* A new descriptor of its file, which is the caller's. GPC_E_GONE: it has none. */
gpc_status gpc_images_file(struct gpc_images *images, uint32_t image, int *ret,
			   struct gpc_err *err);

/* As hexadecimal text, from the kernel or the file; "" when neither tells. */
#define GPC_BUILD_ID_TEXT (2 * GPC_BUILD_ID_MAX + 1)
void gpc_images_build_id(struct gpc_images *images, uint32_t image, char ret[GPC_BUILD_ID_TEXT]);

/* True until a file was accepted or opening was given up; true again when the
 * image is added anew after that, or its file was closed by gpc_images_trim. */
bool gpc_images_wants_file(struct gpc_images *images, uint32_t image);
/* The same, by who asks an opener for it now. */
bool gpc_images_ask(struct gpc_images *images, uint32_t image);
/* For who meets an image that was added before: true, once, when its file was closed or
 * refused and nobody asked for it since. Costs nothing where that has not happened. */
bool gpc_images_ask_again(struct gpc_images *images, uint32_t image);
/* It wants a file, and an opener was asked: one may come. */
bool gpc_images_awaits_file(struct gpc_images *images, uint32_t image);
/* Offers an open descriptor of a regular file (taken in every case). Accepted
 * when its identity equals the key: the build-id where the key has one, else
 * device and inode (st_dev of overlayfs and btrfs differs from the mapping's:
 * then inode alone, reported at debug level). */
bool gpc_images_offer(struct gpc_images *images, uint32_t image, int fd);
/* The file with the symbols and debug information of an image whose file was
 * accepted (fd is taken in every case): the caller has made sure that it is this
 * image's. May wait while symbols are read. */
enum gpc_debug_kind { GPC_DEBUG_OWN, GPC_DEBUG_SHARED /* by several files (dwz) */ };
void gpc_images_offer_debug(struct gpc_images *images, uint32_t image, enum gpc_debug_kind kind,
			    int fd);
/* An offer will never come (the process was gone before its file was opened). */
void gpc_images_give_up(struct gpc_images *images, uint32_t image);

/* Looks up a file offset (of the mapping), loading the symbols when needed.
 * GPC_OK with ret->name NULL when no symbol covers it. GPC_E_GONE: no file. */
gpc_status gpc_images_symbol(struct gpc_images *images, uint32_t image, uint64_t file_offset,
			     struct gpc_symbol *ret);

/* Source lines of a file offset. Cheapest in the order of offsets. Work between two
 * gpc_images_trim is bounded, for each file and for all; beyond there are none. */
void gpc_images_lines(struct gpc_images *images, uint32_t image, uint64_t file_offset,
		      struct gpc_line_list *ret);

/* After a window: drops images not used (added, or asked for) in the last two
 * windows, then the least recently used symbol tables and descriptors over the
 * limits. Images in use by a live process must be kept: keep() says which; it
 * must not call into images. */
void gpc_images_trim(struct gpc_images *images, bool (*keep)(void *ctx, uint32_t image), void *ctx);

struct gpc_images_stats {
	size_t images, files, tables, bytes;
};
void gpc_images_stats(struct gpc_images *images, struct gpc_images_stats *ret);

#endif
