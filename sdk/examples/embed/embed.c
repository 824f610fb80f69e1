/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles inside another program: prints the samples of each process, window
 * by window. Usage: embed NAME=VALUE..., with the long names of options:
 *
 *   embed profiling-duration=5 profiling-frequency=99
 *
 * SIGINT and SIGTERM end it early; what was measured is printed.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <gpc/gpc.h>

static void on_log(void *ctx, const struct gpc_log_line *line)
{
	(void)ctx;
	if (line->level <= GPC_WARN)
		fprintf(stderr, "%s: %s\n", line->module, line->message);
}

/* One line a stack: pid, value, comm, event, frames from the root. */
static void print_stack(const struct gpc_profile *p, const struct gpc_profile_api *api,
			const struct gpc_stack *s)
{
	struct gpc_event event = {.struct_size = sizeof event};

	api->event(p, s->event, &event);
	printf("stack %d %llu %s %s", s->pid, (unsigned long long)s->value, s->comm, event.name);
	for (uint32_t i = s->n_frames; i-- > 0;) {
		struct gpc_frame_text f = {.struct_size = sizeof f};
		char line[1024];

		if (api->frame(p, s->frames[i], &f) && api->text(&f, line, sizeof line))
			printf(";%s", line);
	}
	putchar('\n');
}

static void on_profile(void *ctx, const struct gpc_profile *p, const struct gpc_profile_api *api)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;

	(void)ctx;
	api->info(p, &info);
	printf("profile %u %llu samples of %u processes\n", info.seq,
	       (unsigned long long)info.samples, info.n_processes);
	while (api->next(p, &cursor, &stack))
		print_stack(p, api, &stack);
	fflush(stdout);
}

static int configure(struct gpc_core *core, int argc, char **argv, struct gpc_err *err)
{
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		if (gpc_core_set(core, argv[i], value, err) < 0)
			return -1;
	}
	return gpc_core_start(core, err);
}

/* The library leaves signals to the program: this one reads them. */
static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int run(struct gpc_core *core, int signals, struct gpc_err *err)
{
	struct gpc_core_state state = {.size = sizeof state};
	struct pollfd fds[2] = {{.fd = gpc_core_fd(core), .events = POLLIN},
				{.fd = signals, .events = POLLIN}};

	puts("profiling");
	fflush(stdout);
	do {
		poll(fds, 2, -1);
		if (fds[1].revents)
			break;
		if (gpc_core_step(core, err) < 0)
			return -1;
		gpc_core_state(core, &state);
	} while (state.is_running);
	return gpc_core_stop(core, err);
}

int main(int argc, char **argv)
{
	struct gpc_core_setup setup = {.size = sizeof setup,
				       .on_log = on_log,
				       .on_profile = on_profile};
	struct gpc_core *core = NULL;
	struct gpc_err err;
	int signals = watch_signals();
	int failed = gpc_core_new(&setup, &core, &err) < 0 ||
		     configure(core, argc, argv, &err) < 0 || run(core, signals, &err) < 0;

	if (failed)
		fprintf(stderr, "embed: %s\n", err.text);
	gpc_core_free(core);
	close(signals);
	return failed;
}
