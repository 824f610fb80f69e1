/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte says what the rest is: a list of Docker's, one container of
 * Docker's, a config.json of a bundle, or the text of /proc/PID/cgroup. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "containers/bundle.h"
#include "containers/docker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *ctx, struct gpc_container *c)
{
	(void)ctx;
	if (strlen(c->id.hex) != GPC_CONTAINER_ID || !c->name || !*c->name)
		abort();
	gpc_container_deinit(c);
}

static void try_bundle(const char *text, size_t n)
{
	struct gpc_bundle b;

	if (gpc_bundle_parse(text, n, &b, NULL) < 0)
		return;
	if (!b.container || !*b.container || !b.pod || !*b.pod || b.restarts < -1)
		abort();
	gpc_bundle_deinit(&b);
}

static void try_cgroup(const char *text, size_t n)
{
	struct gpc_container_id ids[GPC_CONTAINER_DEPTH];
	char uid[GPC_POD_UID + 1];
	autofree char *copy = strndup(text, n);
	size_t found, len;
	const char *line;

	if (!copy)
		return;
	found = gpc_container_ids(copy, ids);
	line = gpc_container_line(copy, &len);
	if (!found != !len || line < copy || line + len > copy + strlen(copy))
		abort();
	for (size_t i = 0; i < found; i++)
		if (strlen(ids[i].hex) != GPC_CONTAINER_ID || !memmem(line, len, ids[i].hex, 64))
			abort();
	if (gpc_container_pod_uid(copy, uid) && strlen(uid) != 32 && strlen(uid) != 36)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct gpc_container c;

	if (!size--)
		return 0;
	switch (data[0] % 4) {
	case 0:
		gpc_docker_parse_list(text, size, check, NULL, NULL);
		break;
	case 1:
		if (gpc_docker_parse_one(text, size, &c, NULL) == GPC_OK)
			check(NULL, &c);
		break;
	case 2:
		try_bundle(text, size);
		break;
	default:
		try_cgroup(text, size);
		break;
	}
	return 0;
}
