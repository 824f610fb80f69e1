/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the vdso, the code that the kernel maps into every process. It
 * is the same everywhere, so our own copy names those of all processes of our
 * word size. Unchanged after it was made: any thread may ask. */
#ifndef GPC_SYM_VDSO_H
#define GPC_SYM_VDSO_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_vdso;

/* GPC_E_UNSUPPORTED when this process has none. */
gpc_status gpc_vdso_new(struct gpc_vdso **ret, struct gpc_err *err);
/* From an image (copied), for tests. */
gpc_status gpc_vdso_new_from(const void *image, size_t n, struct gpc_vdso **ret,
			     struct gpc_err *err);
void gpc_vdso_free(struct gpc_vdso *v);
/* offset: from the start of the [vdso] mapping. New text, freed by the caller;
 * NULL: no function covers it. */
char *gpc_vdso_name(const struct gpc_vdso *v, uint64_t offset);

#endif
