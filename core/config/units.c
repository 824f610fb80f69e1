/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "config/option_impl.h"

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit byte_units[] = {
	{"", 1},
	{"b", 1},
	{"bytes", 1},
	{"k", INT64_C(1) << 10},
	{"kb", INT64_C(1) << 10},
	{"kib", INT64_C(1) << 10},
	{"m", INT64_C(1) << 20},
	{"mb", INT64_C(1) << 20},
	{"mib", INT64_C(1) << 20},
	{"g", INT64_C(1) << 30},
	{"gb", INT64_C(1) << 30},
	{"gib", INT64_C(1) << 30},
	{"t", INT64_C(1) << 40},
	{"tb", INT64_C(1) << 40},
	{"tib", INT64_C(1) << 40},
	{0},
};

static const struct unit time_units[] = {
	{"", (int64_t)GPC_SECOND_NS},
	{"ns", 1},
	{"us", 1000},
	{"ms", (int64_t)GPC_MS_NS},
	{"s", (int64_t)GPC_SECOND_NS},
	{"sec", (int64_t)GPC_SECOND_NS},
	{"m", 60 * (int64_t)GPC_SECOND_NS},
	{"min", 60 * (int64_t)GPC_SECOND_NS},
	{"h", 3600 * (int64_t)GPC_SECOND_NS},
	{"d", 86400 * (int64_t)GPC_SECOND_NS},
	{0},
};

static const char *skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* Compares up to the end of the text, trailing blanks aside. */
static int64_t factor_of(const struct unit *units, const char *text)
{
	size_t n = strlen(text);

	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	for (; units->name; units++)
		if (strlen(units->name) == n && strncasecmp(units->name, text, n) == 0)
			return units->factor;
	return 0;
}

/* No strtod: it follows the locale, and a double can't hold every int64. */
static bool parse_unit(const struct unit *units, const char *text, int64_t *ret)
{
	const char *at = skip_space(text);
	int64_t whole = 0, part = 0, scale = 1, factor;

	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *at - '0', &whole))
			return false;
	if (*at == '.' && isdigit((unsigned char)at[1])) {
		for (at++; isdigit((unsigned char)*at); at++) {
			if (scale >= (int64_t)GPC_SECOND_NS)
				continue;
			part = part * 10 + (*at - '0');
			scale *= 10;
		}
	}
	factor = factor_of(units, skip_space(at));
	if (!factor || __builtin_mul_overflow(whole, factor, &whole))
		return false;
	return !__builtin_add_overflow(whole, (int64_t)((__int128)part * factor / scale), ret);
}

bool gpc_option_bytes(const char *text, int64_t *ret)
{
	return parse_unit(byte_units, text, ret);
}

bool gpc_option_duration(const char *text, int64_t *ret)
{
	return parse_unit(time_units, text, ret);
}

void gpc_option_format(uint32_t type, int64_t value, char *buf, size_t size)
{
	const struct unit *units = type == GPC_OPT_BYTES      ? byte_units
				   : type == GPC_OPT_DURATION ? time_units
							      : NULL;
	const struct unit *best = NULL;

	for (; units && units->name; units++)
		if (units->name[0] && value % units->factor == 0 &&
		    (!best || units->factor > best->factor) && (value || units->factor == 1))
			best = units;
	if (!value && type == GPC_OPT_DURATION)
		snprintf(buf, size, "0s");
	else if (best && (type == GPC_OPT_DURATION || best->factor > 1))
		snprintf(buf, size, "%" PRId64 "%s", value / best->factor, best->name);
	else
		snprintf(buf, size, "%" PRId64, value);
}
