/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/images.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sym/image.h"
#include "sym/index.h"

#define MODULE       "sym"
#define IDLE_WINDOWS 2
#define DEBUG_KEPT   ((size_t)512 << 10) /* of one file, when others are asked */
#define LINES_WORK   (INT64_C(1) << 28)  /* for lines of all files in a window: some seconds */

struct gpc_images {
	struct gpc_images_limits limits;
	struct gpc_log *log;
	/* Taken before lock. Covers symbols and names of all images, and is held
	 * while files are read; only work's holder closes files or frees images. */
	pthread_mutex_t work;
	/* Covers all else; held for moments, so that adding never waits. */
	pthread_mutex_t lock;
	struct gpc_image_index index;
	atomic_uint lost; /* images that are is_lost */
	bool is_told;     /* that numbers are used up */
	uint32_t window;
	uint32_t asked;     /* the image that was last asked for lines */
	int64_t lines_work; /* left in this window; work's holder's */
	uint64_t turn;
	size_t files, bytes; /* bytes of symbols and names */
};

static struct gpc_image *by_number(const struct gpc_images *images, uint32_t number)
{
	return gpc_image_index_get(&images->index, number);
}

static void mark_used(struct gpc_images *images, struct gpc_image *image)
{
	image->window = images->window;
	image->turn = ++images->turn;
}

/* No longer one that nobody asks an opener for. */
static void be_asked(struct gpc_images *images, struct gpc_image *image)
{
	if (!image->is_lost)
		return;
	image->is_lost = false;
	atomic_fetch_sub_explicit(&images->lost, 1, memory_order_relaxed);
}

/* Wants a file again. */
static void lose(struct gpc_images *images, struct gpc_image *image)
{
	image->state = GPC_IMAGE_WANTED;
	if (image->is_lost)
		return;
	image->is_lost = true;
	atomic_fetch_add_explicit(&images->lost, 1, memory_order_relaxed);
}

/* Out of the index already. */
static void discard(struct gpc_images *images, struct gpc_image *image)
{
	be_asked(images, image);
	images->bytes -= image->bytes;
	images->files -= gpc_image_files(image);
	gpc_image_free(image);
}

/* Copies the key of an image that waits for a file. */
static bool wanted_key(struct gpc_images *images, uint32_t number, struct gpc_image_key *ret)
{
	autolock(&images->lock);
	const struct gpc_image *image = by_number(images, number);

	if (!image || image->state != GPC_IMAGE_WANTED)
		return false;
	*ret = image->key;
	return true;
}

struct offered {
	int fd;
	struct gpc_image_stamp stamp;
	struct gpc_image_key keys[GPC_IMAGE_ALIASES];
	unsigned n_keys;
};

static bool accept_file(struct gpc_images *images, uint32_t number, struct offered *file)
{
	autolock(&images->lock);
	struct gpc_image *image = by_number(images, number);

	if (!image || image->state != GPC_IMAGE_WANTED)
		return false;
	be_asked(images, image);
	if (images->files >= images->limits.max_files) {
		image->state = GPC_IMAGE_REFUSED;
		gpc_debug(images->log, MODULE, "open: %s waits, %zu files are open", image->path,
			  images->files);
		return false;
	}
	image->state = GPC_IMAGE_OPEN;
	image->was_open = true;
	image->fd = take_fd(&file->fd);
	image->stamp = file->stamp;
	image->broken = GPC_OK;
	images->files++;
	gpc_image_index_know(&images->index, image, file->keys, file->n_keys);
	return true;
}

/* The image, marked as used, when it has a file. The caller holds work. */
static struct gpc_image *use_open(struct gpc_images *images, uint32_t number)
{
	autolock(&images->lock);
	struct gpc_image *image = by_number(images, number);

	if (!image)
		return NULL;
	mark_used(images, image);
	return image->state == GPC_IMAGE_OPEN ? image : NULL;
}

/* The same without a use of it. */
static struct gpc_image *open_image(struct gpc_images *images, uint32_t number)
{
	autolock(&images->lock);
	struct gpc_image *image = by_number(images, number);

	return image && image->state == GPC_IMAGE_OPEN ? image : NULL;
}

/* Files and bytes of an image are what they were; now counts them anew. */
static void recount_since(struct gpc_images *images, struct gpc_image *image, unsigned files)
{
	size_t bytes = gpc_image_table_bytes(image);

	autolock(&images->lock);
	images->bytes += bytes - image->bytes;
	image->bytes = bytes;
	images->files += gpc_image_files(image) - files;
}

static void recount(struct gpc_images *images, struct gpc_image *image)
{
	recount_since(images, image, gpc_image_files(image));
}

static size_t open_files(struct gpc_images *images)
{
	autolock(&images->lock);

	return images->files;
}

static size_t count_tables(const struct gpc_images *images)
{
	size_t n = 0;

	for (size_t i = 0; i < images->index.all.n; i++)
		n += images->index.all.at[i]->symbols != NULL;
	return n;
}

static void fill_stats(struct gpc_images *images, struct gpc_images_stats *ret)
{
	autolock(&images->lock);

	ret->images = images->index.all.n;
	ret->files = images->files;
	ret->bytes = images->bytes;
	ret->tables = count_tables(images);
}

static bool has_table(const struct gpc_image *image)
{
	return image->symbols != NULL;
}

static bool has_memory(const struct gpc_image *image)
{
	return image->bytes != 0;
}

static bool has_file(const struct gpc_image *image)
{
	return image->fd >= 0;
}

/* Of the images that are so, the one whose last use is longest ago. */
static struct gpc_image *least_recent(struct gpc_images *images,
				      bool (*is_so)(const struct gpc_image *))
{
	autolock(&images->lock);
	struct gpc_image *ret = NULL;

	for (size_t i = 0; i < images->index.all.n; i++) {
		struct gpc_image *image = images->index.all.at[i];

		if (is_so(image) && (!ret || image->turn < ret->turn))
			ret = image;
	}
	return ret;
}

/* Within a window names are borrowed, but tables are not. Twice the limit is
 * allowed, so that lookups that alternate between images do not load them over
 * and over. */
static void make_room(struct gpc_images *images)
{
	while (images->bytes / 2 > images->limits.symbol_bytes) {
		struct gpc_image *image = least_recent(images, has_table);

		if (!image)
			return;
		gpc_image_drop_table(image);
		recount(images, image);
	}
}

static gpc_status load(struct gpc_images *images, struct gpc_image *image)
{
	struct gpc_err err = {0};

	if (image->symbols || image->broken < 0)
		return image->broken;
	make_room(images);
	image->broken = gpc_image_load(image, &err);
	recount(images, image);
	if (image->broken < 0)
		gpc_debug(images->log, MODULE, "symbols: %s: %s", image->path, err.text);
	else
		gpc_debug(images->log, MODULE, "symbols: %s: %zu functions, %zu bytes", image->path,
			  gpc_symtab_count(image->symbols), image->bytes);
	return image->broken;
}

static void drop_unused(struct gpc_images *images, bool (*keep)(void *ctx, uint32_t image),
			void *ctx)
{
	autolock(&images->lock);

	gpc_image_index_wake(&images->index);
	for (size_t i = images->index.all.n; i-- > 0;) {
		struct gpc_image *image = images->index.all.at[i];

		if (images->window - image->window >= IDLE_WINDOWS &&
		    !(keep && gpc_image_is_any(image, keep, ctx)))
			discard(images, gpc_image_index_remove(&images->index, image));
		else if (image->state == GPC_IMAGE_REFUSED ||
			 (image->state == GPC_IMAGE_NONE && image->was_open))
			lose(images, image);
	}
	images->window++;
	images->is_told = false;
}

/* Of two that are the same the one that was opened first stays. */
static void merge_same(struct gpc_images *images)
{
	autolock(&images->lock);

	for (size_t i = images->index.all.n; i-- > 0;) {
		struct gpc_image *image = images->index.all.at[i], *gone;
		struct gpc_image *other = by_number(images, image->same_as);

		image->same_as = 0;
		if (!other || other == image || image->state != GPC_IMAGE_OPEN ||
		    other->state != GPC_IMAGE_OPEN || image->stamp.size != other->stamp.size)
			continue;
		gone = gpc_image_index_merge(&images->index, image, other);
		if (gone)
			discard(images, gone);
	}
}

/* Questions turn to another file: what was read for those about the last one goes,
 * most of all what had to be unpacked for them. Answers stay. */
static void turn_to(struct gpc_images *images, struct gpc_image *image)
{
	struct gpc_image *last = open_image(images, images->asked);

	images->asked = image->number;
	if (!last || last == image || !last->lines.dwarf)
		return;
	gpc_dwarf_forget(last->lines.dwarf);
	if (gpc_dwarf_bytes(last->lines.dwarf) > DEBUG_KEPT)
		gpc_lines_close(&last->lines);
	recount(images, last);
}

/* Images are only removed by who holds the work lock; others add some meanwhile. */
static struct gpc_image *image_at(struct gpc_images *images, size_t place)
{
	autolock(&images->lock);

	return place < images->index.all.n ? images->index.all.at[place] : NULL;
}

/* After the window. */
static void rest(struct gpc_images *images)
{
	struct gpc_image *image;

	images->lines_work = LINES_WORK;
	for (size_t i = 0; (image = image_at(images, i)); i++) {
		if (!image->lines.dwarf)
			continue;
		gpc_dwarf_rest(image->lines.dwarf);
		if (gpc_dwarf_bytes(image->lines.dwarf) > DEBUG_KEPT)
			gpc_lines_close(&image->lines);
		recount(images, image);
	}
}

static void drop_symbols(struct gpc_images *images, struct gpc_image *image)
{
	gpc_image_drop_table(image);
	gpc_image_drop_names(image);
	recount(images, image);
}

static void close_file(struct gpc_images *images, struct gpc_image *image)
{
	drop_symbols(images, image);
	autolock(&images->lock);
	images->files -= gpc_image_files(image);
	gpc_image_close(image);
	/* Without it the inode can become another file's. */
	gpc_image_index_forget_aliases(&images->index, image);
	lose(images, image);
}

gpc_status gpc_images_new(const struct gpc_images_limits *limits, struct gpc_log *log,
			  struct gpc_images **ret, struct gpc_err *err)
{
	struct gpc_images *images = calloc(1, sizeof *images);

	if (!images)
		return gpc_err_nomem(err);
	images->limits = *limits;
	images->lines_work = LINES_WORK;
	images->log = log;
	images->index.max = GPC_IMAGES_MAX;
	pthread_mutex_init(&images->work, NULL);
	pthread_mutex_init(&images->lock, NULL);
	*ret = images;
	return GPC_OK;
}

void gpc_images_free(struct gpc_images *images)
{
	if (!images)
		return;
	gpc_image_index_deinit(&images->index);
	pthread_mutex_destroy(&images->work);
	pthread_mutex_destroy(&images->lock);
	free(images);
}

uint32_t gpc_images_add(struct gpc_images *images, const struct gpc_image_key *key,
			const char *path)
{
	struct gpc_image_key normal = gpc_image_key_normal(key);
	struct gpc_image *image;

	autolock(&images->lock);
	image = gpc_image_index_find(&images->index, &normal);
	if (!image)
		image = gpc_image_index_add(&images->index, &normal, path);
	if (!image) {
		if (!images->is_told)
			gpc_warn(images->log, MODULE,
				 "more files than can be told apart: %s stays [unknown]", path);
		images->is_told = true;
		return 0;
	}
	if (image->state == GPC_IMAGE_NONE)
		image->state = GPC_IMAGE_WANTED;
	mark_used(images, image);
	return image->number;
}

const char *gpc_images_path(struct gpc_images *images, uint32_t image)
{
	autolock(&images->lock);
	const struct gpc_image *found = by_number(images, image);

	return found ? found->path : NULL;
}

gpc_status gpc_images_file(struct gpc_images *images, uint32_t image, int *ret, struct gpc_err *err)
{
	autolock(&images->lock);
	struct gpc_image *found = by_number(images, image);
	int fd;

	if (!found || found->fd < 0)
		return gpc_err_set(err, GPC_E_GONE, "its file is not open");
	fd = fcntl(found->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return gpc_err_sys(err, "dup");
	mark_used(images, found);
	*ret = fd;
	return GPC_OK;
}

void gpc_images_build_id(struct gpc_images *images, uint32_t image, char ret[GPC_BUILD_ID_TEXT])
{
	const struct gpc_image *found;
	uint8_t id[GPC_BUILD_ID_MAX];
	size_t n = 0;

	autolock(&images->work);
	pthread_mutex_lock(&images->lock);
	found = by_number(images, image);
	pthread_mutex_unlock(&images->lock);
	if (found) /* it goes only under work */
		n = gpc_image_build_id(found, id);
	for (size_t i = 0; i < n; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
	ret[2 * n] = '\0';
}

bool gpc_images_wants_file(struct gpc_images *images, uint32_t image)
{
	struct gpc_image_key key;

	return wanted_key(images, image, &key);
}

bool gpc_images_awaits_file(struct gpc_images *images, uint32_t image)
{
	autolock(&images->lock);
	const struct gpc_image *found = by_number(images, image);

	return found && found->state == GPC_IMAGE_WANTED && !found->is_lost;
}

bool gpc_images_ask(struct gpc_images *images, uint32_t image)
{
	autolock(&images->lock);
	struct gpc_image *found = by_number(images, image);

	if (!found || found->state != GPC_IMAGE_WANTED)
		return false;
	be_asked(images, found);
	return true;
}

bool gpc_images_ask_again(struct gpc_images *images, uint32_t image)
{
	struct gpc_image *found;

	if (!atomic_load_explicit(&images->lost, memory_order_relaxed))
		return false;
	autolock(&images->lock);
	found = by_number(images, image);
	if (!found || !found->is_lost || found->state != GPC_IMAGE_WANTED)
		return false;
	be_asked(images, found);
	return true;
}

static void close_offered(struct offered *file)
{
	if (file->fd >= 0)
		close(file->fd);
}

bool gpc_images_offer(struct gpc_images *images, uint32_t image, int fd)
{
	autocall(close_offered) struct offered file = {.fd = fd};
	struct gpc_image_key key;
	bool by_inode_alone;

	if (!wanted_key(images, image, &key) ||
	    !gpc_image_is_file(&key, fd, &file.stamp, &by_inode_alone))
		return false;
	if (by_inode_alone)
		gpc_debug(images->log, MODULE, "open: image %u is known by its inode alone", image);
	file.n_keys = gpc_image_other_keys(&key, fd, file.keys);
	return accept_file(images, image, &file);
}

void gpc_images_offer_debug(struct gpc_images *images, uint32_t image, enum gpc_debug_kind kind,
			    int fd)
{
	autoclose int file = fd;
	struct gpc_image *found;
	unsigned files;

	autolock(&images->work);
	found = open_image(images, image);
	if (!found || open_files(images) >= images->limits.max_files)
		return;
	files = gpc_image_files(found);
	if (kind == GPC_DEBUG_SHARED)
		gpc_image_set_shared(found, take_fd(&file));
	else
		gpc_image_set_debug(found, take_fd(&file));
	recount_since(images, found, files);
}

void gpc_images_give_up(struct gpc_images *images, uint32_t image)
{
	autolock(&images->lock);
	struct gpc_image *found = by_number(images, image);

	if (found && found->state == GPC_IMAGE_WANTED) {
		be_asked(images, found);
		found->state = GPC_IMAGE_NONE;
	}
}

gpc_status gpc_images_symbol(struct gpc_images *images, uint32_t image, uint64_t file_offset,
			     struct gpc_symbol *ret)
{
	struct gpc_symbol symbol;
	struct gpc_image *found;

	autolock(&images->work);
	found = use_open(images, image);
	if (!found)
		return GPC_E_GONE;
	gpc_try(load(images, found));
	gpc_try(gpc_image_symbol(found, file_offset, &symbol));
	if (gpc_image_table_bytes(found) != found->bytes)
		recount(images, found);
	*ret = symbol;
	return GPC_OK;
}

void gpc_images_lines(struct gpc_images *images, uint32_t image, uint64_t file_offset,
		      struct gpc_line_list *ret)
{
	struct gpc_image *found;

	*ret = (struct gpc_line_list){0};
	autolock(&images->work);
	found = use_open(images, image);
	if (!found || load(images, found) < 0)
		return;
	turn_to(images, found);
	gpc_image_lines(found, file_offset, &images->lines_work, ret);
	if (gpc_image_table_bytes(found) != found->bytes)
		recount(images, found);
}

void gpc_images_trim(struct gpc_images *images, bool (*keep)(void *ctx, uint32_t image), void *ctx)
{
	/* Room for new files: they are only refused once max_files are open. */
	size_t max_files = images->limits.max_files - images->limits.max_files / 8;
	struct gpc_image *image;

	autolock(&images->work);
	drop_unused(images, keep, ctx);
	merge_same(images);
	rest(images);
	while (images->bytes > images->limits.symbol_bytes &&
	       (image = least_recent(images, has_memory)))
		drop_symbols(images, image);
	while (open_files(images) > max_files && (image = least_recent(images, has_file)))
		close_file(images, image);
}

void gpc_images_stats(struct gpc_images *images, struct gpc_images_stats *ret)
{
	autolock(&images->work);

	fill_stats(images, ret);
}
