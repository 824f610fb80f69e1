/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "names.h"
#include "roles.h"
#include "tell.h"

static void check(const struct java_name *name, const char *wanted)
{
	char text[GPC_JAVA_NAME_MAX];

	assert_int_equal(gpc_java_name(name, text, sizeof text), strlen(wanted));
	assert_string_equal(text, wanted);
}

static void test_frames(void **state)
{
	struct java_name n = {.class_name = "Fib",
			      .method = "main",
			      .signature = "([Ljava/lang/String;)V"};

	(void)state;
	check(&n, "Fib.main([Ljava/lang/String|)V");
	n.modifiers = 0x2 | 0x8 | 0x40 | 0x80; /* bridge and varargs are no words */
	check(&n, "Fib.main([Ljava/lang/String|)V");
	n.has_modifiers = true;
	check(&n, "private static Fib.main([Ljava/lang/String|)V");
	n.line = 20;
	check(&n, "private static Fib.main:20([Ljava/lang/String|)V");
	n = (struct java_name){.class_name = "a;b\n", .method = "m", .signature = "()V"};
	check(&n, "a|b?.m()V");
}

static void test_room(void **state)
{
	struct java_name n = {.class_name = "Class", .method = "method", .signature = "()V"};
	char text[8];

	(void)state;
	assert_int_equal(gpc_java_name(&n, text, sizeof text), 7);
	assert_string_equal(text, "Class.m");
}

static void test_stable(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"java/util/ArrayList", "java/util/ArrayList"},
		{"Foo$$Lambda$14+0x00000008000c4000", "Foo$$Lambda"},
		{"Foo$$Lambda$14/0x0000000800c03000", "Foo$$Lambda"},
		{"Foo$$Lambda+0x00007f1234567890", "Foo$$Lambda"},
		{"a/Foo$$Lambda$1/1234567", "a/Foo$$Lambda"},
		{"a/Foo$$Lambda$1", "a/Foo$$Lambda"},
		{"java/lang/invoke/LambdaForm$MH+0x00000008010c8400",
		 "java/lang/invoke/LambdaForm$MH"},
		{"java/lang/invoke/LambdaForm$DMH/0x0000000800c4",
		 "java/lang/invoke/LambdaForm$DMH"},
		{"Foo$1", "Foo$1"},
		{"a/b+0xzz", "a/b+0xzz"},
		{"Foo$$LambdaOf$x", "Foo$$LambdaOf$x"},
		{"+0x", "+0x"},
		{"/", "/"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[64];

		strcpy(text, rows[i].in);
		gpc_java_name_stabilize(text);
		assert_string_equal(text, rows[i].out);
	}
}

static void test_properties(void **state)
{
	static const char text[] = "# spark\nspark.app.name.other=x\nspark.master=yarn\r\n"
				   "spark.app.name=Word count\r\nlast:1";
	char value[16];

	(void)state;
	assert_true(gpc_java_property(text, "spark.app.name", value, sizeof value));
	assert_string_equal(value, "Word count");
	assert_true(gpc_java_property(text, "spark.master", value, sizeof value));
	assert_string_equal(value, "yarn");
	assert_true(gpc_java_property(text, "last", value, sizeof value));
	assert_string_equal(value, "1");
	assert_false(gpc_java_property(text, "spark.app", value, sizeof value));
	assert_false(gpc_java_property("", "x", value, sizeof value));
	assert_true(gpc_java_property("k=0123456789abcdefgh", "k", value, sizeof value));
	assert_string_equal(value, "0123456789abcde");
}

static void test_roles(void **state)
{
	static const struct {
		const char *name, *role;
	} rows[] = {
		{"GC Thread#3", "[GC thread]"},
		{"G1 Main Marker", "[GC thread]"},
		{"G1 Refi..kers#0", "[GC thread]"},
		{"ZDriverMajor", "[GC thread]"},
		{"C2 CompilerThre", "[compiler thread]"},
		{"C1 Comp..hread0", "[compiler thread]"},
		{"VM Thread", "[VM thread]"},
		{"VM Peri..Thread", "[VM thread]"},
		{"VM Periodic Tas", "[VM thread]"},
		{"Signal ..atcher", "[VM thread]"},
		{"Attach Listener", "[VM thread]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_string_equal(gpc_java_role(rows[i].name), rows[i].role);
	assert_null(gpc_java_role("main"));
	assert_null(gpc_java_role(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames), cmocka_unit_test(test_room),
		cmocka_unit_test(test_stable), cmocka_unit_test(test_properties),
		cmocka_unit_test(test_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
