/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stacks of a Go program end, which only the names of its functions tell: Go
 * has several stacks for a thread, and frame pointers lead from one to the other, whether
 * that was a call or not. */
#ifndef GPC_SOURCE_GOSTACK_H
#define GPC_SOURCE_GOSTACK_H

#include <stddef.h>

enum gpc_go_place {
	GPC_GO_NOT,    /* no name of Go */
	GPC_GO_PLAIN,  /* any other function */
	GPC_GO_SWITCH, /* goes on another stack; the call that led here may be found, or not */
	GPC_GO_TOP,    /* nothing of Go called it */
};

/* name: as Go prints it, with or without a file behind it. */
enum gpc_go_place gpc_go_place(const char *name, size_t n);

#endif
