/* SPDX-License-Identifier: Apache-2.0 */
/* Finding CPython in a process: which mapped file holds it, which version it is,
 * where its interpreters are, and which layout it has, checked against what the
 * interpreter says of itself. */
#ifndef GPC_PYTHON_RUNTIME_H
#define GPC_PYTHON_RUNTIME_H

#include "layout.h"
#include "loop.h"
#include "memory.h"

struct py_runtime {
	char module[256]; /* glob of the mapped file; "" is the executable */
	char path[512];   /* of that file, as the target sees it */
	char version[32]; /* "3.11.2"; "" not known */
	struct py_layout layout;
	uint64_t list;      /* address of the head of the list of interpreters */
	uint64_t runtime;   /* _PyRuntime; 0: the version has none */
	uint64_t current;   /* to 3.6: _PyThreadState_Current; 0: not known */
	uint64_t code_type; /* PyCode_Type; 0: not known */
	struct py_loop loop;
};

/* 0: no; 1 to 100: how sure. Looks at names only. */
int32_t gpc_py_runtime_claim(const struct gpc_target *t);
/* Reports why not. */
gpc_status gpc_py_runtime_find(const struct gpc_host *h, const struct gpc_target *t,
			       struct py_runtime *ret);

#endif
