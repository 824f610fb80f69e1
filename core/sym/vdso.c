/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/vdso.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "elf/file.h"
#include "elf/symtab.h"

struct gpc_vdso {
	uint8_t *image;
	struct gpc_elf_source source;
	struct gpc_symtab *symbols;
};

/* The vdso ends with its section headers; the kernel made it, so what they say
 * is true. */
static size_t image_size(const void *image)
{
	const ElfW(Ehdr) *h = image;
	const ElfW(Phdr) *segments = (const void *)((const uint8_t *)image + h->e_phoff);
	uint64_t end = h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize;

	for (size_t i = 0; i < h->e_phnum; i++)
		if (segments[i].p_offset + segments[i].p_filesz > end)
			end = segments[i].p_offset + segments[i].p_filesz;
	return (size_t)end;
}

static gpc_status load(struct gpc_vdso *v, struct gpc_err *err)
{
	struct gpc_elf elf;
	gpc_status st;

	gpc_try(gpc_elf_init(&elf, &v->source, err));
	st = gpc_symtab_load(&elf, NULL, &v->symbols, err);
	gpc_elf_deinit(&elf);
	return st;
}

gpc_status gpc_vdso_new(struct gpc_vdso **ret, struct gpc_err *err)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (!image)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "the kernel gave us no vdso");
	return gpc_vdso_new_from(image, image_size(image), ret, err);
}

gpc_status gpc_vdso_new_from(const void *image, size_t n, struct gpc_vdso **ret,
			     struct gpc_err *err)
{
	struct gpc_vdso *v = calloc(1, sizeof *v);
	gpc_status st;

	if (!v || !(v->image = malloc(n ? n : 1))) {
		free(v);
		return gpc_err_nomem(err);
	}
	memcpy(v->image, image, n);
	v->source = gpc_elf_source_memory(v->image, n);
	st = load(v, err);
	if (st < 0)
		gpc_vdso_free(v);
	else
		*ret = v;
	return st;
}

void gpc_vdso_free(struct gpc_vdso *v)
{
	if (!v)
		return;
	gpc_symtab_free(v->symbols);
	free(v->image);
	free(v);
}

char *gpc_vdso_name(const struct gpc_vdso *v, uint64_t offset)
{
	struct gpc_symtab_hit hit;
	uint64_t vaddr;

	if (!gpc_symtab_vaddr(v->symbols, offset, &vaddr) ||
	    !gpc_symtab_find(v->symbols, vaddr, &hit))
		return NULL;
	return gpc_symtab_name(v->symbols, &v->source, NULL, hit.index);
}
