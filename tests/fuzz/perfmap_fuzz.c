/* SPDX-License-Identifier: Apache-2.0 */
/* The input is a perf map, read from memory, from a file, and cut: memory and
 * file must agree. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct gpc_perfmap *a, const struct gpc_perfmap *b, uint64_t address)
{
	const char *x = gpc_perfmap_find(a, address), *y = gpc_perfmap_find(b, address);

	if (!x != !y || (x && (strcmp(x, y) != 0 || !*x)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct gpc_perfmap *text, *file, *end;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (gpc_perfmap_parse((const char *)data, size, &text, NULL) < 0 ||
	    gpc_perfmap_load(fd, size, &file, NULL) < 0 ||
	    gpc_perfmap_load(fd, size / 2, &end, NULL) < 0)
		abort();
	for (uint64_t at = 0; at < 512; at++)
		compare(text, file, at);
	for (size_t i = 0; i + 8 <= size && i < 512; i++) {
		uint64_t at;

		memcpy(&at, data + i, sizeof at);
		compare(text, file, at);
		gpc_perfmap_find(end, at);
	}
	compare(text, file, UINT64_MAX);
	gpc_perfmap_free(text);
	gpc_perfmap_free(file);
	gpc_perfmap_free(end);
	close(fd);
	return 0;
}
