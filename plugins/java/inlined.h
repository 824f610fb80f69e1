/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods a place in compiled code is of that has no entry in the tables. */
#ifndef GPC_JAVA_INLINED_H
#define GPC_JAVA_INLINED_H

#include "scopes.h"
#include "vm.h"

/* is_return: of the call that returns to pc. Innermost first. 0: of the compiled method
 * itself, or nothing is known. */
uint32_t gpc_java_inlined(struct vm *vm, const struct blob *b, uint64_t pc, bool is_return,
			  struct scope ret[GPC_JAVA_SCOPES_MAX]);

/* Does a call end at pc? */
bool gpc_java_is_after_call(const struct vm *vm, uint64_t pc);

#endif
