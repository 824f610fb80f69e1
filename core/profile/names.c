/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hot.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"

#define BLOCK_BYTES ((size_t)32 * 1024)

/* A text as it lies in a block. */
struct text {
	uint32_t len;
	char s[];
};

struct gpc_names {
	pthread_mutex_t lock;
	atomic_uint refs;
	uint32_t epoch;
	vec(char *) blocks;
	size_t block_used, block_room;  /* of the last block */
	size_t block_bytes;             /* of all blocks */
	vec(const struct text *) texts; /* by number - 1 */
	vec(struct gpc_frame_entry) frames;
	struct gpc_u64map text_index, frame_index; /* hash -> place */
	size_t max_bytes;                          /* 0: unlimited */
	gpc_str over_text;                         /* GPC_NAMES_OVER, and its frame */
	gpc_frame over;
	uint64_t refused;
};

static void *block_alloc(struct gpc_names *names, size_t size)
{
	size = (size + 3) & ~(size_t)3;
	if (names->block_room - names->block_used < size) {
		size_t room = size > BLOCK_BYTES / 4 ? size : BLOCK_BYTES;
		char *block = malloc(room);

		if (!block)
			return NULL;
		if (!vec_push(&names->blocks, block)) {
			free(block);
			return NULL;
		}
		names->block_bytes += room;
		names->block_used = 0;
		names->block_room = room;
	}
	names->block_used += size;
	return names->blocks.at[names->blocks.n - 1] + names->block_used - size;
}

static gpc_str find_text(const struct gpc_names *names, uint64_t hash, const char *s, size_t len)
{
	uint64_t cursor = 0, i;

	while (gpc_u64map_probe(&names->text_index, hash, &cursor, &i)) {
		const struct text *text = names->texts.at[i];

		if (text->len == len && memcmp(text->s, s, len) == 0)
			return (gpc_str)i + 1;
	}
	return 0;
}

static gpc_str add_text(struct gpc_names *names, uint64_t hash, const char *s, size_t len)
{
	struct text *text;

	if (names->texts.n >= UINT32_MAX || !vec_reserve(&names->texts, 1))
		return 0;
	text = block_alloc(names, sizeof *text + len + 1);
	if (!text || !gpc_u64map_add(&names->text_index, hash, names->texts.n))
		return 0; /* the bytes in the block stay unused */
	text->len = (uint32_t)len;
	memcpy(text->s, s, len);
	text->s[len] = '\0';
	names->texts.at[names->texts.n++] = text;
	return (gpc_str)names->texts.n;
}

/* Where a text that is too long ends, so that no UTF-8 character is torn. */
static size_t cut_length(const char *s, size_t len)
{
	if (len <= GPC_NAMES_LONGEST)
		return len;
	len = GPC_NAMES_LONGEST;
	for (int i = 0; i < 3 && ((unsigned char)s[len] & 0xC0) == 0x80; i++)
		len--;
	return len;
}

static const char *text_of(const struct gpc_names *names, gpc_str s, size_t *len)
{
	const struct text *text = s && s <= names->texts.n ? names->texts.at[s - 1] : NULL;

	if (len)
		*len = text ? text->len : 0;
	return text ? text->s : "";
}

static bool same_entry(const struct gpc_frame_entry *a, const struct gpc_frame_entry *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

static const struct gpc_frame_entry *entry_of(const struct gpc_names *names, gpc_frame frame)
{
	uint64_t i = frame & ~GPC_FRAME_MASK;

	if ((frame & GPC_FRAME_MASK) != GPC_FRAME_TAG || i >= names->frames.n)
		return NULL;
	return &names->frames.at[i];
}

static gpc_frame add_frame(struct gpc_names *names, uint64_t hash,
			   const struct gpc_frame_entry *entry)
{
	uint64_t i = names->frames.n;

	if (!vec_reserve(&names->frames, 1) || !gpc_u64map_add(&names->frame_index, hash, i))
		return 0;
	names->frames.at[names->frames.n++] = *entry;
	return GPC_FRAME_TAG | i;
}

struct gpc_names *gpc_names_new(uint32_t epoch)
{
	struct gpc_names *names = calloc(1, sizeof *names);

	if (!names)
		return NULL;
	gpc_mutex_init_inherit(&names->lock);
	atomic_init(&names->refs, 1);
	names->epoch = epoch;
	return names;
}

GPC_HOT struct gpc_names *gpc_names_get(struct gpc_names *names)
{
	atomic_fetch_add_explicit(&names->refs, 1, memory_order_relaxed);
	return names;
}

GPC_HOT void gpc_names_put(struct gpc_names *names)
{
	if (!names || atomic_fetch_sub_explicit(&names->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < names->blocks.n; i++)
		free(names->blocks.at[i]);
	vec_deinit(&names->blocks);
	vec_deinit(&names->texts);
	vec_deinit(&names->frames);
	gpc_u64map_deinit(&names->text_index);
	gpc_u64map_deinit(&names->frame_index);
	pthread_mutex_destroy(&names->lock);
	free(names);
}

GPC_HOT uint32_t gpc_names_epoch(const struct gpc_names *names)
{
	return names->epoch;
}

static size_t bytes_of(const struct gpc_names *names)
{
	return sizeof *names + names->block_bytes + names->blocks.room * sizeof *names->blocks.at +
	       names->texts.room * sizeof *names->texts.at +
	       names->frames.room * sizeof *names->frames.at +
	       (names->text_index.room + names->frame_index.room) * sizeof(struct gpc_map_slot);
}

size_t gpc_names_bytes(struct gpc_names *names)
{
	autolock(&names->lock);

	return bytes_of(names);
}

/* share: of the limit. */
static bool is_full(const struct gpc_names *names, unsigned share)
{
	return names->max_bytes && bytes_of(names) >= names->max_bytes / share;
}

static gpc_str intern_text(struct gpc_names *names, const char *s, size_t len, unsigned share)
{
	uint64_t hash;
	gpc_str found;

	len = cut_length(s, strnlen(s, len));
	if (!len)
		return 0;
	hash = gpc_hash(s, len);
	autolock(&names->lock);
	found = find_text(names, hash, s, len);
	if (!found && is_full(names, share))
		return names->over_text;
	return found ? found : add_text(names, hash, s, len);
}

gpc_str gpc_names_str(struct gpc_names *names, const char *s, size_t len)
{
	return intern_text(names, s, len, 1);
}

gpc_str gpc_names_collected_str(struct gpc_names *names, const char *s, size_t len)
{
	return intern_text(names, s, len, 2);
}

const char *gpc_names_text(struct gpc_names *names, gpc_str s, size_t *len)
{
	autolock(&names->lock);

	return text_of(names, s, len);
}

static gpc_frame intern_frame(struct gpc_names *names, const struct gpc_frame_entry *entry,
			      unsigned share)
{
	uint64_t hash = gpc_hash(entry, sizeof *entry), cursor = 0, i;

	autolock(&names->lock);
	while (gpc_u64map_probe(&names->frame_index, hash, &cursor, &i))
		if (same_entry(&names->frames.at[i], entry)) {
			names->refused += (GPC_FRAME_TAG | i) == names->over;
			return GPC_FRAME_TAG | i;
		}
	if (is_full(names, share)) {
		names->refused++;
		return names->over;
	}
	return add_frame(names, hash, entry);
}

gpc_frame gpc_names_frame(struct gpc_names *names, const struct gpc_frame_entry *entry)
{
	return intern_frame(names, entry, 1);
}

gpc_frame gpc_names_collected_frame(struct gpc_names *names, const struct gpc_frame_entry *entry)
{
	return intern_frame(names, entry, 2);
}

gpc_status gpc_names_limit(struct gpc_names *names, size_t max_bytes)
{
	gpc_str text = gpc_names_str(names, GPC_NAMES_OVER, sizeof GPC_NAMES_OVER - 1);
	struct gpc_frame_entry entry = {.function = text};
	gpc_frame over = text ? gpc_names_frame(names, &entry) : 0;

	if (!over)
		return GPC_E_NOMEM;
	autolock(&names->lock);
	names->over_text = text;
	names->over = over;
	names->max_bytes = max_bytes;
	return GPC_OK;
}

uint64_t gpc_names_refused(struct gpc_names *names)
{
	autolock(&names->lock);

	return names->refused;
}

bool gpc_names_entry(struct gpc_names *names, gpc_frame frame, struct gpc_frame_entry *ret)
{
	const struct gpc_frame_entry *entry;

	autolock(&names->lock);
	entry = entry_of(names, frame);
	if (entry)
		*ret = *entry;
	return entry;
}

bool gpc_names_frame_text(struct gpc_names *names, gpc_frame frame, struct gpc_frame_text *ret)
{
	const struct gpc_frame_entry *entry;

	autolock(&names->lock);
	entry = entry_of(names, frame);
	if (!entry)
		return false;
	*ret = (struct gpc_frame_text){
		.struct_size = sizeof *ret,
		.flags = entry->flags,
		.function = text_of(names, entry->function, NULL),
		.file = text_of(names, entry->file, NULL),
		.module = text_of(names, entry->module, NULL),
		.suffix = text_of(names, entry->suffix, NULL),
		.line = entry->line,
		.address = entry->address,
		.build_id = text_of(names, entry->build_id, NULL),
	};
	return true;
}
