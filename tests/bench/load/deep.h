/* SPDX-License-Identifier: Apache-2.0 */
/* Work at the end of long call paths through two shared libraries. */
#ifndef DEEP_H
#define DEEP_H

#include <stdint.h>

/* Calls itself and the other library, depth calls in all, then works for some
 * ten microseconds; seed says which way. */
uint64_t deep_a(unsigned depth, uint64_t seed);
uint64_t deep_b(unsigned depth, uint64_t seed);

#endif
