/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "encode/encode.h"

struct fixture {
	struct gpc_names *names;
	struct gpc_profile *p;
	struct gpc_stacks *stacks;
	char *page;
	size_t n;
	json_t *data, *other;
};

static gpc_status keep(void *ctx, const void *bytes, uint64_t n)
{
	struct fixture *f = ctx;

	f->page = realloc(f->page, f->n + n + 1);
	memcpy(f->page + f->n, bytes, n);
	f->n += n;
	f->page[f->n] = '\0';
	return GPC_OK;
}

static gpc_status refuse(void *ctx, const void *bytes, uint64_t n)
{
	(void)ctx;
	(void)bytes;
	(void)n;
	return GPC_E_SYSTEM;
}

static int set_up(void **state)
{
	struct gpc_profile_span span = {0, INT64_C(1770091506000000000),
					INT64_C(1770091566000000000), 1};
	struct fixture *f = calloc(1, sizeof *f);

	f->names = gpc_names_new(1);
	gpc_profile_new(f->names, &span, &f->p, NULL);
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
	json_decref(f->data);
	json_decref(f->other);
	free(f->page);
	free(f);
	return 0;
}

static gpc_frame frame(struct fixture *f, const char *function, const char *suffix, uint32_t line)
{
	struct gpc_frame_entry e = {
		.function = gpc_names_str(f->names, function, strlen(function)),
		.suffix = gpc_names_str(f->names, suffix, strlen(suffix)),
		.line = line,
	};

	return gpc_names_frame(f->names, &e);
}

static void process(struct fixture *f, uint64_t id, const char *comm, const char *container,
		    const char *appid)
{
	struct gpc_profile_process proc = {.id = id,
					   .pid = 10 + (int32_t)id,
					   .comm = comm,
					   .container = container,
					   .appid = appid};

	assert_int_equal(gpc_profile_add_process(f->p, &proc, NULL), GPC_OK);
}

static json_t *read_json(const struct fixture *f, const char *id)
{
	char mark[80];
	const char *begin, *end;
	json_t *json;

	snprintf(mark, sizeof mark, "<script id=\"%s\" type=\"application/json\">", id);
	begin = strstr(f->page, mark);
	assert_non_null(begin);
	begin += strlen(mark);
	end = strstr(begin, "</script>");
	json = json_loadb(begin, (size_t)(end - begin), JSON_DECODE_ANY, NULL);
	assert_non_null(json);
	return json;
}

/* Writes the page and reads its data back. */
static void encode(struct fixture *f)
{
	struct gpc_stacks *s = f->stacks;

	f->stacks = NULL;
	assert_int_equal(gpc_profile_add_event(f->p, "cpu-time", "samples", s, NULL), GPC_OK);
	assert_int_equal(gpc_encode(f->p, "html", keep, f), GPC_OK);
	f->data = read_json(f, "data");
	f->other = read_json(f, "other");
}

static json_int_t number(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

static const char *text_at(const json_t *array, size_t i)
{
	return json_string_value(json_array_get(array, i));
}

/* "pid/comm/container/appid" of the process that row n belongs to. */
static char *put_process(const json_t *data, size_t n, char *to)
{
	const json_t *processes = json_object_get(data, "processes"), *one = NULL;
	size_t i = 0, end = 0;

	while (end <= n) {
		one = json_array_get(processes, i++);
		assert_non_null(one);
		end += (size_t)number(one, 0);
	}
	to += sprintf(to, "%lld/%s/%s", (long long)number(one, 1), text_at(one, 2),
		      text_at(one, 3));
	if (json_array_size(one) > 4)
		to += sprintf(to, "/%s", text_at(one, 4));
	return to;
}

/* The stacks as text, one a line. */
static void unfold(const json_t *data, char *to)
{
	const json_t *rows = json_object_get(data, "rows"), *names = json_object_get(data, "names");
	json_int_t path[64];
	size_t row = 0;

	for (size_t i = 0; i < json_array_size(rows);) {
		size_t n = (size_t)number(rows, i++), more = (size_t)number(rows, i++);

		to = put_process(data, row++, to);
		for (; more; more--)
			path[n++] = number(rows, i++);
		for (size_t k = 0; k < n; k++)
			to += sprintf(to, ";%s", text_at(names, (size_t)path[k]));
		to += sprintf(to, " %lld\n", (long long)number(rows, i++));
	}
}

static void an_empty_profile(void **state)
{
	struct fixture *f = *state;

	encode(f);
	assert_int_equal(json_array_size(json_object_get(f->data, "rows")), 0);
	assert_int_equal(number(json_object_get(f->data, "names"), 0), 0);
	assert_string_equal(json_string_value(json_object_get(f->data, "host")), "");
	assert_non_null(strstr(f->page, "<title>profile, 2026-02-03T04:05:06</title>"));
}

static void stacks_come_back(void **state)
{
	struct fixture *f = *state;
	gpc_frame main_ = frame(f, "main", "", 0), a = frame(f, "a", "p", 1),
		  a2 = frame(f, "a", "p", 2), k = frame(f, "a", "k", 0);
	char text[1024] = "";

	process(f, 1, "svc", "", "");
	process(f, 2, "java", "shop", "java: x.jar");
	gpc_stacks_add(f->stacks, 1, (gpc_frame[]){a, main_}, 2, 5);
	gpc_stacks_add(f->stacks, 1, (gpc_frame[]){a2, main_}, 2, 6);
	gpc_stacks_add(f->stacks, 1, (gpc_frame[]){k, a, main_}, 3, 7);
	gpc_stacks_add(f->stacks, 1, (gpc_frame[]){main_}, 1, 8);
	gpc_stacks_add(f->stacks, 2, (gpc_frame[]){main_}, 1, 9);
	gpc_stacks_add(f->stacks, 2, NULL, 0, 10);
	encode(f);
	unfold(f->data, text);
	assert_string_equal(text, "11/svc/;main;a_[p] 5\n"
				  "11/svc/;main;a_[p] 6\n"
				  "11/svc/;main;a_[p];a_[k] 7\n"
				  "11/svc/;main 8\n"
				  "12/java/shop/appid: java: x.jar;main 9\n"
				  "12/java/shop/appid: java: x.jar;" GPC_OVERFLOW_TEXT " 10\n");
	/* What a row shares with the one before of its process is not written twice. */
	assert_int_equal(json_array_size(json_object_get(f->data, "rows")), 6 * 3 + 5);
	/* Lines of one function are one name. */
	assert_int_equal(json_array_size(json_object_get(f->data, "names")), 4);
	assert_int_equal(json_array_size(json_object_get(f->data, "processes")), 2);
	assert_true(json_is_null(f->other));
	assert_int_equal(json_integer_value(json_object_get(f->data, "samples")), 45);
}

static void odd_names_do_no_harm(void **state)
{
	struct fixture *f = *state;
	gpc_frame frames[] = {frame(f, "f(Ljava/lang/String|)V", "j", 0),
			      frame(f, "operator|(A, B)", "", 0), frame(f, "", "", 0), 0x401000,
			      frame(f, "</script><!--\xE2\x80\xA8\xFF", "x\"", 0)};
	char text[1024] = "";

	process(f, 1, "</script><b>", "<i>", "");
	gpc_stacks_add(f->stacks, 1, frames, 5, 1);
	gpc_profile_set_header(f->p, "{\"metadata\": {\"hostname\": \"</title>&\"}}", NULL);
	encode(f);
	unfold(f->data, text);
	assert_string_equal(
		text, "11/</script><b>/<i>;</script><!--\xE2\x80\xA8\xEF\xBF\xBD_[x\"];[unknown];"
		      "[unknown];operator|(A, B);f(Ljava/lang/String;)V_[j] 1\n");
	assert_non_null(strstr(f->page, "<title>&lt;/title>&amp;, 2026"));
	assert_string_equal(json_string_value(json_object_get(f->data, "host")), "</title>&");
	assert_null(strstr(f->page, "<!--"));
}

static void nothing_comes_from_the_network(void **state)
{
	struct fixture *f = *state;

	encode(f);
	assert_null(strstr(f->page, "http:"));
	assert_null(strstr(f->page, "https:"));
	assert_null(strstr(f->page, "src="));
	assert_null(strstr(f->page, "{{"));
	assert_non_null(strstr(f->page, "default-src 'none'"));
}

static void two_profiles_stand_in_one_page(void **state)
{
	struct fixture *f = *state, *g;
	char text[256];

	set_up((void **)&g);
	process(f, 1, "svc", "", "");
	process(g, 7, "svc", "", "");
	gpc_stacks_add(f->stacks, 1, (gpc_frame[]){frame(f, "old", "", 0)}, 1, 5);
	gpc_stacks_add(g->stacks, 7, (gpc_frame[]){frame(g, "new", "", 0)}, 1, 6);
	encode(g);
	encode(f);
	f->n = 0;
	json_decref(f->data);
	json_decref(f->other);
	gpc_profile_set_header(g->p, "{\"metadata\": {\"hostname\": \"<g>\"}}", NULL);
	assert_int_equal(gpc_profile_diff_html(f->p, g->p, keep, f), GPC_OK);
	f->data = read_json(f, "data");
	f->other = read_json(f, "other");
	unfold(f->data, text);
	assert_string_equal(text, "11/svc/;old 5\n");
	unfold(f->other, text);
	assert_string_equal(text, "17/svc/;new 6\n");
	assert_string_equal(json_string_value(json_object_get(f->other, "host")), "<g>");
	assert_non_null(strstr(f->page, "<title>profile, 2026-02-03T04:05:06 \xE2\x86\x92 "
					"&lt;g>, 2026-02-03T04:05:06</title>"));
	assert_int_equal(gpc_profile_diff_html(f->p, g->p, refuse, NULL), GPC_E_SYSTEM);
	tear_down((void **)&g);
}

static void a_bad_header_and_a_bad_sink(void **state)
{
	struct fixture *f = *state;

	gpc_profile_set_header(f->p, "{not json", NULL);
	encode(f);
	assert_string_equal(json_string_value(json_object_get(f->data, "host")), "");
	assert_int_equal(gpc_encode(f->p, "html", refuse, NULL), GPC_E_SYSTEM);
}

#define row_of(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row_of(an_empty_profile),
		row_of(stacks_come_back),
		row_of(odd_names_do_no_harm),
		row_of(nothing_comes_from_the_network),
		row_of(two_profiles_stand_in_one_page),
		row_of(a_bad_header_and_a_bad_sink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
