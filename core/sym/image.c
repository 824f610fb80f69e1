/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/image.h"

#include <elf.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/buildid.h"
#include "elf/file.h"
#include "elf/unpack.h"

#define GO (UINT64_C(1) << 63)

static bool read_stamp(int fd, struct stat *st, struct gpc_image_stamp *ret)
{
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return false;
	ret->seconds = st->st_mtim.tv_sec;
	ret->nanoseconds = st->st_mtim.tv_nsec;
	ret->size = (uint64_t)st->st_size;
	return true;
}

static size_t read_build_id(int fd, uint8_t ret[GPC_ELF_BUILD_ID_MAX])
{
	struct gpc_elf_source source;
	struct gpc_elf elf;
	size_t n;

	if (gpc_elf_source_fd(fd, &source, NULL) < 0 || gpc_elf_init(&elf, &source, NULL) < 0)
		return 0;
	n = gpc_elf_build_id(&elf, ret);
	gpc_elf_deinit(&elf);
	return n;
}

static bool has_build_id(const struct gpc_image_key *key, int fd)
{
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	size_t n = read_build_id(fd, id);

	return n && n == key->build_id_len && !memcmp(id, key->build_id, n);
}

/* Writing into a file in use is rare, but its symbols would be wrong names. */
static bool is_same(int fd, const struct gpc_image_stamp *stamp)
{
	struct gpc_image_stamp now;
	struct stat st;

	return read_stamp(fd, &st, &now) && now.seconds == stamp->seconds &&
	       now.nanoseconds == stamp->nanoseconds && now.size == stamp->size;
}

static bool is_unchanged(const struct gpc_image *image)
{
	return is_same(image->fd, &image->stamp);
}

/* Where .symtab was taken from, if not the file itself. False: nowhere. */
static bool debug_source(const struct gpc_image *image, struct gpc_elf_source *ret)
{
	if (image->mini) {
		*ret = gpc_elf_source_memory(image->mini, image->mini_bytes);
		return true;
	}
	*ret = (struct gpc_elf_source){.fd = image->debug_fd, .size = image->debug_stamp.size};
	return image->debug_fd >= 0 && is_same(image->debug_fd, &image->debug_stamp);
}

static struct gpc_elf_source own_source(const struct gpc_image *image)
{
	return (struct gpc_elf_source){.fd = image->fd, .size = image->stamp.size};
}

/* A function, and the number by which it is known. */
struct found {
	struct gpc_symtab_hit hit;
	struct gpc_gofunc go;
	uint64_t key;
};

static char *read_name(const struct gpc_image *image, const struct found *f)
{
	struct gpc_elf_source source = own_source(image), debug;

	if (f->key & GO)
		return gpc_gopclntab_name(&image->go, &source, &f->go);
	return gpc_symtab_name(image->symbols, &source, debug_source(image, &debug) ? &debug : NULL,
			       f->hit.index);
}

/* The name of a function, read once. */
static const char *name_of(struct gpc_image *image, const struct found *f)
{
	uint64_t place = image->names.n;
	autofree char *name = NULL;

	if (gpc_u64map_get(&image->known, f->key, &place))
		return image->names.at[place];
	if (is_unchanged(image))
		name = read_name(image, f);
	if (!vec_reserve(&image->names, 1) || !gpc_u64map_set(&image->known, f->key, place))
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
	image->fd = image->debug_fd = image->shared_fd = -1;
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
	gpc_image_close(image);
	vec_deinit(&image->numbers);
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

/* By device and inode, as /proc tells (generation 0) and perf's records. */
static unsigned inode_keys(const struct gpc_image_key *key, int fd,
			   struct gpc_image_key ret[GPC_IMAGE_ALIASES])
{
	struct gpc_image_key by_inode = {0};
	uint32_t generation[2] = {0}; /* the ioctl's type is long, but it writes an int */
	struct stat st;

	if (fstat(fd, &st) < 0)
		return 0;
	by_inode.inode = st.st_ino;
	/* What the mapping says of the device may differ from what fstat does. */
	by_inode.dev_major = key->build_id_len ? major(st.st_dev) : key->dev_major;
	by_inode.dev_minor = key->build_id_len ? minor(st.st_dev) : key->dev_minor;
	ret[0] = by_inode;
	if (ioctl(fd, FS_IOC_GETVERSION, generation) < 0 || !generation[0])
		return 1;
	ret[1] = by_inode;
	ret[1].generation = generation[0];
	return 2;
}

unsigned gpc_image_other_keys(const struct gpc_image_key *key, int fd,
			      struct gpc_image_key ret[GPC_IMAGE_ALIASES])
{
	unsigned n = inode_keys(key, fd, ret);
	struct gpc_image_key by_id = {0};
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	size_t length = key->build_id_len ? 0 : read_build_id(fd, id);

	if (!length || length > sizeof by_id.build_id)
		return n;
	by_id.build_id_len = (uint8_t)length;
	memcpy(by_id.build_id, id, length);
	ret[n++] = by_id;
	return n;
}

/* A stripped file's .symtab: of its debug file, else of what it carries itself. */
static gpc_status load_symbols(struct gpc_image *image, const struct gpc_elf *elf,
			       struct gpc_err *err)
{
	struct gpc_elf_source source;
	struct gpc_elf debug;
	bool has_debug = false;
	gpc_status st;

	if (!gpc_gopclntab_find(elf, &image->go))
		image->go.layout = 0;
	if (!gpc_elf_section_of_type(elf, SHT_SYMTAB)) {
		if (image->debug_fd < 0)
			gpc_elf_mini(elf, &image->mini, &image->mini_bytes, NULL);
		has_debug = debug_source(image, &source) &&
			    gpc_elf_init(&debug, &source, NULL) == GPC_OK;
	}
	st = gpc_symtab_load(elf, has_debug ? &debug : NULL, &image->symbols, err);
	if (has_debug)
		gpc_elf_deinit(&debug);
	return st;
}

gpc_status gpc_image_load(struct gpc_image *image, struct gpc_err *err)
{
	struct gpc_elf_source source = {.fd = image->fd, .size = image->stamp.size};
	struct gpc_elf elf;
	gpc_status st;

	if (!is_unchanged(image))
		return gpc_err_set(err, GPC_E_CORRUPT, "was written to while in use");
	gpc_try(gpc_elf_init(&elf, &source, err));
	st = load_symbols(image, &elf, err);
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

static bool find_go(const struct gpc_image *image, uint64_t vaddr, struct found *ret)
{
	struct gpc_elf_source source = own_source(image);

	if (!image->go.layout || !gpc_gopclntab_function(&image->go, &source, vaddr, &ret->go))
		return false;
	ret->hit.start = ret->go.start;
	ret->hit.size = ret->go.end - ret->go.start;
	ret->key = GO | ret->go.record;
	return true;
}

static bool find_elf(const struct gpc_image *image, uint64_t vaddr, struct found *ret)
{
	if (!gpc_symtab_find(image->symbols, vaddr, &ret->hit))
		return false;
	ret->key = ret->hit.index;
	return true;
}

/* Go's own table first, so that functions are called the same whether or not the
 * program was stripped; it ends where code of C begins. */
static bool find(const struct gpc_image *image, uint64_t vaddr, struct found *ret)
{
	return find_go(image, vaddr, ret) || find_elf(image, vaddr, ret);
}

gpc_status gpc_image_symbol(struct gpc_image *image, uint64_t file_offset, struct gpc_symbol *ret)
{
	struct found found;
	uint64_t vaddr;

	*ret = (struct gpc_symbol){0};
	if (!gpc_symtab_vaddr(image->symbols, file_offset, &vaddr))
		return GPC_OK;
	ret->address = vaddr;
	if (!find(image, vaddr, &found))
		return GPC_OK;
	ret->name = name_of(image, &found);
	if (!ret->name)
		return GPC_OK;
	ret->start = found.hit.start;
	ret->size = found.hit.size;
	return GPC_OK;
}

/* ---- lines ---------------------------------------------------------------------- */

static void add_shared(struct gpc_image *image)
{
	struct gpc_elf_source source = {.fd = image->shared_fd, .size = image->shared_stamp.size};
	struct gpc_elf elf;

	if (image->shared_fd < 0 || !is_same(image->shared_fd, &image->shared_stamp) ||
	    gpc_elf_init_shared(&elf, &source, NULL) < 0)
		return;
	gpc_dwarf_add_shared(image->lines.dwarf, &elf, NULL);
	gpc_elf_deinit(&elf);
}

/* Of the file itself, else of its debug file. */
static void open_dwarf(struct gpc_image *image)
{
	struct gpc_elf_source sources[2] = {own_source(image)};
	size_t n = 1;
	struct gpc_elf elf;

	image->lines.is_opened = true;
	if (image->debug_fd >= 0 && is_same(image->debug_fd, &image->debug_stamp))
		sources[n++] = (struct gpc_elf_source){.fd = image->debug_fd,
						       .size = image->debug_stamp.size};
	for (size_t i = 0; i < n && !image->lines.dwarf; i++) {
		if (gpc_elf_init(&elf, &sources[i], NULL) < 0)
			continue;
		if (gpc_dwarf_open(&elf, &image->lines.dwarf, NULL) < 0)
			image->lines.dwarf = NULL;
		gpc_elf_deinit(&elf);
	}
	if (image->lines.dwarf)
		add_shared(image);
}

static size_t dwarf_lines(struct gpc_image *image, uint64_t vaddr, int64_t *work,
			  struct gpc_dwarf_place ret[GPC_DWARF_DEPTH])
{
	int64_t before = image->lines.dwarf ? gpc_dwarf_spent(image->lines.dwarf) : 0;
	size_t n = 0;

	if (!image->lines.is_opened)
		open_dwarf(image);
	if (!image->lines.dwarf)
		return 0;
	n = gpc_dwarf_find(image->lines.dwarf, vaddr, ret);
	*work -= gpc_dwarf_spent(image->lines.dwarf) - before;
	return n;
}

static size_t go_lines(const struct gpc_image *image, uint64_t vaddr, int64_t *work,
		       struct gpc_dwarf_place ret[GPC_DWARF_DEPTH])
{
	struct gpc_elf_source source = own_source(image);
	struct found found;

	if (!find_go(image, vaddr, &found))
		return 0;
	found.go.work = work;
	return gpc_gopclntab_lines(&image->go, &source, &found.go, vaddr, ret);
}

/* Nothing was found, but would be if there were work left. */
static bool is_for_later(const struct gpc_image *image, int64_t work)
{
	return work <= 0 || (image->lines.dwarf && gpc_dwarf_is_tired(image->lines.dwarf));
}

void gpc_image_lines(struct gpc_image *image, uint64_t file_offset, int64_t *work,
		     struct gpc_line_list *ret)
{
	struct gpc_dwarf_place places[GPC_DWARF_DEPTH];
	uint64_t vaddr;
	size_t n;

	if (!gpc_symtab_vaddr(image->symbols, file_offset, &vaddr) ||
	    gpc_lines_known(&image->lines, vaddr, ret) || *work <= 0 || !is_unchanged(image))
		return;
	/* Go's own table costs least, but not always knows what was inlined. */
	n = image->go.inlined ? go_lines(image, vaddr, work, places) : 0;
	if (!n)
		n = dwarf_lines(image, vaddr, work, places);
	if (!n && !image->lines.dwarf && !image->go.layout)
		return;
	if (!n)
		n = go_lines(image, vaddr, work, places);
	if (!n && is_for_later(image, *work))
		return;
	if (gpc_lines_add(&image->lines, vaddr, places, n))
		gpc_lines_known(&image->lines, vaddr, ret);
	gpc_dwarf_places_deinit(places, n);
}

void gpc_image_drop_table(struct gpc_image *image)
{
	gpc_lines_close(&image->lines);
	gpc_symtab_free(take(image->symbols));
	free(take(image->mini));
	image->mini_bytes = 0;
}

void gpc_image_set_debug(struct gpc_image *image, int fd)
{
	struct stat st;

	if (image->debug_fd >= 0 || !read_stamp(fd, &st, &image->debug_stamp)) {
		close(fd);
		return;
	}
	image->debug_fd = fd;
	/* Functions have other numbers now. Texts that were given out stay. */
	gpc_image_drop_table(image);
	gpc_u64map_deinit(&image->known);
	gpc_u64map_clear(&image->lines.known);
	image->broken = GPC_OK;
}

void gpc_image_set_shared(struct gpc_image *image, int fd)
{
	struct stat st;

	if (image->shared_fd >= 0 || !read_stamp(fd, &st, &image->shared_stamp)) {
		close(fd);
		return;
	}
	image->shared_fd = fd;
	gpc_lines_close(&image->lines);
	gpc_u64map_clear(&image->lines.known);
}

void gpc_image_close(struct gpc_image *image)
{
	if (image->fd >= 0)
		close(take_fd(&image->fd));
	if (image->debug_fd >= 0)
		close(take_fd(&image->debug_fd));
	if (image->shared_fd >= 0)
		close(take_fd(&image->shared_fd));
}

unsigned gpc_image_files(const struct gpc_image *image)
{
	return (image->fd >= 0) + (image->debug_fd >= 0) + (image->shared_fd >= 0);
}

void gpc_image_drop_names(struct gpc_image *image)
{
	for (size_t i = 0; i < image->names.n; i++)
		free(image->names.at[i]);
	gpc_lines_drop(&image->lines);
	vec_deinit(&image->names);
	gpc_u64map_deinit(&image->known);
	image->name_bytes = 0;
}

size_t gpc_image_table_bytes(const struct gpc_image *image)
{
	return (image->symbols ? gpc_symtab_bytes(image->symbols) : 0) + image->mini_bytes +
	       gpc_lines_bytes(&image->lines) + image->name_bytes +
	       image->names.room * sizeof *image->names.at +
	       image->known.room * sizeof *image->known.slots;
}
