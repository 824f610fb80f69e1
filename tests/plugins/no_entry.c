/* SPDX-License-Identifier: Apache-2.0 */
/* A note, and nothing behind it. */
#include <gpc/plugin.h>

GPC_NOTE(0)
