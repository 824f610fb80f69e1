/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code of a JVM that may be anything, with entries: the first byte tells how many,
 * four bytes each, then the code. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "flow.h"

#define ENTRIES_MAX 16
#define CODE_MAX    1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct flow_entry entries[ENTRIES_MAX];
	struct flow_tables t = {.entries = entries, .loop_reasons = UINT32_MAX};
	struct flow_answer a;
	struct flow f;

	if (n < 2 || n > CODE_MAX)
		return 0;
	t.trap = data[1];
	for (t.n = 0; t.n < data[0] % ENTRIES_MAX && 2 + 4 * (t.n + 1) <= n; t.n++) {
		const uint8_t *e = data + 2 + 4 * (size_t)t.n;

		entries[t.n] = (struct flow_entry){(int16_t)(e[0] | e[1] << 8), e[2]};
	}
	data += 2 + 4 * (size_t)t.n;
	n -= 2 + 4 * (size_t)t.n;
	if (gpc_java_flow_init(&f, data, (uint32_t)n, &t))
		for (uint32_t i = 0; i < f.n; i++) {
			gpc_java_flow_ask(&f, i, &a);
			if (a.n > GPC_JAVA_FLOW_SCOPES || a.n_before > a.n)
				abort();
		}
	gpc_java_flow_deinit(&f);
	return 0;
}
