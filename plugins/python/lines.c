/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs: so many bytes of code on, so many lines on. */
static uint32_t by_lnotab(const uint8_t *table, size_t n, int64_t line, int32_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		end += table[i];
		if (end > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* 2.7 and 3.5 to 3.9 differ in the sign of the second: 2.7 has none. */
static uint32_t by_old_lnotab(const uint8_t *table, size_t n, int64_t line, int32_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		end += table[i];
		if (end > at)
			break;
		line += table[i + 1];
	}
	return as_line(line);
}

/* Pairs: a range of so many bytes, whose line is so many on; -128: it has none. */
static uint32_t by_ranges(const uint8_t *table, size_t n, int64_t line, int32_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		if (delta != -128)
			line += delta;
		end += table[i];
		if (end > at)
			return delta == -128 ? 0 : as_line(line);
	}
	return 0;
}

/* Groups of six bits, the lowest first; bit 6: more follow. */
static uint64_t varint(const uint8_t *table, size_t n, size_t *i)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *i < n && shift < 60; shift += 6) {
		uint8_t b = table[(*i)++];

		value |= (uint64_t)(b & 0x3F) << shift;
		if (!(b & 0x40))
			break;
	}
	return value;
}

static int64_t signed_varint(const uint8_t *table, size_t n, size_t *i)
{
	uint64_t value = varint(table, n, i);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum { CODE_ONE_LINE = 10, CODE_NO_COLUMNS = 13, CODE_LONG, CODE_NONE };

static uint32_t by_locations(const uint8_t *table, size_t n, int64_t line, int32_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i < n;) {
		uint8_t head = table[i++];
		unsigned code = head >> 3 & 15;

		end += ((head & 7) + 1) * 2;
		if (code >= CODE_ONE_LINE && code < CODE_NO_COLUMNS)
			line += code - CODE_ONE_LINE;
		else if (code == CODE_NO_COLUMNS || code == CODE_LONG)
			line += signed_varint(table, n, &i);
		if (end > at)
			return code == CODE_NONE ? 0 : as_line(line);
		/* What is left of the entry: bytes without their top bit. */
		while (i < n && !(table[i] & 0x80))
			i++;
	}
	return 0;
}

uint32_t gpc_py_line(enum py_lines format, const uint8_t *table, size_t n, int32_t first,
		     int32_t at)
{
	if (at < 0)
		return as_line(first);
	switch (format) {
	case PY_LINES_OLD_LNOTAB:
		return by_old_lnotab(table, n, first, at);
	case PY_LINES_LNOTAB:
		return by_lnotab(table, n, first, at);
	case PY_LINES_TABLE:
		return by_ranges(table, n, first, at);
	default:
		return by_locations(table, n, first, at);
	}
}
