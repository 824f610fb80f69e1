/* SPDX-License-Identifier: Apache-2.0 */
/* The input is /proc/kallsyms. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(struct gpc_kernel_syms *k, uint64_t address)
{
	struct gpc_kernel_symbol found;

	if (gpc_kernel_syms_find(k, address, &found, NULL) < 0 || !found.name)
		return;
	if (found.start > address || !*found.name || strlen(found.module) > 65536)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct gpc_kernel_syms *k;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (gpc_kernel_syms_new(path, &k, NULL) < 0)
		abort();
	for (uint64_t at = 0; at < 64; at++) {
		look(k, at);
		look(k, UINT64_C(0xffffffff81000000) + at);
	}
	for (size_t i = 0; i + 8 <= size && i < 512; i++) {
		uint64_t at;

		memcpy(&at, data + i, sizeof at);
		look(k, at);
	}
	look(k, UINT64_MAX);
	gpc_kernel_syms_free(k);
	close(fd);
	return 0;
}
