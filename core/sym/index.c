/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/index.h"

#include <string.h>

void gpc_image_index_deinit(struct gpc_image_index *idx)
{
	for (size_t i = 0; i < idx->all.n; i++)
		gpc_image_free(idx->all.at[i]);
	vec_deinit(&idx->all);
	gpc_u64map_deinit(&idx->by_key);
	gpc_u64map_deinit(&idx->by_number);
	gpc_u64map_deinit(&idx->resting);
}

struct gpc_image *gpc_image_index_get(const struct gpc_image_index *idx, uint32_t number)
{
	uint64_t place;

	return gpc_u64map_get(&idx->by_number, number, &place) ? idx->all.at[place] : NULL;
}

static bool is_key(const struct gpc_image *image, const struct gpc_image_key *key)
{
	for (unsigned i = 0; i < image->n_aliases; i++)
		if (!memcmp(&image->aliases[i].key, key, sizeof *key))
			return true;
	return !memcmp(&image->key, key, sizeof *key);
}

/* Finds the key, or the hash under which to add it: one hash names one key, so
 * keys of equal hash take the next free one. */
static struct gpc_image *by_key(const struct gpc_image_index *idx, const struct gpc_image_key *key,
				uint64_t *hash)
{
	uint64_t place;

	for (*hash = gpc_hash(key, sizeof *key); gpc_u64map_get(&idx->by_key, *hash, &place);
	     ++*hash)
		if (is_key(idx->all.at[place], key))
			return idx->all.at[place];
	return NULL;
}

struct gpc_image *gpc_image_index_find(const struct gpc_image_index *idx,
				       const struct gpc_image_key *key)
{
	uint64_t hash;

	return by_key(idx, key, &hash);
}

/* The next one that is free; 0: none is. */
static uint32_t next_number(const struct gpc_image_index *idx)
{
	uint32_t number = idx->last;
	uint64_t unused;

	if (idx->by_number.n + idx->resting.n >= idx->max)
		return 0;
	do
		number = number < idx->max ? number + 1 : 1;
	while (gpc_u64map_get(&idx->by_number, number, &unused) ||
	       gpc_u64map_get(&idx->resting, number, &unused));
	return number;
}

struct gpc_image *gpc_image_index_add(struct gpc_image_index *idx, const struct gpc_image_key *key,
				      const char *path)
{
	uint32_t number = next_number(idx);
	struct gpc_image *image;

	if (!number || !vec_reserve(&idx->all, 1))
		return NULL;
	image = gpc_image_new(key, path);
	if (!image)
		return NULL;
	image->number = number;
	by_key(idx, key, &image->hash);
	if (!gpc_u64map_set(&idx->by_key, image->hash, idx->all.n)) {
		gpc_image_free(image);
		return NULL;
	}
	if (!gpc_u64map_set(&idx->by_number, image->number, idx->all.n)) {
		gpc_u64map_remove(&idx->by_key, image->hash);
		gpc_image_free(image);
		return NULL;
	}
	idx->last = number;
	idx->all.at[idx->all.n++] = image;
	return image;
}

/* The key means this image too. Returns another image that has it already; else NULL. */
static struct gpc_image *add_alias(struct gpc_image_index *idx, struct gpc_image *image,
				   const struct gpc_image_key *key)
{
	struct gpc_image_alias alias = {.key = *key};
	struct gpc_image *other = by_key(idx, key, &alias.hash);
	uint64_t place;

	if (other)
		return other != image ? other : NULL;
	if (image->n_aliases < GPC_IMAGE_ALIASES &&
	    gpc_u64map_get(&idx->by_number, image->number, &place) &&
	    gpc_u64map_set(&idx->by_key, alias.hash, place))
		image->aliases[image->n_aliases++] = alias;
	return NULL;
}

void gpc_image_index_know(struct gpc_image_index *idx, struct gpc_image *image,
			  const struct gpc_image_key *keys, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct gpc_image *other = add_alias(idx, image, &keys[i]);

		if (other && other->state == GPC_IMAGE_OPEN)
			image->same_as = other->number;
	}
}

bool gpc_image_is_any(const struct gpc_image *image, bool (*is_so)(void *ctx, uint32_t number),
		      void *ctx)
{
	for (size_t i = 0; i < image->numbers.n; i++)
		if (is_so(ctx, image->numbers.at[i]))
			return true;
	return is_so(ctx, image->number);
}

void gpc_image_index_forget_aliases(struct gpc_image_index *idx, struct gpc_image *image)
{
	for (unsigned i = 0; i < image->n_aliases; i++)
		gpc_u64map_remove(&idx->by_key, image->aliases[i].hash);
	image->n_aliases = 0;
}

/* All that is known of an image leads to a place. That replaces what is there, for which
 * there is always memory. */
static void lead_to(struct gpc_image_index *idx, const struct gpc_image *image, size_t place)
{
	gpc_u64map_set(&idx->by_key, image->hash, place);
	for (unsigned i = 0; i < image->n_aliases; i++)
		gpc_u64map_set(&idx->by_key, image->aliases[i].hash, place);
	gpc_u64map_set(&idx->by_number, image->number, place);
	for (size_t i = 0; i < image->numbers.n; i++)
		gpc_u64map_set(&idx->by_number, image->numbers.at[i], place);
}

/* The last image takes the place of this one. */
static void leave_place(struct gpc_image_index *idx, uint64_t place)
{
	struct gpc_image *last = idx->all.at[--idx->all.n];

	if (place == idx->all.n)
		return;
	idx->all.at[place] = last;
	lead_to(idx, last, place);
}

static void rest(struct gpc_image_index *idx, uint32_t number)
{
	gpc_u64map_remove(&idx->by_number, number);
	gpc_u64map_set(&idx->resting, number, 0);
}

struct gpc_image *gpc_image_index_remove(struct gpc_image_index *idx, struct gpc_image *image)
{
	uint64_t place = 0;

	gpc_u64map_get(&idx->by_number, image->number, &place);
	gpc_image_index_forget_aliases(idx, image);
	gpc_u64map_remove(&idx->by_key, image->hash);
	rest(idx, image->number);
	for (size_t i = 0; i < image->numbers.n; i++)
		rest(idx, image->numbers.at[i]);
	leave_place(idx, place);
	return image;
}

struct gpc_image *gpc_image_index_merge(struct gpc_image_index *idx, struct gpc_image *from,
					struct gpc_image *into)
{
	uint64_t place = 0, there = 0;

	if (!vec_reserve(&into->numbers, from->numbers.n + 1))
		return NULL;
	gpc_u64map_get(&idx->by_number, from->number, &place);
	gpc_u64map_get(&idx->by_number, into->number, &there);
	gpc_image_index_forget_aliases(idx, from);
	gpc_u64map_remove(&idx->by_key, from->hash);
	into->numbers.at[into->numbers.n++] = from->number;
	for (size_t i = 0; i < from->numbers.n; i++)
		into->numbers.at[into->numbers.n++] = from->numbers.at[i];
	lead_to(idx, into, there);
	leave_place(idx, place);
	add_alias(idx, into, &from->key);
	return from;
}

void gpc_image_index_wake(struct gpc_image_index *idx)
{
	gpc_u64map_clear(&idx->resting);
}
