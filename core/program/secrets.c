/* SPDX-License-Identifier: Apache-2.0 */
#include "program/secrets.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET "token"

/* Prefixes of a long name are accepted: "--tok" is "--token". */
static bool is_secret(const char *arg, char **value)
{
	size_t n;

	if (strncmp(arg, "--", 2) != 0)
		return false;
	arg += 2;
	n = strcspn(arg, "=");
	if (n == 0 || n > strlen(SECRET) || strncmp(arg, SECRET, n) != 0)
		return false;
	*value = arg[n] ? (char *)arg + n + 1 : NULL;
	return true;
}

static void mask(char *text)
{
	memset(text, '*', strlen(text));
}

void gpc_secrets_mask(char **argv)
{
	for (int i = 1; argv[i] && strcmp(argv[i], "--") != 0; i++) {
		char *value;

		if (!is_secret(argv[i], &value))
			continue;
		if (!value && argv[i + 1])
			value = argv[++i];
		if (value)
			mask(value);
	}
}

static void print_word(FILE *out, const char *word)
{
	if (*word && !strpbrk(word, " \t\n\"'\\$&|;<>()*?[]#~`!{}")) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	putc('\'', out);
}

char *gpc_secrets_command_line(char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int i = 0; argv[i]; i++) {
		if (i)
			putc(' ', out);
		print_word(out, argv[i]);
	}
	fclose(out);
	return text;
}
