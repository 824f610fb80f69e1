/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdio.h>
#include <string.h>

struct out {
	char *at;
	uint32_t n, room;
};

static void add(struct out *o, const char *text)
{
	for (; *text && o->n + 1 < o->room; text++)
		o->at[o->n++] = *text == ';' ? '|' : (unsigned char)*text < ' ' ? '?' : *text;
}

/* In the order that java.lang.reflect.Modifier shows them (JVMS table 4.6-A). */
static void add_modifiers(struct out *o, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *word;
	} words[] = {{0x1, "public "},        {0x4, "protected "}, {0x2, "private "},
		     {0x400, "abstract "},    {0x8, "static "},    {0x10, "final "},
		     {0x20, "synchronized "}, {0x100, "native "},  {0x800, "strictfp "}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (flags & words[i].flag)
			add(o, words[i].word);
}

uint32_t gpc_java_name(const struct java_name *name, char *ret, uint32_t room)
{
	struct out o = {ret, 0, room};
	char line[16];

	if (name->has_modifiers)
		add_modifiers(&o, name->modifiers);
	add(&o, name->class_name);
	add(&o, ".");
	add(&o, name->method);
	if (name->line) {
		snprintf(line, sizeof line, ":%u", name->line);
		add(&o, line);
	}
	add(&o, name->signature);
	ret[o.n] = '\0';
	return o.n;
}

static bool is_hex(const char *s)
{
	return *s && s[strspn(s, "0123456789abcdefABCDEF")] == '\0';
}

/* Foo$$Lambda$14+0x00000008000c4000 (11 to 20 with a number), Foo$$Lambda/0x...,
 * LambdaForm$MH+0x..., Foo$$Lambda$1/1234567 (8) */
void gpc_java_name_stabilize(char *class_name)
{
	char *lambda = strstr(class_name, "$$Lambda");
	char *mark = strrchr(class_name, '+');

	if (!mark || strncmp(mark, "+0x", 3) != 0 || !is_hex(mark + 3))
		mark = strrchr(class_name, '/');
	if (mark && (*mark == '+' || (strncmp(mark, "/0x", 3) == 0 && is_hex(mark + 3)) ||
		     (mark[1] && mark[1 + strspn(mark + 1, "0123456789")] == '\0')))
		*mark = '\0';
	if (!lambda)
		return;
	lambda += strlen("$$Lambda");
	if (*lambda == '$' && lambda[1 + strspn(lambda + 1, "0123456789")] == '\0')
		*lambda = '\0';
}
