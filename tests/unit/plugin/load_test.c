/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <elf.h>
#include <link.h>

static struct gpc_loaded_module *load(const char *path)
{
	struct gpc_loaded_module *m = NULL;
	struct gpc_err err = {0};

	if (gpc_module_load(path, &m, &err) < 0)
		fail_msg("%s", err.text);
	return m;
}

/* Refused, with a sentence that names the file and holds text. */
static void assert_refused(const char *path, const char *text)
{
	struct gpc_loaded_module *m = NULL;
	struct gpc_err err = {0};

	assert_true(gpc_module_load(path, &m, &err) < 0);
	assert_null(m);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.text);
	assert_non_null(strstr(err.text, strrchr(path, '/')));
	assert_non_null(strrchr(err.text, ':')); /* the remedy */
}

/* Loads path and tells whether code of the file ran. */
static bool leaves_marker(struct place *p, const char *path)
{
	struct gpc_loaded_module *m = NULL;
	char marker[PATH_MAX + 8];
	bool ran;

	snprintf(marker, sizeof marker, "%s/marker", p->dir);
	setenv("GPC_TEST_MARKER", marker, 1);
	gpc_module_load(path, &m, NULL);
	unsetenv("GPC_TEST_MARKER");
	gpc_module_free(m);
	ran = access(marker, F_OK) == 0;
	unlink(marker);
	return ran;
}

static void loads_a_good_one(void **state)
{
	struct place *p = *state;
	struct gpc_loaded_module *m = load(place_module(p, "good", "any-name.so"));

	assert_string_equal(m->path, p->file);
	assert_non_null(m->handle);
	assert_string_equal(m->module.name, "good");
	assert_string_equal(m->module.version, "1.2.3");
	assert_int_equal(m->n_collectors, 1);
	assert_string_equal(m->collectors[0].name, "good_sampler");
	assert_int_equal(m->n_sinks, 1);
	assert_string_equal(m->sinks[0].name, "good_drain");
	gpc_module_free(m);
}

/* Two cores in one process: one copy of the code, two of the tables. */
static void loads_one_file_twice(void **state)
{
	struct place *p = *state;
	struct gpc_loaded_module *a = load(place_module(p, "good", "good.so"));
	struct gpc_loaded_module *b = load(p->file);

	assert_ptr_equal(a->handle, b->handle);
	assert_ptr_not_equal(a->collectors, b->collectors);
	gpc_module_free(a);
	assert_int_equal(b->collectors[0].create(NULL, NULL, &(void *){NULL}), GPC_OK);
	gpc_module_free(b);
}

static void loads_older_and_newer_headers(void **state)
{
	struct place *p = *state;
	struct gpc_loaded_module *m = load(place_module(p, "older", "older.so"));

	assert_int_equal(m->n_sinks, 0);
	assert_null(m->module.sinks);
	assert_int_equal(m->n_collectors, 1);
	assert_null(m->collectors[0].probe);
	assert_null(m->collectors[0].window);
	gpc_module_free(m);
	m = load(place_module(p, "newer", "newer.so"));
	assert_int_equal(m->n_collectors, 1);
	assert_int_equal(m->module.struct_size, sizeof(struct gpc_module));
	assert_int_equal(m->collectors[0].struct_size, sizeof(struct gpc_collector));
	gpc_module_free(m);
}

static void runs_no_code_of_what_it_refuses(void **state)
{
	static const char *const modules[] = {"newer_core", "other_major", "no_note"};
	struct place *p = *state;

	for (unsigned i = 0; i < 3; i++)
		assert_false(leaves_marker(p, place_module(p, modules[i], modules[i])));
	for (unsigned i = 0; i < 3; i++)
		assert_false(leaves_marker(p, place_module(p, modules[i], "x.so")));
	place_module(p, "good", "good.so");
	assert_int_equal(chmod(p->file, 0777), 0);
	assert_false(leaves_marker(p, p->file));
	assert_int_equal(chmod(p->file, 0755), 0);
	assert_true(leaves_marker(p, p->file)); /* or the test proves nothing */
}

static void refuses_other_versions(void **state)
{
	struct place *p = *state;

	assert_refused(place_module(p, "newer_core", "a.so"), "install a newer gprofiler-core");
	assert_refused(place_module(p, "other_major", "b.so"), "built for plugin ABI 77.");
}

static void refuses_incomplete_modules(void **state)
{
	struct place *p = *state;

	assert_refused(place_module(p, "no_note", "a.so"), "no gpc note");
	assert_refused(place_module(p, "no_entry", "b.so"), "does not export gpc_module_entry");
	assert_refused(place_module(p, "null_entry", "c.so"), "returns no module table");
	assert_refused(place_module(p, "unresolved", "d.so"), "gpc_test_nobody_has_this");
}

static void refuses_what_is_no_plugin(void **state)
{
	struct place *p = *state;

	assert_refused(place_write(p, "text.so", "hello, world\n", 13), "no ELF file");
	assert_refused(place_write(p, "empty.so", "", 0), "no ELF file");
	assert_refused(place_module(p, "good", "good.so.1"), "does not end in .so");
	assert_int_equal(mkdir(place_path(p, "dir.so"), 0755), 0);
	assert_refused(p->file, "it is a folder");
	assert_int_equal(mkfifo(place_path(p, "fifo.so"), 0600), 0);
	assert_refused(p->file, "no regular file"); /* and does not wait for a writer */
	assert_refused(place_path(p, "none.so"), "cannot be found");
	assert_int_equal(symlink("gone", place_path(p, "dangling.so")), 0);
	assert_refused(p->file, "cannot be found");
}

static void refuses_foreign_and_cut_files(void **state)
{
	struct place *p = *state;
	size_t n;
	char *bytes = module_bytes("good", &n);
	ElfW(Ehdr) *head = (void *)bytes;

	for (size_t cut = 1; cut < n; cut += n / 64)
		assert_refused(place_write(p, "cut.so", bytes, n - cut), "");
	head->e_machine = EM_S390;
	assert_refused(place_write(p, "machine.so", bytes, n), "another processor");
	head->e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64;
	assert_refused(place_write(p, "class.so", bytes, n), "-bit file");
	free(bytes);
}

static void refuses_unsafe_hands(void **state)
{
	struct place *p = *state;

	place_module(p, "good", "good.so");
	assert_int_equal(chmod(p->file, 0775), 0);
	assert_refused(p->file, "its group");
	assert_int_equal(chmod(p->file, 0755), 0);
	assert_int_equal(chmod(p->dir, 01777), 0);
	assert_refused(p->file, "everybody");
	assert_int_equal(chmod(p->dir, 0755), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(p->file, 54321, 54321), 0);
	assert_refused(p->file, "belongs to user 54321");
}

static void loads_through_a_link(void **state)
{
	struct place *p = *state;
	struct gpc_loaded_module *m;

	place_module(p, "good", "real.so");
	assert_int_equal(symlink("real.so", place_path(p, "link.so")), 0);
	m = load(p->file);
	assert_string_equal(m->path, place_path(p, "real.so"));
	gpc_module_free(m);
}

static void keeps_the_remedy_with_long_paths(void **state)
{
	struct place *p = *state;
	struct gpc_err err;
	struct gpc_loaded_module *m;
	char name[250] = {0};

	memset(name, 'x', sizeof name - 1);
	memcpy(name + sizeof name - 4, ".so", 3);
	assert_true(gpc_module_load(place_write(p, name, "x", 1), &m, &err) < 0);
	assert_non_null(strstr(err.text, "remove it from the plugin folder"));
}

int main(void)
{
#define with_place(fn) cmocka_unit_test_setup_teardown(fn, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		with_place(loads_a_good_one),
		with_place(loads_one_file_twice),
		with_place(loads_older_and_newer_headers),
		with_place(runs_no_code_of_what_it_refuses),
		with_place(refuses_other_versions),
		with_place(refuses_incomplete_modules),
		with_place(refuses_what_is_no_plugin),
		with_place(refuses_foreign_and_cut_files),
		with_place(refuses_unsafe_hands),
		with_place(loads_through_a_link),
		with_place(keeps_the_remedy_with_long_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
