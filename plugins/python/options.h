/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPC_PYTHON_OPTIONS_H
#define GPC_PYTHON_OPTIONS_H

#include <gpc/plugin.h>

enum py_mode {
	PY_MODE_AUTO,
	PY_MODE_PYSPY,
	PY_MODE_PYPERF,
	PY_MODE_DISABLED,
	PY_MODE_NONE,
	PY_MODE_PY_SPY
};
enum py_sampling { PY_SAMPLING_PULL, PY_SAMPLING_PUSH };

struct py_options { /* filled by the core */
	int32_t mode;
	int32_t sampling;
	int32_t versions; /* of packages, in frames */
	int32_t has_line_numbers;
	int32_t is_verbose, reserved;
	int64_t user_stacks_pages, skip_above;
	struct gpc_list pids;
};

extern const struct gpc_option gpc_py_options[];

#endif
