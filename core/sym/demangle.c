/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/cleanup.h"
#include "base/thread.h"

#define MAX_MANGLED 4096
#define MAX_TEXT    16384
/* The C++ demangler recurses, and by itself refuses names that could make it
 * recurse deeply: those of more than 1 KiB. Such a name gets a stack that the
 * deepest one of MAX_MANGLED fits in, of which it seldom touches much. */
#define LONG_NAME  1024
#define LONG_STACK ((size_t)64 << 20)
/* In names of D each "Q" can repeat what came before it, without a limit of the
 * demangler's own: so many are let through. */
#define MAX_D      1024
#define MAX_D_BACK 12

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

/* A name to be demangled, perhaps on another stack. */
struct job {
	const char *name;
	struct output *out;
	int options;
	bool is_done;
};

static void *run_cplus(void *arg)
{
	struct job *job = arg;

	if (setjmp(job->out->full))
		return NULL;
	job->out->n = 0;
	job->is_done = cplus_demangle_v3_callback(job->name, job->options, append, job->out) != 0;
	return NULL;
}

static bool demangle_cplus(const char *name, struct output *out)
{
	struct job job = {name, out, DMGL_PARAMS | DMGL_ANSI, false};

	if (strlen(name) <= LONG_NAME) {
		run_cplus(&job);
		return job.is_done;
	}
	job.options |= DMGL_NO_RECURSE_LIMIT;
	return gpc_thread_run("gpc-names", LONG_STACK, run_cplus, &job) && job.is_done;
}

static bool demangle_rust(const char *name, struct output *out)
{
	if (setjmp(out->full))
		return false;
	out->n = 0;
	return rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out);
}

static bool demangle(const char *name, struct output *out)
{
	return demangle_rust(name, out) || (name[1] == 'Z' && demangle_cplus(name, out));
}

static char *demangle_d(const char *name)
{
	size_t back = 0;
	autofree char *text = NULL;

	if (strnlen(name, MAX_D + 1) > MAX_D)
		return NULL;
	for (const char *at = name; *at; at++)
		back += *at == 'Q';
	text = back <= MAX_D_BACK ? dlang_demangle(name, DMGL_PARAMS) : NULL;
	return text && *text && strlen(text) < MAX_TEXT ? take(text) : NULL;
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

	if (name[0] == '_' && name[1] == 'D')
		return demangle_d(name);
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
