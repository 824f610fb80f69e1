/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gostack.h"

#include <stdbool.h>
#include <string.h>

/* Those marked TOPFRAME or SPWRITE in Go 1.26's src/runtime/asm_*.s. mcall never returns
 * to the goroutine that called it: its thread goes on with another one. systemstack,
 * morestack and asmcgocall do. */
static const struct {
	const char *name;
	enum gpc_go_place place;
} ends[] = {
	{"goexit", GPC_GO_TOP},        {"mcall", GPC_GO_TOP},          {"mstart", GPC_GO_TOP},
	{"rt0_go", GPC_GO_TOP},        {"systemstack", GPC_GO_SWITCH}, {"morestack", GPC_GO_SWITCH},
	{"asmcgocall", GPC_GO_SWITCH},
};

static bool is_end(const char *name, size_t n, enum gpc_go_place *ret)
{
	const char *dot = memchr(name, '.', n); /* "mcall.abi0" */
	size_t length = dot ? (size_t)(dot - name) : n;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		if (strlen(ends[i].name) != length || memcmp(name, ends[i].name, length) != 0)
			continue;
		*ret = ends[i].place;
		return true;
	}
	return false;
}

enum gpc_go_place gpc_go_place(const char *name, size_t n)
{
	static const char runtime[] = "runtime.";
	size_t prefix = sizeof runtime - 1;
	const char *space = memchr(name, ' ', n);
	enum gpc_go_place ret = GPC_GO_PLAIN;

	if (space)
		n = (size_t)(space - name);
	/* A file's name stands for functions without one. */
	if (!n || name[0] == '(' || !memchr(name, '.', n))
		return GPC_GO_NOT;
	if (n > prefix && memcmp(name, runtime, prefix) == 0)
		(void)is_end(name + prefix, n - prefix, &ret);
	return ret;
}
