/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 65536

static gpc_status read_text(int fd, char **ret)
{
	char *text = malloc(TEXT_MAX);
	ssize_t n = text ? read(fd, text, TEXT_MAX - 1) : -1;

	if (n < 0) {
		free(text);
		return GPC_E_SYSTEM;
	}
	text[n] = '\0';
	*ret = text;
	return GPC_OK;
}

/* "!NAME TEXT", or "FRAMES VALUE". */
static void add_line(struct script *s, char *at)
{
	struct script_line *line = &s->lines[s->n];
	char *space;

	if (!*at || *at == '#' || s->n == SCRIPT_LINES)
		return;
	*line = (struct script_line){.name = "", .text = at};
	space = *at == '!' ? strchr(at, ' ') : strrchr(at, ' ');
	if (space)
		*space++ = '\0';
	if (*at == '!') {
		line->name = at + 1;
		line->text = space ? space : "";
	} else {
		line->value = space ? strtoull(space, NULL, 10) : 1;
	}
	s->n++;
}

gpc_status script_read(const struct gpc_host *h, const struct gpc_target *t, const char *prefix,
		       struct script *ret)
{
	char path[64], *rest;
	gpc_status st;
	int fd;

	snprintf(path, sizeof path, "/tmp/%s-%d.txt", prefix, t->ns_pid);
	fd = h->open_file(h, t, path, 0);
	if (fd < 0)
		return fd;
	*ret = (struct script){0};
	st = read_text(fd, &ret->text);
	close(fd);
	rest = ret->text;
	while (st == GPC_OK && rest)
		add_line(ret, strsep(&rest, "\n"));
	return st;
}

void script_deinit(struct script *s)
{
	free(s->text);
	*s = (struct script){0};
}

const struct script_line *script_next(const struct script *s, const char *name, uint32_t *at)
{
	while (*at < s->n) {
		const struct script_line *line = &s->lines[(*at)++];

		if (strcmp(line->name, name) == 0)
			return line;
	}
	return NULL;
}

int64_t script_number(const struct script *s, const char *name, int64_t fallback)
{
	uint32_t at = 0;
	const struct script_line *line = script_next(s, name, &at);

	return line ? strtoll(line->text, NULL, 0) : fallback;
}
