/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the test collectors: one of every kind that a table can say. */
#ifndef GPC_TESTRT_OPTIONS_H
#define GPC_TESTRT_OPTIONS_H

#include <gpc/plugin.h>

struct testrt_options {
	int32_t mode;
	int32_t flag;
	int64_t count, bytes, wait_ns, level;
	const char *label, *token, *trace;
	struct gpc_list words, patterns;
};

extern const struct gpc_option testrt_options[];

#endif
