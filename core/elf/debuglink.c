/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/debuglink.h"

#include <elf.h>
#include <string.h>

#include <zlib.h>

#include "base/cleanup.h"

static bool has_bytes(const struct gpc_elf_section *s)
{
	return s && s->type != SHT_NOBITS && s->size;
}

/* The name, a NUL, padding to four bytes, the CRC (GDB's manual, "Separate Debug
 * Files"). */
static void read_link(const struct gpc_elf *elf, struct gpc_debuglink *ret)
{
	const struct gpc_elf_section *s = gpc_elf_section_named(elf, ".gnu_debuglink");
	char bytes[sizeof ret->name + 8] = "";
	size_t n, end;

	if (!has_bytes(s))
		return;
	n = s->size < sizeof bytes ? (size_t)s->size : sizeof bytes;
	n = gpc_elf_read_array(&elf->source, s->offset, bytes, 1, n);
	end = strnlen(bytes, n);
	if (!end || end >= sizeof ret->name || (end + 4) / 4 * 4 + 4 > n ||
	    memchr(bytes, '/', end) || !strcmp(bytes, ".") || !strcmp(bytes, ".."))
		return;
	memcpy(ret->name, bytes, end);
	ret->name[end] = '\0';
	memcpy(&ret->crc, bytes + (end + 4) / 4 * 4, 4);
}

void gpc_debuglink_read(const struct gpc_elf *elf, struct gpc_debuglink *ret)
{
	*ret = (struct gpc_debuglink){0};
	ret->build_id_len = gpc_elf_build_id(elf, ret->build_id);
	ret->has_symbols = has_bytes(gpc_elf_section_of_type(elf, SHT_SYMTAB));
	ret->has_lines = has_bytes(gpc_elf_section_named(elf, ".debug_info")) ||
			 has_bytes(gpc_elf_section_named(elf, ".zdebug_info"));
	read_link(elf, ret);
}

static bool has_crc(const struct gpc_elf_source *source, uint32_t wanted)
{
	autofree uint8_t *block = malloc(65536);
	uLong crc = crc32(0, NULL, 0);

	if (!block || source->size > GPC_DEBUGLINK_CRC_MAX)
		return false;
	for (uint64_t at = 0; at < source->size;) {
		size_t n = gpc_elf_read_array(source, at, block, 1, 65536);

		if (!n)
			return false;
		crc = crc32(crc, block, (uInt)n);
		at += n;
	}
	return crc == wanted;
}

/* False: no ELF file. */
static bool read_id(int fd, struct gpc_elf_source *source, uint8_t id[GPC_ELF_BUILD_ID_MAX],
		    size_t *n)
{
	struct gpc_elf elf;

	if (gpc_elf_source_fd(fd, source, NULL) < 0 || gpc_elf_init_shared(&elf, source, NULL) < 0)
		return false;
	*n = gpc_elf_build_id(&elf, id);
	gpc_elf_deinit(&elf);
	return true;
}

/* dwz's manual: the name, a NUL, the build-id. */
void gpc_altlink_read(const struct gpc_elf *elf, struct gpc_altlink *ret)
{
	const struct gpc_elf_section *s = gpc_elf_section_named(elf, ".gnu_debugaltlink");
	char bytes[sizeof ret->name + sizeof ret->build_id] = "";
	size_t n, end;

	*ret = (struct gpc_altlink){0};
	if (!has_bytes(s))
		return;
	n = s->size < sizeof bytes ? (size_t)s->size : sizeof bytes;
	n = gpc_elf_read_array(&elf->source, s->offset, bytes, 1, n);
	end = strnlen(bytes, n);
	if (!end || end >= sizeof ret->name || n - end - 1 > sizeof ret->build_id || n < end + 3)
		return;
	memcpy(ret->name, bytes, end + 1);
	ret->build_id_len = n - end - 1;
	memcpy(ret->build_id, bytes + end + 1, ret->build_id_len);
}

bool gpc_altlink_is(const struct gpc_altlink *link, int fd)
{
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	struct gpc_elf_source source;
	size_t n;

	return read_id(fd, &source, id, &n) && n && n == link->build_id_len &&
	       !memcmp(id, link->build_id, n);
}

bool gpc_debuglink_is(const struct gpc_debuglink *link, int fd)
{
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	struct gpc_elf_source source;
	size_t n;

	if (!read_id(fd, &source, id, &n))
		return false;
	if (n && link->build_id_len)
		return n == link->build_id_len && !memcmp(id, link->build_id, n);
	return *link->name && has_crc(&source, link->crc);
}
