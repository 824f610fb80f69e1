/* SPDX-License-Identifier: Apache-2.0 */
/* A memory image without its compression, and reads all over it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/mem_image.h"

#define MAX (UINT64_C(1) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_read(const struct gpc_mem_image *image, uint64_t addr, uint64_t len)
{
	uint8_t buf[256];
	int64_t got = gpc_mem_image_read(image, addr, buf, len);

	if (got > (int64_t)len || (got < 0 && got != GPC_E_CORRUPT) || (!got && len))
		abort();
	/* What is read is there: one by one, too. */
	for (int64_t k = 0; k < got; k++) {
		uint8_t byte;

		if (gpc_mem_image_read(image, addr + (uint64_t)k, &byte, 1) != 1 || byte != buf[k])
			abort();
	}
}

static size_t check_maps(const struct gpc_mem_image *image)
{
	const struct gpc_target *t = gpc_mem_image_target(image);
	size_t sum = strlen(t->comm) + strlen(t->exe) + strlen(gpc_mem_image_stacks(image));

	for (uint32_t k = 0; k < t->n_maps; k++) {
		if (t->maps[k].start >= t->maps[k].end)
			abort();
		sum += strlen(t->maps[k].path);
		check_read(image, t->maps[k].start, 256);
		check_read(image, t->maps[k].end - 3, 7);
	}
	for (uint32_t k = 0; k < gpc_mem_image_threads(image); k++)
		sum += strnlen(gpc_mem_image_thread(image, k)->comm, 16) / 16;
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpc_mem_image *image = NULL;
	uint64_t addr;

	if (gpc_mem_image_parse(data, size, MAX, &image, NULL) < 0) {
		if (image)
			abort();
		return 0;
	}
	if (check_maps(image) > size)
		abort();
	/* The input's own words are the likeliest addresses. */
	for (size_t k = 0; k + 8 <= size && k < 4096; k++) {
		memcpy(&addr, data + k, 8);
		check_read(image, __builtin_bswap64(addr), 1 + addr % 256);
	}
	gpc_mem_image_free(image);
	return 0;
}
