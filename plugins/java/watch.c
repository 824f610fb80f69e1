/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <gpc/log.h>

#define RECORD_BYTES 8192 /* one read of /dev/kmsg is one record */
#define RECORDS_MAX  512  /* in one go */
#define EXIT_MS      20   /* between the event of an end and the end */

/* ---- who is known ---------------------------------------------------------------------- */

static struct known_jvm *find(struct java_watch *w, int32_t pid)
{
	for (uint32_t i = 0; i < GPC_JAVA_KNOWN; i++)
		if (w->known[i].pid == pid)
			return &w->known[i];
	return NULL;
}

void gpc_java_watch_join(struct java_watch *w, int32_t pid)
{
	struct known_jvm *k = find(w, pid);

	if (!k)
		k = &w->known[w->n++ % GPC_JAVA_KNOWN];
	*k = (struct known_jvm){.pid = pid};
}

void gpc_java_watch_name(struct java_watch *w, int32_t pid, const char *name)
{
	struct known_jvm *k = find(w, pid);

	if (k)
		snprintf(k->name, sizeof k->name, "%.*s", (int)strcspn(name, " "), name);
}

static const char *name_of(const struct known_jvm *k)
{
	return k && k->name[0] ? k->name : "main class unknown";
}

/* ---- the kernel's log -------------------------------------------------------------------- */

void gpc_java_watch_start(struct java_watch *w, const struct gpc_host *host, const char *path,
			  uint64_t token)
{
	memset(w, 0, sizeof *w);
	w->host = host;
	w->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (w->fd < 0) {
		gpc_host_logf(host, GPC_DEBUG,
			      "the kernel's log cannot be read: %s is not there for us", path);
		return;
	}
	lseek(w->fd, 0, SEEK_END);
	if (host->watch_fd(host, NULL, w->fd, EPOLLIN, token) < 0) {
		close(w->fd);
		w->fd = -1;
	}
}

void gpc_java_watch_stop(struct java_watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void tell_kernel(struct java_watch *w, const struct kernel_death *d)
{
	const struct known_jvm *k = find(w, d->pid);

	if (!k)
		return;
	if (d->is_oom)
		gpc_host_logf(w->host, GPC_WARN,
			      "JVM %d (%s) was killed by the kernel: out of memory%s (%s)", d->pid,
			      name_of(k), d->is_group ? " of its control group" : "", d->what);
	else
		gpc_host_logf(w->host, GPC_WARN, "JVM %d (%s) died: %s, says the kernel", d->pid,
			      name_of(k), d->what);
}

void gpc_java_watch_ready(struct java_watch *w)
{
	char record[RECORD_BYTES];
	struct kernel_death d;

	for (int i = 0; i < RECORDS_MAX && w->fd >= 0; i++) {
		ssize_t n = read(w->fd, record, sizeof record - 1);

		/* EPIPE: some were overwritten before we came; the next read goes on. */
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return;
		record[n] = '\0';
		if (gpc_java_kernel_parse(record, &d))
			tell_kernel(w, &d);
	}
}

/* ---- an end ---------------------------------------------------------------------------------- */

/* Detached from, it may live on. */
static bool has_gone(const struct java_watch *w, const struct gpc_target *t)
{
	struct pollfd p = {.fd = t->pidfd, .events = POLLIN};

	return t->pidfd >= 0 && poll(&p, 1, w->host->should_stop(w->host) ? 0 : EXIT_MS) == 1;
}

void gpc_java_watch_leave(struct java_watch *w, const struct gpc_target *t,
			  const struct java_reports *reports)
{
	struct known_jvm *k = find(w, t->pid);
	struct java_crash crash;
	const char *path;

	if (!reports->n || !has_gone(w, t) || !gpc_java_reports_find(reports, t, &crash, &path))
		return;
	gpc_host_logf(w->host, GPC_WARN, "JVM %d (%s) died: %s%s%s, see %s", t->pid, name_of(k),
		      crash.what, crash.where[0] ? " in " : "", crash.where, path);
}
