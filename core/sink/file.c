/* SPDX-License-Identifier: Apache-2.0 */
/* The file sink: profiles as files of a folder, and links to the latest ones.
 * A built-in module, written against the public header alone. */
#define GPC_BUILTIN 1
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gpc/plugin.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "sink/outdir.h"

#define SECOND_NS 1000000000
#define STEM_SIZE 64

struct options {
	const char *output_dir;
	int32_t rotating_output;
	int32_t flamegraph;
	struct gpc_list formats;
};

struct sink {
	const struct gpc_host *host;
	const struct options *options;
	const struct gpc_profile_api *api;
};

struct output {
	const char *format, *suffix, *link, *what;
	uint32_t wants; /* GPC_WANT_ that it has a place for */
};

enum { COL, HTML, PPROF, SPEEDSCOPE, FIREFOX, N_OUTPUTS };
static const struct output outputs[N_OUTPUTS] = {
	[COL] = {"col", ".col", "last_profile.col", "collapsed stacks"},
	[HTML] = {"html", ".html", "last_flamegraph.html", "flamegraph"},
	[PPROF] = {"pprof", ".pb.gz", "last_profile.pb.gz", "pprof profile",
		   GPC_WANT_THREADS | GPC_WANT_ADDRESSES},
	[SPEEDSCOPE] = {"speedscope", ".speedscope.json", "last_profile.speedscope.json",
			"speedscope profile"},
	[FIREFOX] = {"firefox", ".firefox.json", "last_profile.firefox.json", "Firefox profile",
		     GPC_WANT_THREADS | GPC_WANT_ADDRESSES},
};

GPC_PRINTF(3, 4) static void say(const struct sink *s, gpc_level level, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	s->host->log(s->host, level, text);
}

/* ---- one file ---------------------------------------------------------------- */

struct stream {
	int fd;
	struct gpc_err *err;
};

static gpc_status put(void *ctx, const void *bytes, uint64_t n)
{
	struct stream *stream = ctx;

	return gpc_write_all(stream->fd, bytes, n, stream->err);
}

static gpc_status fill(const struct sink *s, const struct gpc_profile *p, const char *format,
		       int fd, struct gpc_err *err)
{
	struct stream stream = {fd, err};
	gpc_status st;

	err->text[0] = '\0';
	st = s->api->encode(p, format, put, &stream);
	if (st < 0 && !*err->text)
		gpc_err_set(err, st, "encode as %s: %s", format, gpc_status_name(st));
	return st;
}

/* One profile on its way into the folder. */
struct job {
	const struct sink *s;
	const struct gpc_profile *p;
	int dir;
	unsigned number;
	char stem[STEM_SIZE];
};

/* Writes the file; its name goes to name, NAME_MAX + 1 bytes. */
static gpc_status write_file(const struct job *job, const struct output *o, char *name)
{
	struct gpc_outdir_temp temp;
	struct gpc_err err;
	gpc_status st = gpc_outdir_temp(job->dir, &temp, &err);

	if (st >= 0) {
		st = fill(job->s, job->p, o->format, temp.fd, &err);
		if (st >= 0)
			st = gpc_outdir_publish(job->dir, &temp, job->stem, o->suffix, job->number,
						name, &err);
		gpc_outdir_temp_drop(job->dir, &temp);
	}
	if (st >= 0)
		return GPC_OK;
	say(job->s, GPC_ERROR, "Cannot save %s to %s/%s%s: %s", o->what,
	    job->s->options->output_dir, job->stem, o->suffix, err.text);
	return GPC_E_SYSTEM;
}

/* Only ever a file of ours: a link can be bent by whoever may write here. */
static bool is_old_profile(const char *name, const char *suffix)
{
	size_t n = strlen(name), tail = strlen(suffix);

	return strncmp(name, "profile_", 8) == 0 && n > tail &&
	       strcmp(name + n - tail, suffix) == 0;
}

static gpc_status link_latest(const struct sink *s, int dir, const struct output *o,
			      const char *name)
{
	const char *folder = s->options->output_dir;
	char old[NAME_MAX + 1];
	struct gpc_err err;

	if (gpc_outdir_link(dir, o->link, name, old, &err) < 0) {
		say(s, GPC_ERROR, "Cannot update %s/%s: %s", folder, o->link, err.text);
		return GPC_E_SYSTEM;
	}
	if (!s->options->rotating_output || !is_old_profile(old, o->suffix) ||
	    strcmp(old, name) == 0)
		return GPC_OK;
	if (unlinkat(dir, old, 0) < 0 && errno != ENOENT)
		say(s, GPC_WARN, "Cannot remove %s/%s: %s", folder, old, strerrordesc_np(errno));
	return GPC_OK;
}

static gpc_status save(const struct job *job, const struct output *o)
{
	const struct sink *s = job->s;
	char name[NAME_MAX + 1];
	gpc_status st = write_file(job, o, name);

	if (st < 0)
		return st;
	st = link_latest(s, job->dir, o, name);
	say(s, GPC_INFO, "Saved %s to %s/%s", o->what, s->options->output_dir, name);
	return st;
}

/* ---- the sink ---------------------------------------------------------------- */

static bool has_folder(const struct options *o)
{
	return o->output_dir && *o->output_dir;
}

static bool has_format(const struct options *o, const char *format)
{
	for (uint32_t i = 0; i < o->formats.n; i++)
		if (strcmp(o->formats.at[i], format) == 0)
			return true;
	return false;
}

static bool is_wanted(const struct options *o, int output)
{
	return output == HTML ? o->flamegraph : has_format(o, outputs[output].format);
}

static bool is_any_wanted(const struct options *o)
{
	for (int i = 0; i < N_OUTPUTS; i++)
		if (is_wanted(o, i))
			return true;
	return false;
}

/* Threads and addresses cost something: only for those who show them. */
static void ask_for_details(const struct sink *s)
{
	uint32_t wants = 0;

	for (int i = 0; i < N_OUTPUTS; i++)
		if (is_wanted(s->options, i))
			wants |= outputs[i].wants;
	if (wants && has_folder(s->options) && GPC_HAS(s->api, want) && s->api->want)
		s->api->want(s->host, wants);
}

static void make_stem(const struct sink *s, const struct gpc_profile *p, char *ret)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	time_t end;
	struct tm utc;

	s->api->info(p, &info);
	end = (time_t)(info.end_unix_ns / SECOND_NS);
	gmtime_r(&end, &utc);
	strftime(ret, STEM_SIZE, "profile_%Y-%m-%dT%H:%M:%S", &utc);
}

static gpc_status file_write(void *self, const struct gpc_profile *p)
{
	const char *suffixes[N_OUTPUTS];
	const struct sink *s = self;
	struct job job = {.s = s, .p = p};
	autoclose int dir = -1;
	gpc_status st = GPC_OK;
	struct gpc_err err;

	if (!has_folder(s->options))
		return GPC_OK;
	if (gpc_outdir_open(s->options->output_dir, &dir, &err) < 0) {
		say(s, GPC_ERROR, "Cannot save a profile: %s", err.text);
		return GPC_E_SYSTEM;
	}
	job.dir = dir;
	for (int i = 0; i < N_OUTPUTS; i++)
		suffixes[i] = outputs[i].suffix;
	make_stem(s, p, job.stem);
	job.number = gpc_outdir_free_number(dir, job.stem, suffixes, N_OUTPUTS);
	for (int i = 0; i < N_OUTPUTS; i++)
		if (is_wanted(s->options, i) && save(&job, &outputs[i]) < 0)
			st = GPC_E_SYSTEM;
	return st;
}

/* Learnt now, not after a session. A disk that is full may have room by then. */
static gpc_status check_folder(const struct sink *s, int dir)
{
	struct gpc_outdir_temp temp;
	struct gpc_err err;
	gpc_status st = gpc_outdir_temp(dir, &temp, &err);

	if (st >= 0) {
		gpc_outdir_temp_drop(dir, &temp);
		return GPC_OK;
	}
	if (err.sys == ENOSPC || err.sys == EDQUOT) {
		say(s, GPC_WARN, "Cannot write to %s now: %s", s->options->output_dir, err.text);
		return GPC_OK;
	}
	say(s, GPC_ERROR, "Cannot write to --output-dir %s: %s", s->options->output_dir, err.text);
	return st;
}

static gpc_status check(const struct sink *s)
{
	const struct options *o = s->options;
	autoclose int dir = -1;
	struct gpc_err err;

	if (!has_folder(o))
		return GPC_OK;
	if (!is_any_wanted(o)) {
		say(s, GPC_ERROR, "--format leaves nothing to write to --output-dir");
		return GPC_E_CONFIG;
	}
	if (gpc_outdir_open(o->output_dir, &dir, &err) < 0) {
		say(s, GPC_ERROR, "Cannot use --output-dir: %s", err.text);
		return GPC_E_SYSTEM;
	}
	return check_folder(s, dir);
}

static gpc_status file_create(const struct gpc_host *h, const void *options, void **self)
{
	struct sink made = {.host = h, .options = options};
	struct sink *s;

	made.api = h->extension(h, "gpc.profile/1");
	if (!made.api)
		return GPC_E_UNSUPPORTED;
	gpc_try(check(&made));
	ask_for_details(&made);
	s = malloc(sizeof *s);
	if (!s)
		return GPC_E_NOMEM;
	*s = made;
	*self = s;
	return GPC_OK;
}

static void file_destroy(void *self)
{
	free(self);
}

/* ---- tables ------------------------------------------------------------------ */

#define ROW(opt_type, opt_name, member, more)                                                   \
	.struct_size = sizeof(struct gpc_option), .type = GPC_OPT_##opt_type, .name = opt_name, \
	.offset = offsetof(struct options, member), .flags = GPC_OPT_ABSOLUTE | (more)

static const struct gpc_option option_rows[] = {
	{ROW(STRING, "output-dir", output_dir, 0), .short_name = 'o', .metavar = "DIR",
	 .dest = "output_dir", .help = "Write profiles into this folder; it is created"},
	{ROW(BOOL, "rotating-output", rotating_output, GPC_OPT_SWITCH), .dest = "rotating_output",
	 .fallback = "false", .help = "Keep only the latest profile"},
	{ROW(BOOL, "flamegraph", flamegraph, GPC_OPT_SWITCH), .dest = "flamegraph",
	 .fallback = "true", .help = "Write a flame graph as an HTML page (this is the default)"},
	{ROW(BOOL, "no-flamegraph", flamegraph, GPC_OPT_SWITCH), .dest = "flamegraph",
	 .implied = "false", .help = "Write no flame graph"},
	{ROW(LIST, "format", formats, 0), .metavar = "LIST", .dest = "formats", .fallback = "col",
	 .choices = "col|html|pprof|speedscope|firefox",
	 .help = "Files to write, several at once; --flamegraph decides about html"},
	{0},
};

static const struct gpc_sink file_sink = {
	.struct_size = sizeof file_sink,
	.name = "file",
	.summary = "writes profiles as files into a folder",
	.create = file_create,
	.destroy = file_destroy,
	.write = file_write,
};

static const struct gpc_sink *const sinks[] = {&file_sink, NULL};

static const struct gpc_module module = {
	.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.options_bytes = sizeof(struct options),
	.name = "file",
	.version = GPC_VERSION,
	.summary = "profiles as files: collapsed stacks, flame graphs, pprof, speedscope, Firefox",
	.options = option_rows,
	.sinks = sinks,
};

GPC_MODULE(file, GPC_ABI_MINOR, module)
