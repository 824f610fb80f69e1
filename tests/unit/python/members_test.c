/* SPDX-License-Identifier: Apache-2.0 */
/* A table of offsets against what an interpreter says of itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/members.h"
#include "py_fake.h"

#define TYPE    (PY_FAKE_BASE + 0x100)
#define NAME    (PY_FAKE_BASE + 0x400)
#define MEMBERS (PY_FAKE_BASE + 0x1000)
#define NAMES   (PY_FAKE_BASE + 0x2000)

/* An interpreter whose code objects are laid out as the table has it; member
 * number odd, if there is one, is elsewhere. */
static void make(struct py_fake *f, const struct py_layout *l, unsigned first_odd, unsigned n_odd)
{
	const struct {
		const char *name;
		uint16_t at;
	} members[] = {{"co_argcount", l->code_argcount},     {"co_filename", l->code_file},
		       {"co_firstlineno", l->code_firstline}, {"co_name", l->code_name},
		       {"co_linetable", l->code_lines},       {"co_unknown", 8}};

	py_fake_init(f);
	f->places[0] = (struct py_fake_place){"PyCode_Type", TYPE, 0};
	py_fake_text(f, NAME, "code");
	py_fake_put(f, TYPE + 24, NAME); /* PyTypeObject: tp_name, tp_basicsize, tp_members */
	py_fake_put(f, TYPE + 32, l->code_size);
	py_fake_put(f, TYPE + 240, MEMBERS);
	for (unsigned i = 0; i < sizeof members / sizeof *members; i++) {
		bool is_odd = i >= first_odd && i - first_odd < n_odd;

		py_fake_text(f, NAMES + 32 * i, members[i].name);
		py_fake_put(f, MEMBERS + 40 * i, NAMES + 32 * i);
		py_fake_put(f, MEMBERS + 40 * i + 16, members[i].at + (is_odd ? 8 : 0));
	}
}

static void right_tables_agree(void **state)
{
	struct py_layout l = *gpc_py_layout_find(PY_VERSION(3, 10), false);
	struct py_members members;
	struct py_fake f;

	(void)state;
	make(&f, &l, 0, 0);
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_int_equal(members.n_code, 6);
	assert_true(gpc_py_members_agree(&f.memory, &members, &l));
	assert_memory_equal(&l, gpc_py_layout_find(PY_VERSION(3, 10), false), sizeof l);
	assert_string_equal(f.report, "");
}

/* A release that moved a member: as the interpreter says. */
static void what_the_interpreter_says_counts(void **state)
{
	const struct py_layout *table = gpc_py_layout_find(PY_VERSION(3, 10), false);
	struct py_layout l = *table;
	struct py_members members;
	struct py_fake f;

	(void)state;
	make(&f, &l, 3, 1);
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_true(gpc_py_members_agree(&f.memory, &members, &l));
	assert_int_equal(l.code_name, table->code_name + 8);
	assert_int_equal(l.code_file, table->code_file);
	assert_string_equal(f.report, "");
}

/* The table of another version: told, and nothing is read by it. */
static void wrong_tables_are_told(void **state)
{
	struct py_layout l = *gpc_py_layout_find(PY_VERSION(3, 7), false);
	struct py_layout other = *gpc_py_layout_find(PY_VERSION(3, 11), false);
	struct py_members members;
	struct py_fake f;

	(void)state;
	make(&f, &l, 0, 0);
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_false(gpc_py_members_agree(&f.memory, &members, &other));
	assert_non_null(strstr(f.report, "not laid out as this version knows them"));
	l = *gpc_py_layout_find(PY_VERSION(3, 7), false);
	make(&f, &l, 0, 4);
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_false(gpc_py_members_agree(&f.memory, &members, &l));
	assert_non_null(strstr(f.report, "4 of 5 members are elsewhere"));
}

static void foreign_bytes(void **state)
{
	struct py_layout l = *gpc_py_layout_find(PY_VERSION(3, 7), false);
	struct py_members members;
	struct py_fake f;

	(void)state;
	make(&f, &l, 0, 0);
	py_fake_text(&f, NAME, "coda"); /* no type of code: nothing is known */
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_int_equal(members.n_code, 0);
	make(&f, &l, 0, 0);
	py_fake_put(&f, TYPE + 240, PY_FAKE_BASE + PY_FAKE_BYTES - 20);
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_int_equal(members.n_code, 0);
	make(&f, &l, 0, 0);
	py_fake_put(&f, MEMBERS + 40, 0x4141414141414141); /* a name that is nowhere */
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_int_equal(members.n_code, 1);
	/* Members without an end. */
	for (unsigned i = 0; i < 1000; i++)
		py_fake_put(&f, MEMBERS + 40 * i, NAMES);
	gpc_py_members_read(&f.memory, NULL, &members);
	assert_int_equal(members.n_code, PY_MEMBERS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_tables_agree),
		cmocka_unit_test(what_the_interpreter_says_counts),
		cmocka_unit_test(wrong_tables_are_told),
		cmocka_unit_test(foreign_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
