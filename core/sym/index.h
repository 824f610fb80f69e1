/* SPDX-License-Identifier: Apache-2.0 */
/* Which images there are, by number and by key. An image has several keys once its
 * file is known: the kernel tells of one mapping by build-id, of another by inode. Of
 * images that were found to be the same one stays, with the numbers of both. The part
 * of images.h that knows no threads; internal to core/sym. */
#ifndef GPC_SYM_INDEX_H
#define GPC_SYM_INDEX_H

#include "sym/image.h"

struct gpc_image_index {
	vec(struct gpc_image *) all;
	struct gpc_u64map by_key;    /* hash of a key → place in all */
	struct gpc_u64map by_number; /* number → place in all */
	struct gpc_u64map resting;   /* numbers that somebody may still remember */
	uint32_t last, max;          /* numbers are 1 to max */
};

/* idx: all bytes 0 but max. */
void gpc_image_index_deinit(struct gpc_image_index *idx); /* frees the images */
struct gpc_image *gpc_image_index_get(const struct gpc_image_index *idx, uint32_t number);
/* key: normal. */
struct gpc_image *gpc_image_index_find(const struct gpc_image_index *idx,
				       const struct gpc_image_key *key);
/* A key that none has. NULL: no memory, or no number is free. */
struct gpc_image *gpc_image_index_add(struct gpc_image_index *idx, const struct gpc_image_key *key,
				      const char *path);
/* Its file is open, and the kernel tells of it in these words too. Another image that is
 * open and has such a key is the same: it is noted in same_as. */
void gpc_image_index_know(struct gpc_image_index *idx, struct gpc_image *image,
			  const struct gpc_image_key *keys, unsigned n);
/* Only the key that it was added by is left. */
void gpc_image_index_forget_aliases(struct gpc_image_index *idx, struct gpc_image *image);
/* Takes it out; freeing it is the caller's. Its numbers rest. */
struct gpc_image *gpc_image_index_remove(struct gpc_image_index *idx, struct gpc_image *image);
/* Is one of its numbers so? */
bool gpc_image_is_any(const struct gpc_image *image, bool (*is_so)(void *ctx, uint32_t number),
		      void *ctx);
/* As remove, but what its numbers and keys meant is another image now. */
struct gpc_image *gpc_image_index_merge(struct gpc_image_index *idx, struct gpc_image *from,
					struct gpc_image *into);
/* Numbers that rest are free from now on. */
void gpc_image_index_wake(struct gpc_image_index *idx);

#endif
