/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "config/option_impl.h"

#define SHOWN_MAX 60 /* bytes of a value that an error repeats */

struct words {
	char *at;
	size_t n, size;
};

/* snprintf at the end of a buffer; what does not fit is cut. */
static void words_add(struct words *w, const char *text)
{
	size_t n = strlen(text);

	if (n > w->size - w->n - 1)
		n = w->size - w->n - 1;
	memcpy(w->at + w->n, text, n);
	w->n += n;
	w->at[w->n] = '\0';
}

static bool has_bounds(const struct gpc_option *opt)
{
	return opt->min || opt->max;
}

static void add_bounds(const struct gpc_option *opt, struct words *w)
{
	char text[32];

	if (!has_bounds(opt))
		return;
	words_add(w, opt->max == INT64_MAX ? " of at least " : " from ");
	gpc_option_format(opt->type, opt->min, text, sizeof text);
	words_add(w, text);
	if (opt->max == INT64_MAX)
		return;
	words_add(w, " to ");
	gpc_option_format(opt->type, opt->max, text, sizeof text);
	words_add(w, text);
}

static void add_choices(const char *choices, struct words *w)
{
	char one[2] = {0};

	words_add(w, "one of ");
	for (; *choices; choices++) {
		one[0] = *choices;
		words_add(w, *choices == '|' ? ", " : one);
	}
}

static void describe(const struct gpc_option *opt, struct words *w)
{
	if (opt->choices)
		add_choices(opt->choices, w);
	else if (opt->type == GPC_OPT_BOOL)
		words_add(w, "true, yes, 1, false, no or 0");
	else if (opt->type == GPC_OPT_BYTES)
		words_add(w, "a size such as 100, 64k or 2mb");
	else if (opt->type == GPC_OPT_DURATION)
		words_add(w, "seconds or a duration such as 10ms or 2m");
	else if (opt->type == GPC_OPT_INT || has_bounds(opt))
		words_add(w, "a whole number");
	else
		words_add(w, "a list such as a,b");
	if (opt->type != GPC_OPT_BOOL && !opt->choices)
		add_bounds(opt, w);
}

static gpc_status refuse(const struct gpc_option *opt, const char *text, struct gpc_err *err)
{
	char shown[SHOWN_MAX + 8], allowed[160] = "";
	struct words w = {allowed, 0, sizeof allowed};

	describe(opt, &w);
	return gpc_err_set(err, GPC_E_CONFIG, "%s is not allowed, it must be %s",
			   gpc_option_show(opt, text, shown, sizeof shown), allowed);
}

/* Index of a word in "a|b|c", or -1. */
static int choice_index(const char *choices, const char *text)
{
	size_t len = strlen(text);

	for (int i = 0; choices; i++) {
		size_t n = strcspn(choices, "|");

		if (n == len && memcmp(choices, text, n) == 0)
			return i;
		choices = choices[n] ? choices + n + 1 : NULL;
	}
	return -1;
}

static bool parse_int(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno || end == text)
		return false;
	while (isspace((unsigned char)*end))
		end++;
	return !*end;
}

static bool parse_number(const struct gpc_option *opt, const char *text, int64_t *ret)
{
	switch (opt->type) {
	case GPC_OPT_BOOL:
		*ret = gpc_option_bool_word(text);
		return *ret >= 0;
	case GPC_OPT_CHOICE:
		*ret = choice_index(opt->choices, text);
		return *ret >= 0;
	case GPC_OPT_BYTES:
		return gpc_option_bytes(text, ret);
	case GPC_OPT_DURATION:
		return gpc_option_duration(text, ret);
	default:
		return parse_int(text, ret);
	}
}

static bool is_within(const struct gpc_option *opt, int64_t number)
{
	if (opt->type == GPC_OPT_BOOL || opt->type == GPC_OPT_CHOICE || !has_bounds(opt))
		return true;
	return number >= opt->min && number <= opt->max;
}

static void trim(const char **at, size_t *n)
{
	while (*n && isspace((unsigned char)**at)) {
		(*at)++;
		(*n)--;
	}
	while (*n && isspace((unsigned char)(*at)[*n - 1]))
		(*n)--;
}

static void strip_pair(const char **at, size_t *n, char first, char last)
{
	if (*n < 2 || **at != first || (*at)[*n - 1] != last)
		return;
	(*at)++;
	*n -= 2;
}

static void strip_quotes(const char **at, size_t *n)
{
	size_t before = *n;

	strip_pair(at, n, '"', '"');
	if (*n == before)
		strip_pair(at, n, '\'', '\'');
}

/* A list with bounds is one of whole numbers (process ids). */
static bool is_element_good(const struct gpc_option *opt, const char *text)
{
	int64_t number;

	if (!*text)
		return false;
	if (opt->choices)
		return choice_index(opt->choices, text) >= 0;
	return !has_bounds(opt) || (parse_int(text, &number) && is_within(opt, number));
}

static gpc_status add_element(const struct gpc_option *opt, const char *at, size_t n,
			      struct option_texts *ret, struct gpc_err *err)
{
	autofree char *text = NULL;

	text = strndup(at, n);
	if (!text)
		return gpc_err_nomem(err);
	if (!is_element_good(opt, text))
		return refuse(opt, text, err);
	if (!vec_push(ret, text))
		return gpc_err_nomem(err);
	text = NULL;
	return GPC_OK;
}

static gpc_status split(const struct gpc_option *opt, const char *at, size_t n,
			struct option_texts *ret, struct gpc_err *err)
{
	const char *end = at + n;

	while (at <= end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *item = at;
		size_t len = (size_t)((comma ? comma : end) - at);

		trim(&item, &len);
		strip_quotes(&item, &len);
		gpc_try(add_element(opt, item, len, ret, err));
		at += (size_t)((comma ? comma : end) - at) + 1;
	}
	return GPC_OK;
}

int gpc_option_bool_word(const char *text)
{
	static const char *const words[] = {"false", "no", "0", "true", "yes", "1"};

	for (int i = 0; i < 6; i++)
		if (strcasecmp(text, words[i]) == 0)
			return i / 3;
	return -1;
}

const char *gpc_option_show(const struct gpc_option *opt, const char *text, char *buf, size_t size)
{
	bool cut = strlen(text) > SHOWN_MAX;
	size_t n = 0;

	if (opt && opt->flags & GPC_OPT_SECRET)
		return "the value (not shown)";
	snprintf(buf, size, "'%.*s%s'", SHOWN_MAX, text, cut ? "..." : "");
	for (; buf[n]; n++)
		if (iscntrl((unsigned char)buf[n]))
			buf[n] = '?';
	return buf;
}

gpc_status gpc_option_number(const struct gpc_option *opt, const char *text, int64_t *ret,
			     struct gpc_err *err)
{
	int64_t number = 0;

	if (!parse_number(opt, text, &number) || !is_within(opt, number))
		return refuse(opt, text, err);
	*ret = number;
	return GPC_OK;
}

gpc_status gpc_option_items(const struct gpc_option *opt, const char *text, bool listed,
			    struct option_texts *ret, struct gpc_err *err)
{
	bool is_whole = opt->flags & GPC_OPT_REGEX;
	const char *at = text;
	size_t n = strlen(text), before;

	if (!is_whole || listed)
		trim(&at, &n);
	before = n;
	if (!is_whole || listed)
		strip_pair(&at, &n, '[', ']');
	if (is_whole && n == before)
		return n ? add_element(opt, at, n, ret, err) : GPC_OK;
	/* Some deployments quote twice: what arrives then is two quote characters. */
	if (n == 2)
		strip_quotes(&at, &n);
	trim(&at, &n);
	return n ? split(opt, at, n, ret, err) : GPC_OK;
}

void gpc_option_texts_deinit(struct option_texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i]);
	vec_deinit(t);
}

gpc_status gpc_option_check(const struct gpc_option *opt, const char *text, bool listed,
			    struct gpc_err *err)
{
	autocall(gpc_option_texts_deinit) struct option_texts items = {0};
	int64_t number;

	if (opt->type == GPC_OPT_LIST)
		return gpc_option_items(opt, text, listed, &items, err);
	if (opt->type != GPC_OPT_STRING)
		return gpc_option_number(opt, text, &number, err);
	if (opt->choices && choice_index(opt->choices, text) < 0)
		return refuse(opt, text, err);
	return GPC_OK;
}
