/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "config/option_impl.h"

#define FILE_MAX ((size_t)1 << 20)

struct line {
	char *key;
	char *value; /* NULL: the key stands alone */
};

struct file {
	struct gpc_options *o;
	const char *path;
	enum gpc_origin origin;
	bool lenient;
};

static char *trim(char *text)
{
	size_t n = strlen(text);

	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static bool is_nothing(const char *text)
{
	return !*text || *text == '#' || *text == ';' || *text == '[' ||
	       strncmp(text, "---", 3) == 0;
}

/* "value  # remark": cut where a blank stands before the mark. */
static void cut_remark(char *value)
{
	for (char *at = value; *at; at++)
		if ((*at == '#' || *at == ';') && (at == value || isspace((unsigned char)at[-1])))
			*at = '\0';
}

/* Quotes keep blanks and marks; without a partner they are plain text. */
static char *unquote(char *value)
{
	char quote = *value, *end;

	if (quote == '"' || quote == '\'') {
		end = strchr(value + 1, quote);
		if (end && is_nothing(trim(end + 1))) {
			*end = '\0';
			return value + 1;
		}
	}
	cut_remark(value);
	return trim(value);
}

static bool is_key(const char *key)
{
	for (const char *at = key; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
			return false;
	return *key && *key != '-';
}

/* "key = value", "key: value", "key value" or "key". */
static bool parse_line(char *text, struct line *ret)
{
	char *at;

	ret->key = strncmp(text, "--", 2) == 0 ? text + 2 : text;
	ret->value = NULL;
	at = ret->key + strcspn(ret->key, "=: \t\v\f\r");
	if (*at) {
		char *value = trim(at);
		bool is_given = *value == '=' || *value == ':';

		value = unquote(is_given ? trim(value + 1) : value);
		*at = '\0';
		ret->value = is_given || *value ? value : NULL;
	}
	return is_key(ret->key);
}

static gpc_status give(struct file *f, const struct line *line, char *place, struct gpc_err *err)
{
	const struct option_row *row = gpc_option_find(f->o, line->key, strlen(line->key));
	const struct option_given g = {.name = line->key,
				       .value = line->value,
				       .place = place,
				       .origin = f->origin};

	if (!f->lenient && (!row || !row->env))
		return gpc_option_unknown(f->o, line->key, strlen(line->key), place, err);
	if (row && !row->env)
		return GPC_OK;
	return gpc_option_give(f->o, row, &g, !f->lenient, err);
}

static gpc_status one_line(struct file *f, char *text, unsigned int number, struct gpc_err *err)
{
	autofree char *place = NULL;
	struct line line;

	text = trim(text);
	if (is_nothing(text))
		return GPC_OK;
	if (asprintf(&place, "%s:%u", f->path, number) < 0) {
		place = NULL;
		return gpc_err_nomem(err);
	}
	/* The text is not repeated: it may hold a secret. */
	if (!parse_line(text, &line))
		return gpc_err_set(err, GPC_E_CONFIG, "%s: not of the form 'option = value'",
				   place);
	return give(f, &line, place, err);
}

gpc_status gpc_options_file_text(struct gpc_options *o, const char *text, size_t n,
				 const char *path, enum gpc_origin origin, bool lenient,
				 struct gpc_err *err)
{
	struct file f = {.o = o, .path = path, .origin = origin, .lenient = lenient};
	autofree char *copy = NULL;
	unsigned int number = 0;
	char *at, *next;

	if (n && memchr(text, '\0', n))
		return gpc_err_set(err, GPC_E_CONFIG, "%s: it holds NUL bytes", path);
	copy = strndup(text, n);
	if (!copy)
		return gpc_err_nomem(err);
	at = strncmp(copy, "\xef\xbb\xbf", 3) == 0 ? copy + 3 : copy;
	for (; at; at = next) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		gpc_try(one_line(&f, at, ++number, err));
	}
	return GPC_OK;
}

gpc_status gpc_options_file(struct gpc_options *o, const char *path, enum gpc_origin origin,
			    bool missing_ok, bool lenient, struct gpc_err *err)
{
	autofree char *text = NULL;
	struct gpc_err why = {0};
	size_t n = 0;
	gpc_status st = gpc_read_file(AT_FDCWD, path, FILE_MAX, &text, &n, &why);

	if (st == GPC_E_GONE && missing_ok)
		return GPC_OK;
	if (st < 0)
		return gpc_err_set(err, GPC_E_CONFIG, "configuration file: %s", why.text);
	return gpc_options_file_text(o, text, n, path, origin, lenient, err);
}
