/* SPDX-License-Identifier: Apache-2.0 */
#include "program/live.h"

#include <stdio.h>
#include <string.h>

#include "program/once.h"
#include "program/run.h"

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* A machine that runs the profiler all the time has these in its configuration,
 * for that one. Files are written where the command line says so. */
#define NO_FILES "--output-dir=", "--log-file=", "--pid-file=", "--heartbeat-file="
static const char *const once_defaults[] = {NO_FILES, "-d5"};
static const char *const top_defaults[] = {NO_FILES, "-d2"};
#define N_DEFAULTS (sizeof once_defaults / sizeof *once_defaults)

enum gpc_live_kind gpc_live_kind_of(char *const *argv)
{
	if (argv[0] && argv[1] && strcmp(argv[1], "once") == 0)
		return GPC_LIVE_ONCE;
	if (argv[0] && argv[1] && strcmp(argv[1], "top") == 0)
		return GPC_LIVE_TOP;
	return GPC_LIVE_NONE;
}

char **gpc_live_args(enum gpc_live_kind kind, char *const *argv)
{
	const char *const *defaults = kind == GPC_LIVE_TOP ? top_defaults : once_defaults;
	size_t given = 0, n = 0;
	char **args;

	while (argv[given])
		given++;
	args = calloc(given + N_DEFAULTS + 1, sizeof *args);
	if (!args)
		return NULL;
	for (size_t i = 0; kind != GPC_LIVE_NONE && i < N_DEFAULTS; i++)
		args[n++] = (char *)defaults[i];
	for (size_t i = 1; i < given; i++)
		args[n++] = argv[i];
	return args;
}

void gpc_live_profile(struct gpc_live *live, const struct gpc_profile *p,
		      const struct gpc_profile_api *api)
{
	if (live->kind == GPC_LIVE_TOP)
		gpc_top_profile(&live->top, p, api);
	else if (!live->profiles++)
		live->once_status = gpc_summary_add(&live->once, p, api, NULL);
}

/* Short sessions need many samples; not where something else says when one is taken. */
static gpc_status set_frequency(struct gpc_core *core, struct gpc_err *err)
{
	const char *mode = gpc_core_get(core, "mode");

	if (gpc_core_is_given(core, "profiling-frequency") ||
	    gpc_core_get_int(core, "perf-event-period") || (mode && strcmp(mode, "cpu") != 0))
		return GPC_OK;
	return gpc_core_set(core, "profiling-frequency", "99", err);
}

static gpc_status set_up(const struct gpc_live *live, struct gpc_core *core, struct gpc_err *err)
{
	gpc_try(set_frequency(core, err));
	gpc_try(gpc_core_set(core, "continuous", live->kind == GPC_LIVE_TOP ? "true" : "false",
			     err));
	gpc_try(gpc_core_set(core, "upload-results", "false", err));
	return gpc_core_set(core, "enable-heartbeat-server", "false", err);
}

static int show_once(const struct gpc_live *live, int status, struct gpc_err *err)
{
	struct gpc_table t;

	if (!live->profiles)
		return status;
	if (live->once_status < 0) {
		gpc_err_set(err, live->once_status, "gprofiler-core: no memory for the summary");
		return STATUS_FAILED;
	}
	gpc_table_init(&t, stdout);
	gpc_once_print(&t, &live->once);
	return status;
}

int gpc_live_run(struct gpc_live *live, struct gpc_core *core, struct gpc_journal *j,
		 char *const *argv, struct gpc_err *err)
{
	struct gpc_viewer viewer;

	if (set_up(live, core, err) < 0)
		return STATUS_USAGE;
	if (live->kind == GPC_LIVE_ONCE) {
		j->style = GPC_JOURNAL_WARNINGS;
		return show_once(live, gpc_run(core, j, NULL, argv, err), err);
	}
	if (!gpc_screen_is_there()) {
		gpc_err_set(err, GPC_E_CONFIG,
			    "top needs a terminal: use 'gprofiler-core once' here");
		return STATUS_USAGE;
	}
	j->style = GPC_JOURNAL_LATER;
	j->has_terminal = false; /* the screen is ours */
	viewer = gpc_top_viewer(&live->top);
	return gpc_run(core, j, &viewer, argv, err);
}

void gpc_live_deinit(struct gpc_live *live)
{
	gpc_summary_deinit(&live->once);
	gpc_top_deinit(&live->top);
}
