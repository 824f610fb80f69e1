/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the files that fixtures.sh of elf has linked. */
#ifndef GPC_TEST_SYM_FIXTURE_H
#define GPC_TEST_SYM_FIXTURE_H

#include "sym/images.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "elf/lookup.h"

static inline struct gpc_images *images_with(size_t symbol_bytes, unsigned max_files)
{
	struct gpc_images_limits limits = {symbol_bytes, max_files};
	struct gpc_images *images = NULL;

	assert_int_equal(gpc_images_new(&limits, NULL, &images, NULL), GPC_OK);
	return images;
}

static inline int fixture(const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/%s", FIXTURES, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline struct gpc_image_key key_of_file(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (struct gpc_image_key){.inode = st.st_ino,
				      .dev_major = major(st.st_dev),
				      .dev_minor = minor(st.st_dev)};
}

static inline struct gpc_image_key key_of_build_id(void)
{
	static const uint8_t id[20] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
				       0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33};
	struct gpc_image_key key = {.build_id_len = sizeof id};

	memcpy(key.build_id, id, sizeof id);
	return key;
}

/* Where in the file a symbol's code lies. */
static inline uint64_t offset_of(int fd, const char *symbol)
{
	struct gpc_elf_source source;
	uint64_t vaddr = 0, ret = 0;
	struct gpc_elf elf;

	assert_int_equal(gpc_elf_source_fd(fd, &source, NULL), GPC_OK);
	assert_int_equal(gpc_elf_init(&elf, &source, NULL), GPC_OK);
	assert_true(gpc_elf_lookup(&elf, symbol, &vaddr));
	assert_true(gpc_elf_offset(&elf, vaddr, &ret));
	gpc_elf_deinit(&elf);
	return ret;
}

/* Adds the fixture by device and inode and gives its file. */
static inline uint32_t add_fixture(struct gpc_images *images, const char *name)
{
	int fd = fixture(name);
	struct gpc_image_key key = key_of_file(fd);
	uint32_t image = gpc_images_add(images, &key, name);

	assert_true(image > 0);
	assert_true(gpc_images_offer(images, image, fd));
	return image;
}

static inline gpc_status status_of(struct gpc_images *images, uint32_t image)
{
	struct gpc_symbol found;

	return gpc_images_symbol(images, image, 0, &found);
}

static inline void expect(struct gpc_images *images, uint32_t image, uint64_t offset,
			  const char *name)
{
	struct gpc_symbol found;

	assert_int_equal(gpc_images_symbol(images, image, offset, &found), GPC_OK);
	if (!name)
		assert_null(found.name);
	else
		assert_string_equal(found.name, name);
}

static inline struct gpc_images_stats stats_of(struct gpc_images *images)
{
	struct gpc_images_stats stats;

	gpc_images_stats(images, &stats);
	return stats;
}

static inline bool keep_one(void *ctx, uint32_t image)
{
	return image == *(uint32_t *)ctx;
}

#endif
