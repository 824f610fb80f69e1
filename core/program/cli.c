/* SPDX-License-Identifier: Apache-2.0 */
#include "program/cli.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <gpc/gpc.h>

#include "base/cleanup.h"
#include "program/convert.h"
#include "program/diff.h"
#include "program/live.h"
#include "program/run.h"
#include "program/secrets.h"

#define MAX_WORDS 4

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

static const char usage_text[] =
	"gprofiler-core [OPTION]...\n"
	"       gprofiler-core once [OPTION]...   (a session of 5 s as text)\n"
	"       gprofiler-core top [OPTION]...    (one each 2 s on the screen)\n"
	"       gprofiler-core diff BEFORE AFTER [--html FILE]\n"
	"       gprofiler-core plugins list [--json]\n"
	"       gprofiler-core plugins show NAME [--json]\n"
	"       gprofiler-core convert IN OUT [--from FORMAT] [--to FORMAT]\n"
	"       gprofiler-core doctor PID\n"
	"       gprofiler-core capture PID FILE [--stacks TEXT]";

/* Beyond the core's options. */
struct own_options {
	int32_t as_json;
	const char *from, *to;
	const char *html;
	const char *stacks; /* read by the core */
};

struct program {
	struct gpc_journal journal;
	struct gpc_live live;
};

static const struct gpc_option own_rows[] = {
	{.struct_size = sizeof(struct gpc_option),
	 .type = GPC_OPT_BOOL,
	 .name = "json",
	 .offset = offsetof(struct own_options, as_json),
	 .dest = "",
	 .fallback = "false",
	 .flags = GPC_OPT_SWITCH | GPC_OPT_ABSOLUTE | GPC_OPT_HIDDEN,
	 .help = "Describe plugins as JSON"},
	{.struct_size = sizeof(struct gpc_option),
	 .type = GPC_OPT_STRING,
	 .name = "from",
	 .offset = offsetof(struct own_options, from),
	 .dest = "",
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_HIDDEN,
	 .help = "convert: the format of IN"},
	{.struct_size = sizeof(struct gpc_option),
	 .type = GPC_OPT_STRING,
	 .name = "to",
	 .offset = offsetof(struct own_options, to),
	 .dest = "",
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_HIDDEN,
	 .help = "convert: the format of OUT"},
	{.struct_size = sizeof(struct gpc_option),
	 .type = GPC_OPT_STRING,
	 .name = "html",
	 .offset = offsetof(struct own_options, html),
	 .dest = "",
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_HIDDEN,
	 .help = "diff: write the page that compares to this file"},
	{.struct_size = sizeof(struct gpc_option),
	 .type = GPC_OPT_STRING,
	 .name = "stacks",
	 .offset = offsetof(struct own_options, stacks),
	 .dest = "",
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_HIDDEN,
	 .help = "With capture: a text to keep in the image, what the runtime says of its stacks"},
	{0},
};

static int usage_error(const char *text)
{
	fprintf(stderr, "gprofiler-core: error: %s\nTry 'gprofiler-core --help'.\n", text);
	return STATUS_USAGE;
}

static int failure(const struct gpc_err *err)
{
	if (*err->text)
		fprintf(stderr, "%s\n", err->text);
	return STATUS_FAILED;
}

static int outcome(gpc_status st, const struct gpc_err *err)
{
	if (st >= 0)
		return STATUS_OK;
	return st == GPC_E_CONFIG ? usage_error(err->text) : failure(err);
}

static int help(struct gpc_core *core)
{
	struct winsize size;
	int width = 80;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		width = size.ws_col;
	gpc_core_help(core, usage_text, stdout, width);
	return STATUS_OK;
}

/* A pipe that was closed early, a full disk. */
static int flushed(int status)
{
	if (fflush(stdout) == 0 || status != STATUS_OK)
		return status;
	perror("gprofiler-core: standard output");
	return STATUS_FAILED;
}

static int plugins(struct gpc_core *core, const struct gpc_rest *w, int as_json)
{
	struct gpc_err err;

	if (w->n == 2 && strcmp(w->at[1], "list") == 0)
		return outcome(gpc_core_describe(core, NULL, as_json, stdout, &err), &err);
	if (w->n == 3 && strcmp(w->at[1], "show") == 0)
		return outcome(gpc_core_describe(core, w->at[2], as_json, stdout, &err), &err);
	return usage_error("plugins: say 'plugins list' or 'plugins show NAME'");
}

static int convert(const struct gpc_rest *w, const struct own_options *own)
{
	struct gpc_err err = {0};

	if (w->n != 3)
		return usage_error("convert: say 'convert IN OUT'");
	return outcome(gpc_convert(w->at[1], w->at[2], own->from, own->to, &err), &err);
}

static int diff(const struct gpc_rest *w, const struct own_options *own)
{
	struct gpc_err err = {0};

	if (w->n != 3)
		return usage_error("diff: say 'diff BEFORE AFTER'");
	return outcome(gpc_diff(w->at[1], w->at[2], own->html, &err), &err);
}

/* A session, shown or logged. */
static int run(struct program *program, struct gpc_core *core, char **argv)
{
	struct gpc_err err = {0};
	int status;

	if (program->live.kind == GPC_LIVE_NONE)
		status = gpc_run(core, &program->journal, NULL, argv, &err);
	else
		status = gpc_live_run(&program->live, core, &program->journal, argv, &err);
	if (status == STATUS_USAGE)
		return usage_error(err.text);
	return status == STATUS_OK ? STATUS_OK : failure(&err);
}

/* 0: no number of a process. */
static int32_t pid_of(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	return pid > 0 && pid <= INT32_MAX && !*end ? (int32_t)pid : 0;
}

static int doctor(struct gpc_core *core, const struct gpc_rest *w)
{
	struct gpc_err err;
	int32_t pid = w->n == 2 ? pid_of(w->at[1]) : 0;

	if (!pid)
		return usage_error("doctor: say 'doctor PID', with the number of a process");
	return outcome(gpc_core_doctor(core, pid, stdout, &err), &err);
}

static int capture(struct gpc_core *core, const struct gpc_rest *w)
{
	struct gpc_err err;
	int32_t pid = w->n == 3 ? pid_of(w->at[1]) : 0;

	if (!pid)
		return usage_error("capture: say 'capture PID FILE', with the number of a process "
				   "and the file to write");
	return outcome(gpc_core_capture(core, pid, w->at[2], stdout, &err), &err);
}

static int unknown_word(const char *word)
{
	char text[200];

	snprintf(text, sizeof text, "unknown command '%.100s'", word);
	return usage_error(text);
}

static int misplaced(const char *word)
{
	char text[200];

	snprintf(text, sizeof text, "'%s' must be the first word, and alone", word);
	return usage_error(text);
}

static int command(struct program *program, struct gpc_core *core, const struct gpc_rest *w,
		   const struct own_options *own, char **argv)
{
	const char *word = w->n ? w->at[0] : "";

	if (strcmp(word, "plugins") == 0)
		return flushed(plugins(core, w, own->as_json));
	if (strcmp(word, "convert") == 0)
		return convert(w, own);
	if (strcmp(word, "diff") == 0)
		return flushed(diff(w, own));
	if (strcmp(word, "doctor") == 0)
		return flushed(doctor(core, w));
	if (strcmp(word, "capture") == 0)
		return flushed(capture(core, w));
	if (strcmp(word, "once") != 0 && strcmp(word, "top") != 0)
		return unknown_word(word);
	if (program->live.kind == GPC_LIVE_NONE || w->n > 1)
		return misplaced(word);
	return flushed(run(program, core, argv));
}

static int dispatch(struct program *program, struct gpc_core *core, const struct gpc_rest *w,
		    const struct own_options *own, char **argv)
{
	if (gpc_core_get_int(core, "help"))
		return flushed(help(core));
	if (gpc_core_get_int(core, "version")) {
		printf("%s\n", gpc_version());
		return flushed(STATUS_OK);
	}
	if (w->n)
		return command(program, core, w, own, argv);
	if (own->as_json)
		return usage_error("--json goes with 'plugins list' and 'plugins show'");
	if (own->html)
		return usage_error("--html goes with 'diff'");
	if (own->stacks)
		return usage_error("--stacks goes with 'capture'");
	return run(program, core, argv);
}

static int with_core(struct program *program, struct gpc_core *core, char **argv, char *const *envp)
{
	autofree char **args = gpc_live_args(program->live.kind, argv);
	struct own_options own = {0};
	const char *at[MAX_WORDS];
	struct gpc_rest words = {.at = at, .room = MAX_WORDS};
	struct gpc_err err = {0};
	int argc = 0, status;
	gpc_status st = args ? GPC_OK : gpc_err_nomem(&err);

	while (args && args[argc])
		argc++;
	if (st >= 0)
		st = gpc_core_add_options(core, "Plugins", own_rows, &own, &err);
	if (st >= 0)
		st = gpc_core_args(core, argc, args, envp, &words, &err);
	gpc_secrets_mask(argv);
	status = st < 0 ? outcome(st, &err) : dispatch(program, core, &words, &own, argv);
	gpc_core_free(core); /* before own goes */
	return status;
}

static void on_log(void *ctx, const struct gpc_log_line *line)
{
	struct program *program = ctx;

	gpc_journal_line(&program->journal, line);
}

static void on_profile(void *ctx, const struct gpc_profile *p, const struct gpc_profile_api *api)
{
	struct program *program = ctx;

	gpc_live_profile(&program->live, p, api);
}

int gpc_cli(int argc, char **argv, char *const *envp)
{
	struct program program = {.live.kind = gpc_live_kind_of(argv)};
	struct gpc_core_setup setup = {.size = sizeof setup,
				       .ctx = &program,
				       .log_level = GPC_INFO,
				       .on_log = on_log};
	struct gpc_core *core;
	struct gpc_err err = {0};
	int status;

	if (argc < 1)
		return STATUS_USAGE;
	if (program.live.kind != GPC_LIVE_NONE) /* to the core it is an output like a folder */
		setup.on_profile = on_profile;
	gpc_journal_init(&program.journal);
	if (gpc_core_new(&setup, &core, &err) < 0)
		status = failure(&err);
	else
		status = with_core(&program, core, argv, envp);
	gpc_journal_abandon(&program.journal);
	gpc_journal_deinit(&program.journal);
	gpc_live_deinit(&program.live);
	return status;
}
