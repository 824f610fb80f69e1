/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <string.h>

#define COOKIE     "xdebugpy"
#define HEAD_WORDS 3     /* cookie, version, free_threaded */
#define OFFSET_MAX 60000 /* PyInterpreterState is large, the rest below some hundred bytes */

const struct py_layout *gpc_py_layout_find(uint16_t version, bool is_debug)
{
	const struct py_layout *found = NULL;

	for (const struct py_layout *l = gpc_py_tables; l->version; l++) {
		if (l->version != version)
			continue;
		/* A version whose debug builds are laid out alike has one row. */
		if (!found || l->is_debug == is_debug)
			found = l;
	}
	return found;
}

static uint64_t word(const uint8_t *bytes, size_t index)
{
	uint64_t value;

	memcpy(&value, bytes + 8 * index, sizeof value);
	return value;
}

bool gpc_py_layout_is_published(const uint8_t *bytes, size_t n)
{
	return n >= 8 && memcmp(bytes, COOKIE, 8) == 0;
}

/* A newer version than we know is read as the newest that we do: groups have
 * only been appended to so far, and what does not fit is noticed when the first
 * stack is read. */
static const struct py_published *published(uint8_t major, uint8_t minor)
{
	const struct py_published *best = NULL;

	for (const struct py_published *p = gpc_py_published; p->n; p++)
		if (p->version[0] == major && p->version[1] <= minor)
			best = p;
	return best;
}

/* What the numbers leave out. */
static void complete(struct py_layout *l)
{
	l->lasti = PY_LASTI_POINTER;
	l->lines = PY_LINES_LOCATIONS;
	/* FRAME_OWNED_BY_CSTACK of 3.13, FRAME_OWNED_BY_INTERPRETER of 3.14
	 * (Include/internal/pycore_frame.h, pycore_interpframe_structs.h). */
	l->owner_c = 3;
	/* PyCompactUnicodeObject and PyUnicodeObject of Include/cpython/unicodeobject.h:
	 * two more words, and one. */
	l->str_compact = (uint16_t)(l->str_ascii + 16);
	l->str_data = l->str_compact;
	/* In front of the kind stands interned: two bits, and a byte in free-threaded builds
	 * from 3.14 on (struct _PyUnicodeObject_state, the same file). */
	l->str_kind_shift = l->is_free_threaded && l->version >= PY_VERSION(3, 14) ? 8 : 2;
	l->gil_holder = (uint16_t)(l->gil_holder - l->gil_base);
	l->gil_locked = (uint16_t)(l->gil_locked - l->gil_base);
}

/* Words at these offsets, as far as the version has them, end before limit. */
static bool all_end_before(const uint16_t *offsets, size_t n, size_t limit)
{
	for (size_t i = 0; i < n; i++)
		if (offsets[i] != PY_NONE && offsets[i] + 8u > limit)
			return false;
	return true;
}
#define are_within(limit, ...)                          \
	all_end_before((const uint16_t[]){__VA_ARGS__}, \
		       sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), (limit))

static bool is_frame_sound(const struct py_layout *l)
{
	if (l->version < PY_VERSION(3, 11))
		return l->frame_at + 4u <= PY_FRAME_MAX &&
		       are_within(l->frame_at + 4u, l->frame_back, l->frame_code);
	return l->frame_size <= PY_INNER_MAX && l->frame_owner < l->frame_size &&
	       (l->frame_is_entry == PY_NONE || l->frame_is_entry < l->frame_size) &&
	       are_within(l->frame_size, l->frame_back, l->frame_code, l->frame_at) &&
	       (l->frame_tlbc == PY_NONE || l->frame_tlbc + 4u <= l->frame_size);
}

static bool is_code_sound(const struct py_layout *l)
{
	size_t n = l->code_size < PY_CODE_MAX ? l->code_size : PY_CODE_MAX;

	return are_within(n, l->ob_type, l->code_name, l->code_file, l->code_lines,
			  l->code_qualname, l->code_names, l->code_tlbc) &&
	       (l->code_argcount == PY_NONE || l->code_argcount + 4u <= n) &&
	       l->code_firstline + 4u <= n;
}

bool gpc_py_layout_is_sound(const struct py_layout *l)
{
	return is_frame_sound(l) && is_code_sound(l) && l->bytes_data <= PY_HEAD_MAX &&
	       are_within(l->bytes_data, l->ob_size) &&
	       (l->str_length == PY_NONE ||
		(l->str_ascii <= PY_HEAD_MAX && l->str_state + 4u <= l->str_ascii &&
		 are_within(l->str_ascii, l->str_length)));
}

static bool is_whole(const struct py_layout *l)
{
	return gpc_py_layout_is_sound(l) && l->code_size <= 4096 &&
	       l->code_adaptive <= l->code_size && l->str_ascii >= 24 && l->thread_frame <= 4096 &&
	       l->gil_holder <= 256 && l->gil_locked <= 256;
}

bool gpc_py_layout_parse(const uint8_t *bytes, size_t n, struct py_layout *ret)
{
	uint16_t *members = (uint16_t *)(void *)ret;
	const struct py_published *p;
	uint64_t version;

	if (n < 8 * HEAD_WORDS || !gpc_py_layout_is_published(bytes, n))
		return false;
	version = word(bytes, 1);
	p = version >> 32 ? NULL : published((uint8_t)(version >> 24), (uint8_t)(version >> 16));
	if (!p || n < 8 * (HEAD_WORDS + (size_t)p->numbers))
		return false;
	memset(ret, 0xFF, sizeof *ret); /* PY_NONE */
	ret->version = (uint16_t)(version >> 16);
	ret->is_debug = false;
	ret->is_free_threaded = word(bytes, 2) == 1;
	for (uint16_t i = 0; i < p->n; i++) {
		uint64_t value = word(bytes, HEAD_WORDS + p->at[i].number);

		if (value > OFFSET_MAX)
			return false;
		members[p->at[i].member / sizeof *members] = (uint16_t)value;
	}
	complete(ret);
	return is_whole(ret);
}
