/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods a place in compiled code belongs to: the method itself and those
 * inlined into it (OpenJDK code/pcDesc.hpp, code/debugInfo.hpp). */
#ifndef GPC_JAVA_SCOPES_H
#define GPC_JAVA_SCOPES_H

#include "heap.h"

#define GPC_JAVA_SCOPES_MAX 64

struct scope {
	uint64_t method;
	int32_t bci; /* -1: not known */
};

/* UNSIGNED5, as OpenJDK calls it: up to five bytes of six bits and a bit more.
 * Returns the bytes used; 0: it does not end within n. excluded: 0 or 1, by version. */
uint32_t gpc_java_unsigned5(const uint8_t *bytes, uint32_t n, uint32_t excluded, uint32_t *ret);

/* An entry of the table that tells scopes by places. */
struct pc_entry {
	int32_t offset; /* of its place, from where the code begins */
	uint32_t scope; /* where its scopes begin; 0: nothing is known there */
};

/* The entry that a return address has. */
bool gpc_java_pc_return(const struct jmem *m, const struct layout *l, const struct blob *b,
			uint64_t pc, struct pc_entry *ret);
/* Places have no entries of their own, only calls and polls: the last one before pc
 * and the first one behind it. */
bool gpc_java_pc_around(const struct jmem *m, const struct layout *l, const struct blob *b,
			uint64_t pc, struct pc_entry ret[2]);
/* Innermost first. 0: they cannot be read. */
uint32_t gpc_java_scopes(const struct jmem *m, const struct layout *l, const struct blob *b,
			 uint32_t at, struct scope ret[GPC_JAVA_SCOPES_MAX]);

#endif
