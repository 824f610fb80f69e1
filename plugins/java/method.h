/* SPDX-License-Identifier: Apache-2.0 */
/* A method, as the JVM holds it (OpenJDK oops/method.hpp, oops/constMethod.hpp,
 * oops/constantPool.hpp, oops/symbol.hpp). */
#ifndef GPC_JAVA_METHOD_H
#define GPC_JAVA_METHOD_H

#include "layout.h"

#define GPC_JAVA_SYMBOL_MAX 1024 /* of a class, method, signature; the rest is cut off */

struct method {
	uint64_t addr, constant, pool;
	uint32_t flags, access;
	uint32_t code_size;
	uint64_t code; /* its bytecodes */
	uint16_t name, signature;
	/* Symbols. Memory of an unloaded class may hold another one, of the same shape. */
	uint64_t class_symbol, name_symbol, signature_symbol;
};

struct method_texts {
	char class_name[GPC_JAVA_SYMBOL_MAX];
	char name[GPC_JAVA_SYMBOL_MAX];
	char signature[GPC_JAVA_SYMBOL_MAX];
	char file[GPC_JAVA_SYMBOL_MAX]; /* "" not known */
};

/* [reader] False: there is no method. */
bool gpc_java_method_read(const struct jmem *m, const struct layout *l, uint64_t addr,
			  struct method *ret);
bool gpc_java_method_same(const struct method *a, const struct method *b);
bool gpc_java_method_texts(const struct jmem *m, const struct layout *l,
			   const struct method *method, struct method_texts *ret);
/* A Symbol, into GPC_JAVA_SYMBOL_MAX bytes; an entry of a constant pool that is one. */
bool gpc_java_symbol(const struct jmem *m, const struct layout *l, uint64_t addr, char *ret);
bool gpc_java_pool_text(const struct jmem *m, const struct layout *l, uint64_t pool, uint16_t index,
			char *ret);
/* 0: not known. */
uint32_t gpc_java_method_line(const struct jmem *m, const struct layout *l,
			      const struct method *method, int32_t bci);
/* The line of bci in a compressed table of n bytes (OpenJDK
 * code/compressedStream.hpp, CompressedLineNumberReadStream). 0: not in it. */
uint32_t gpc_java_line_of(const uint8_t *table, uint32_t n, uint32_t excluded, int32_t bci);

#endif
