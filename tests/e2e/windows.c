/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a core for a number of windows and prints its profiles, for
 * runtime_play.py. Usage: windows N NAME=VALUE..., with the long names of
 * options. A line on stdin ends the running window. The last line tells what
 * the library left behind. */
#include <dirent.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpc/gpc.h>

struct run {
	uint32_t left; /* windows */
	struct gpc_core *core;
};

static void on_log(void *ctx, const struct gpc_log_line *line)
{
	(void)ctx;
	fprintf(stderr, "%d %s %d %s\n", line->level, line->module, line->pid, line->message);
}

static void print_stack(const struct gpc_profile *p, const struct gpc_profile_api *api,
			const struct gpc_stack *s)
{
	struct gpc_event event = {.struct_size = sizeof event};

	api->event(p, s->event, &event);
	printf("stack\t%d\t%llu\t%s\t%s\t%s\t", s->pid, (unsigned long long)s->value, s->comm,
	       event.name, event.unit);
	for (uint32_t i = s->n_frames; i-- > 0;) {
		struct gpc_frame_text f = {.struct_size = sizeof f};

		if (api->frame(p, s->frames[i], &f))
			printf("%s%s%s%s%s", f.function, *f.suffix ? "_[" : "", f.suffix,
			       *f.suffix ? "]" : "", i ? ";" : "");
	}
	putchar('\n');
}

/* For who looks for what grows: what is in use, what malloc keeps, what is mapped. */
static void print_heap(uint32_t window)
{
	struct mallinfo2 m = mallinfo2();

	fprintf(stderr, "heap %u used %zu kept %zu mapped %zu\n", window, m.uordblks / 1024,
		m.fordblks / 1024, m.hblkhd / 1024);
}

static void on_profile(void *ctx, const struct gpc_profile *p, const struct gpc_profile_api *api)
{
	struct run *run = ctx;
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;

	api->info(p, &info);
	printf("profile\t%u\t%llu\t%s\n", info.seq, (unsigned long long)info.samples, info.header);
	while (api->next(p, &cursor, &stack))
		print_stack(p, api, &stack);
	fflush(stdout);
	print_heap(info.seq);
	if (run->left)
		run->left--;
}

static void *nothing(void *arg)
{
	return arg;
}

/* Sanitizers start threads of their own with the first one. */
static void warm_up(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
}

static unsigned entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int configure(struct gpc_core *core, int argc, char **argv, struct gpc_err *err)
{
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		if (gpc_core_set(core, argv[i], value, err) < 0)
			return -1;
	}
	if (gpc_core_set(core, "continuous", "true", err) < 0)
		return -1;
	return gpc_core_start(core, err);
}

static int play(struct run *run, struct gpc_err *err)
{
	struct pollfd fds[2] = {{.fd = gpc_core_fd(run->core), .events = POLLIN},
				{.fd = STDIN_FILENO, .events = POLLIN}};
	char line[64];

	while (run->left) {
		poll(fds, 2, -1);
		if (fds[1].revents && read(STDIN_FILENO, line, sizeof line) > 0)
			gpc_core_end_window(run->core);
		else if (fds[1].revents)
			fds[1].fd = -1;
		if (gpc_core_step(run->core, err) < 0)
			return -1;
	}
	/* Ends the window that runs now: it is printed as a short one. */
	return gpc_core_stop(run->core, err);
}

int main(int argc, char **argv)
{
	struct run run = {.left = argc > 1 ? (uint32_t)atoi(argv[1]) : 1};
	struct gpc_core_setup setup = {.size = sizeof setup,
				       .ctx = &run,
				       .log_level = GPC_DEBUG,
				       .on_log = on_log,
				       .on_profile = on_profile};
	unsigned fds, threads;
	struct gpc_err err;
	int failed;

	/* As the program does, in whose place this stands. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 65536);
	mallopt(M_TRIM_THRESHOLD, 65536);
	warm_up();
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	failed = gpc_core_new(&setup, &run.core, &err) < 0 ||
		 configure(run.core, argc, argv, &err) < 0 || play(&run, &err) < 0;

	if (failed)
		fprintf(stderr, "failed: %s\n", err.text);
	gpc_core_free(run.core);
	printf("left\t%d\t%d\t%d\n", (int)(entries("/proc/self/fd") - fds),
	       (int)(entries("/proc/self/task") - threads), waitpid(-1, NULL, WNOHANG) != -1);
	return failed;
}
