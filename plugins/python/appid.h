/* SPDX-License-Identifier: Apache-2.0 */
/* Which application a Python process is, by its command line: as gProfiler names
 * them. Nothing is run; at most an ini file of uWSGI is read. */
#ifndef GPC_PYTHON_APPID_H
#define GPC_PYTHON_APPID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PY_APPID_MAX 1024
#define PY_ARGS_MAX  256

struct py_command {
	const char *args[PY_ARGS_MAX];
	unsigned n;
	const char *cwd; /* "" unknown */
	/* Up to size - 1 bytes of a file, as the process sees it. Below 0: none. */
	int (*read_file)(void *ctx, const char *path, char *ret, size_t size);
	void *ctx;
};

/* cmdline: NUL separated, as the kernel gives it; borrowed by ret. */
void gpc_py_command_split(const char *cmdline, uint32_t n, struct py_command *ret);
/* False: it is none that has a name. */
bool gpc_py_appid(const struct py_command *c, char ret[PY_APPID_MAX]);

#endif
