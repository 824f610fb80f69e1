/* SPDX-License-Identifier: Apache-2.0 */
/* One window in this process; prints for each process, tab separated: pid,
 * container, pod, namespace, container id. Usage: labels NAME=VALUE... */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gpc/gpc.h>

static void on_profile(void *ctx, const struct gpc_profile *p, const struct gpc_profile_api *api)
{
	struct gpc_stack s = {.struct_size = sizeof s};
	uint64_t cursor = 0;
	int32_t last = 0;

	(void)ctx;
	while (api->next(p, &cursor, &s)) {
		if (s.pid != last)
			printf("%d\t%s\t%s\t%s\t%s\n", s.pid, s.container, s.pod, s.pod_namespace,
			       s.container_id);
		last = s.pid;
	}
}

int main(int argc, char **argv)
{
	struct gpc_core_setup setup = {.size = sizeof setup, .on_profile = on_profile};
	struct gpc_core_state state = {.size = sizeof state, .is_running = 1};
	struct gpc_core *core = NULL;
	struct gpc_err err = {0};
	int failed = gpc_core_new(&setup, &core, &err) < 0;

	for (int i = 1; i < argc && !failed; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		failed = gpc_core_set(core, argv[i], value, &err) < 0;
	}
	failed = failed || gpc_core_start(core, &err) < 0;
	while (!failed && state.is_running) {
		usleep(50000);
		gpc_core_state(core, &state);
	}
	if (failed || gpc_core_stop(core, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		failed = 1;
	}
	gpc_core_free(core);
	return failed;
}
