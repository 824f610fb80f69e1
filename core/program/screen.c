/* SPDX-License-Identifier: Apache-2.0 */
#include "program/screen.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define ROWS    24
#define COLUMNS 80

/* The alternate screen, no cursor, no line goes on in the next one. */
#define ENTER    "\033[?1049h\033[?25l\033[?7l"
#define LEAVE    "\033[?7h\033[?25h\033[?1049l"
#define HOME     "\033[H"
#define LINE_END "\033[K"
#define REST     "\033[J"

static void put(const char *text)
{
	gpc_write_all(STDOUT_FILENO, text, strlen(text), NULL);
}

bool gpc_screen_is_there(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

void gpc_screen_measure(struct gpc_screen *s)
{
	struct winsize size;

	s->rows = ROWS;
	s->columns = COLUMNS;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_row)
		s->rows = size.ws_row;
	if (size.ws_col)
		s->columns = size.ws_col;
}

static gpc_status enter(struct gpc_screen *s, struct gpc_err *err)
{
	struct termios raw = s->saved;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_iflag &= ~(tcflag_t)IXON; /* ^S would hold up more than the picture */
	raw.c_cc[VMIN] = 0;             /* poll() says when there is something */
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
		return gpc_err_sys(err, "set the terminal's modes");
	gpc_screen_measure(s);
	put(ENTER HOME REST);
	return GPC_OK;
}

gpc_status gpc_screen_open(struct gpc_screen *s, struct gpc_err *err)
{
	if (s->is_open)
		return GPC_OK;
	if (tcgetattr(STDIN_FILENO, &s->saved) < 0)
		return gpc_err_sys(err, "read the terminal's modes");
	gpc_try(enter(s, err));
	s->is_open = true;
	return GPC_OK;
}

void gpc_screen_again(struct gpc_screen *s)
{
	if (s->is_open)
		enter(s, NULL);
}

void gpc_screen_close(struct gpc_screen *s)
{
	if (!s->is_open)
		return;
	s->is_open = false;
	put(LEAVE);
	tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
}

/* In one write: the picture does not flicker. */
void gpc_screen_show(const struct gpc_screen *s, const char *text)
{
	autofree char *picture = NULL;
	size_t size;
	FILE *out = open_memstream(&picture, &size);
	int row = 0;

	if (!out)
		return;
	fputs(HOME, out);
	for (; *text && row < s->rows; row++) {
		int n = (int)strcspn(text, "\n");

		fprintf(out, "%s%.*s%s", row ? "\r\n" : "", n, text, LINE_END);
		text += n + (text[n] == '\n');
	}
	fputs(REST, out);
	if (fclose(out) == 0)
		gpc_write_all(STDOUT_FILENO, picture, size, NULL);
}
