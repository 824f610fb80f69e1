/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the Java heap: how references are written, where a class has its
 * members (OpenJDK oops/compressedOops.hpp, oops/markWord.hpp, oops/fieldInfo.hpp,
 * gc/z/zAddress.hpp). The heap moves while it is read: whoever follows a reference
 * checks the class of what is there. */
#ifndef GPC_JAVA_OBJECTS_H
#define GPC_JAVA_OBJECTS_H

#include "about.h"

struct java_heap {
	uint64_t oop_base, klass_base;
	uint32_t oop_shift, klass_shift;
	bool is_known;
	bool has_short_oops;    /* references of four bytes */
	bool has_short_klasses; /* the same of an object's class */
	bool has_klass_in_mark; /* compact headers, 24 on */
	bool is_coloured;       /* generational ZGC: references carry bits below the address */
};

/* [worker] Not known before 21, where nothing needs it. */
void gpc_java_heap_read(const struct jmem *m, const struct layout *l,
			const struct java_flags *flags, struct java_heap *ret);
/* The reference in the member at addr; 0: null, or it cannot be read. */
uint64_t gpc_java_reference(const struct jmem *m, const struct java_heap *h, uint64_t addr);
/* Where the object is now, and its class. False: there is none. */
bool gpc_java_object(const struct jmem *m, const struct layout *l, const struct java_heap *h,
		     uint64_t *object, uint64_t *klass);
bool gpc_java_klass_is(const struct jmem *m, const struct layout *l, uint64_t klass,
		       const char *name);
/* Offsets of members by their names; -1 for those that the class itself does not
 * declare. */
bool gpc_java_members(const struct jmem *m, const struct layout *l, uint64_t klass,
		      const char *const *names, int32_t *ret, uint32_t n);

#endif
