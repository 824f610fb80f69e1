/* SPDX-License-Identifier: Apache-2.0 */
/* Where anon.c's generated functions lie in their page. */
#ifndef WORKLOADS_ANON_H
#define WORKLOADS_ANON_H

#define ANON_CALL    0
#define ANON_CLOBBER 64

#endif
