/* SPDX-License-Identifier: Apache-2.0 */
/* All threads' stacks of a host's process, through the collector's own parts. */
#ifndef GPC_TEST_PY_STACKS_H
#define GPC_TEST_PY_STACKS_H

#include "py_host.h"

#include "../../../plugins/python/python.h"

struct py_stacks {
	struct py_host *host;
	struct python python;
	struct py_options options;
	struct py_target target;
	struct py_writer writer;
};

bool py_stacks_open(struct py_stacks *s, struct py_host *host);
void py_stacks_close(struct py_stacks *s);
/* Lines "thread TID" and then its frames from the leaf on, "function|file|line";
 * new. Threads by their numbers. */
char *py_stacks_text(struct py_stacks *s);

#endif
