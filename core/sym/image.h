/* SPDX-License-Identifier: Apache-2.0 */
/* One executable file: the part of images.h that knows no threads. Owns its
 * descriptor, its symbol table and the names that were asked for. Internal to
 * core/sym. */
#ifndef GPC_SYM_IMAGE_H
#define GPC_SYM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "elf/gopclntab.h"
#include "elf/symtab.h"
#include "sym/images.h"
#include "sym/lines.h"

enum gpc_image_file {
	GPC_IMAGE_WANTED = 0,
	GPC_IMAGE_OPEN,
	GPC_IMAGE_REFUSED, /* no room for one more: wanted again after the window */
	GPC_IMAGE_NONE     /* given up, or not what it should be */
};

/* How a file is known not to have been written to since it was accepted. */
struct gpc_image_stamp {
	int64_t seconds, nanoseconds;
	uint64_t size;
};

/* Another key of an image, while its file is open. */
struct gpc_image_alias {
	struct gpc_image_key key;
	uint64_t hash;
};
#define GPC_IMAGE_ALIASES 4

struct gpc_image {
	struct gpc_image_key key;
	uint64_t hash; /* of the key, as the index has it */
	struct gpc_image_alias aliases[GPC_IMAGE_ALIASES];
	unsigned n_aliases;
	uint32_t number;
	vec(uint32_t) numbers; /* of images that were found to be this one */
	uint32_t same_as;      /* another image's number: one of both is to go; 0: none */
	enum gpc_image_file state;
	bool is_lost;    /* wants a file, and nobody was asked for it since that is so */
	bool was_open;   /* its file could be had once */
	uint32_t window; /* in which it was last used */
	uint64_t turn;   /* larger: used later */
	char *path;
	int fd;
	struct gpc_image_stamp stamp;
	int debug_fd; /* where its symbols went when it was stripped; -1: not found */
	struct gpc_image_stamp debug_stamp;
	int shared_fd; /* what its debug information has in common with others'; -1: nothing */
	struct gpc_image_stamp shared_stamp;
	uint8_t *mini; /* its .gnu_debugdata, with the symbols; NULL: not needed */
	size_t mini_bytes;
	struct gpc_gopclntab go;    /* layout 0: not a Go program */
	struct gpc_symtab *symbols; /* NULL: not loaded, or does not load */
	gpc_status broken;          /* why the symbols do not load; else GPC_OK */
	struct gpc_u64map known; /* index of a function, or GO and its record → place in names */
	vec(char *) names;       /* NULL: the file does not say */
	struct gpc_lines lines;
	size_t name_bytes, bytes; /* bytes: all of it, as last counted */
};

/* Clears what the key does not use, so that equal keys have equal bytes. */
struct gpc_image_key gpc_image_key_normal(const struct gpc_image_key *key);
struct gpc_image *gpc_image_new(const struct gpc_image_key *key, const char *path);
void gpc_image_free(struct gpc_image *image);
/* True when fd is the file the key means; *stamp is set. *by_inode_alone: the
 * device differs. */
bool gpc_image_is_file(const struct gpc_image_key *key, int fd, struct gpc_image_stamp *stamp,
		       bool *by_inode_alone);
/* Other keys of the file in fd, whose key this one is; returns how many. */
unsigned gpc_image_other_keys(const struct gpc_image_key *key, int fd,
			      struct gpc_image_key ret[GPC_IMAGE_ALIASES]);
/* Takes fd, the file with the debug information; what was loaded without it is
 * dropped. */
void gpc_image_set_debug(struct gpc_image *image, int fd);
/* The same for what debug information of several files has in common. */
void gpc_image_set_shared(struct gpc_image *image, int fd);
void gpc_image_close(struct gpc_image *image);
/* Descriptors that it holds. */
unsigned gpc_image_files(const struct gpc_image *image);
/* For an image with a file. */
gpc_status gpc_image_load(struct gpc_image *image, struct gpc_err *err);
/* Returns the length; 0: neither the key nor the file tells. */
size_t gpc_image_build_id(const struct gpc_image *image, uint8_t ret[GPC_BUILD_ID_MAX]);
gpc_status gpc_image_symbol(struct gpc_image *image, uint64_t file_offset, struct gpc_symbol *ret);
/* What it costs is taken off *work (gpc_dwarf_spent); nothing is done when none is
 * left. */
void gpc_image_lines(struct gpc_image *image, uint64_t file_offset, int64_t *work,
		     struct gpc_line_list *ret);
/* Gives back the symbols; the names too, when no one holds them any more. */
void gpc_image_drop_table(struct gpc_image *image);
void gpc_image_drop_names(struct gpc_image *image);
size_t gpc_image_table_bytes(const struct gpc_image *image);

#endif
