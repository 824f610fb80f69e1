/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config/option_impl.h"

#define NAME_MAX_SHOWN 64

static bool has_prefix(const struct option_row *row, const char *name, size_t len, const char **ret,
		       size_t *ret_len)
{
	size_t n;

	for (size_t i = 0; (*ret = gpc_option_name_at(row, i, &n)); i++) {
		*ret_len = n;
		if (n >= len && memcmp(*ret, name, len) == 0)
			return true;
	}
	return false;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Edits that turn one name into the other. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[NAME_MAX_SHOWN + 1];

	if (n > NAME_MAX_SHOWN || m > NAME_MAX_SHOWN)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[m];
}

/* How far name is from being known: a name that ends in it ("duration") is
 * near, whatever stands before. */
static size_t farness(const char *known, size_t n, const char *name, size_t len)
{
	if (n > len + 1 && known[n - len - 1] == '-' && memcmp(known + n - len, name, len) == 0)
		return 1;
	return distance(known, n, name, len);
}

static const char *nearest(const struct gpc_options *o, const char *name, size_t len,
			   size_t *ret_len)
{
	size_t best = len / 3 + 1;
	const char *ret = NULL;

	for (size_t r = 0; len && r < o->rows.n; r++) {
		const struct option_row *row = &o->rows.at[r];
		const char *known;
		size_t n;

		if (row->opt.flags & GPC_OPT_HIDDEN)
			continue;
		for (size_t i = 0; (known = gpc_option_name_at(row, i, &n)); i++) {
			size_t far = farness(known, n, name, len);

			if (far >= best)
				continue;
			best = far;
			ret = known;
			*ret_len = n;
		}
	}
	return ret;
}

/* Only what can be a name is repeated: the rest may be a secret ("--token:x"). */
static size_t name_len(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && n < NAME_MAX_SHOWN &&
	       (isalnum((unsigned char)name[n]) || name[n] == '-' || name[n] == '_'))
		n++;
	return n;
}

const char *gpc_option_name_at(const struct option_row *row, size_t i, size_t *len)
{
	const char *at = row->opt.aliases;

	if (i == 0) {
		*len = strlen(row->name);
		return row->name;
	}
	while (at && --i) {
		at = strchr(at, '|');
		at = at ? at + 1 : NULL;
	}
	if (at)
		*len = strcspn(at, "|");
	return at;
}

bool gpc_option_is_named(const struct option_row *row, const char *name, size_t len)
{
	const char *known;
	size_t n;

	for (size_t i = 0; (known = gpc_option_name_at(row, i, &n)); i++)
		if (n == len && memcmp(known, name, len) == 0)
			return true;
	return false;
}

const struct option_row *gpc_option_find(const struct gpc_options *o, const char *name, size_t len)
{
	for (size_t r = 0; r < o->rows.n; r++)
		if (gpc_option_is_named(&o->rows.at[r], name, len))
			return &o->rows.at[r];
	return NULL;
}

const struct option_row *gpc_option_find_short(const struct gpc_options *o, char name)
{
	for (size_t r = 0; name && r < o->rows.n; r++)
		if (o->rows.at[r].opt.short_name == name)
			return &o->rows.at[r];
	return NULL;
}

gpc_status gpc_option_find_prefix(const struct gpc_options *o, const char *name, size_t len,
				  const struct option_row **ret, struct gpc_err *err)
{
	const struct option_row *found = gpc_option_find(o, name, len);
	const char *one = NULL, *other;
	size_t n = 0, m;

	*ret = found;
	if (found || !len)
		return GPC_OK;
	for (size_t r = 0; r < o->rows.n; r++) {
		const struct option_row *row = &o->rows.at[r];

		if (row->opt.flags & GPC_OPT_HIDDEN || !has_prefix(row, name, len, &other, &m))
			continue;
		if (found)
			return gpc_err_set(err, GPC_E_CONFIG,
					   "--%.*s is ambiguous: it could be --%.*s or --%.*s",
					   (int)len, name, (int)n, one, (int)m, other);
		found = row;
		one = other;
		n = m;
	}
	*ret = found;
	return GPC_OK;
}

gpc_status gpc_option_unknown(const struct gpc_options *o, const char *name, size_t len,
			      const char *place, struct gpc_err *err)
{
	size_t shown = name_len(name, len), n = 0;
	const char *near = nearest(o, name, shown, &n);
	const char *at = place ? place : "";

	if (!near)
		return gpc_err_set(err, GPC_E_CONFIG, "%s%sunknown option --%.*s", at,
				   place ? ": " : "", (int)shown, name);
	return gpc_err_set(err, GPC_E_CONFIG, "%s%sunknown option --%.*s (did you mean --%.*s?)",
			   at, place ? ": " : "", (int)shown, name, (int)n, near);
}
