/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "config/option_impl.h"

struct args {
	struct gpc_options *o;
	char *const *argv;
	int argc, i; /* i: the next argument */
	bool lenient;
	bool after_secret;     /* a stray argument may be the rest of one */
	struct gpc_rest *rest; /* NULL: none are allowed */
};

static bool is_negative_number(const char *arg)
{
	return arg[0] == '-' && isdigit((unsigned char)arg[1]);
}

/* Can't be the value of the option before it. An argument with a blank is text
 * that happens to begin with a dash. */
static bool is_option_like(const char *arg)
{
	if (arg[0] != '-' || !arg[1] || is_negative_number(arg))
		return false;
	return !memchr(arg, ' ', strcspn(arg, "="));
}

static const char *next_value(struct args *a)
{
	if (a->i >= a->argc || is_option_like(a->argv[a->i]))
		return NULL;
	return a->argv[a->i++];
}

/* attached: what followed "=" or a short name; NULL: nothing did. */
static gpc_status give(struct args *a, const struct option_row *row, const char *attached,
		       struct gpc_err *err)
{
	bool is_switch = row->opt.flags & GPC_OPT_SWITCH;
	const char *value = attached;
	struct option_given g = {.name = row->name, .origin = GPC_FROM_ARGS};

	a->after_secret = row->opt.flags & GPC_OPT_SECRET;
	if (is_switch && attached)
		return gpc_err_set(err, GPC_E_CONFIG, "--%s (command line): it takes no value",
				   row->name);
	if (!is_switch && !attached)
		value = next_value(a);
	if (!value && !(row->opt.flags & (GPC_OPT_SWITCH | GPC_OPT_OPTIONAL)))
		return gpc_err_set(err, GPC_E_CONFIG, "--%s (command line): a value is needed",
				   row->name);
	g.value = (char *)value;
	return gpc_option_give(a->o, row, &g, !a->lenient, err);
}

static gpc_status long_option(struct args *a, const char *text, struct gpc_err *err)
{
	size_t len = strcspn(text, "=");
	const struct option_row *row;

	a->after_secret = false;
	gpc_try(gpc_option_find_prefix(a->o, text, len, &row, err));
	if (row)
		return give(a, row, text[len] ? text + len + 1 : NULL, err);
	return a->lenient ? GPC_OK : gpc_option_unknown(a->o, text, len, "command line", err);
}

/* "-cu", "-f11", "-cf=11": the first that takes a value takes the rest. */
static gpc_status short_options(struct args *a, const char *text, struct gpc_err *err)
{
	a->after_secret = false;
	for (; *text; text++) {
		const struct option_row *row = gpc_option_find_short(a->o, *text);
		const char *attached = text[1] ? text + 1 : NULL;

		if (!row && a->lenient)
			return GPC_OK; /* what follows may be its value */
		if (!row)
			return gpc_err_set(err, GPC_E_CONFIG, "command line: unknown option -%c",
					   isprint((unsigned char)*text) ? *text : '?');
		if (!(row->opt.flags & GPC_OPT_SWITCH))
			return give(a, row, attached && *attached == '=' ? attached + 1 : attached,
				    err);
		gpc_try(give(a, row, NULL, err));
	}
	return GPC_OK;
}

static gpc_status positional(struct args *a, const char *text, struct gpc_err *err)
{
	const struct gpc_option secret = {.flags = GPC_OPT_SECRET};
	char shown[80];

	if (a->rest && a->rest->n < a->rest->room) {
		a->rest->at[a->rest->n++] = text;
		return GPC_OK;
	}
	if (a->lenient)
		return GPC_OK;
	return gpc_err_set(err, GPC_E_CONFIG, "command line: unexpected argument: %s",
			   gpc_option_show(a->after_secret ? &secret : NULL, text, shown,
					   sizeof shown));
}

static gpc_status one(struct args *a, const char *arg, bool *only_rest, struct gpc_err *err)
{
	if (*only_rest || arg[0] != '-' || !arg[1])
		return positional(a, arg, err);
	if (strcmp(arg, "--") == 0) {
		*only_rest = true;
		return GPC_OK;
	}
	return arg[1] == '-' ? long_option(a, arg + 2, err) : short_options(a, arg + 1, err);
}

gpc_status gpc_options_args(struct gpc_options *o, int argc, char *const *argv, bool lenient,
			    struct gpc_rest *rest, struct gpc_err *err)
{
	struct args a = {.o = o, .argv = argv, .argc = argc, .lenient = lenient, .rest = rest};
	bool only_rest = false;

	if (rest)
		rest->n = 0;
	while (a.i < argc) {
		const char *arg = argv[a.i++];

		gpc_try(one(&a, arg, &only_rest, err));
	}
	return GPC_OK;
}
