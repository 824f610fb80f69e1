/* SPDX-License-Identifier: Apache-2.0 */
#include "program/fit.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CUT      "\xE2\x80\xA6" /* an ellipsis, one column */
#define BAD      "?"
#define NONE     UINT32_MAX
#define HIGHEST  0x10FFFF
#define N_OF(at) (sizeof(at) / sizeof *(at))

struct range {
	uint32_t first, last;
};

/* The C library's own table depends on the locale, which is the user's and may
 * be "C" while the terminal is not. */
static const struct range wide[] = {
	{0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
	{0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26A1, 0x26A1},
	{0x26BD, 0x26BE},   {0x26CE, 0x26CE},   {0x2705, 0x2705},   {0x270A, 0x270B},
	{0x2728, 0x2728},   {0x274C, 0x274C},   {0x2753, 0x2755},   {0x2795, 0x2797},
	{0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
	{0x3400, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
	{0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
	{0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F004, 0x1F004},
	{0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
	{0x1F32D, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7EB}, {0x1F90C, 0x1F9FF},
	{0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};
static const struct range combining[] = {
	{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},
	{0x900, 0x902},   {0xE31, 0xE31},   {0xE34, 0xE3A},   {0xE47, 0xE4E},   {0x1AB0, 0x1AFF},
	{0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};
/* Controls, surrogates, marks of direction, invisible characters, line ends. */
static const struct range unfit[] = {
	{0x0, 0x1F},      {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
	{0x115F, 0x1160}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E},
	{0x2060, 0x206F}, {0x3164, 0x3164}, {0xD800, 0xF8FF}, {0xFEFF, 0xFEFF},
	{0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, HIGHEST},
};

static bool is_in(const struct range *at, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= at[i].first && c <= at[i].last)
			return true;
	return false;
}

/* How many bytes the lead byte announces; 0: it is none. */
static size_t sequence_length(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xC2 && lead < 0xE0)
		return 2;
	if (lead >= 0xE0 && lead < 0xF0)
		return 3;
	return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

/* The bytes of the next character, which is NONE when they are not one. */
static size_t next_character(const char *s, uint32_t *ret)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead = (unsigned char)*s;
	size_t n = sequence_length(lead);
	uint32_t c = n > 1 ? lead & (0x7Fu >> n) : lead;

	*ret = NONE;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)s[i] & 0xC0) != 0x80)
			return 1;
		c = c << 6 | ((unsigned char)s[i] & 0x3F);
	}
	if (!n || c < smallest[n] || c > HIGHEST)
		return 1;
	*ret = c;
	return n;
}

struct cell {
	const char *text;
	size_t n_text, columns;
	size_t n; /* bytes of the source */
};

static struct cell next_cell(const char *s)
{
	struct cell cell = {.text = s, .columns = 1};
	uint32_t c;

	cell.n = cell.n_text = next_character(s, &c);
	if (c >= ' ' && c < 0x7F)
		return cell;
	if (c == NONE || is_in(unfit, N_OF(unfit), c)) {
		cell.text = BAD;
		cell.n_text = strlen(BAD);
	} else if (is_in(combining, N_OF(combining), c)) {
		cell.columns = 0;
	} else if (is_in(wide, N_OF(wide), c)) {
		cell.columns = 2;
	}
	return cell;
}

struct output {
	char *at;
	size_t room, columns; /* room: without the end */
};

static bool put(struct output *o, const char *text, size_t n, size_t columns)
{
	if (n > o->room)
		return false;
	memcpy(o->at, text, n);
	o->at += n;
	o->room -= n;
	o->columns += columns;
	return true;
}

/* From s on, up to that many columns more. */
static void put_head(struct output *o, const char *s, size_t columns)
{
	size_t end = o->columns + columns;

	for (struct cell cell; *s; s += cell.n) {
		cell = next_cell(s);
		if (o->columns + cell.columns > end ||
		    !put(o, cell.text, cell.n_text, cell.columns))
			return;
	}
}

/* Where the last columns of s begin; all are how many it has. */
static const char *tail_of(const char *s, size_t all, size_t columns)
{
	for (struct cell cell; *s; s += cell.n) {
		cell = next_cell(s);
		if (all <= columns && cell.columns)
			break;
		all -= cell.columns;
	}
	return s;
}

size_t gpc_fit_columns(const char *s)
{
	size_t columns = 0;

	for (struct cell cell; *s; s += cell.n) {
		cell = next_cell(s);
		columns += cell.columns;
	}
	return columns;
}

size_t gpc_fit(const char *s, size_t columns, char *buf, size_t size)
{
	struct output o = {.at = buf, .room = size - 1};
	size_t all = gpc_fit_columns(s);

	if (all <= columns) {
		put_head(&o, s, columns);
	} else if (columns) {
		const char *tail = tail_of(s, all, (columns - 1) / 2);
		size_t n_tail = gpc_fit_columns(tail);

		put_head(&o, s, columns - 1 - n_tail);
		put(&o, CUT, strlen(CUT), 1);
		put_head(&o, tail, n_tail);
	}
	*o.at = '\0';
	return o.columns;
}
