/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gostack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *name;
	enum gpc_go_place place;
} names[] = {
	{"runtime.goexit", GPC_GO_TOP},
	{"runtime.goexit.abi0", GPC_GO_TOP},
	{"runtime.mcall", GPC_GO_TOP},
	{"runtime.mcall (prog)", GPC_GO_TOP},
	{"runtime.mstart.abi0 (a b.so)", GPC_GO_TOP},
	{"runtime.rt0_go", GPC_GO_TOP},
	{"runtime.systemstack", GPC_GO_SWITCH},
	{"runtime.systemstack.abi0", GPC_GO_SWITCH},
	{"runtime.morestack", GPC_GO_SWITCH},
	{"runtime.asmcgocall.abi0", GPC_GO_SWITCH},
	/* others begin like them */
	{"runtime.goexit0", GPC_GO_PLAIN},
	{"runtime.goexit1", GPC_GO_PLAIN},
	{"runtime.mstart1", GPC_GO_PLAIN},
	{"runtime.systemstack_switch", GPC_GO_PLAIN},
	{"runtime.mcal", GPC_GO_PLAIN},
	{"runtime.", GPC_GO_PLAIN},
	{"main.mcall", GPC_GO_PLAIN},
	{"main.main.func1", GPC_GO_PLAIN},
	{"github.com/a/b.(*T).mcall", GPC_GO_PLAIN},
	/* C: a thread that cgo made */
	{"crosscall_amd64", GPC_GO_NOT},
	{"start_thread (libc.so.6)", GPC_GO_NOT},
	{"(/usr/lib/libc.so.6)", GPC_GO_NOT},
	{"[unknown]", GPC_GO_NOT},
	{"mcall", GPC_GO_NOT},
	{"", GPC_GO_NOT},
};

static void knows_where_stacks_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		print_message("%s\n", names[i].name);
		assert_int_equal(gpc_go_place(names[i].name, strlen(names[i].name)),
				 names[i].place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_where_stacks_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
