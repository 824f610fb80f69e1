/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/text.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xC0) == 0x80;
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

size_t gpc_utf8_next(const char *s, uint32_t *ret)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead = (unsigned char)*s;
	size_t n = sequence_length(lead);
	uint32_t c;

	*ret = GPC_UTF8_BAD;
	if (n <= 1) {
		if (n)
			*ret = lead;
		return 1;
	}
	c = lead & (0x7Fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (!is_continuation(s[i]))
			return 1;
		c = c << 6 | ((unsigned char)s[i] & 0x3F);
	}
	if (c < smallest[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		return 1;
	*ret = c;
	return n;
}

static bool is_plain(char c)
{
	return c > ' ' && c < 0x7F && c != ';';
}

/* What a reader of lines might take for a line's end, and what has no glyph. */
static bool is_space(uint32_t c)
{
	return c <= ' ' || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
}

size_t gpc_blanks(const char *s, size_t n)
{
	size_t blanks = 0;

	while (blanks < n) {
		char one[5] = "";
		uint32_t c;
		size_t length;

		memcpy(one, s + blanks, n - blanks < 4 ? n - blanks : 4);
		length = gpc_utf8_next(one, &c);
		if (!is_space(c))
			break;
		blanks += length;
	}
	return blanks;
}

bool gpc_is_blank(const char *s)
{
	return !s[gpc_blanks(s, strlen(s))];
}

const char *gpc_frame_shown(const struct gpc_frame_text *f, char **made)
{
	const char *function = gpc_is_blank(f->function) ? "[unknown]" : f->function;
	bool has_module = f->module && !gpc_is_blank(f->module);
	char line[16] = "";

	*made = NULL;
	if (!(f->flags & GPC_FRAME_SHOWS_FILE) || !f->file || gpc_is_blank(f->file))
		return function;
	if (f->line)
		snprintf(line, sizeof line, ":%u", f->line);
	if (asprintf(made, "%s (%s%s%s%s%s)", function, f->file, line, has_module ? " [" : "",
		     has_module ? f->module : "", has_module ? "]" : "") < 0)
		*made = NULL;
	return *made;
}

/* The longest beginning of s in at most n bytes that ends with a whole character. */
static size_t whole_characters(const char *s, size_t n)
{
	if (strlen(s) <= n)
		return strlen(s);
	while (n && is_continuation(s[n]))
		n--;
	return n;
}

uint32_t gpc_frame_line(const struct gpc_frame_text *f, char *ret, uint32_t size)
{
	autofree char *made = NULL;
	const char *name = gpc_frame_shown(f, &made);
	char suffix[64] = "";
	size_t room = size ? size - 1 : 0, n;

	if (!size)
		return 0;
	if (f->suffix && *f->suffix)
		snprintf(suffix, sizeof suffix, "_[%.56s]", f->suffix);
	room -= strlen(suffix) < room ? strlen(suffix) : room;
	n = whole_characters(name ? name : f->function, room);
	snprintf(ret, size, "%.*s%s", (int)n, name ? name : f->function, suffix);
	return (uint32_t)strlen(ret);
}

static void put_spaces(struct gpc_out *o, size_t n)
{
	while (n--)
		gpc_out_bytes(o, " ", 1);
}

bool gpc_out_field(struct gpc_out *o, const char *s)
{
	size_t spaces = 0, n;
	bool begun = false;
	uint32_t c;

	for (; *s; s += n) {
		const char *text = s;

		for (n = 0; is_plain(s[n]);)
			n++;
		if (!n) {
			n = gpc_utf8_next(s, &c);
			if (is_space(c)) {
				spaces += begun;
				continue;
			}
			if (c == ';')
				text = "|";
			else if (c == GPC_UTF8_BAD)
				text = "\xEF\xBF\xBD";
		}
		put_spaces(o, spaces);
		spaces = 0;
		begun = true;
		gpc_out_bytes(o, text, text == s ? n : strlen(text));
	}
	return begun;
}

static bool needs_escape(uint32_t c)
{
	return c < ' ' || (c >= 0x7F && c < 0xA0) || c == '"' || c == '\\' || c == '<' ||
	       c == '>' || c == '&' || c == 0x2028 || c == 0x2029 || c == GPC_UTF8_BAD;
}

void gpc_out_json_text(struct gpc_out *o, const char *s)
{
	const char *run = s;
	char escape[8];
	uint32_t c;
	size_t n;

	for (; *s; s += n) {
		n = gpc_utf8_next(s, &c);
		if (!needs_escape(c))
			continue;
		gpc_out_bytes(o, run, (size_t)(s - run));
		snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c & 0xFFFF);
		gpc_out_text(o, escape);
		run = s + n;
	}
	gpc_out_bytes(o, run, (size_t)(s - run));
}

void gpc_out_json(struct gpc_out *o, const char *s)
{
	gpc_out_bytes(o, "\"", 1);
	gpc_out_json_text(o, s);
	gpc_out_bytes(o, "\"", 1);
}

void gpc_out_html(struct gpc_out *o, const char *s)
{
	uint32_t c;

	for (size_t n; *s; s += n) {
		n = gpc_utf8_next(s, &c);
		if (c == '<')
			gpc_out_text(o, "&lt;");
		else if (c == '&')
			gpc_out_text(o, "&amp;");
		else if (c == GPC_UTF8_BAD)
			gpc_out_text(o, "\xEF\xBF\xBD");
		else
			gpc_out_bytes(o, s, n);
	}
}
