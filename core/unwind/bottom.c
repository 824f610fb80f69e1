/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/bottom.h"

#include <elf.h>

#define REACH_WORDS 16 /* for the frames of code like musl's, which tells nothing */
#define ARGS_MAX    4096
#define STACK_MAX   (UINT64_C(64) << 20) /* arguments lie no farther above */

/* Pointers into the strings above, and the 0 behind them. *at is moved behind it.
 * False: something else. */
static bool skip_pointers(struct gpc_unwind_memory *m, uint64_t *at, unsigned max)
{
	uint64_t word;

	for (unsigned i = 0; i <= max; i++) {
		if (!gpc_unwind_word(m, *at, &word))
			return false;
		*at += 8;
		if (!word)
			return true;
		if (word <= *at || word - *at > STACK_MAX)
			return false;
	}
	return false;
}

/* linux: fs/binfmt_elf.c, create_elf_tables(): argc, argv, 0, envp, 0, and pairs of
 * which the architecture's come first. */
static bool is_vector(struct gpc_unwind_memory *m, uint64_t at)
{
	uint64_t argc, first, key;

	if (!gpc_unwind_word(m, at, &argc) || !argc || argc > ARGS_MAX)
		return false;
	at += 8;
	first = at;
	if (!skip_pointers(m, &at, ARGS_MAX) || at - first != 8 * (argc + 1))
		return false;
	if (!skip_pointers(m, &at, ARGS_MAX) || !gpc_unwind_word(m, at, &key))
		return false;
	return key == AT_SYSINFO_EHDR || key == AT_HWCAP || key == AT_MINSIGSTKSZ;
}

bool gpc_unwind_is_bottom(struct gpc_unwind_memory *m, uint64_t sp)
{
	for (unsigned i = 0; i < REACH_WORDS; i++)
		if (is_vector(m, sp + 8 * i))
			return true;
	return false;
}
