/* SPDX-License-Identifier: Apache-2.0 */
#include "attach.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLL_NS    UINT64_C(20000000)
#define READ_BYTES 16384
#define READS_MAX  64 /* in one go */
/* Versions that know version 2 (JEP-less change 8219896, JDK 24). */
#define MAJOR_V2 24

void gpc_java_attach_init(struct java_attach *a, uint64_t token)
{
	*a = (struct java_attach){.fd = -1, .token = token};
}

static const struct gpc_inject_api *api_of(const struct vm *vm)
{
	return vm->mem.host->extension(vm->mem.host, "gpc.inject/1");
}

/* ---- requests ------------------------------------------------------------------------- */

uint32_t gpc_java_attach_request(uint32_t protocol, const char *command, char *ret, uint32_t room)
{
	int n;

	/* 1: always three arguments. 2: as many as fill the size. */
	if (protocol < 2)
		n = snprintf(ret, room, "1%c%s%c%c%c", 0, command, 0, 0, 0);
	else
		n = snprintf(ret, room, "2%c%zu%c%s", 0, strlen(command) + 1, 0, command);
	n++; /* snprintf's NUL ends the last string */
	return n > 0 && (uint32_t)n <= room ? (uint32_t)n : 0;
}

static void close_connection(struct java_attach *a, const struct vm *vm)
{
	const struct gpc_host *h = vm->mem.host;

	if (a->fd < 0)
		return;
	h->watch_fd(h, vm->mem.target, a->fd, 0, a->token + 1);
	close(a->fd);
	a->fd = -1;
}

static void end_timer(const struct java_attach *a, const struct vm *vm)
{
	vm->mem.host->set_timer(vm->mem.host, vm->mem.target, 0, a->token);
}

void gpc_java_attach_end(struct java_attach *a, const struct vm *vm)
{
	const struct gpc_inject_api *api;

	if (a->state == ATTACH_NONE || a->state >= ATTACH_DONE)
		return;
	close_connection(a, vm);
	end_timer(a, vm);
	api = api_of(vm);
	if (api)
		api->remove_files(vm->mem.host, vm->mem.target);
	a->state = ATTACH_FAILED;
}

static void fail(struct java_attach *a, const struct vm *vm, const char *why)
{
	gpc_java_attach_end(a, vm);
	a->state = ATTACH_FAILED;
	snprintf(a->why, sizeof a->why, "%s", why);
}

/* ---- the connection ------------------------------------------------------------------------ */

static gpc_status open_connection(struct java_attach *a, const struct vm *vm)
{
	char path[64];

	snprintf(path, sizeof path, "/tmp/.java_pid%d", vm->mem.target->ns_pid);
	return api_of(vm)->connect(vm->mem.host, vm->mem.target, path, &a->fd);
}

/* Some tens of bytes: they fit, or something is wrong. */
static bool send_request(struct java_attach *a, const struct vm *vm, const char *command)
{
	const struct gpc_host *h = vm->mem.host;
	char bytes[128];
	uint32_t n = gpc_java_attach_request(a->protocol, command, bytes, sizeof bytes);

	a->n_head = 0;
	a->has_head = false;
	return n && send(a->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n &&
	       h->watch_fd(h, vm->mem.target, a->fd, EPOLLIN, a->token + 1) == GPC_OK;
}

static void begin_talk(struct java_attach *a, const struct vm *vm)
{
	const struct gpc_inject_api *api = api_of(vm);
	bool asks = a->protocol == 0 && vm->layout.major >= MAJOR_V2;

	api->remove_files(vm->mem.host, vm->mem.target);
	a->state = asks ? ATTACH_VERSION : ATTACH_ANSWER;
	a->protocol = a->protocol ? a->protocol : 1;
	gpc_java_properties_begin(&a->properties);
	if (!send_request(a, vm, asks ? "getversion" : "properties"))
		fail(a, vm, "its attach socket takes no request");
}

/* ---- waking the JVM ----------------------------------------------------------------------------
 */

/* Without the mechanism SIGQUIT makes it print all its stacks. */
static const char *reason_against(const struct vm *vm)
{
	if (vm->flags.has_no_attach)
		return "-XX:+DisableAttachMechanism";
	/* It has the mechanism running, and somebody removed its socket. */
	if (api_of(vm)->has_thread(vm->mem.host, vm->mem.target, "Attach Listener"))
		return "its attach socket was removed";
	return NULL;
}

static void wake(struct java_attach *a, const struct vm *vm)
{
	const struct gpc_host *h = vm->mem.host;
	const struct gpc_inject_api *api = api_of(vm);
	const char *why = reason_against(vm);
	char path[64];
	gpc_status st;

	if (why) {
		fail(a, vm, why);
		return;
	}
	snprintf(path, sizeof path, "/tmp/.attach_pid%d", vm->mem.target->ns_pid);
	st = api->make_file(h, vm->mem.target, path);
	/* Busy: somebody else is waking it. */
	if (st == GPC_OK)
		st = api->send_signal(h, vm->mem.target, SIGQUIT);
	if (st < 0 && st != GPC_E_BUSY)
		fail(a, vm, "it cannot be asked to be attached to");
}

void gpc_java_attach_begin(struct java_attach *a, const struct vm *vm, uint64_t longest_ns)
{
	const struct gpc_host *h = vm->mem.host;
	gpc_status st;

	if (!api_of(vm)) {
		a->state = ATTACH_FAILED;
		snprintf(a->why, sizeof a->why, "--max-touch forbids it");
		return;
	}
	a->until_ns = h->now_ns(h) + longest_ns;
	a->state = ATTACH_WAITING;
	st = open_connection(a, vm);
	if (st == GPC_OK)
		begin_talk(a, vm);
	else if (st == GPC_E_GONE)
		wake(a, vm);
	else
		fail(a, vm, "its attach socket cannot be used");
	if (a->state < ATTACH_DONE && h->set_timer(h, vm->mem.target, POLL_NS, a->token) < 0)
		fail(a, vm, "no timer");
}

/* ---- answers
 * --------------------------------------------------------------------------------------- */

/* The status, then the text. False: the status is no success. */
static bool take_bytes(struct java_attach *a, const char *bytes, size_t n)
{
	size_t at = 0;

	while (!a->has_head && at < n) {
		if (bytes[at] == '\n') {
			a->head[a->n_head] = '\0';
			a->has_head = true;
		} else if (a->n_head + 1 < sizeof a->head) {
			a->head[a->n_head++] = bytes[at];
		} else {
			return false;
		}
		at++;
	}
	if (!a->has_head)
		return true;
	if (strcmp(a->head, "0") != 0)
		return false;
	gpc_java_properties_take(&a->properties, bytes + at, n - at);
	return true;
}

static void answer_ended(struct java_attach *a, const struct vm *vm, bool is_good)
{
	bool is_version = a->state == ATTACH_VERSION;

	close_connection(a, vm);
	if (is_version) {
		/* The answer is "2": a line that is no property. */
		a->protocol = is_good && a->properties.n_line == 1 && a->properties.line[0] >= '2'
				      ? 2
				      : 1;
		if (open_connection(a, vm) == GPC_OK)
			begin_talk(a, vm);
		else
			fail(a, vm, "its attach socket has gone");
		return;
	}
	if (!is_good || !a->has_head) {
		fail(a, vm, "it does not know the command");
		return;
	}
	gpc_java_properties_end(&a->properties);
	end_timer(a, vm);
	a->state = ATTACH_DONE;
}

static void read_answer(struct java_attach *a, const struct vm *vm)
{
	char bytes[READ_BYTES];

	for (int i = 0; i < READS_MAX; i++) {
		ssize_t n = recv(a->fd, bytes, sizeof bytes, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			answer_ended(a, vm, n == 0 && (!a->has_head || a->head[0] == '0'));
			return;
		}
		if (!take_bytes(a, bytes, (size_t)n)) {
			answer_ended(a, vm, false);
			return;
		}
	}
}

void gpc_java_attach_ready(struct java_attach *a, const struct vm *vm)
{
	const struct gpc_host *h = vm->mem.host;
	gpc_status st;

	if (a->state == ATTACH_NONE || a->state >= ATTACH_DONE)
		return;
	if (h->now_ns(h) >= a->until_ns) {
		fail(a, vm, "it does not answer in time (--java-jattach-timeout)");
		return;
	}
	if (a->state != ATTACH_WAITING) {
		read_answer(a, vm);
		return;
	}
	st = open_connection(a, vm);
	if (st == GPC_OK)
		begin_talk(a, vm);
	else if (st != GPC_E_GONE)
		fail(a, vm, "its attach socket cannot be used");
}
