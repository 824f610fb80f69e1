/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the constants of plugin.h, for people and for JSON. All are static
 * texts; what this core does not know is "unknown". */
#ifndef GPC_PLUGIN_WORDS_H
#define GPC_PLUGIN_WORDS_H

#include <stdint.h>

const char *gpc_scope_word(uint32_t scope);
const char *gpc_threads_word(uint32_t threads);
const char *gpc_touch_word(uint32_t touch);
const char *gpc_match_word(uint32_t kind);
/* Of the bit with this number; NULL beyond the last known one. */
const char *gpc_cap_word(unsigned bit);

#endif
