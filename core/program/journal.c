/* SPDX-License-Identifier: Apache-2.0 */
#include "program/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/thread.h"

#define LINE_SIZE 4096
#define MAX_EARLY 1000 /* nobody logs that much before options are known */
#define ERASE     "\r\033[K"

/* ---- text -------------------------------------------------------------------- */

static const char *level_name(gpc_level level)
{
	static const char *const names[] = {"CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"};

	return level > GPC_DEBUG ? "DEBUG" : names[level < 0 ? 0 : level];
}

/* What speaks for the whole program is named "gprofiler" alone: tools wait for
 * "INFO: gprofiler: Saved flamegraph to". */
static bool is_program(const char *module)
{
	return !module || !*module || strcmp(module, "core") == 0 || strcmp(module, "file") == 0;
}

/* A message may quote what a process calls itself: it stays one line. */
static void flatten(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = ' ';
}

size_t gpc_journal_format(char *buf, size_t size, int64_t unix_ns, const struct gpc_log_line *line)
{
	time_t seconds = (time_t)(unix_ns / (int64_t)GPC_SECOND_NS);
	int ms = (int)(unix_ns % (int64_t)GPC_SECOND_NS / (int64_t)GPC_MS_NS);
	bool is_ours = is_program(line->module);
	char when[32], pid[32] = "";
	struct tm utc;
	size_t n;

	gmtime_r(&seconds, &utc);
	strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &utc);
	if (line->pid)
		snprintf(pid, sizeof pid, " (pid=%d)", line->pid);
	snprintf(buf, size - 1, "[%s,%03d] %s: gprofiler%s%s: %s%s", when, ms,
		 level_name(line->level), is_ours ? "" : ".", is_ours ? "" : line->module,
		 line->message, pid);
	flatten(buf);
	n = strlen(buf);
	strcpy(buf + n, "\n");
	return n + 1;
}

/* ---- where it goes, under the lock ------------------------------------------- */

static void erase_status(struct gpc_journal *j)
{
	if (j->has_status)
		gpc_write_all(STDERR_FILENO, ERASE, strlen(ERASE), NULL);
	j->has_status = false;
}

/* A file that fails (a full disk) is told of once, until it works again. */
static void write_file(struct gpc_journal *j, const char *text, size_t n)
{
	char note[LINE_SIZE];
	struct gpc_log_line line = {.level = GPC_WARN};
	struct gpc_err err = {0};
	gpc_status st = gpc_logfile_write(&j->file, text, n, &err);

	if (st < 0 && !j->is_failing && *err.text) {
		line.message = err.text;
		n = gpc_journal_format(note, sizeof note, gpc_unix_ns(), &line);
		gpc_write_all(j->style == GPC_JOURNAL_LINES ? STDOUT_FILENO : STDERR_FILENO, note,
			      n, NULL);
	}
	j->is_failing = st < 0;
}

static void keep_line(struct gpc_journal *j, gpc_level level, const char *text)
{
	struct gpc_journal_early line = {level, NULL};

	if (j->early.n < MAX_EARLY)
		line.text = strdup(text);
	if (line.text && !vec_push(&j->early, line))
		free(line.text);
}

static void write_line(struct gpc_journal *j, gpc_level level, const char *text)
{
	bool is_shown = j->style == GPC_JOURNAL_LINES || level <= GPC_WARN;
	size_t n = strlen(text);

	write_file(j, text, n);
	if (!is_shown)
		return;
	if (j->style == GPC_JOURNAL_LATER) {
		keep_line(j, level, text);
		return;
	}
	erase_status(j);
	gpc_write_all(j->style == GPC_JOURNAL_LINES ? STDOUT_FILENO : STDERR_FILENO, text, n, NULL);
}

static void forget_early(struct gpc_journal *j)
{
	for (size_t i = 0; i < j->early.n; i++)
		free(j->early.at[i].text);
	vec_deinit(&j->early);
}

/* Columns of the terminal: a longer line would wrap and could not be erased. */
static size_t terminal_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

/* ---- interface --------------------------------------------------------------- */

void gpc_journal_init(struct gpc_journal *j)
{
	*j = (struct gpc_journal){.file.fd = -1, .has_terminal = isatty(STDERR_FILENO)};
	gpc_mutex_init_inherit(&j->lock); /* readers of runtimes log too */
}

void gpc_journal_open(struct gpc_journal *j, const char *path, int64_t max_size, int64_t backups)
{
	struct gpc_err err;
	struct gpc_journal kept = {.early.at = j->early.at, .early.n = j->early.n};
	gpc_status st = GPC_OK;

	if (*path)
		st = gpc_logfile_init(&j->file, path, max_size, backups, &err);
	j->is_failing = st < 0;
	j->is_open = true;
	j->early.at = NULL;
	j->early.n = j->early.room = 0;
	for (size_t i = 0; i < kept.early.n; i++)
		write_line(j, kept.early.at[i].level, kept.early.at[i].text);
	forget_early(&kept);
	if (st < 0)
		gpc_journal_say(j, GPC_WARN, "No log file: %s", err.text);
}

void gpc_journal_abandon(struct gpc_journal *j)
{
	for (size_t i = 0; i < j->early.n; i++)
		if (j->early.at[i].level <= GPC_WARN)
			gpc_write_all(STDERR_FILENO, j->early.at[i].text,
				      strlen(j->early.at[i].text), NULL);
	forget_early(j);
}

void gpc_journal_deinit(struct gpc_journal *j)
{
	erase_status(j);
	forget_early(j);
	gpc_logfile_deinit(&j->file);
	pthread_mutex_destroy(&j->lock);
}

void gpc_journal_line(void *ctx, const struct gpc_log_line *line)
{
	struct gpc_journal *j = ctx;
	char text[LINE_SIZE];
	autolock(&j->lock);

	gpc_journal_format(text, sizeof text, gpc_unix_ns(), line);
	if (j->is_open)
		write_line(j, line->level, text);
	else
		keep_line(j, line->level, text);
}

void gpc_journal_say(struct gpc_journal *j, gpc_level level, const char *fmt, ...)
{
	char text[LINE_SIZE];
	struct gpc_log_line line = {.level = level, .message = text};
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	gpc_journal_line(j, &line);
}

void gpc_journal_reopen(struct gpc_journal *j)
{
	struct gpc_err err;
	gpc_status st;

	pthread_mutex_lock(&j->lock);
	st = j->is_open && j->file.path ? gpc_logfile_reopen(&j->file, &err) : GPC_OK;
	pthread_mutex_unlock(&j->lock);
	if (st < 0)
		gpc_journal_say(j, GPC_WARN, "No log file: %s", err.text);
}

void gpc_journal_status(struct gpc_journal *j, const char *text)
{
	char line[256];
	size_t width = terminal_width();
	autolock(&j->lock);

	if (!j->has_terminal)
		return;
	erase_status(j);
	if (!*text)
		return;
	if (width > sizeof line)
		width = sizeof line;
	snprintf(line, width, "%s", text);
	gpc_write_all(STDERR_FILENO, line, strlen(line), NULL);
	j->has_status = true;
}
