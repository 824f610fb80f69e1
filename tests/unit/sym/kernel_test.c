/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* A table made from text; *fd stays open, so that a test can change the file. */
static struct gpc_kernel_syms *table_of(const char *text, int *fd)
{
	struct gpc_kernel_syms *k = NULL;
	char path[64];

	*fd = memfd_create("kallsyms", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(write(*fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
	assert_int_equal(gpc_kernel_syms_new(path, &k, NULL), GPC_OK);
	return k;
}

static void expect(struct gpc_kernel_syms *k, uint64_t address, const char *name,
		   const char *module)
{
	struct gpc_kernel_symbol found;

	assert_int_equal(gpc_kernel_syms_find(k, address, &found, NULL), GPC_OK);
	if (!name) {
		assert_null(found.name);
		return;
	}
	assert_string_equal(found.name, name);
	assert_string_equal(found.module, module);
	assert_true(found.start <= address);
}

static const char example[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000100 t do_one\n"
			      "ffffffff81000100 W do_one_weak\n"
			      "ffffffff81000200 t same_b\n"
			      "ffffffff81000200 t same_a\n"
			      "ffffffff810002f0 T __pfx_next\n"
			      "ffffffff81000300 T next\n"
			      "ffffffff81000400 D some_data\n"
			      "ffffffffc0100000 t ext4_read\t[ext4]\n"
			      "ffffffffc0100100 T ext4_write\t[ext4]\n"
			      "ffffffffc0300000 t bpf_prog_1\t[bpf]\n"
			      "ffff800000001000 t far_away\t[bpf]\n";

static void finds_functions(void **state)
{
	int fd;
	struct gpc_kernel_syms *k = table_of(example, &fd);

	(void)state;
	expect(k, 0xffffffff81000000, "_text", "");
	expect(k, 0xffffffff810000ff, "_text", "");
	expect(k, 0xffffffff81000100, "do_one_weak", "");
	expect(k, 0xffffffff81000210, "same_a", "");
	expect(k, 0xffffffff81000300, "next", "");
	expect(k, 0xffffffff81000401, "next", "");
	expect(k, 0xffffffffc0100010, "ext4_read", "ext4");
	expect(k, 0xffffffffc0100100, "ext4_write", "ext4");
	expect(k, 0xffffffffc0300000, "bpf_prog_1", "bpf");
	gpc_kernel_syms_free(k);
	close(fd);
}

static void knows_what_it_does_not_know(void **state)
{
	int fd;
	struct gpc_kernel_syms *k = table_of(example, &fd);

	(void)state;
	expect(k, 0, NULL, NULL);
	expect(k, 0x1000, NULL, NULL);
	expect(k, 0xffff800000000fff, NULL, NULL);
	expect(k, 0xffff800000001800, "far_away", "bpf");
	expect(k, 0xffffffff80ffffff, NULL, NULL);
	expect(k, 0xffffffff82000301, NULL, NULL);
	expect(k, 0xffffffff82000300, "next", "");
	expect(k, UINT64_MAX, NULL, NULL);
	gpc_kernel_syms_free(k);
	close(fd);
}

/* The function before the border of an upper half reaches over it. */
static void crosses_upper_halves(void **state)
{
	int fd;
	struct gpc_kernel_syms *k = table_of("ffff8000fffffff0 t below\n"
					     "ffff800100000100 t above\n",
					     &fd);

	(void)state;
	expect(k, 0xffff800100000050, "below", "");
	expect(k, 0xffff800100000100, "above", "");
	gpc_kernel_syms_free(k);
	close(fd);
}

static void says_that_addresses_are_hidden(void **state)
{
	int fd;
	struct gpc_kernel_syms *k =
		table_of("0000000000000000 T _text\n0000000000000000 t f\n", &fd);
	struct gpc_kernel_symbol found;
	struct gpc_err err = {0};

	(void)state;
	assert_int_equal(gpc_kernel_syms_find(k, 1, &found, &err), GPC_E_PERM);
	assert_non_null(strstr(err.text, "kptr_restrict"));
	assert_int_equal(gpc_kernel_syms_find(k, 1, &found, NULL), GPC_E_PERM);
	gpc_kernel_syms_free(k);
	close(fd);
}

static void reads_again_when_stale(void **state)
{
	int fd;
	struct gpc_kernel_syms *k = table_of("ffffffff81000000 T one\n", &fd);

	(void)state;
	expect(k, 0xffffffff81000000, "one", "");
	assert_int_equal(pwrite(fd, "ffffffff81000000 T two\n", 23, 0), 23);
	expect(k, 0xffffffff81000000, "one", "");
	gpc_kernel_syms_stale(k);
	expect(k, 0xffffffff81000000, "two", "");
	assert_int_equal(ftruncate(fd, 0), 0);
	gpc_kernel_syms_stale(k);
	assert_int_equal(gpc_kernel_syms_find(k, 1, &(struct gpc_kernel_symbol){0}, NULL),
			 GPC_E_UNSUPPORTED);
	gpc_kernel_syms_free(k);
	close(fd);
}

static void leaves_out_what_is_no_line(void **state)
{
	int fd;
	struct gpc_kernel_syms *k = table_of("\n x\nzz T bad\nffffffff81000000\n"
					     "ffffffff81000000 T\nffffffff81000000 T \n"
					     "ffffffff81000000 TT two\n"
					     "ffffffff81000010 T m\t[\nffffffff81000020 T n\t\n"
					     "ffffffff81000030 T o\t[x]\nffffffff81000030 T pp\n"
					     "ffffffff81000040 T q\nffffffff81000050 T half",
					     &fd);

	(void)state;
	expect(k, 0xffffffff81000000, NULL, NULL);
	expect(k, 0xffffffff81000010, "m", "");
	expect(k, 0xffffffff81000020, "n", "");
	expect(k, 0xffffffff81000030, "o", "x");
	expect(k, 0xffffffff81000050, "q", "");
	gpc_kernel_syms_free(k);
	close(fd);
}

static void survives_zero_bytes(void **state)
{
	static const char text[] = "ffffffff81000000 T f\0g\t[m\0n]\n"
				   "ffffffff81000010 T \0\n"
				   "ffffffff81000020 T h\t[\0 longer than any known]\n";
	int fd;
	struct gpc_kernel_syms *k = table_of("", &fd);

	(void)state;
	assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
	expect(k, 0xffffffff81000010, "f", "m");
	expect(k, 0xffffffff81000020, "h", "");
	gpc_kernel_syms_free(k);
	close(fd);
}

static void says_why_there_is_no_file(void **state)
{
	struct gpc_kernel_syms *k = NULL;
	struct gpc_kernel_symbol found;
	struct gpc_err err = {0};

	(void)state;
	assert_int_equal(gpc_kernel_syms_new("/nonexistent/kallsyms", &k, NULL), GPC_OK);
	assert_int_equal(gpc_kernel_syms_find(k, 1, &found, &err), GPC_E_GONE);
	assert_non_null(strstr(err.text, "/nonexistent/kallsyms"));
	gpc_kernel_syms_free(k);
}

static void reads_the_running_kernel(void **state)
{
	struct gpc_kernel_syms *k = NULL;
	struct gpc_kernel_symbol found;
	struct gpc_err err = {0};
	gpc_status st;

	(void)state;
	assert_int_equal(gpc_kernel_syms_new("/proc/kallsyms", &k, NULL), GPC_OK);
	st = gpc_kernel_syms_find(k, 0xffffffff81001000, &found, &err);
	if (st == GPC_OK)
		assert_in_range(gpc_kernel_syms_bytes(k), 100000, 16 << 20);
	else
		assert_true(*err.text);
	gpc_kernel_syms_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions),
		cmocka_unit_test(knows_what_it_does_not_know),
		cmocka_unit_test(crosses_upper_halves),
		cmocka_unit_test(says_that_addresses_are_hidden),
		cmocka_unit_test(reads_again_when_stale),
		cmocka_unit_test(leaves_out_what_is_no_line),
		cmocka_unit_test(survives_zero_bytes),
		cmocka_unit_test(says_why_there_is_no_file),
		cmocka_unit_test(reads_the_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
