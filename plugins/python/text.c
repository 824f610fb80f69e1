/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdlib.h>

#define LENGTH_MAX (1u << 20) /* characters; what claims more is no name */
#define FIRST      256        /* bytes that are read with a str's head: most names fit */

/* state of PyASCIIObject (Include/cpython/unicodeobject.h): two bits of interned
 * (more in free-threaded builds), then kind, compact, ascii. */
struct kind {
	unsigned width;
	bool is_compact, is_ascii;
};

static struct kind kind_of(const struct py_layout *l, uint32_t state)
{
	state >>= l->str_kind_shift;
	return (struct kind){.width = state & 7,
			     .is_compact = state >> 3 & 1,
			     .is_ascii = state >> 4 & 1};
}

/* Appends a character; what is none becomes U+FFFD. */
static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)(c ? c : '?');
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xC0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3F));
		return 2;
	}
	if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		c = 0xFFFD;
	if (c < 0x10000) {
		to[0] = (char)(0xE0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3F));
		to[2] = (char)(0x80 | (c & 0x3F));
		return 3;
	}
	to[0] = (char)(0xF0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3F));
	to[2] = (char)(0x80 | (c >> 6 & 0x3F));
	to[3] = (char)(0x80 | (c & 0x3F));
	return 4;
}

static int convert(const uint8_t *data, size_t n, unsigned width, char *ret)
{
	size_t used = 0;

	for (size_t i = 0; i + width <= n && used + 4 < PY_TEXT_MAX; i += width) {
		uint32_t c = data[i];

		if (width == 2)
			c |= (uint32_t)data[i + 1] << 8;
		else if (width == 4)
			memcpy(&c, data + i, sizeof c);
		used += put_utf8(ret + used, c);
	}
	ret[used] = '\0';
	return (int)used;
}

/* n bytes at at, of which have are in head already. */
static int finish(const struct py_memory *m, uint64_t at, size_t n, unsigned width, char *ret)
{
	uint8_t data[4 * PY_TEXT_MAX];

	if (n > sizeof data)
		n = sizeof data;
	if (n && !gpc_py_read(m, at, data, n))
		return -1;
	return convert(data, n, width, ret);
}

/* As many of n bytes as are whole characters, if they are UTF-8. */
static size_t whole_characters(const char *s, size_t n)
{
	size_t kept = n;

	for (unsigned i = 0; i < 3 && kept && ((uint8_t)s[kept - 1] & 0xC0) == 0x80; i++)
		kept--;
	/* The first byte of one that is complete says so. */
	if (kept && (uint8_t)s[kept - 1] >= 0xC0) {
		uint8_t first = (uint8_t)s[kept - 1];
		size_t width = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;

		return n - (kept - 1) < width ? kept - 1 : n;
	}
	return n;
}

/* PyStringObject of 2.7: plain bytes, UTF-8 as a rule. */
static int read_bytes(const struct py_memory *m, const struct py_layout *l, uint64_t at, char *ret)
{
	uint8_t head[FIRST];
	size_t got = gpc_py_read_some(m, at, head, sizeof head);
	bool is_cut;
	uint64_t n;

	if (got < l->bytes_data)
		return -1;
	n = gpc_py_u64(head, l->ob_size);
	if (n > LENGTH_MAX)
		return -1;
	is_cut = n >= PY_TEXT_MAX;
	if (is_cut)
		n = PY_TEXT_MAX - 1;
	if (got - l->bytes_data >= n)
		memcpy(ret, head + l->bytes_data, n);
	else if (!gpc_py_read(m, at + l->bytes_data, ret, n))
		return -1;
	if (is_cut)
		n = whole_characters(ret, n);
	ret[n] = '\0';
	return (int)strlen(ret);
}

int gpc_py_text_str(const struct py_memory *m, const struct py_layout *l, uint64_t at,
		    char ret[PY_TEXT_MAX])
{
	uint8_t head[FIRST];
	size_t got, data;
	uint64_t n;
	struct kind k;

	if (l->str_length == PY_NONE)
		return read_bytes(m, l, at, ret);
	got = gpc_py_read_some(m, at, head, sizeof head);
	if (got < l->str_ascii)
		return -1;
	k = kind_of(l, gpc_py_u32(head, l->str_state));
	n = gpc_py_u64(head, l->str_length);
	if (n > LENGTH_MAX || (k.width != 1 && k.width != 2 && k.width != 4))
		return -1;
	n *= k.width;
	if (!k.is_compact) {
		uint64_t pointer;

		return gpc_py_read_u64(m, at + l->str_data, &pointer)
			       ? finish(m, pointer, n, k.width, ret)
			       : -1;
	}
	data = k.is_ascii ? l->str_ascii : l->str_compact;
	if (got >= data && got - data >= n)
		return convert(head + data, n, k.width, ret);
	return finish(m, at + data, n, k.width, ret);
}

int gpc_py_text_c(const struct py_memory *m, uint64_t at, char ret[PY_TEXT_MAX])
{
	size_t got = gpc_py_read_some(m, at, ret, FIRST);
	size_t n = strnlen(ret, got);

	if (!got)
		return -1;
	if (n == got) /* cut, or the mapping ends */
		n = got - 1;
	ret[n] = '\0';
	return (int)n;
}
