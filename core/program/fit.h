/* SPDX-License-Identifier: Apache-2.0 */
/* Names on a terminal. Whatever a process or a function calls itself, what comes
 * out is one line of printable UTF-8 of a known width: control characters, marks
 * that turn the direction of writing, and broken bytes become "?". */
#ifndef GPC_PROGRAM_FIT_H
#define GPC_PROGRAM_FIT_H

#include <stddef.h>

/* Columns that s takes when nothing is cut. */
size_t gpc_fit_columns(const char *s);
/* s in at most that many columns; what is longer is cut in the middle, since
 * names differ at both ends. Returns the columns used; buf is always ended, and
 * four bytes for each column suffice without combining marks. */
size_t gpc_fit(const char *s, size_t columns, char *buf, size_t size);

#endif
