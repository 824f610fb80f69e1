/* SPDX-License-Identifier: Apache-2.0 */
/* The input is an ELF file with debug information, and what else a file may carry
 * for us: a link to a debug file, packed symbols. Each input must be done with in
 * the time that the fuzzer allows. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/debuglink.h"
#include "elf/dwarf.h"
#include "elf/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(struct gpc_dwarf *d, uint64_t vaddr)
{
	struct gpc_dwarf_place places[GPC_DWARF_DEPTH];
	size_t n = gpc_dwarf_find(d, vaddr, places);

	if (n > GPC_DWARF_DEPTH || (n && places[n - 1].function))
		abort();
	gpc_dwarf_places_deinit(places, n);
}

static void read_lines(const struct gpc_elf *elf)
{
	struct gpc_dwarf *d;

	if (gpc_dwarf_open(elf, &d, NULL) < 0)
		return;
	gpc_dwarf_add_shared(d, elf, NULL);
	for (size_t i = 0; i < elf->segments.n && i < 8; i++)
		for (uint64_t at = 0; at < 512 && at < elf->segments.at[i].memsz; at += 3)
			look(d, elf->segments.at[i].vaddr + at);
	gpc_dwarf_rest(d);
	look(d, 1);
	look(d, UINT64_MAX);
	gpc_dwarf_free(d);
}

static void read_link(const struct gpc_elf *elf, const uint8_t *data, size_t size)
{
	int fd = memfd_create("debug", MFD_CLOEXEC);
	struct gpc_debuglink link;
	struct gpc_altlink shared;

	gpc_debuglink_read(elf, &link);
	gpc_altlink_read(elf, &shared);
	if (strnlen(shared.name, sizeof shared.name) == sizeof shared.name ||
	    shared.build_id_len > sizeof shared.build_id)
		abort();
	if (strchr(link.name, '/') || strnlen(link.name, sizeof link.name) == sizeof link.name)
		abort();
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (link.build_id_len && !gpc_debuglink_is(&link, fd))
		abort(); /* it has its own build-id */
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpc_elf_source source = gpc_elf_source_memory(data, size);
	struct gpc_elf elf, mini;
	uint8_t *bytes;
	size_t n;

	if (gpc_elf_init(&elf, &source, NULL) < 0)
		return 0;
	read_lines(&elf);
	read_link(&elf, data, size);
	if (gpc_elf_mini(&elf, &bytes, &n, NULL) == GPC_OK) {
		source = gpc_elf_source_memory(bytes, n);
		if (gpc_elf_init(&mini, &source, NULL) == GPC_OK) {
			read_lines(&mini);
			gpc_elf_deinit(&mini);
		}
		free(bytes);
	}
	gpc_elf_deinit(&elf);
	return 0;
}
