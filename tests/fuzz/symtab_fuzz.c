/* SPDX-License-Identifier: Apache-2.0 */
/* The input is an ELF file, read through a descriptor as any file of a target:
 * symbols by address and by name, the build-id; and the same from memory. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/buildid.h"
#include "elf/lookup.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct gpc_elf *elf, const struct gpc_symtab *t, uint64_t vaddr)
{
	struct gpc_symtab_hit hit;
	char *name;

	if (!gpc_symtab_find(t, vaddr, &hit))
		return;
	if (hit.start > vaddr || vaddr - hit.start >= hit.size)
		abort();
	name = gpc_symtab_name(t, &elf->source, NULL, hit.index);
	if (name && (!*name || strlen(name) > GPC_ELF_NAME_MAX + strlen("@plt")))
		abort();
	if (name && strchr(name + 1, '@') && strcmp(strchr(name + 1, '@'), "@plt") != 0)
		abort();
	free(name);
}

static void use(const struct gpc_elf_source *source)
{
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	struct gpc_symtab *t;
	struct gpc_elf elf;
	uint64_t vaddr = 0;

	if (gpc_elf_init(&elf, source, NULL) < 0)
		return;
	if (gpc_elf_build_id(&elf, id) > sizeof id)
		abort();
	gpc_elf_lookup(&elf, "main", &vaddr);
	gpc_elf_section_named(&elf, ".text");
	if (gpc_symtab_load(&elf, NULL, &t, NULL) == GPC_OK) {
		for (uint64_t at = 0; at < source->size; at += 16)
			if (gpc_symtab_vaddr(t, at, &vaddr))
				look(&elf, t, vaddr);
		look(&elf, t, 0);
		look(&elf, t, UINT64_MAX);
		gpc_symtab_free(t);
	}
	gpc_elf_deinit(&elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct gpc_elf_source source;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (gpc_elf_source_fd(fd, &source, NULL) == GPC_OK) {
		use(&source);
		source.size = size * 2; /* it was truncated after we looked */
		use(&source);
	}
	close(fd);
	source = gpc_elf_source_memory(data, size);
	use(&source);
	return 0;
}
