/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gpc/plugin.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "profile/profile.h"

#define END_NS INT64_C(1770091506999999999) /* 2026-02-03T04:05:06.999999999Z */
#define STEM   "profile_2026-02-03T04:05:06"

GPC_EXPORT const struct gpc_module *gpc_module_entry_file(void);

/* As the sink's option table lays it out. */
struct options {
	const char *output_dir;
	int32_t rotating_output, flamegraph;
	struct gpc_list formats;
};

struct fixture {
	struct gpc_host host;
	struct options options;
	const struct gpc_sink *sink;
	void *self;
	struct gpc_names *names;
	struct gpc_profile *p;
	char root[64], dir[128];
	struct gpc_profile_api api;
	uint32_t wants;
	char log[8192]; /* "LEVEL text\n" ... */
};

static void keep_log(const struct gpc_host *h, gpc_level level, const char *msg)
{
	struct fixture *f = h->impl;
	size_t n = strlen(f->log);

	snprintf(f->log + n, sizeof f->log - n, "%d %s\n", level, msg);
}

static void want(const struct gpc_host *h, uint32_t wants)
{
	struct fixture *f = h->impl;

	f->wants |= wants;
}

static const void *extension(const struct gpc_host *h, const char *id)
{
	struct fixture *f = h->impl;

	f->api = *gpc_profile_api_get();
	f->api.want = want;
	return strcmp(id, "gpc.profile/1") == 0 ? &f->api : NULL;
}

static struct gpc_profile *profile_with(struct gpc_names *names, const char *function, int rows)
{
	struct gpc_profile_span span = {.seq = 1, .end_unix_ns = END_NS};
	struct gpc_profile_process process = {.id = 7, .pid = 7, .comm = "app"};
	struct gpc_stacks *stacks;
	struct gpc_profile *p;

	process.container = process.appid = "";
	assert_int_equal(gpc_profile_new(names, &span, &p, NULL), GPC_OK);
	assert_int_equal(gpc_profile_add_process(p, &process, NULL), GPC_OK);
	assert_int_equal(gpc_stacks_new(0, &stacks, NULL), GPC_OK);
	for (int i = 0; i < rows; i++) {
		struct gpc_frame_entry e = {0};
		gpc_frame frame;
		char text[64];
		int n = snprintf(text, sizeof text, "%s%.0d", function, i);

		e.function = gpc_names_str(names, text, (size_t)n);
		frame = gpc_names_frame(names, &e);
		gpc_stacks_add(stacks, 7, &frame, 1, 3);
	}
	assert_int_equal(gpc_profile_add_event(p, "cpu-time", "samples", stacks, NULL), GPC_OK);
	return p;
}

static int set_up(void **state)
{
	static const char *const formats[] = {"col", "html"};
	const struct gpc_module *m = gpc_module_entry_file();
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->root, "/tmp/gpc-sink-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->dir, sizeof f->dir, "%s/a/b", f->root);
	f->host = (struct gpc_host){.struct_size = sizeof f->host,
				    .level = GPC_INFO,
				    .impl = f,
				    .log = keep_log,
				    .extension = extension};
	f->options = (struct options){f->dir, 0, 1, {formats, 1, 0}};
	assert_true(m->options_bytes == sizeof f->options);
	f->sink = m->sinks[0];
	f->names = gpc_names_new(1);
	f->p = profile_with(f->names, "work", 1);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[160];

	if (f->self)
		f->sink->destroy(f->self);
	snprintf(command, sizeof command, "rm -rf %s", f->root);
	assert_int_equal(system(command), 0);
	gpc_profile_put(f->p);
	gpc_names_put(f->names);
	free(f);
	return 0;
}

static gpc_status create(struct fixture *f)
{
	return f->sink->create(&f->host, &f->options, &f->self);
}

static const char *path(const struct fixture *f, const char *name)
{
	static char text[512];

	snprintf(text, sizeof text, "%s/%s", f->dir, name);
	return text;
}

static char *content(const struct fixture *f, const char *name)
{
	char *text = NULL;

	assert_int_equal(gpc_read_file(AT_FDCWD, path(f, name), 1 << 24, &text, NULL, NULL), 0);
	return text;
}

static void assert_link(const struct fixture *f, const char *name, const char *target)
{
	char text[256] = "";

	assert_true(readlink(path(f, name), text, sizeof text - 1) > 0);
	assert_string_equal(text, target);
}

static bool is_there(const struct fixture *f, const char *name)
{
	struct stat st;

	return lstat(path(f, name), &st) == 0;
}

static int count_files(const struct fixture *f)
{
	autodir DIR *d = opendir(f->dir);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	return n;
}

static void files_links_and_log(void **state)
{
	struct fixture *f = *state;
	autofree char *col = NULL, *html = NULL;
	char want[1024];
	struct stat st;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	col = content(f, STEM ".col");
	assert_string_equal(col, "# {}\n0;;app;work 3");
	html = content(f, STEM ".html");
	assert_non_null(strstr(html, "<html"));
	assert_link(f, "last_profile.col", STEM ".col");
	assert_link(f, "last_flamegraph.html", STEM ".html");
	assert_int_equal(count_files(f), 4);
	assert_int_equal(stat(path(f, STEM ".col"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	snprintf(want, sizeof want,
		 "3 Saved collapsed stacks to %s/" STEM ".col\n3 Saved flamegraph to %s/" STEM
		 ".html\n",
		 f->dir, f->dir);
	assert_string_equal(f->log, want);
}

static void only_what_is_asked_for(void **state)
{
	struct fixture *f = *state;

	f->options.flamegraph = 0;
	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_true(is_there(f, STEM ".col"));
	assert_int_equal(count_files(f), 2);
	f->options.formats.at++; /* html alone */
	f->options.flamegraph = 1;
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_false(is_there(f, STEM "-1.col"));
	assert_true(is_there(f, STEM "-1.html"));
}

static void nothing_to_write(void **state)
{
	struct fixture *f = *state;

	f->options.flamegraph = 0;
	f->options.formats.n = 0;
	assert_int_equal(create(f), GPC_E_CONFIG);
	assert_non_null(strstr(f->log, "--format"));
	f->options.output_dir = NULL;
	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	f->options.output_dir = "";
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
}

static void two_in_one_second(void **state)
{
	struct fixture *f = *state;
	autofree char *first = NULL, *third = NULL;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	/* A page alone takes the number too: both files of a profile have one name. */
	close(open(path(f, STEM "-1.html"), O_CREAT | O_WRONLY, 0600));
	gpc_profile_put(f->p);
	f->p = profile_with(f->names, "other", 1);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	first = content(f, STEM ".col");
	third = content(f, STEM "-2.col");
	assert_non_null(strstr(first, "work"));
	assert_non_null(strstr(third, "other"));
	assert_false(is_there(f, STEM "-1.col"));
	assert_link(f, "last_profile.col", STEM "-2.col");
	assert_link(f, "last_flamegraph.html", STEM "-2.html");
}

static void rotation(void **state)
{
	struct fixture *f = *state;

	f->options.rotating_output = 1;
	assert_int_equal(create(f), GPC_OK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_int_equal(count_files(f), 4);
	unlink(path(f, "last_profile.col")); /* the user took it away, or bent it */
	assert_int_equal(symlink("last_profile.col", path(f, "last_profile.col")), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_int_equal(count_files(f), 5);
}

static void rotation_removes_only_profiles(void **state)
{
	struct fixture *f = *state;
	char other[128];

	f->options.rotating_output = 1;
	assert_int_equal(create(f), GPC_OK);
	snprintf(other, sizeof other, "%s/profile_x.col", f->root);
	close(open(other, O_CREAT | O_WRONLY, 0600));
	close(open(path(f, "notes.col"), O_CREAT | O_WRONLY, 0600));
	assert_int_equal(symlink("../../profile_x.col", path(f, "last_profile.col")), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_int_equal(access(other, F_OK), 0);
	unlink(path(f, "last_profile.col"));
	assert_int_equal(symlink("notes.col", path(f, "last_profile.col")), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_true(is_there(f, "notes.col"));
	unlink(path(f, "last_profile.col")); /* what it points to is gone: fine */
	assert_int_equal(symlink("profile_gone.col", path(f, "last_profile.col")), 0);
	f->log[0] = '\0';
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_null(strstr(f->log, "Cannot"));
}

static void a_left_over_link(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(symlink("x", path(f, "last_profile.col.tmp")), 0);
	close(open(path(f, "last_flamegraph.html.tmp"), O_CREAT | O_WRONLY, 0600));
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_link(f, "last_profile.col", STEM ".col");
	assert_link(f, "last_flamegraph.html", STEM ".html");
	assert_int_equal(count_files(f), 4);
}

static void a_link_that_cannot_be(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(mkdir(path(f, "last_profile.col"), 0755), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_E_SYSTEM);
	assert_non_null(strstr(f->log, "1 Cannot update "));
	assert_non_null(strstr(f->log, "/last_profile.col: "));
	assert_true(is_there(f, STEM ".col")); /* the data is there all the same */
	assert_true(is_there(f, STEM ".html"));
	assert_false(is_there(f, "last_profile.col.tmp"));
}

static void a_file_in_the_way(void **state)
{
	struct fixture *f = *state;
	char file[128], want[300];

	snprintf(file, sizeof file, "%s/a", f->root);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	snprintf(want, sizeof want, "1 Cannot use --output-dir: %s is no directory\n", file);
	assert_int_equal(create(f), GPC_E_SYSTEM);
	assert_string_equal(f->log, want);
	f->log[0] = '\0';
	f->options.output_dir = file;
	assert_int_equal(create(f), GPC_E_SYSTEM);
	assert_string_equal(f->log, want);
}

static void a_folder_that_goes(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(rmdir(f->dir), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_true(is_there(f, STEM ".col"));
}

static void a_folder_replaced_by_a_file(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(rmdir(f->dir), 0);
	close(open(f->dir, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(f->sink->write(f->self, f->p), GPC_E_SYSTEM);
	assert_non_null(strstr(f->log, f->dir));
	unlink(f->dir);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
}

/* A limit on the size of files stands in for a full disk: writes fail midway. */
static void a_full_disk(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, small = {.rlim_cur = 4096};

	signal(SIGXFSZ, SIG_IGN);
	gpc_profile_put(f->p);
	f->p = profile_with(f->names, "a_function_of_some_length", 20000);
	assert_int_equal(create(f), GPC_OK);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_E_SYSTEM);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_non_null(strstr(f->log, "1 Cannot save collapsed stacks to "));
	assert_non_null(strstr(f->log, STEM ".col: write: File too large"));
	assert_int_equal(count_files(f), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	assert_int_equal(count_files(f), 4);
}

static void a_folder_without_permission(void **state)
{
	struct fixture *f = *state;
	bool is_root = geteuid() == 0;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(chmod(f->root, 0755), 0);
	assert_int_equal(chmod(f->dir, 0555), 0);
	if (is_root)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_E_SYSTEM);
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	assert_non_null(strstr(f->log, "Permission denied"));
	assert_non_null(strstr(f->log, f->dir));
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
}

/* Learnt before anything is measured. */
static void a_folder_that_cannot_be_written(void **state)
{
	struct fixture *f = *state;
	bool is_root = geteuid() == 0;

	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(count_files(f), 0); /* the attempt leaves nothing */
	f->sink->destroy(f->self);
	f->self = NULL;
	assert_int_equal(chmod(f->root, 0755), 0);
	assert_int_equal(chmod(f->dir, 0555), 0);
	if (is_root)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(create(f), GPC_E_SYSTEM);
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	assert_non_null(strstr(f->log, "1 Cannot write to --output-dir "));
	assert_non_null(strstr(f->log, f->dir));
	assert_non_null(strstr(f->log, "Permission denied"));
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(create(f), GPC_OK);
}

static gpc_status refuse(const struct gpc_profile *p, const char *format,
			 gpc_status (*out)(void *ctx, const void *bytes, uint64_t n), void *ctx)
{
	(void)p;
	(void)format;
	(void)out;
	(void)ctx;
	return GPC_E_NOMEM;
}

static const void *broken(const struct gpc_host *h, const char *id)
{
	static struct gpc_profile_api api;

	(void)h;
	(void)id;
	api = *gpc_profile_api_get();
	api.encode = refuse;
	return &api;
}

static void an_encoder_that_fails(void **state)
{
	struct fixture *f = *state;

	f->host.extension = broken;
	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_E_SYSTEM);
	assert_non_null(strstr(f->log, "encode as col: no memory"));
	assert_int_equal(count_files(f), 0);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

/* Each name, with the link to it. */
static void all_formats_are_written(void **state)
{
	static const char *const all[] = {"col", "pprof", "speedscope", "firefox"};
	static const char *const suffixes[] = {".col", ".pb.gz", ".speedscope.json",
					       ".firefox.json", ".html"};
	struct fixture *f = *state;

	f->options.formats = (struct gpc_list){all, 4, 0};
	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(f->wants, GPC_WANT_THREADS | GPC_WANT_ADDRESSES);
	assert_int_equal(f->sink->write(f->self, f->p), GPC_OK);
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		char name[128], link[128], target[128] = "";

		snprintf(name, sizeof name, STEM "%s", suffixes[i]);
		snprintf(link, sizeof link, "last_%s%s",
			 strcmp(suffixes[i], ".html") == 0 ? "flamegraph" : "profile", suffixes[i]);
		assert_true(readlink(path(f, link), target, sizeof target - 1) > 0);
		assert_string_equal(target, name);
		assert_int_equal(access(path(f, name), R_OK), 0);
	}
}

/* They cost something. */
static void details_are_not_wanted_without_need(void **state)
{
	static const char *const some[] = {"col", "speedscope"};
	struct fixture *f = *state;

	f->options.formats = (struct gpc_list){some, 2, 0};
	assert_int_equal(create(f), GPC_OK);
	assert_int_equal(f->wants, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(all_formats_are_written),
		test(details_are_not_wanted_without_need),
		test(files_links_and_log),
		test(only_what_is_asked_for),
		test(nothing_to_write),
		test(two_in_one_second),
		test(rotation),
		test(rotation_removes_only_profiles),
		test(a_left_over_link),
		test(a_link_that_cannot_be),
		test(a_file_in_the_way),
		test(a_folder_that_goes),
		test(a_folder_replaced_by_a_file),
		test(a_full_disk),
		test(a_folder_without_permission),
		test(a_folder_that_cannot_be_written),
		test(an_encoder_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
