/* SPDX-License-Identifier: Apache-2.0 */
/* C++ (Itanium), Rust (legacy and v0) and D names as people write them. */
#ifndef GPC_SYM_DEMANGLE_H
#define GPC_SYM_DEMANGLE_H

/* New text, freed by the caller; NULL when name is no mangled name. Rust hashes
 * (::h0123456789abcdef) are dropped; parameters of C++ functions are kept, as
 * perf prints them. Work is bounded for hostile names. */
char *gpc_demangle(const char *name);

#endif
