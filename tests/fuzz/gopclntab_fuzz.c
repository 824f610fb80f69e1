/* SPDX-License-Identifier: Apache-2.0 */
/* Go's table of functions: the input stands where the table of a small ELF file
 * is, and the first byte says whether the section has its own name. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "../unit/elf/gotable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct gpc_gopclntab *t, const struct gpc_elf_source *source, uint64_t vaddr)
{
	struct gpc_gofunc f;
	struct gpc_dwarf_place places[GPC_DWARF_DEPTH];
	char *name;

	if (!gpc_gopclntab_function(t, source, vaddr, &f))
		return;
	if (vaddr < f.start || vaddr >= f.end)
		abort();
	name = gpc_gopclntab_name(t, source, &f);
	if (name && !*name)
		abort();
	free(name);
	gpc_dwarf_places_deinit(places, gpc_gopclntab_lines(t, source, &f, vaddr, places));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gotable *file = calloc(1, sizeof *file);
	struct gpc_elf_source source;
	struct gpc_gopclntab t;
	struct gpc_elf elf;

	if (!file)
		abort();
	if (size > GO_SIZE)
		size = GO_SIZE;
	go_wrap(file, size && data[0] & 1 ? ".gopclntab" : ".data.rel.ro");
	if (size)
		memcpy(file->bytes + GO_OFFSET, data + 1, size - 1);
	source = gpc_elf_source_memory(file->bytes, GO_FILE);
	if (gpc_elf_init(&elf, &source, NULL) < 0)
		abort();
	if (gpc_gopclntab_find(&elf, &t)) {
		for (uint64_t at = 0; at < 0x400; at += 5)
			look(&t, &source, GO_TEXT + at);
		look(&t, &source, t.text);
		look(&t, &source, UINT64_MAX);
	}
	gpc_elf_deinit(&elf);
	free(file);
	return 0;
}
