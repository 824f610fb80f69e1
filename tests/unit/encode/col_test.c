/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "encode/encode.h"
#include "encode/text.h"

struct sink {
	char text[200000];
	size_t n;
	gpc_status fail;
};

static gpc_status keep(void *ctx, const void *bytes, uint64_t n)
{
	struct sink *sink = ctx;

	if (sink->fail < 0)
		return sink->fail;
	assert_true(sink->n + n < sizeof sink->text);
	memcpy(sink->text + sink->n, bytes, n);
	sink->n += n;
	sink->text[sink->n] = '\0';
	return GPC_OK;
}

struct fixture {
	struct gpc_names *names;
	struct gpc_profile *p;
	struct gpc_stacks *stacks;
	struct sink sink;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	f->names = gpc_names_new(1);
	gpc_profile_new(f->names, &(struct gpc_profile_span){0}, &f->p, NULL);
	gpc_stacks_new(0, &f->stacks, NULL);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	gpc_stacks_free(f->stacks);
	gpc_profile_put(f->p);
	gpc_names_put(f->names);
	free(f);
	return 0;
}

static gpc_frame frame(struct fixture *f, const char *function, const char *suffix)
{
	struct gpc_frame_entry e = {
		.function = gpc_names_str(f->names, function, strlen(function)),
		.suffix = gpc_names_str(f->names, suffix, strlen(suffix)),
		.file = gpc_names_str(f->names, "file.c", 6),
		.module = gpc_names_str(f->names, "/bin/x", 6),
	};

	return gpc_names_frame(f->names, &e);
}

static void process(struct fixture *f, uint64_t id, const char *comm, const char *container,
		    const char *appid)
{
	struct gpc_profile_process proc = {.id = id,
					   .pid = 1,
					   .comm = comm,
					   .container = container,
					   .appid = appid,
					   .metadata = (uint32_t)id};

	assert_int_equal(gpc_profile_add_process(f->p, &proc, NULL), GPC_OK);
}

static const char *encode(struct fixture *f)
{
	struct gpc_stacks *s = f->stacks;

	f->stacks = NULL;
	if (s)
		assert_int_equal(gpc_profile_add_event(f->p, "cpu-time", "samples", s, NULL),
				 GPC_OK);
	f->sink.n = 0;
	assert_int_equal(gpc_encode(f->p, "col", keep, &f->sink), GPC_OK);
	return f->sink.text;
}

static void an_empty_profile(void **state)
{
	struct fixture *f = *state;

	gpc_profile_set_header(f->p, "{\"containers\": []}", NULL);
	assert_string_equal(encode(f), "# {\"containers\": []}\n");
}

static void lines(void **state)
{
	struct fixture *f = *state;
	gpc_frame java[] = {frame(f, "handle", "i"), frame(f, "run", "j")};
	gpc_frame idle[] = {frame(f, "do_idle", "k")};

	process(f, 1, "java", "shop_web_1", "java: shop.jar");
	process(f, 0, "swapper", "", "");
	gpc_stacks_add(f->stacks, 1, java, 2, 42);
	gpc_stacks_add(f->stacks, 0, idle, 1, 631);
	gpc_stacks_add(f->stacks, 0, NULL, 0, 2);
	assert_string_equal(encode(f),
			    "# {}\n"
			    "1;shop_web_1;java;appid: java: shop.jar;run_[j];handle_[i] 42\n"
			    "0;;swapper;do_idle_[k] 631\n"
			    "0;;swapper;[stacks over the memory limit] 2");
	gpc_profile_set_prefix(f->p, false, true);
	assert_non_null(strstr(encode(f), "\nshop_web_1;java;appid: java: shop.jar;run_[j]"));
	assert_non_null(strstr(encode(f), "\n;swapper;do_idle_[k] 631"));
	gpc_profile_set_prefix(f->p, false, false);
	assert_non_null(strstr(encode(f), "\njava;appid: java: shop.jar;run_[j]"));
	assert_non_null(strstr(encode(f), "\nswapper;do_idle_[k] 631"));
}

static void odd_names(void **state)
{
	struct fixture *f = *state;
	gpc_frame frames[] = {frame(f, "", ""),
			      frame(f, " \t ", "p"),
			      frame(f, "f(Ljava/lang/String;)V", "j"),
			      frame(f, "  two  words\n", ""),
			      frame(f,
				    "a\xC2\x85"
				    "b\xE2\x80\xA8"
				    "c",
				    ""),
			      frame(f, "bad\xFF\xC3", ""),
			      frame(f, "gr\xC3\xBC\xC3\x9F", ""),
			      0x401000};

	process(f, 3, "my;comm\n", " a b ", "x;y");
	gpc_stacks_add(f->stacks, 3, frames, 8, 1);
	assert_string_equal(encode(f), "# {}\n"
				       "3;a b;my|comm;appid: x|y;[unknown];gr\xC3\xBC\xC3\x9F;"
				       "bad\xEF\xBF\xBD\xEF\xBF\xBD;a b c;two  words;"
				       "f(Ljava/lang/String|)V_[j];[unknown]_[p];[unknown] 1");
}

static void no_line_looks_like_a_comment(void **state)
{
	struct fixture *f = *state;
	gpc_frame a = frame(f, "a", "");

	process(f, 1, " #1", "", "");
	process(f, 2, "", "#2", "");
	gpc_stacks_add(f->stacks, 1, &a, 1, 1);
	gpc_stacks_add(f->stacks, 2, &a, 1, 1);
	assert_string_equal(encode(f), "# {}\n1;;#1;a 1\n2;#2;[unknown];a 1");
	gpc_profile_set_prefix(f->p, false, true);
	assert_string_equal(encode(f), "# {}\n;#1;a 1\n #2;[unknown];a 1");
	gpc_profile_set_prefix(f->p, false, false);
	assert_string_equal(encode(f), "# {}\n #1;a 1\n[unknown];a 1");
}

static void only_the_first_event_is_shown(void **state)
{
	struct fixture *f = *state;
	gpc_frame a = frame(f, "a", "");
	struct gpc_stacks *alloc = NULL;

	process(f, 1, "c", "", "");
	gpc_stacks_add(f->stacks, 1, &a, 1, 1);
	encode(f);
	gpc_stacks_new(0, &alloc, NULL);
	gpc_stacks_add(alloc, 1, &a, 1, 9999);
	gpc_profile_add_event(f->p, "alloc", "bytes", alloc, NULL);
	assert_string_equal(encode(f), "# {}\n1;;c;a 1");
}

static void a_failing_sink_ends_it(void **state)
{
	struct fixture *f = *state;

	encode(f);
	f->sink.fail = GPC_E_SYSTEM;
	assert_int_equal(gpc_encode(f->p, "col", keep, &f->sink), GPC_E_SYSTEM);
	assert_int_equal(gpc_encode(f->p, "svg", keep, &f->sink), GPC_E_CONFIG);
}

#define row_of(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row_of(an_empty_profile),
		row_of(lines),
		row_of(odd_names),
		row_of(no_line_looks_like_a_comment),
		row_of(only_the_first_event_is_shown),
		row_of(a_failing_sink_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
