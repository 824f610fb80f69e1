/* SPDX-License-Identifier: Apache-2.0 */
/* Against what the process says of itself, and what readelf says of its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/capability.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "proc/modules.h"
#include "targets.h"

struct world {
	struct told told;
	struct gpc_module_file exe, library;
	char folder[40], program[80];
};

static struct gpc_module_file opened(const struct world *w, const char *glob)
{
	struct gpc_module_file m = {.fd = -1};
	struct gpc_err err;

	if (gpc_module_open(&w->told.view->target, glob, &m, &err) < 0)
		fail_msg("%s", err.text);
	return m;
}

static int end(void **state)
{
	struct world *w = *state;

	told_end(&w->told);
	close(w->exe.fd);
	close(w->library.fd);
	unlink(w->program);
	rmdir(w->folder);
	free(w);
	return 0;
}

/* The program is a copy: some tests delete it. */
static int begin(void **state, const char *program)
{
	struct world *w = calloc(1, sizeof *w);
	char from[300], *argv[] = {w->program, "1", NULL};

	*state = w;
	w->exe.fd = w->library.fd = -1;
	strcpy(w->folder, "/tmp/gpc-modules-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->program, sizeof w->program, "%s/target", w->folder);
	snprintf(from, sizeof from, TARGETS "/%s", program);
	if (child_copy(from, w->program) != 0 || !told_start(&w->told, argv)) {
		end(state);
		return -1;
	}
	w->exe = opened(w, NULL);
	w->library = opened(w, "libc.so.*");
	return 0;
}

static int begin_pie(void **state)
{
	return begin(state, "target");
}

static int begin_fixed(void **state)
{
	return begin(state, "fixed");
}

/* The hexadecimal number that awk prints of what a program says about a file. */
static uint64_t number_of(const char *command, const char *file, const char *awk)
{
	char line[600];
	unsigned long long value = 0;
	FILE *p;

	snprintf(line, sizeof line, "%s '%s' | awk '%s'", command, file, awk);
	p = popen(line, "r");
	assert_non_null(p);
	if (fscanf(p, "%llx", &value) != 1)
		fail_msg("%s says nothing", line);
	pclose(p);
	return value;
}

static uint64_t symbol(const struct gpc_module_file *m, const char *name)
{
	struct gpc_place place = {0};
	struct gpc_err err;

	if (gpc_module_symbol(m, name, &place, &err) < 0)
		fail_msg("%s", err.text);
	return place.start;
}

static void test_symbols(void **state)
{
	const struct world *w = *state;
	uint64_t linked = number_of("nm", w->program, "$3 == \"target_function\" {print $1}");

	assert_int_equal(symbol(&w->exe, "target_function"), (uintptr_t)w->told.function);
	assert_int_equal(symbol(&w->exe, "target_data"), (uintptr_t)w->told.data);
	assert_int_equal(symbol(&w->exe, "target_needle"), (uintptr_t)w->told.needle);
	assert_int_equal(w->exe.bias, (uintptr_t)w->told.function - linked);
	assert_string_equal(w->exe.path, w->program);
}

static void test_fixed_addresses_have_no_bias(void **state)
{
	const struct world *w = *state;

	assert_int_equal(w->exe.bias, 0);
}

/* The C library is where its first mapping is, and malloc where that says. */
static void test_library(void **state)
{
	const struct world *w = *state;
	const struct gpc_target *t = &w->told.view->target;
	uint64_t start = 0, linked;

	for (uint32_t k = 0; k < t->n_maps && !start; k++)
		if (strcmp(t->maps[k].path, w->library.path) == 0 && !t->maps[k].offset)
			start = t->maps[k].start;
	assert_int_equal(w->library.bias, start);
	linked = number_of("nm -D", w->library.path, "$3 ~ /^malloc@/ {print $1}");
	assert_int_equal(symbol(&w->library, "malloc"), start + linked);
}

/* A program that maps its library's file once more, to read it, has it before the
 * place where it was loaded. */
static void test_a_file_that_is_also_read(void **state)
{
	const struct world *w = *state;
	struct gpc_target t = w->told.view->target;
	struct gpc_map *maps = calloc(t.n_maps + 1, sizeof *maps);
	struct gpc_module_file m = {.fd = -1};

	assert_non_null(maps);
	memcpy(maps + 1, t.maps, t.n_maps * sizeof *maps);
	for (uint32_t k = 1; k <= t.n_maps && !maps[0].path; k++)
		if (strcmp(maps[k].path, w->library.path) == 0 && maps[k].prot & GPC_MAP_EXEC)
			maps[0] = maps[k];
	maps[0].start = 0x10000;
	maps[0].end = 0x10000 + (UINT64_C(1) << 20);
	maps[0].offset = 0;
	maps[0].prot = GPC_MAP_READ;
	t.maps = maps;
	t.n_maps++;
	assert_int_equal(gpc_module_open(&t, "libc.so.*", &m, NULL), GPC_OK);
	assert_int_equal(m.bias, w->library.bias);
	close(m.fd);
	free(maps);
}

static void test_offsets_of_thread_local_variables(void **state)
{
	const struct world *w = *state;
	struct gpc_place place;

	assert_int_equal(gpc_module_symbol(&w->exe, "target_variable", &place, NULL), GPC_OK);
	assert_int_equal(place.start - w->exe.bias,
			 number_of("nm", w->program, "$3 == \"target_variable\" {print $1}"));
}

static void test_sections(void **state)
{
	const struct world *w = *state;
	struct gpc_place place;

	assert_int_equal(gpc_module_section(&w->exe, ".rodata", &place, NULL), GPC_OK);
	assert_int_equal(place.start - w->exe.bias,
			 number_of("readelf -SW", w->program,
				   "{sub(/.*\\]/, \"\")} $1 == \".rodata\" {print $3}"));
	assert_int_equal(place.size,
			 number_of("readelf -SW", w->program,
				   "{sub(/.*\\]/, \"\")} $1 == \".rodata\" {print $5}"));
	assert_int_equal(gpc_module_section(&w->exe, ".nothing", &place, NULL), GPC_E_GONE);
	/* In the file, but not in the process. */
	assert_int_equal(gpc_module_section(&w->exe, ".symtab", &place, NULL), GPC_E_GONE);
}

static void test_search(void **state)
{
	const struct world *w = *state;
	static const char needle[] = "a needle that stands here only";
	static const uint64_t word = 0x1122334455667788u;
	uint64_t at = 0;

	assert_int_equal(gpc_module_search(&w->exe, ".rodata", needle, sizeof needle, &at, NULL),
			 GPC_OK);
	assert_int_equal(at, (uintptr_t)w->told.needle);
	assert_int_equal(gpc_module_search(&w->exe, ".data", &word, sizeof word, &at, NULL),
			 GPC_OK);
	assert_int_equal(at, (uintptr_t)w->told.data);
	at = 1;
	assert_int_equal(gpc_module_search(&w->exe, ".text", needle, sizeof needle, &at, NULL),
			 GPC_E_GONE);
	assert_int_equal(gpc_module_search(&w->exe, ".no", needle, 4, &at, NULL), GPC_E_GONE);
	assert_int_equal(gpc_module_search(&w->exe, ".rodata", needle, 0, &at, NULL), GPC_E_CONFIG);
	assert_int_equal(gpc_module_search(&w->exe, ".rodata", needle, 4097, &at, NULL),
			 GPC_E_CONFIG);
	assert_int_equal(at, 1);
}

/* .bss has no bytes in the file; what stands at its place there is not its own. */
static void test_search_where_the_file_has_nothing(void **state)
{
	const struct world *w = *state;
	static const char comment[] = "GCC: (";
	uint64_t at = 1;

	assert_int_equal(gpc_module_search(&w->exe, ".bss", comment, 6, &at, NULL), GPC_E_GONE);
	assert_int_equal(at, 1);
}

/* Across the edges of the blocks that are read: the C library's last bytes of text,
 * and what lies around multiples of 64 KiB. */
static void test_search_across_blocks(void **state)
{
	const struct world *w = *state;
	struct gpc_place text;
	uint8_t needle[64];
	uint64_t at, offset;

	assert_int_equal(gpc_module_section(&w->library, ".text", &text, NULL), GPC_OK);
	offset = number_of("readelf -SW", w->library.path,
			   "{sub(/.*\\]/, \"\")} $1 == \".text\" {print $4}");
	assert_true(text.size > 4 * 65536);
	for (uint64_t k = 65536 - 40; k + 64 <= text.size; k += 65536 - 63) {
		assert_int_equal(pread(w->library.fd, needle, 64, (off_t)(offset + k)), 64);
		assert_int_equal(gpc_module_search(&w->library, ".text", needle, 64, &at, NULL),
				 GPC_OK);
		assert_true(at <= text.start + k && at >= text.start);
	}
	assert_int_equal(pread(w->library.fd, needle, 64, (off_t)(offset + text.size - 64)), 64);
	assert_int_equal(gpc_module_search(&w->library, ".text", needle, 64, &at, NULL), GPC_OK);
	assert_true(at <= text.start + text.size - 64);
}

static void test_build_id(void **state)
{
	const struct world *w = *state;
	char hex[41] = "", line[200], said[80] = "";
	uint8_t id[20];
	uint32_t n = 0;
	FILE *p;

	assert_int_equal(gpc_module_build_id(&w->exe, id, &n, NULL), GPC_OK);
	assert_int_equal(n, 20);
	for (uint32_t k = 0; k < n; k++)
		snprintf(hex + 2 * k, 3, "%02x", id[k]);
	snprintf(line, sizeof line, "readelf -n '%s' | sed -n 's/.*Build ID: //p'", w->program);
	p = popen(line, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%79s", said), 1);
	pclose(p);
	assert_string_equal(hex, said);
}

static void test_no_build_id(void **state)
{
	const struct world *w = *state;
	uint8_t id[20];
	uint32_t n = 1;

	assert_int_equal(gpc_module_build_id(&w->exe, id, &n, NULL), GPC_OK);
	assert_int_equal(n, 0);
}

/* ---- files that are not there --------------------------------------------------- */

static struct gpc_target_view *read_again(const struct world *w)
{
	struct gpc_target_id id = {.pid = w->told.pid, .id = 8};
	struct gpc_target_view *v = NULL;

	assert_int_equal(gpc_target_read(&id, &v, NULL), GPC_OK);
	return v;
}

/* The kernel still has it, for those who may ask it (map_files); it is never the
 * file that took its place. */
static void check_file_without_its_name(const struct world *w, gpc_status st,
					struct gpc_module_file *m)
{
	if (st < 0) {
		assert_int_equal(st, GPC_E_GONE);
		assert_int_not_equal(geteuid(), 0);
		return;
	}
	assert_int_equal(m->bias, w->exe.bias);
	assert_int_equal(symbol(m, "target_function"), (uintptr_t)w->told.function);
	close(m->fd);
}

static void test_deleted(void **state)
{
	const struct world *w = *state;
	struct gpc_target_view *v;
	struct gpc_module_file m;

	assert_int_equal(unlink(w->program), 0);
	v = read_again(w);
	check_file_without_its_name(w, gpc_module_open(&v->target, NULL, &m, NULL), &m);
	check_file_without_its_name(w, gpc_module_open(&v->target, "targ*", &m, NULL), &m);
	gpc_target_put(v);
}

static void test_replaced(void **state)
{
	const struct world *w = *state;
	struct gpc_target_view *v;
	struct gpc_module_file m;

	assert_int_equal(unlink(w->program), 0);
	assert_int_equal(child_copy("/bin/sleep", w->program), 0);
	v = read_again(w);
	check_file_without_its_name(w, gpc_module_open(&v->target, NULL, &m, NULL), &m);
	gpc_target_put(v);
}

/* ---- without the right to map_files ------------------------------------------------ */

/* Switches CAP_SYS_ADMIN and CAP_CHECKPOINT_RESTORE off, or back on. */
static void let_follow_map_files(bool is_allowed)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];

	assert_int_equal(syscall(SYS_capget, &head, caps), 0);
	caps[0].effective &= ~(1u << CAP_SYS_ADMIN);
	caps[1].effective &= ~(1u << (CAP_CHECKPOINT_RESTORE - 32));
	if (is_allowed) {
		caps[0].effective |= caps[0].permitted & 1u << CAP_SYS_ADMIN;
		caps[1].effective |= caps[1].permitted & 1u << (CAP_CHECKPOINT_RESTORE - 32);
	}
	assert_int_equal(syscall(SYS_capset, &head, caps), 0);
}

/* What is found by its path now, under the view from before. */
static gpc_status open_by_path(const struct world *w)
{
	struct gpc_module_file m;
	gpc_status st;

	let_follow_map_files(false);
	st = gpc_module_open(&w->told.view->target, NULL, &m, NULL);
	let_follow_map_files(true);
	if (st == GPC_OK) {
		assert_int_equal(m.bias, w->exe.bias);
		assert_int_equal(symbol(&m, "target_function"), (uintptr_t)w->told.function);
		close(m.fd);
	}
	return st;
}

static void test_by_path(void **state)
{
	const struct world *w = *state;

	assert_int_equal(open_by_path(w), GPC_OK);
}

static void test_upgraded(void **state)
{
	const struct world *w = *state;

	assert_int_equal(unlink(w->program), 0);
	assert_int_equal(child_copy("/bin/sleep", w->program), 0);
	assert_int_equal(open_by_path(w), GPC_E_GONE);
}

/* Another inode, as on overlayfs; its build-id tells what it is. */
static void test_copied(void **state)
{
	const struct world *w = *state;

	assert_int_equal(unlink(w->program), 0);
	assert_int_equal(child_copy(TARGETS "/target", w->program), 0);
	assert_int_equal(open_by_path(w), GPC_OK);
}

static void test_copied_without_build_id(void **state)
{
	const struct world *w = *state;

	assert_int_equal(unlink(w->program), 0);
	assert_int_equal(child_copy(TARGETS "/fixed", w->program), 0);
	assert_int_equal(open_by_path(w), GPC_E_GONE);
}

static void test_missing(void **state)
{
	const struct world *w = *state;
	struct gpc_module_file m = {.fd = -7};
	struct gpc_place place;
	struct gpc_err err;

	assert_int_equal(gpc_module_open(&w->told.view->target, "libnothing*", &m, &err),
			 GPC_E_GONE);
	assert_non_null(strstr(err.text, "libnothing*"));
	assert_int_equal(m.fd, -7);
	assert_int_equal(gpc_module_symbol(&w->exe, "no_such_symbol", &place, &err), GPC_E_GONE);
	assert_non_null(strstr(err.text, "no_such_symbol"));
}

static void test_process_that_ended(void **state)
{
	struct world *w = *state;
	struct gpc_module_file m;

	child_end(w->told.pid);
	w->told.pid = 0;
	assert_int_equal(gpc_module_open(&w->told.view->target, NULL, &m, NULL), GPC_E_GONE);
}

#define WITH(test, set_up)                                      \
	{                                                       \
#test " (" #set_up ")", test, set_up, end, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_symbols, begin_pie),
		WITH(test_symbols, begin_fixed),
		WITH(test_fixed_addresses_have_no_bias, begin_fixed),
		WITH(test_library, begin_pie),
		WITH(test_a_file_that_is_also_read, begin_pie),
		WITH(test_offsets_of_thread_local_variables, begin_pie),
		WITH(test_offsets_of_thread_local_variables, begin_fixed),
		WITH(test_sections, begin_pie),
		WITH(test_sections, begin_fixed),
		WITH(test_search, begin_pie),
		WITH(test_search, begin_fixed),
		WITH(test_search_where_the_file_has_nothing, begin_pie),
		WITH(test_search_across_blocks, begin_pie),
		WITH(test_build_id, begin_pie),
		WITH(test_no_build_id, begin_fixed),
		WITH(test_deleted, begin_pie),
		WITH(test_replaced, begin_pie),
		WITH(test_by_path, begin_pie),
		WITH(test_by_path, begin_fixed),
		WITH(test_upgraded, begin_pie),
		WITH(test_copied, begin_pie),
		WITH(test_copied_without_build_id, begin_fixed),
		WITH(test_missing, begin_pie),
		WITH(test_process_that_ended, begin_pie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
