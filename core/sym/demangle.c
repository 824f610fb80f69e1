/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/cleanup.h"

#define MAX_MANGLED 8192
#define MAX_TEXT    16384

/* A short hostile name can stand for gigabytes of text (substitutions repeat
 * what repeats). The demanglers cannot be told to stop, so we jump out of
 * their output function; the C++ one holds no memory then, the Rust one at
 * most a short identifier. */
struct output {
	char *text; /* MAX_TEXT bytes */
	size_t n;
	jmp_buf full;
};

static void append(const char *piece, size_t n, void *ctx)
{
	struct output *out = ctx;

	if (n >= MAX_TEXT - out->n)
		longjmp(out->full, 1);
	if (n)
		memcpy(out->text + out->n, piece, n);
	out->n += n;
}

static bool demangle(const char *name, struct output *out)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(out->full))
		return false;
	out->n = 0;
	if (rust_demangle_callback(name, options, append, out))
		return true;
	out->n = 0;
	return name[1] == 'Z' && cplus_demangle_v3_callback(name, options, append, out);
}

/* What tools append to a mangled name: "@plt" is not part of it. */
static const char *after_mangled(const char *name)
{
	return name + strcspn(name, "@");
}

char *gpc_demangle(const char *name)
{
	struct output out;
	autofree char *mangled = NULL;
	autofree char *text = NULL;
	const char *rest;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	if (strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return NULL;
	rest = after_mangled(name);
	mangled = strndup(name, (size_t)(rest - name));
	text = malloc(MAX_TEXT + strlen(rest) + 1);
	if (!mangled || !text)
		return NULL;
	out.text = text;
	if (!demangle(mangled, &out) || !out.n)
		return NULL;
	memcpy(text + out.n, rest, strlen(rest) + 1);
	return strdup(text);
}
