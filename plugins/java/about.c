/* SPDX-License-Identifier: Apache-2.0 */
#include "about.h"

#include <stdio.h>

static void read_through(const struct jmem *m, uint64_t variable, char *ret, uint32_t room)
{
	uint64_t text;

	ret[0] = '\0';
	if (variable && gpc_java_read_u64(m, variable, &text))
		gpc_java_read_text(m, text, ret, room);
}

void gpc_java_about_read(const struct jmem *m, const struct layout *l, struct java_about *ret)
{
	read_through(m, l->at[S_VM_INFO], ret->version, sizeof ret->version);
	if (!ret->version[0])
		read_through(m, l->at[S_VM_RELEASE], ret->version, sizeof ret->version);
	read_through(m, l->at[S_JAVA_COMMAND], ret->command, sizeof ret->command);
}

bool gpc_java_about_appid(const struct java_about *about, char *ret, uint32_t room)
{
	size_t n = strcspn(about->command, " ");

	if (!n)
		return false;
	snprintf(ret, room, "java: %.*s", (int)n, about->command);
	return true;
}
