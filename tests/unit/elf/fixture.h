/* SPDX-License-Identifier: Apache-2.0 */
/* Opens what fixtures.sh has linked, from files and from memory. */
#ifndef GPC_TEST_ELF_FIXTURE_H
#define GPC_TEST_ELF_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "elf/file.h"

struct fixture {
	char *bytes;
	size_t n;
	struct gpc_elf elf;
};

static const char *const fixture_names[] = {
	"lib.so",      "stripped.so", "sysv.so", "bias.so", "together.so",
	"separate.so", "noid.so",     "pie",     "nopie",   "static",
};

static inline void fixture_path(const char *name, char ret[512])
{
	snprintf(ret, 512, "%s/%s", FIXTURES, name);
}

static inline int fixture_open(const char *name)
{
	char path[512];
	int fd;

	fixture_path(name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Its bytes, which a test may change before it calls fixture_parse(). */
static inline void fixture_read(struct fixture *f, const char *name)
{
	autoclose int fd = fixture_open(name);

	memset(f, 0, sizeof *f);
	assert_int_equal(gpc_read_fd(fd, 1 << 20, &f->bytes, &f->n, NULL), GPC_OK);
}

static inline gpc_status fixture_parse(struct fixture *f)
{
	struct gpc_elf_source source = gpc_elf_source_memory(f->bytes, f->n);

	return gpc_elf_init(&f->elf, &source, NULL);
}

static inline void fixture_load(struct fixture *f, const char *name)
{
	fixture_read(f, name);
	assert_int_equal(fixture_parse(f), GPC_OK);
}

static inline void fixture_deinit(struct fixture *f)
{
	gpc_elf_deinit(&f->elf);
	free(f->bytes);
}

#endif
