/* SPDX-License-Identifier: Apache-2.0 */
/* The input is the rest of a mangled name, C++ and Rust. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 3);

	if (!name)
		abort();
	memcpy(name + 2, data, size);
	name[size + 2] = '\0';
	for (int i = 0; i < 2; i++) {
		char *text;

		memcpy(name, i ? "_R" : "_Z", 2);
		text = gpc_demangle(name);
		if (text && !*text)
			abort();
		free(text);
	}
	free(name);
	return 0;
}
