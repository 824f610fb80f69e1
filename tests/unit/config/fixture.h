/* SPDX-License-Identifier: Apache-2.0 */
/* A small table with every type of option, and the few lines each test of the
 * option parser starts with. */
#ifndef GPC_TEST_CONFIG_FIXTURE_H
#define GPC_TEST_CONFIG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/option.h"

struct sample {
	int32_t continuous, upload, verify, plain;
	int64_t hz, size, wait;
	const char *dir, *token, *extra;
	int32_t mode;
	struct gpc_list items, filters, pids, safemode;
};

#define SAMPLE(opt_type, opt_name, member)                                                      \
	.struct_size = sizeof(struct gpc_option), .type = GPC_OPT_##opt_type, .name = opt_name, \
	.offset = offsetof(struct sample, member)

static const struct gpc_option sample_rows[] = {
	{SAMPLE(BOOL, "continuous", continuous), .short_name = 'c', .flags = GPC_OPT_SWITCH},
	{SAMPLE(BOOL, "upload", upload), .short_name = 'u', .flags = GPC_OPT_SWITCH},
	{SAMPLE(BOOL, "no-verify", verify), .dest = "verify", .fallback = "true",
	 .implied = "false", .flags = GPC_OPT_SWITCH},
	{SAMPLE(BOOL, "plain", plain), .fallback = "no"},
	{SAMPLE(INT, "frequency", hz), .short_name = 'f', .fallback = "11", .min = 1, .max = 1000,
	 .help = "Samples a second", .metavar = "N"},
	{SAMPLE(BYTES, "size", size), .max = INT64_MAX, .aliases = "bytes|octets"},
	{SAMPLE(DURATION, "wait", wait), .max = INT64_MAX},
	{SAMPLE(STRING, "output-dir", dir), .short_name = 'o'},
	{SAMPLE(STRING, "token", token), .flags = GPC_OPT_SECRET, .choices = "good|better"},
	{SAMPLE(CHOICE, "mode", mode), .fallback = "fp", .choices = "fp|dwarf|disabled"},
	{SAMPLE(CHOICE, "no-mode", mode), .implied = "disabled", .flags = GPC_OPT_SWITCH},
	{SAMPLE(LIST, "items", items), .fallback = "x,y"},
	{SAMPLE(LIST, "filter", filters), .flags = GPC_OPT_REGEX},
	{SAMPLE(LIST, "pids", pids), .min = 1, .max = 4194304},
	{SAMPLE(LIST, "safemode", safemode), .fallback = "oom,hserr", .implied = "all",
	 .choices = "oom|hserr|all", .flags = GPC_OPT_OPTIONAL},
	{SAMPLE(STRING, "old", extra), .flags = GPC_OPT_DEPRECATED | GPC_OPT_HIDDEN,
	 .help = "use --new"},
	{0},
};

struct fixture {
	struct gpc_options *o;
	struct sample v;
	struct gpc_err err;
	const char *rest[4];
	int n_rest; /* of the last command line that was fine */
};

static inline int fixture_begin(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	assert_non_null(f);
	assert_int_equal(gpc_options_new(&f->o, &f->err), GPC_OK);
	if (gpc_options_add(f->o, "", "sample", sample_rows, &f->v, &f->err) < 0)
		fail_msg("%s", f->err.text);
	*state = f;
	return 0;
}

static inline int fixture_end(void **state)
{
	struct fixture *f = *state;

	gpc_options_free(f->o);
	free(f);
	return 0;
}

#define with_fixture(fn) cmocka_unit_test_setup_teardown(fn, fixture_begin, fixture_end)

/* Parses a NULL terminated command line. */
static inline gpc_status args_of(struct fixture *f, bool lenient, char *const *argv)
{
	struct gpc_rest rest = {f->rest, 4, 0};
	int argc = 0;

	while (argv[argc])
		argc++;
	gpc_try(gpc_options_args(f->o, argc, argv, lenient, &rest, &f->err));
	f->n_rest = rest.n;
	return GPC_OK;
}

#define ARGS(f, ...) args_of(f, false, (char *const[]){__VA_ARGS__, NULL})
#define ENV(f, ...)  gpc_options_env((f)->o, (char *const[]){__VA_ARGS__, NULL}, &(f)->err)
#define FILE_TEXT(f, text)                                                                  \
	gpc_options_file_text((f)->o, text, strlen(text), "some.ini", GPC_FROM_FILE, false, \
			      &(f)->err)

#define assert_ok(f, expr)                                               \
	do {                                                             \
		if ((expr) < 0)                                          \
			fail_msg("%s failed: %s", #expr, (f)->err.text); \
	} while (0)
/* expr is refused, and the error says all of the words. */
#define assert_refused(f, expr, ...)                                                              \
	do {                                                                                      \
		assert_int_equal(expr, GPC_E_CONFIG);                                             \
		for (const char *const *w_ = (const char *const[]){__VA_ARGS__, NULL}; *w_; w_++) \
			if (!strstr((f)->err.text, *w_))                                          \
				fail_msg("'%s' does not say '%s'", (f)->err.text, *w_);           \
	} while (0)
#define apply(f) assert_ok(f, gpc_options_apply((f)->o, &(f)->err))

/* The elements, separated by '|'. */
static inline const char *joined(const struct gpc_list *list)
{
	static char text[256];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < list->n && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "|" : "", list->at[i]);
	return text;
}

#endif
