/* SPDX-License-Identifier: Apache-2.0 */
/* A jitdump file, asked for every address that it names; and the unwind table of its
 * code, from the file as it grows. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/jitdump.h"
#include "unwind/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct gpc_jitdump *d, uint64_t address)
{
	struct gpc_jit_symbol s;

	if (gpc_jitdump_find(d, address, &s) &&
	    strlen(s.name) + (s.file ? strlen(s.file) : 0) > 65536)
		abort();
}

static void look_up(const struct gpc_unwind_table *t, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		const struct gpc_packed_rule *rule;
		uint64_t address;

		memcpy(&address, data + i, 8);
		rule = gpc_unwind_table_find(t, address);
		if (rule && rule->n > GPC_UNWIND_REGS)
			abort();
	}
}

static void unwind(const uint8_t *data, size_t size)
{
	struct gpc_unwind_jit jit = {.fd = memfd_create("jit", MFD_CLOEXEC)};
	struct gpc_unwind_table *table = NULL, *newer;
	size_t half = size / 2;

	if (jit.fd < 0 || write(jit.fd, data, half) != (ssize_t)half)
		abort();
	(void)gpc_unwind_jit_update(&jit, false, &table, NULL);
	if (write(jit.fd, data + half, size - half) != (ssize_t)(size - half))
		abort();
	(void)gpc_unwind_jit_update(&jit, table != NULL, &newer, NULL);
	if (table)
		look_up(table, data, size);
	if (newer)
		look_up(newer, data, size);
	gpc_unwind_table_free(table);
	gpc_unwind_table_free(newer);
	gpc_unwind_jit_deinit(&jit);
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
	unwind(data, size);
	return 0;
}
