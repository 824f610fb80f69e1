/* SPDX-License-Identifier: Apache-2.0 */
/* The input is read as a config file and as a command line (an argument a
 * line), over one small table with every type of option. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/option.h"

#define ARGS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct values {
	int32_t on, off, choice, word;
	int64_t n, bytes, wait;
	const char *text, *secret;
	struct gpc_list list, regexes, pids, some;
};

#define ROW(opt_type, opt_name, member)                                                         \
	.struct_size = sizeof(struct gpc_option), .type = GPC_OPT_##opt_type, .name = opt_name, \
	.offset = offsetof(struct values, member)

static const struct gpc_option rows[] = {
	{ROW(BOOL, "on", on), .short_name = 'o', .flags = GPC_OPT_SWITCH},
	{ROW(BOOL, "no-off", off), .implied = "false", .fallback = "true", .flags = GPC_OPT_SWITCH},
	{ROW(BOOL, "word", word)},
	{ROW(CHOICE, "mode", choice), .choices = "a|bb|disabled", .short_name = 'm'},
	{ROW(CHOICE, "no-mode", choice), .implied = "disabled", .flags = GPC_OPT_SWITCH},
	{ROW(INT, "number", n), .short_name = 'n', .min = 1, .max = 1000},
	{ROW(BYTES, "bytes", bytes), .aliases = "size|octets", .max = INT64_MAX},
	{ROW(DURATION, "wait", wait)},
	{ROW(STRING, "text", text), .short_name = 't'},
	{ROW(STRING, "secret", secret), .flags = GPC_OPT_SECRET, .choices = "x|y"},
	{ROW(LIST, "list", list), .short_name = 'l', .fallback = "a,b"},
	{ROW(LIST, "regex", regexes), .flags = GPC_OPT_REGEX},
	{ROW(LIST, "pids", pids), .min = 1, .max = 99},
	{ROW(LIST, "some", some), .implied = "all", .choices = "all|one",
	 .flags = GPC_OPT_OPTIONAL | GPC_OPT_DEPRECATED},
	{0},
};

static void ignore(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
}

/* Everything that reads what was parsed; all of it must hold after errors too. */
static void use(struct gpc_options *o, const struct values *v)
{
	struct gpc_err err;

	gpc_options_deprecated(o, ignore, NULL);
	gpc_options_check_known(o, &err);
	if (gpc_options_apply(o, &err) < 0)
		return;
	if (v->n && (v->n < 1 || v->n > 1000))
		abort();
	if (v->bytes < 0 || v->choice < 0 || v->choice > 2 || v->on < 0 || v->on > 1)
		abort();
	for (uint32_t i = 0; i < v->pids.n; i++)
		if (atoi(v->pids.at[i]) < 1 || atoi(v->pids.at[i]) > 99)
			abort();
	json_decref(gpc_options_json(o));
}

static int split(char *text, char **argv)
{
	int argc = 0;

	for (char *next; text && argc < ARGS_MAX; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		argv[argc++] = text;
	}
	return argc;
}

static void one_pass(const char *text, size_t n, bool lenient)
{
	char *argv[ARGS_MAX], *copy = strndup(text, n);
	const char *at[2];
	struct gpc_rest rest = {at, 2, 0};
	struct values v = {0};
	struct gpc_options *o;
	struct gpc_err err;

	if (!copy || gpc_options_new(&o, &err) < 0 ||
	    gpc_options_add(o, "", "fuzz", rows, &v, &err) < 0)
		abort();
	gpc_options_file_text(o, text, n, "fuzz.ini", GPC_FROM_FILE, lenient, &err);
	use(o, &v);
	gpc_options_args(o, split(copy, argv), argv, lenient, &rest, &err);
	use(o, &v);
	gpc_options_reset(o);
	use(o, &v);
	gpc_options_free(o);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	one_pass((const char *)data, size, false);
	one_pass((const char *)data, size, true);
	return 0;
}
