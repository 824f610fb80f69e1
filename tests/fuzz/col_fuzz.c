/* SPDX-License-Identifier: Apache-2.0 */
/* A file to read as col. What can be read is written and read again: both times
 * the same .col must come of it. */
#include "decode_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpc_fuzz_decode((const char *)data, size, "col");
	return 0;
}
