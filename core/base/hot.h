/* SPDX-License-Identifier: Apache-2.0 */
/* What runs at samples lies together. A reader that is woken finds caches and TLBs as
 * another process left them, and each page of code costs it as much as hundreds of
 * instructions. */
#ifndef GPC_BASE_HOT_H
#define GPC_BASE_HOT_H

#define GPC_HOT __attribute__((hot))

#endif
