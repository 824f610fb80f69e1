/* SPDX-License-Identifier: Apache-2.0 */
/* A root folder with what container runtimes leave there, and a daemon on a unix
 * socket that answers as the test says. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"

#define A "3f4b1c0a9d8e7f6655443322110099887766554433221100ffeeddccbbaa9988"
#define B "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

struct root {
	char path[64];
};

static inline void root_init(struct root *r)
{
	snprintf(r->path, sizeof r->path, "/tmp/gpc-containers-XXXXXX");
	assert_non_null(mkdtemp(r->path));
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static inline void root_deinit(struct root *r)
{
	nftw(r->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void root_write(const struct root *r, const char *name, const char *text)
{
	char path[512], *slash;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", r->path, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(gpc_mkdirs(path, 0755, NULL), 0);
	*slash = '/';
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* ---- a daemon ------------------------------------------------------------------- */

/* path: of the request. Writes the answer to fd. One request per connection. */
typedef void (*answer_fn)(void *ctx, int fd, const char *path);

struct daemon {
	char socket[100];
	int fd, stop_fd;
	answer_fn fn;
	void *ctx;
	int requests; /* atomic */
	pthread_t thread;
};

static inline void serve(struct daemon *d, int fd)
{
	char request[4096] = "", path[256] = "";
	size_t n = 0;

	while (n < sizeof request - 1 && !strstr(request, "\r\n\r\n")) {
		ssize_t got = read(fd, request + n, sizeof request - 1 - n);

		if (got <= 0)
			return;
		n += (size_t)got;
		request[n] = '\0';
	}
	sscanf(request, "GET %255s", path);
	__atomic_add_fetch(&d->requests, 1, __ATOMIC_SEQ_CST);
	d->fn(d->ctx, fd, path);
}

static inline void *daemon_run(void *arg)
{
	struct daemon *d = arg;
	struct pollfd fds[2] = {{.fd = d->fd, .events = POLLIN},
				{.fd = d->stop_fd, .events = POLLIN}};

	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		int fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		serve(d, fd);
		close(fd);
	}
	return NULL;
}

/* name: below root */
static inline void daemon_start(struct daemon *d, const struct root *r, const char *name,
				answer_fn fn, void *ctx)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	memset(d, 0, sizeof *d);
	snprintf(d->socket, sizeof d->socket, "%s/%s", r->path, name);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", d->socket);
	d->fn = fn;
	d->ctx = ctx;
	d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	d->stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(bind(d->fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(d->fd, 16), 0);
	assert_int_equal(pthread_create(&d->thread, NULL, daemon_run, d), 0);
}

static inline void daemon_stop(struct daemon *d)
{
	uint64_t one = 1;

	assert_int_equal(write(d->stop_fd, &one, sizeof one), sizeof one);
	pthread_join(d->thread, NULL);
	close(d->fd);
	close(d->stop_fd);
}

static inline void say(int fd, const char *text)
{
	ssize_t n = send(fd, text, strlen(text), MSG_NOSIGNAL);

	(void)n; /* the client may have gone */
}

static inline void say_ok(int fd, const char *body)
{
	char head[160];

	snprintf(head, sizeof head,
		 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		 strlen(body));
	say(fd, head);
	say(fd, body);
}

static inline void say_unknown(int fd)
{
	say(fd, "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"
		"Content-Length: 35\r\n\r\n{\"message\":\"No such container: it\"}");
}

#endif
