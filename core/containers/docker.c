/* SPDX-License-Identifier: Apache-2.0 */
#include "containers/docker.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BODY_MAX   (8u << 20)
#define CONNECT_MS 1000L

struct gpc_docker {
	char *socket;
	int stop_fd;   /* eventfd, never read: from the first write on all ends */
	bool has_curl; /* libcurl is set up only where there is a Docker */
};

struct body {
	char *text;
	size_t n, room;
	bool is_too_long;
};

static void cleanup_body(struct body *b)
{
	free(b->text);
}

static void cleanup_easy(CURL **e)
{
	if (*e)
		curl_easy_cleanup(*e);
}

static void cleanup_multi(CURLM **m)
{
	if (*m)
		curl_multi_cleanup(*m);
}

gpc_status gpc_docker_new(const char *socket, struct gpc_docker **ret, struct gpc_err *err)
{
	struct gpc_docker *d = calloc(1, sizeof *d);

	if (!d || !(d->socket = strdup(socket))) {
		free(d);
		return gpc_err_nomem(err);
	}
	d->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->stop_fd < 0) {
		gpc_err_sys(err, "eventfd");
		gpc_docker_free(d);
		return GPC_E_SYSTEM;
	}
	*ret = d;
	return GPC_OK;
}

void gpc_docker_free(struct gpc_docker *d)
{
	if (!d)
		return;
	if (d->has_curl)
		curl_global_cleanup();
	gpc_cleanup_close(&d->stop_fd);
	free(d->socket);
	free(d);
}

bool gpc_docker_is_there(const struct gpc_docker *d)
{
	struct stat st;

	return stat(d->socket, &st) == 0 && S_ISSOCK(st.st_mode);
}

void gpc_docker_interrupt(struct gpc_docker *d)
{
	uint64_t one = 1;
	ssize_t n = write(d->stop_fd, &one, sizeof one);

	(void)n; /* full means interrupted */
}

/* ---- one request ------------------------------------------------------------------ */

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
	struct body *b = ctx;
	size_t n = size * count;

	if (n > BODY_MAX - b->n) {
		b->is_too_long = true;
		return 0;
	}
	if (b->n + n > b->room) {
		size_t room = (b->n + n) * 2;
		char *grown = realloc(b->text, room);

		if (!grown)
			return 0;
		b->text = grown;
		b->room = room;
	}
	memcpy(b->text + b->n, bytes, n);
	b->n += n;
	return n;
}

/* Only this socket, whatever the environment says about proxies. */
static CURL *prepare(const struct gpc_docker *d, const char *url, struct body *body)
{
	CURL *e = curl_easy_init();

	if (!e)
		return NULL;
	if (curl_easy_setopt(e, CURLOPT_URL, url) || curl_easy_setopt(e, CURLOPT_PROXY, "") ||
	    curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, d->socket) ||
	    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) ||
	    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) ||
	    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) ||
	    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)(GPC_DOCKER_NS / GPC_MS_NS)) ||
	    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_bytes) ||
	    curl_easy_setopt(e, CURLOPT_WRITEDATA, body)) {
		curl_easy_cleanup(e);
		return NULL;
	}
	return e;
}

static CURLcode result_of(CURLM *m)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(m, &left)))
		if (msg->msg == CURLMSG_DONE)
			return msg->data.result;
	return CURLE_FAILED_INIT;
}

static gpc_status failed(CURLcode code, struct gpc_err *err)
{
	return gpc_err_set(err, code == CURLE_COULDNT_CONNECT ? GPC_E_UNSUPPORTED : GPC_E_SYSTEM,
			   "%s", curl_easy_strerror(code));
}

/* Until it is done or somebody interrupts. */
static gpc_status perform(const struct gpc_docker *d, CURLM *m, struct gpc_err *err)
{
	struct curl_waitfd stop = {.fd = d->stop_fd, .events = CURL_WAIT_POLLIN};
	int running = 1;

	for (;;) {
		CURLcode done;

		if (curl_multi_perform(m, &running))
			return gpc_err_set(err, GPC_E_INTERNAL, "curl_multi_perform");
		if (!running) {
			done = result_of(m);
			return done == CURLE_OK ? GPC_OK : failed(done, err);
		}
		if (curl_multi_poll(m, &stop, 1, 1000, NULL))
			return gpc_err_set(err, GPC_E_INTERNAL, "curl_multi_poll");
		if (stop.revents)
			return gpc_err_set(err, GPC_E_TIMEOUT, "interrupted");
	}
}

static gpc_status check(CURL *e, const struct body *body, struct gpc_err *err)
{
	long code = 0;

	curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &code);
	if (code == 404)
		return gpc_err_set(err, GPC_E_GONE, "no such container");
	if (code != 200 || !body->n)
		return gpc_err_set(err, GPC_E_SYSTEM, "status %ld, %zu bytes", code, body->n);
	return GPC_OK;
}

static gpc_status transfer(const struct gpc_docker *d, const char *url, struct body *body,
			   struct gpc_err *err)
{
	autocall(cleanup_easy) CURL *e = prepare(d, url, body);
	autocall(cleanup_multi) CURLM *m = curl_multi_init();
	gpc_status st;

	if (!e || !m || curl_multi_add_handle(m, e))
		return gpc_err_nomem(err);
	st = perform(d, m, err);
	if (st == GPC_OK)
		st = check(e, body, err);
	else if (body->is_too_long)
		st = gpc_err_set(err, GPC_E_BUDGET, "an answer of more than %u bytes", BODY_MAX);
	curl_multi_remove_handle(m, e);
	return st;
}

static gpc_status get(struct gpc_docker *d, const char *path, struct body *body,
		      struct gpc_err *err)
{
	struct gpc_err why;
	char url[128];
	gpc_status st;

	if (!d->has_curl && curl_global_init(CURL_GLOBAL_DEFAULT))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "libcurl cannot be used");
	d->has_curl = true;
	snprintf(url, sizeof url, "http://localhost%s", path);
	st = transfer(d, url, body, &why);
	if (st < 0 && err) {
		*err = why;
		gpc_err_prefix(err, "Docker on %s", d->socket);
	}
	return st;
}

gpc_status gpc_docker_list(struct gpc_docker *d, gpc_docker_fn fn, void *ctx, struct gpc_err *err)
{
	autocall(cleanup_body) struct body body = {0};

	gpc_try(get(d, "/containers/json", &body, err));
	return gpc_docker_parse_list(body.text, body.n, fn, ctx, err);
}

gpc_status gpc_docker_one(struct gpc_docker *d, const struct gpc_container_id *id,
			  struct gpc_container *ret, struct gpc_err *err)
{
	autocall(cleanup_body) struct body body = {0};
	char path[96];

	snprintf(path, sizeof path, "/containers/%s/json", id->hex);
	gpc_try(get(d, path, &body, err));
	return gpc_docker_parse_one(body.text, body.n, ret, err);
}
