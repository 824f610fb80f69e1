/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/buildid.h"
#include "elf/file.h"

static bool read_stamp(int fd, struct stat *st, struct gpc_image_stamp *ret)
{
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return false;
	ret->seconds = st->st_mtim.tv_sec;
	ret->nanoseconds = st->st_mtim.tv_nsec;
	ret->size = (uint64_t)st->st_size;
	return true;
}

static bool has_build_id(const struct gpc_image_key *key, int fd)
{
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	struct gpc_elf_source source;
	struct gpc_elf elf;
	size_t n;

	if (gpc_elf_source_fd(fd, &source, NULL) < 0 || gpc_elf_init(&elf, &source, NULL) < 0)
		return false;
	n = gpc_elf_build_id(&elf, id);
	gpc_elf_deinit(&elf);
	return n == key->build_id_len && !memcmp(id, key->build_id, n);
}

/* Writing into a file in use is rare, but its symbols would be wrong names. */
static bool is_unchanged(const struct gpc_image *image)
{
	struct gpc_image_stamp now;
	struct stat st;

	return read_stamp(image->fd, &st, &now) && now.seconds == image->stamp.seconds &&
	       now.nanoseconds == image->stamp.nanoseconds && now.size == image->stamp.size;
}

/* The name of a function, read once. */
static const char *name_of(struct gpc_image *image, uint32_t index)
{
	struct gpc_elf_source source = {.fd = image->fd, .size = image->stamp.size};
	uint64_t place = image->names.n;
	autofree char *name = NULL;

	if (gpc_u64map_get(&image->known, index, &place))
		return image->names.at[place];
	if (is_unchanged(image))
		name = gpc_symtab_name(image->symbols, &source, index);
	if (!vec_reserve(&image->names, 1) || !gpc_u64map_set(&image->known, index, place))
		return NULL;
	image->name_bytes += name ? strlen(name) + 1 : 0;
	image->names.at[image->names.n++] = take(name);
	return image->names.at[place];
}

struct gpc_image_key gpc_image_key_normal(const struct gpc_image_key *key)
{
	struct gpc_image_key ret = {0};

	if (!key->build_id_len) {
		ret.inode = key->inode;
		ret.generation = key->generation;
		ret.dev_major = key->dev_major;
		ret.dev_minor = key->dev_minor;
		return ret;
	}
	ret.build_id_len =
		key->build_id_len <= GPC_BUILD_ID_MAX ? key->build_id_len : GPC_BUILD_ID_MAX;
	memcpy(ret.build_id, key->build_id, ret.build_id_len);
	return ret;
}

struct gpc_image *gpc_image_new(const struct gpc_image_key *key, const char *path)
{
	struct gpc_image *image = calloc(1, sizeof *image);

	if (!image)
		return NULL;
	image->key = *key;
	image->fd = -1;
	image->path = strdup(path);
	if (!image->path)
		free(take(image));
	return image;
}

void gpc_image_free(struct gpc_image *image)
{
	if (!image)
		return;
	gpc_image_drop_table(image);
	gpc_image_drop_names(image);
	if (image->fd >= 0)
		close(image->fd);
	free(image->path);
	free(image);
}

bool gpc_image_is_file(const struct gpc_image_key *key, int fd, struct gpc_image_stamp *stamp,
		       bool *by_inode_alone)
{
	struct stat st;

	*by_inode_alone = false;
	if (!read_stamp(fd, &st, stamp))
		return false;
	if (key->build_id_len)
		return has_build_id(key, fd);
	*by_inode_alone = major(st.st_dev) != key->dev_major || minor(st.st_dev) != key->dev_minor;
	return st.st_ino == key->inode;
}

gpc_status gpc_image_load(struct gpc_image *image, struct gpc_err *err)
{
	struct gpc_elf_source source = {.fd = image->fd, .size = image->stamp.size};
	struct gpc_elf elf;
	gpc_status st;

	if (!is_unchanged(image))
		return gpc_err_set(err, GPC_E_CORRUPT, "was written to while in use");
	gpc_try(gpc_elf_init(&elf, &source, err));
	st = gpc_symtab_load(&elf, &image->symbols, err);
	gpc_elf_deinit(&elf);
	return st;
}

size_t gpc_image_build_id(const struct gpc_image *image, uint8_t ret[GPC_BUILD_ID_MAX])
{
	struct gpc_elf_source source = {.fd = image->fd, .size = image->stamp.size};
	struct gpc_elf elf;
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	size_t n = image->key.build_id_len;

	memcpy(ret, image->key.build_id, n);
	if (n || image->fd < 0 || !is_unchanged(image) || gpc_elf_init(&elf, &source, NULL) < 0)
		return n;
	n = gpc_elf_build_id(&elf, id);
	gpc_elf_deinit(&elf);
	if (n > GPC_BUILD_ID_MAX)
		n = GPC_BUILD_ID_MAX;
	memcpy(ret, id, n);
	return n;
}

gpc_status gpc_image_symbol(struct gpc_image *image, uint64_t file_offset, struct gpc_symbol *ret)
{
	struct gpc_symtab_hit hit;
	uint64_t vaddr;

	*ret = (struct gpc_symbol){0};
	if (!gpc_symtab_vaddr(image->symbols, file_offset, &vaddr))
		return GPC_OK;
	ret->address = vaddr;
	if (!gpc_symtab_find(image->symbols, vaddr, &hit))
		return GPC_OK;
	ret->name = name_of(image, hit.index);
	if (!ret->name)
		return GPC_OK;
	ret->start = hit.start;
	ret->size = hit.size;
	return GPC_OK;
}

void gpc_image_drop_table(struct gpc_image *image)
{
	gpc_symtab_free(take(image->symbols));
}

void gpc_image_drop_names(struct gpc_image *image)
{
	for (size_t i = 0; i < image->names.n; i++)
		free(image->names.at[i]);
	vec_deinit(&image->names);
	gpc_u64map_deinit(&image->known);
	image->name_bytes = 0;
}

size_t gpc_image_table_bytes(const struct gpc_image *image)
{
	return (image->symbols ? gpc_symtab_bytes(image->symbols) : 0) + image->name_bytes +
	       image->names.room * sizeof *image->names.at +
	       image->known.room * sizeof *image->known.slots;
}
