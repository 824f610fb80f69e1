/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of records as a foreign collector may send them. */
#include <stdlib.h>
#include <string.h>

#include "profile/record.h"
#include "profile/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void count(void *ctx, const struct gpc_sample *s, const gpc_frame *frames)
{
	gpc_stacks_add(ctx, s->target, frames, s->n_frames, s->value);
}

/* All values are somewhere in the table. */
static void check(const struct gpc_stacks *stacks)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < gpc_stacks_rows(stacks); i++)
		if (__builtin_add_overflow(sum, gpc_stacks_row(stacks, i).value, &sum))
			return; /* saturated */
	if (sum != gpc_stacks_total(stacks))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct gpc_stacks *stacks = NULL;
	struct gpc_record_visitor v = {.sample = count};
	uint8_t *copy = malloc(n + 1); /* malloc aligns, and ASan sees its end */

	if (!copy || gpc_stacks_new(16384, &stacks, NULL) < 0)
		abort();
	if (n)
		memcpy(copy, bytes, n);
	v.ctx = stacks;
	gpc_records_walk(copy, n, &v, NULL);
	check(stacks);
	gpc_stacks_free(stacks);
	free(copy);
	return 0;
}
