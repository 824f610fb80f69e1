/* SPDX-License-Identifier: Apache-2.0 */
#include "properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PROPS] = {
	[PROP_VERSION] = "java.version",
	[PROP_DATE] = "java.version.date",
	[PROP_RUNTIME_NAME] = "java.runtime.name",
	[PROP_RUNTIME_VERSION] = "java.runtime.version",
	[PROP_VENDOR_VERSION] = "java.vendor.version",
	[PROP_VM_NAME] = "java.vm.name",
	[PROP_VM_VERSION] = "java.vm.version",
	[PROP_VM_INFO] = "java.vm.info",
	[PROP_DEBUG_LEVEL] = "jdk.debug",
};

void gpc_java_properties_begin(struct java_properties *p)
{
	memset(p, 0, sizeof *p);
}

static int hex_of(const char *s)
{
	char digits[5] = "";
	char *end;
	long v;

	strncat(digits, s, 4);
	v = strtol(digits, &end, 16);
	return strlen(digits) == 4 && !*end ? (int)v : -1;
}

/* \: \= \  and the like are the letter itself; \uXXXX beyond ASCII becomes '?'. */
static void unescape(const char *text, char *ret, size_t room)
{
	size_t n = 0;

	for (; *text && n + 1 < room; text++) {
		char c = *text;

		if (c == '\\' && text[1] == 'u' && hex_of(text + 2) >= 0) {
			int v = hex_of(text + 2);

			c = v >= ' ' && v < 127 ? (char)v : '?';
			text += 5;
		} else if (c == '\\' && text[1]) {
			text++;
			c = strchr("tnrf", *text) ? ' ' : *text;
		}
		ret[n++] = c < ' ' && c >= 0 ? '?' : c;
	}
	ret[n] = '\0';
}

static void take_line(struct java_properties *p)
{
	const char *sign = strchr(p->line, '=');

	for (int i = 0; sign && i < PROPS; i++) {
		size_t n = strlen(names[i]);

		if ((size_t)(sign - p->line) == n && memcmp(p->line, names[i], n) == 0)
			unescape(sign + 1, p->value[i], sizeof p->value[i]);
	}
}

/* A line without an end stays in line. */
void gpc_java_properties_take(struct java_properties *p, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r') {
			p->line[p->n_line] = '\0';
			if (!p->is_long)
				take_line(p);
			/* An answer of one line is looked at as it is. */
			if (i + 1 < n || p->n_line > 1)
				p->n_line = 0;
			p->is_long = false;
		} else if (p->n_line + 1 < sizeof p->line && bytes[i]) {
			p->line[p->n_line++] = bytes[i];
		} else {
			p->is_long = true;
		}
	}
}

void gpc_java_properties_end(struct java_properties *p)
{
	gpc_java_properties_take(p, "\n", 1);
	memset(p->line, 0, sizeof p->line); /* it may hold somebody's password */
}

/* OpenJDK java.base/share/classes/java/lang/VersionProps.java.template, print(). */
bool gpc_java_version_text(const struct java_properties *p, char *ret, uint32_t room)
{
	const char *date = p->value[PROP_DATE], *vendor = p->value[PROP_VENDOR_VERSION];
	const char *level = p->value[PROP_DEBUG_LEVEL];
	const char *launcher =
		strncmp(p->value[PROP_RUNTIME_NAME], "OpenJDK", 7) == 0 ? "openjdk" : "java";
	bool is_lts = strstr(p->value[PROP_RUNTIME_VERSION], "LTS") && *date;
	char build[176] = "build ";

	if (!p->value[PROP_VERSION][0] || !p->value[PROP_VM_NAME][0])
		return false;
	if (*level && strcmp(level, "release") != 0)
		snprintf(build, sizeof build, "%s build ", level);
	snprintf(ret, room, "%s version \"%s\"%s%s%s\n%s%s%s (%s%s)\n%s%s%s (%s%s, %s)", launcher,
		 p->value[PROP_VERSION], *date ? " " : "", date, is_lts ? " LTS" : "",
		 p->value[PROP_RUNTIME_NAME], *vendor ? " " : "", vendor, build,
		 p->value[PROP_RUNTIME_VERSION], p->value[PROP_VM_NAME], *vendor ? " " : "", vendor,
		 build, p->value[PROP_VM_VERSION], p->value[PROP_VM_INFO]);
	return true;
}
