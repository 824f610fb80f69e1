/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cpus.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define MAX_CPUS 65536

static gpc_status add_range(struct gpc_cpus *cpus, unsigned long from, unsigned long to,
			    struct gpc_err *err)
{
	if (from > to || to >= MAX_CPUS)
		return gpc_err_set(err, GPC_E_CORRUPT, "impossible CPU range %lu-%lu", from, to);
	for (unsigned long cpu = from; cpu <= to; cpu++)
		if (!vec_push(&cpus->list, (uint32_t)cpu))
			return gpc_err_nomem(err);
	return GPC_OK;
}

/* strtoul without its signs and spaces. */
static unsigned long number(const char *at, char **end)
{
	*end = (char *)(uintptr_t)at;
	return *at >= '0' && *at <= '9' ? strtoul(at, end, 10) : 0;
}

gpc_status gpc_cpus_parse(const char *text, struct gpc_cpus *ret, struct gpc_err *err)
{
	struct gpc_cpus cpus = {0};
	gpc_status st = GPC_OK;

	while (*text && *text != '\n' && st == GPC_OK) {
		char *end = (char *)(uintptr_t)text;
		unsigned long from = number(text, &end), to = from;
		bool is_number = end != text;

		if (is_number && *end == '-') {
			const char *second = end + 1;

			to = number(second, &end);
			is_number = end != second;
		}
		if (!is_number || (*end && !strchr(",\n", *end)))
			st = gpc_err_set(err, GPC_E_CORRUPT, "CPU list '%.40s'", text);
		else
			st = add_range(&cpus, from, to, err);
		text = *end == ',' ? end + 1 : end;
	}
	if (st < 0) {
		gpc_cpus_deinit(&cpus);
		return st;
	}
	*ret = cpus;
	return GPC_OK;
}

gpc_status gpc_cpus_online(struct gpc_cpus *ret, struct gpc_err *err)
{
	char text[4096];
	struct gpc_cpus cpus = {0};

	if (gpc_read_small(AT_FDCWD, "/sys/devices/system/cpu/online", text, sizeof text) > 0 &&
	    gpc_cpus_parse(text, &cpus, err) == GPC_OK && cpus.list.n) {
		*ret = cpus;
		return GPC_OK;
	}
	gpc_try(add_range(&cpus, 0, (unsigned long)sysconf(_SC_NPROCESSORS_ONLN) - 1, err));
	*ret = cpus;
	return GPC_OK;
}

bool gpc_cpus_has(const struct gpc_cpus *cpus, uint32_t cpu)
{
	for (size_t i = 0; i < cpus->list.n; i++)
		if (cpus->list.at[i] == cpu)
			return true;
	return false;
}

void gpc_cpus_deinit(struct gpc_cpus *cpus)
{
	vec_deinit(&cpus->list);
}
