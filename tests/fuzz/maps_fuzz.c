/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel writes of a process, with names that the process chose. */
#include <stdlib.h>
#include <string.h>

#include "proc/maps.h"
#include "proc/stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void read_maps(const uint8_t *bytes, size_t n)
{
	char *copy = malloc(n ? n : 1);
	const char *at = copy, *before = copy;
	struct gpc_maps_line line;

	if (!copy)
		abort();
	if (n)
		memcpy(copy, bytes, n);
	while (gpc_maps_next(&at, copy + n, &line)) {
		if (at <= before || at > copy + n || line.map.start >= line.map.end)
			abort();
		if (line.path < before || line.path + line.path_len > at ||
		    memchr(line.path, '\n', line.path_len))
			abort();
		before = at;
	}
	free(copy);
}

static void read_stat(const uint8_t *bytes, size_t n)
{
	char *text = malloc(n + 1);
	struct gpc_proc_stat st;

	if (!text)
		abort();
	if (n)
		memcpy(text, bytes, n);
	text[n] = '\0';
	if (gpc_proc_stat_parse(text, &st) && strnlen(st.comm, sizeof st.comm) == sizeof st.comm)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	read_maps(bytes, n);
	read_stat(bytes, n);
	return 0;
}
