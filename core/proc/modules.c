/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/buildid.h"
#include "elf/lookup.h"
#include "proc/root.h"

#define SEARCH_MAX (256u << 20) /* bytes of a section that are looked through */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct gpc_map *map_at(const struct gpc_target *t, uint32_t k)
{
	return (const struct gpc_map *)(const void *)((const char *)t->maps +
						      (size_t)k * t->map_stride);
}

static bool is_wanted(const struct gpc_target *t, const struct gpc_map *m, const char *glob)
{
	if (m->path[0] != '/' || !m->inode)
		return false;
	return glob ? fnmatch(glob, base_name(m->path), 0) == 0 : strcmp(m->path, t->exe) == 0;
}

/* The mapping of m's file that holds n bytes at offset. */
static const struct gpc_map *map_of(const struct gpc_target *t, const struct gpc_map *m,
				    uint64_t offset, size_t n)
{
	for (uint32_t k = 0; k < t->n_maps; k++) {
		const struct gpc_map *other = map_at(t, k);

		if (other->inode == m->inode && other->dev_major == m->dev_major &&
		    other->dev_minor == m->dev_minor && other->prot & GPC_MAP_READ &&
		    offset >= other->offset && n <= other->end - other->start &&
		    offset - other->offset <= other->end - other->start - n)
			return other;
	}
	return NULL;
}

enum answer { NOT_KNOWN, SAME, DIFFERENT };

/* Does the file's build-id stand in the target's memory, where the file has it? */
static enum answer has_its_build_id(const struct gpc_target *t, const struct gpc_map *m, int fd)
{
	uint8_t file[GPC_ELF_BUILD_ID_MAX], mapped[GPC_ELF_BUILD_ID_MAX];
	struct gpc_elf_source source;
	struct gpc_elf elf;
	const struct gpc_map *there;
	autoclose int mem = -1;
	uint64_t offset;
	char path[32];
	size_t n;

	if (gpc_elf_source_fd(fd, &source, NULL) < 0 || gpc_elf_init(&elf, &source, NULL) < 0)
		return NOT_KNOWN;
	n = gpc_elf_build_id_place(&elf, file, &offset);
	gpc_elf_deinit(&elf);
	there = n ? map_of(t, m, offset, n) : NULL;
	snprintf(path, sizeof path, "/proc/%d/mem", t->pid);
	mem = there ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (mem < 0 ||
	    pread(mem, mapped, n, (off_t)(there->start + (offset - there->offset))) != (ssize_t)n)
		return NOT_KNOWN;
	return memcmp(file, mapped, n) == 0 ? SAME : DIFFERENT;
}

/* A package may have been upgraded since. On overlayfs and btrfs the device of a file is
 * not that of its mappings. */
static bool is_mapped_file(const struct gpc_target *t, const struct gpc_map *m, int fd,
			   const struct stat *st)
{
	enum answer answer;

	if (st->st_ino == m->inode && major(st->st_dev) == m->dev_major &&
	    minor(st->st_dev) == m->dev_minor)
		return true;
	answer = has_its_build_id(t, m, fd);
	return answer == SAME || (answer == NOT_KNOWN && st->st_ino == m->inode);
}

static int open_map(const struct gpc_target *t, const struct gpc_map *m)
{
	autoclose int fd = -1;
	char path[80];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", t->pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	/* The kernel's own link, for those who may follow it. */
	if (gpc_regular_open(path, &fd, NULL, NULL) == GPC_OK)
		return take_fd(&fd);
	if (gpc_root_open(t->pid, m->path, &fd, &st, NULL) < 0 || !is_mapped_file(t, m, fd, &st))
		return -1;
	return take_fd(&fd);
}

static bool bias_of(int fd, const struct gpc_map *m, uint64_t *ret)
{
	struct gpc_elf_source source;
	struct gpc_elf elf = {0};
	uint64_t vaddr = 0;
	bool is_known;

	if (gpc_elf_source_fd(fd, &source, NULL) < 0 || gpc_elf_init(&elf, &source, NULL) < 0)
		return false;
	is_known = gpc_elf_vaddr(&elf, m->offset, &vaddr);
	gpc_elf_deinit(&elf);
	*ret = m->start - vaddr;
	return is_known;
}

int gpc_module_open_map(const struct gpc_target *t, const struct gpc_map *m)
{
	return open_map(t, m);
}

static bool open_module(const struct gpc_target *t, const struct gpc_map *m,
			struct gpc_module_file *ret)
{
	autoclose int fd = open_map(t, m);
	uint64_t bias;

	if (fd < 0 || !bias_of(fd, m, &bias))
		return false;
	*ret = (struct gpc_module_file){.fd = take_fd(&fd), .bias = bias, .path = m->path};
	return true;
}

gpc_status gpc_module_open(const struct gpc_target *t, const char *glob,
			   struct gpc_module_file *ret, struct gpc_err *err)
{
	/* A program may also map a library to read it, as in-process profilers do: where
	 * its code is mapped it was loaded. */
	for (int is_code = 1; is_code >= 0; is_code--)
		for (uint32_t k = 0; k < t->n_maps; k++) {
			const struct gpc_map *m = map_at(t, k);

			if (is_wanted(t, m, glob) && !!(m->prot & GPC_MAP_EXEC) == is_code &&
			    open_module(t, m, ret))
				return GPC_OK;
		}
	return gpc_err_set(err, GPC_E_GONE, "process %d maps no file %s that can be read", t->pid,
			   glob ? glob : t->exe);
}

/* ---- looking into it ----------------------------------------------------------- */

struct image {
	struct gpc_elf_source source;
	struct gpc_elf elf;
};

static gpc_status image_init(const struct gpc_module_file *m, struct image *ret,
			     struct gpc_err *err)
{
	memset(ret, 0, sizeof *ret);
	gpc_try(gpc_elf_source_fd(m->fd, &ret->source, err));
	if (gpc_elf_init(&ret->elf, &ret->source, err) < 0)
		return gpc_err_prefix(err, "%s", m->path);
	return GPC_OK;
}

static void image_deinit(struct image *i)
{
	gpc_elf_deinit(&i->elf);
}

gpc_status gpc_module_symbol(const struct gpc_module_file *m, const char *name,
			     struct gpc_place *ret, struct gpc_err *err)
{
	autocall(image_deinit) struct image i = {0};
	uint64_t value, bytes;

	gpc_try(image_init(m, &i, err));
	if (!gpc_elf_lookup_sized(&i.elf, name, &value, &bytes))
		return gpc_err_set(err, GPC_E_GONE, "%s has no symbol %s", m->path, name);
	*ret = (struct gpc_place){.start = value + m->bias, .size = bytes};
	return GPC_OK;
}

gpc_status gpc_module_section(const struct gpc_module_file *m, const char *name,
			      struct gpc_place *ret, struct gpc_err *err)
{
	autocall(image_deinit) struct image i = {0};
	const struct gpc_elf_section *s;

	gpc_try(image_init(m, &i, err));
	s = gpc_elf_section_named(&i.elf, name);
	if (!s || !s->addr)
		return gpc_err_set(err, GPC_E_GONE, "%s has no section %s", m->path, name);
	*ret = (struct gpc_place){.start = s->addr + m->bias, .size = s->size};
	return GPC_OK;
}

gpc_status gpc_module_search(const struct gpc_module_file *m, const char *section,
			     const void *needle, size_t n, uint64_t *ret, struct gpc_err *err)
{
	autocall(image_deinit) struct image i = {0};
	const struct gpc_elf_section *s;
	uint8_t block[65536];
	size_t step = sizeof block - n + 1;

	if (!n || n > 4096)
		return gpc_err_set(err, GPC_E_CONFIG, "%zu bytes cannot be searched for", n);
	gpc_try(image_init(m, &i, err));
	s = gpc_elf_section_named(&i.elf, section);
	/* .bss has a size, but no bytes in the file. */
	if (!s || !s->addr || s->type == SHT_NOBITS)
		return gpc_err_set(err, GPC_E_GONE, "%s has no section %s", m->path, section);
	for (uint64_t at = 0; at + n <= s->size && at < SEARCH_MAX; at += step) {
		uint64_t left = s->size - at;
		size_t want = left < sizeof block ? (size_t)left : sizeof block;
		const uint8_t *found;

		if (!gpc_elf_read(&i.source, s->offset + at, block, want))
			break;
		found = memmem(block, want, needle, n);
		if (!found)
			continue;
		*ret = s->addr + m->bias + at + (uint64_t)(found - block);
		return GPC_OK;
	}
	return gpc_err_set(err, GPC_E_GONE, "%s: not in section %s", m->path, section);
}

gpc_status gpc_module_build_id(const struct gpc_module_file *m, uint8_t ret[20], uint32_t *len,
			       struct gpc_err *err)
{
	autocall(image_deinit) struct image i = {0};
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	size_t n;

	gpc_try(image_init(m, &i, err));
	n = gpc_elf_build_id(&i.elf, id);
	*len = n < 20 ? (uint32_t)n : 20;
	memcpy(ret, id, *len);
	return GPC_OK;
}
