/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of JVMs and of the kernel: crash reports, the kernel's log, names of reports,
 * properties. The first byte says which. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "death.h"
#include "properties.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void take_properties(const char *text, size_t n)
{
	struct java_properties p;
	char version[64];
	size_t half = n / 2;

	gpc_java_properties_begin(&p);
	gpc_java_properties_take(&p, text, half);
	gpc_java_properties_take(&p, text + half, n - half);
	gpc_java_properties_end(&p);
	gpc_java_version_text(&p, version, sizeof version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct java_crash crash;
	struct kernel_death death;
	char name[32], *text;

	if (!n)
		return 0;
	text = malloc(n); /* just as long: what reads beyond is seen */
	if (!text)
		return 0;
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	switch (data[0] % 4) {
	case 0:
		gpc_java_crash_parse(text, &crash);
		break;
	case 1:
		gpc_java_kernel_parse(text, &death);
		break;
	case 2:
		gpc_java_report_name(text, 12345, name, sizeof name);
		break;
	default:
		take_properties(text, n - 1);
	}
	free(text);
	return 0;
}
