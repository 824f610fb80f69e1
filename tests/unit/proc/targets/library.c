/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a thread-local variable: linked to the target, or opened by it. */
#include <stdint.h>

#ifdef LINKED
#define VARIABLE linked_tls
#define FUNCTION linked_variable
#else
#define VARIABLE library_tls
#define FUNCTION library_variable
#endif

extern __thread uint64_t VARIABLE;
__thread uint64_t VARIABLE = 9;
void *FUNCTION(void);

void *FUNCTION(void)
{
	return &VARIABLE;
}
