/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/words.h"

#include <stddef.h>

#include <gpc/plugin.h>

#define word_at(words, i) \
	((i) < sizeof(words) / sizeof *(words) && (words)[i] ? (words)[i] : "unknown")

const char *gpc_scope_word(uint32_t scope)
{
	static const char *const words[] = {
		[GPC_SCOPE_SYSTEM] = "system",
		[GPC_SCOPE_PROCESS] = "process",
	};

	return word_at(words, scope);
}

const char *gpc_threads_word(uint32_t threads)
{
	static const char *const words[] = {
		[GPC_THREADS_ONE] = "one",
		[GPC_THREADS_PER_TARGET] = "per-target",
		[GPC_THREADS_OWN] = "own",
	};

	return word_at(words, threads);
}

const char *gpc_touch_word(uint32_t touch)
{
	static const char *const words[] = {
		[GPC_TOUCH_NOTHING] = "nothing",
		[GPC_TOUCH_READS] = "reads",
		[GPC_TOUCH_PAUSES] = "pauses",
		[GPC_TOUCH_INJECTS] = "injects",
	};

	return word_at(words, touch);
}

const char *gpc_match_word(uint32_t kind)
{
	static const char *const words[] = {
		[GPC_MATCH_EXE] = "exe",         [GPC_MATCH_MAPPED] = "mapped",
		[GPC_MATCH_SYMBOL] = "symbol",   [GPC_MATCH_ANY] = "any",
		[GPC_MATCH_SECTION] = "section",
	};

	return word_at(words, kind);
}

const char *gpc_cap_word(unsigned bit)
{
	static const char *const words[] = {"cpu",     "wall", "alloc",  "lock",
					    "off-cpu", "pmc",  "metrics"};

	return bit < sizeof words / sizeof *words ? words[bit] : NULL;
}
