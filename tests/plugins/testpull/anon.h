/* SPDX-License-Identifier: Apache-2.0 */
/* Where anon.c's generated functions lie in their page. */
#ifndef GPC_TESTPULL_ANON_H
#define GPC_TESTPULL_ANON_H

#define ANON_CALL    0
#define ANON_CLOBBER 64

#endif
