/* SPDX-License-Identifier: Apache-2.0 */
/* A jitdump file, asked for every address that it names. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct gpc_jitdump *d, uint64_t address)
{
	struct gpc_jit_symbol s;
	struct gpc_jit_unwind u;

	if (gpc_jitdump_find(d, address, &s) &&
	    strlen(s.name) + (s.file ? strlen(s.file) : 0) > 65536)
		abort();
	if (gpc_jitdump_unwind(d, address, &u) &&
	    (address < u.code || address - u.code >= u.code_size || u.header_size > u.size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);
	struct gpc_jitdump *d;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (gpc_jitdump_load(fd, 1 << 20, &d, NULL) == GPC_OK) {
		for (size_t i = 0; i + 8 <= size; i += 4) {
			uint64_t address;

			memcpy(&address, data + i, 8);
			look(d, address);
			look(d, address + 5);
		}
		gpc_jitdump_free(d);
	}
	close(fd);
	return 0;
}
