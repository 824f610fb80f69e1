/* SPDX-License-Identifier: Apache-2.0 */
/* The program's log: the core's lines and its own, to standard output and to a
 * rotating file, as gProfiler formats them:
 *   [2026-02-03 04:05:06,789] INFO: gprofiler.perf: message (pid=12)
 * Until it is opened lines are kept, since the options that say where they go
 * are not known yet. It also owns the progress line on a terminal, which must
 * not mix with log lines. Thread-safe but for init, open, and deinit. */
#ifndef GPC_PROGRAM_JOURNAL_H
#define GPC_PROGRAM_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "program/logfile.h"

struct gpc_journal_early {
	gpc_level level;
	char *text;
};

enum gpc_journal_style {
	GPC_JOURNAL_LINES,    /* all lines to standard output */
	GPC_JOURNAL_WARNINGS, /* warnings and errors to standard error */
	GPC_JOURNAL_LATER     /* the same, when the journal is abandoned */
};

struct gpc_journal {
	pthread_mutex_t lock;
	bool is_open, is_failing;
	enum gpc_journal_style style; /* set before it is opened */
	bool has_terminal;            /* standard error is one */
	bool has_status;              /* a progress line stands there now */
	struct gpc_logfile file;
	vec(struct gpc_journal_early) early;
};

void gpc_journal_init(struct gpc_journal *j);
/* Writes what was kept. path "": no file. A file that cannot be opened is a warning in the log. */
void gpc_journal_open(struct gpc_journal *j, const char *path, int64_t max_size, int64_t backups);
/* Warnings that were kept go to standard error: the log is not opened, or shows
 * them later. */
void gpc_journal_abandon(struct gpc_journal *j);
void gpc_journal_deinit(struct gpc_journal *j);

/* on_log of struct gpc_core_setup; ctx is the journal. */
void gpc_journal_line(void *ctx, const struct gpc_log_line *line);
void gpc_journal_say(struct gpc_journal *j, gpc_level level, const char *fmt, ...) GPC_PRINTF(3, 4);
/* Opens the file again, where it was moved away. */
void gpc_journal_reopen(struct gpc_journal *j);
/* Replaces the progress line; "" takes it away. Nothing without a terminal. */
void gpc_journal_status(struct gpc_journal *j, const char *text);

/* The line with its end; returns its length, at most size - 1. */
size_t gpc_journal_format(char *buf, size_t size, int64_t unix_ns, const struct gpc_log_line *line);

#endif
