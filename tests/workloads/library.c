/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves as a shared library that loader.c opens while it runs. */
#include "leaves.h"
