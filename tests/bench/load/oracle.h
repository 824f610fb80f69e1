/* SPDX-License-Identifier: Apache-2.0 */
/* What libunwind finds in the same samples. */
#ifndef BENCH_ORACLE_H
#define BENCH_ORACLE_H

struct unwound;

/* Prints lines of figures: how many frames of how many samples are the same. */
void oracle_compare(struct unwound *u);

#endif
