/* SPDX-License-Identifier: Apache-2.0 */
/* The attach mechanism against a JVM that is a thread of the test: it answers as HotSpot
 * does, late, wrongly or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach.h"
#include "fake_vm.h"

#define TOKEN   7
#define STEP_NS UINT64_C(20000000)
#define PROPS_17                                                                                   \
	"#Mon Jan 01\njava.version=17.0.15\njava.version.date=2025-04-15\njava.vm.info=mixed "     \
	"mode, sharing\njava.runtime.name=OpenJDK Runtime Environment\njava.runtime.version=17.0." \
	"15+6-Debian-1deb12u1\njava.vm.name=OpenJDK 64-Bit Server VM\njava.vm.version=17.0.15+6-"  \
	"Debian-1deb12u1\njdk.debug=release\nsecret.password=hunter2\npath=a\\:b\n"

struct world {
	struct fake_vm *v;
	struct gpc_host host;
	struct gpc_inject_api api;
	struct java_attach attach;
	/* the JVM */
	bool has_socket, has_listener, is_refused, is_unforced;
	uint32_t wakes_after; /* timers until its socket is there, once it got the signal */
	const char *version_answer, *answer;
	char requests[4][160];
	uint32_t request_bytes[4], n_requests;
	/* what was done to it */
	uint32_t n_files, n_signals, n_made, n_connections;
	int32_t watched;
	bool has_timer;
	int server;
};

/* ---- the host ---------------------------------------------------------------------------- */

static struct world *of(const struct gpc_host *h)
{
	return h->impl;
}

static gpc_status api_connect(const struct gpc_host *h, const struct gpc_target *t,
			      const char *path, int32_t *fd)
{
	struct world *w = of(h);
	int fds[2];

	(void)t;
	assert_string_equal(path, "/tmp/.java_pid42");
	if (w->is_refused)
		return GPC_E_SYSTEM;
	if (!w->has_socket)
		return GPC_E_GONE;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	if (w->server >= 0)
		close(w->server);
	w->server = fds[1];
	w->n_connections++;
	*fd = fds[0];
	return GPC_OK;
}

static gpc_status api_make_file(const struct gpc_host *h, const struct gpc_target *t,
				const char *path)
{
	struct world *w = of(h);

	(void)t;
	assert_string_equal(path, "/tmp/.attach_pid42");
	w->n_files++;
	w->n_made++;
	return GPC_OK;
}

static void api_remove_files(const struct gpc_host *h, const struct gpc_target *t)
{
	(void)t;
	of(h)->n_files = 0;
}

static gpc_status api_send_signal(const struct gpc_host *h, const struct gpc_target *t,
				  int32_t number)
{
	(void)t;
	assert_int_equal(number, 3);
	if (of(h)->is_unforced)
		return GPC_E_UNSUPPORTED;
	of(h)->n_signals++;
	return GPC_OK;
}

static int32_t api_has_thread(const struct gpc_host *h, const struct gpc_target *t,
			      const char *name)
{
	(void)t;
	return of(h)->has_listener && strcmp(name, "Attach Listener") == 0;
}

static gpc_status watch_fd(const struct gpc_host *h, const struct gpc_target *t, int32_t fd,
			   uint32_t events, uint64_t token)
{
	(void)t;
	assert_int_equal(token, TOKEN + 1);
	of(h)->watched = events ? fd : -1;
	return GPC_OK;
}

static gpc_status set_timer(const struct gpc_host *h, const struct gpc_target *t, uint64_t every_ns,
			    uint64_t token)
{
	(void)t;
	assert_int_equal(token, TOKEN);
	of(h)->has_timer = every_ns != 0;
	return GPC_OK;
}

static const void *extension(const struct gpc_host *h, const char *id)
{
	assert_string_equal(id, "gpc.inject/1");
	return of(h)->api.connect ? &of(h)->api : NULL;
}

static int64_t read_mem(const struct gpc_host *h, const struct gpc_target *t, uint64_t addr,
			void *buf, uint64_t len)
{
	const struct gpc_host *jvm = &of(h)->v->jvm->host;

	return jvm->read_mem(jvm, t, addr, buf, len);
}

static uint64_t now_ns(const struct gpc_host *h)
{
	return of(h)->v->jvm->now;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	w->v = fake_vm_new(fake_jvm_new());
	assert_non_null(w->v);
	assert_int_equal(fake_vm_attach(w->v), GPC_OK);
	w->server = w->watched = -1;
	w->answer = "0\n" PROPS_17;
	w->version_answer = "0\n2\n";
	w->api = (struct gpc_inject_api){.struct_size = sizeof w->api,
					 .connect = api_connect,
					 .make_file = api_make_file,
					 .remove_files = api_remove_files,
					 .send_signal = api_send_signal,
					 .has_thread = api_has_thread};
	w->host = (struct gpc_host){.struct_size = sizeof w->host,
				    .impl = w,
				    .read_mem = read_mem,
				    .now_ns = now_ns,
				    .watch_fd = watch_fd,
				    .set_timer = set_timer,
				    .extension = extension};
	w->v->vm.mem.host = &w->host;
	w->v->jvm->target.ns_pid = 42;
	gpc_java_attach_init(&w->attach, TOKEN);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	gpc_java_attach_end(&w->attach, &w->v->vm);
	assert_int_equal(w->n_files, 0);
	assert_int_equal(w->watched, -1);
	assert_false(w->has_timer);
	if (w->server >= 0)
		close(w->server);
	fake_vm_free(w->v);
	free(w);
	return 0;
}

/* ---- the JVM --------------------------------------------------------------------------------- */

/* Takes what was sent, answers bytes at a time. */
static void serve(struct world *w, uint32_t bytes)
{
	uint32_t at = w->n_requests, connection = w->n_connections;
	ssize_t n = recv(w->server, w->requests[at], sizeof w->requests[at], MSG_DONTWAIT);
	bool is_version;
	const char *text;

	if (n <= 0)
		return;
	assert_true(at < 3);
	w->request_bytes[at] = (uint32_t)n;
	w->n_requests++;
	is_version = n > 4 && memcmp(w->requests[at] + 2, "getversion", 10) == 0;
	text = is_version ? w->version_answer : w->answer;
	if (!text) /* it never answers */
		return;
	for (size_t k = 0; k < strlen(text); k += bytes) {
		size_t left = strlen(text) - k;

		if (send(w->server, text + k, left < bytes ? left : bytes, MSG_NOSIGNAL) < 0)
			break;
		gpc_java_attach_ready(&w->attach, &w->v->vm);
		if (w->n_connections != connection) /* it has heard enough */
			return;
	}
	shutdown(w->server, SHUT_WR);
}

static void run(struct world *w, uint32_t bytes)
{
	gpc_java_attach_begin(&w->attach, &w->v->vm, 10 * STEP_NS);
	for (int i = 0; i < 50 && w->attach.state < ATTACH_DONE; i++) {
		w->v->jvm->now += STEP_NS;
		if (w->n_signals && !w->has_socket && !w->wakes_after--)
			w->has_socket = true;
		if (w->server >= 0)
			serve(w, bytes);
		gpc_java_attach_ready(&w->attach, &w->v->vm);
	}
}

#define TEXT_17                                                                                   \
	"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment (build "             \
	"17.0.15+6-Debian-1deb12u1)\nOpenJDK 64-Bit Server VM (build 17.0.15+6-Debian-1deb12u1, " \
	"mixed mode, sharing)"

static void assert_text(const struct world *w, const char *expected)
{
	char text[1024];

	assert_int_equal(w->attach.state, ATTACH_DONE);
	assert_true(gpc_java_version_text(&w->attach.properties, text, sizeof text));
	assert_string_equal(text, expected);
	for (size_t i = 0; i + 7 < sizeof w->attach.properties; i++)
		assert_memory_not_equal((const char *)&w->attach.properties + i, "hunter2", 7);
}

static void assert_request(const struct world *w, uint32_t i, const char *bytes, size_t n)
{
	assert_true(i < w->n_requests);
	assert_int_equal(w->request_bytes[i], n);
	assert_memory_equal(w->requests[i], bytes, n);
}

/* ---- tests --------------------------------------------------------------------------------------
 */

static void test_a_jvm_that_listens(void **state)
{
	static const uint32_t pieces[] = {1, 2, 7, 10000};

	for (size_t i = 0; i < 4; i++) {
		struct world *w;

		if (i) {
			end(state);
			begin(state);
		}
		w = *state;
		w->has_socket = true;
		run(w, pieces[i]);
		assert_text(w, TEXT_17);
		assert_int_equal(w->n_signals, 0);
		assert_int_equal(w->n_made, 0);
		assert_request(w, 0, "1\0properties\0\0\0\0", 16);
	}
}

static void test_a_jvm_that_is_woken(void **state)
{
	struct world *w = *state;

	w->wakes_after = 3;
	run(w, 10000);
	assert_text(w, TEXT_17);
	assert_int_equal(w->n_signals, 1);
	assert_int_equal(w->n_made, 1);
	assert_int_equal(w->n_files, 0); /* not at the end only */
}

static void test_version_2(void **state)
{
	struct world *w = *state;

	w->has_socket = true;
	w->v->vm.layout.major = 25;
	run(w, 10000);
	assert_text(w, TEXT_17);
	assert_int_equal(w->n_requests, 2);
	assert_request(w, 0, "1\0getversion\0\0\0\0", 16);
	assert_request(w, 1,
		       "2\0"
		       "11\0properties\0",
		       16);
}

static void test_version_2_is_not_there(void **state)
{
	static const char *const answers[] = {"101\n",  "-1\nOperation not recognized!\n",
					      "0\n1\n", "0\n",
					      "",       "0\n22222222222222222222222222\n"};

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct world *w;

		if (i) {
			end(state);
			begin(state);
		}
		w = *state;
		w->has_socket = true;
		w->v->vm.layout.major = 24;
		w->version_answer = answers[i];
		run(w, 3);
		assert_text(w, TEXT_17);
		assert_request(w, 1, "1\0properties\0\0\0\0", 16);
	}
}

static void assert_failed(struct world *w, const char *why)
{
	run(w, 10000);
	assert_int_equal(w->attach.state, ATTACH_FAILED);
	assert_string_equal(w->attach.why, why);
	assert_int_equal(w->n_files, 0);
}

static void test_no_answer(void **state)
{
	struct world *w = *state;

	w->has_socket = true;
	w->answer = NULL;
	assert_failed(w, "it does not answer in time (--java-jattach-timeout)");
}

static void test_it_never_wakes(void **state)
{
	struct world *w = *state;

	w->wakes_after = 1000;
	assert_failed(w, "it does not answer in time (--java-jattach-timeout)");
	assert_int_equal(w->n_signals, 1);
	assert_int_equal(w->n_made, 1);
}

static void test_it_catches_no_signal(void **state)
{
	struct world *w = *state;

	w->is_unforced = true;
	assert_failed(w, "it cannot be asked to be attached to");
	assert_int_equal(w->n_signals, 0);
}

static void test_its_socket_was_removed(void **state)
{
	struct world *w = *state;

	w->has_listener = true;
	assert_failed(w, "its attach socket was removed");
	assert_int_equal(w->n_signals, 0);
	assert_int_equal(w->n_made, 0);
}

static void test_it_refuses(void **state)
{
	struct world *w = *state;

	w->is_refused = true;
	assert_failed(w, "its attach socket cannot be used");
}

static void test_max_touch(void **state)
{
	struct world *w = *state;

	w->api.connect = NULL;
	assert_failed(w, "--max-touch forbids it");
}

static void test_it_fails(void **state)
{
	static const char *const answers[] = {"-1\nno\n", "100\n", "",
					      "0",        "x",     "000000000000000000000000\n"};

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct world *w;

		if (i) {
			end(state);
			begin(state);
		}
		w = *state;
		w->has_socket = true;
		w->answer = answers[i];
		assert_failed(w, "it does not know the command");
	}
}

static void test_left_in_the_middle(void **state)
{
	struct world *w = *state;

	gpc_java_attach_begin(&w->attach, &w->v->vm, 10 * STEP_NS);
	assert_int_equal(w->n_files, 1);
	assert_true(w->has_timer);
	gpc_java_attach_end(&w->attach, &w->v->vm);
	assert_int_equal(w->n_files, 0);
	assert_false(w->has_timer);
}

/* ---- texts
 * ------------------------------------------------------------------------------------------ */

static void assert_version(const char *properties, const char *expected)
{
	struct java_properties p;
	char text[1024];

	gpc_java_properties_begin(&p);
	gpc_java_properties_take(&p, properties, strlen(properties));
	gpc_java_properties_end(&p);
	assert_true(gpc_java_version_text(&p, text, sizeof text));
	assert_string_equal(text, expected);
}

static void test_texts(void **state)
{
	struct java_properties p;
	char text[64];

	(void)state;
	assert_version("java.version=1.8.0_442\njava.runtime.name=OpenJDK Runtime Environment\n"
		       "java.runtime.version=1.8.0_442-b06\njava.vm.name=OpenJDK 64-Bit Server VM\n"
		       "java.vm.version=25.442-b06\njava.vm.info=mixed mode",
		       "openjdk version \"1.8.0_442\"\nOpenJDK Runtime Environment (build "
		       "1.8.0_442-b06)\nOpenJDK 64-Bit Server VM (build 25.442-b06, mixed mode)");
	assert_version(
		"java.version=21.0.7\njava.version.date=2025-04-15\njava.vendor.version=Temurin-21."
		"0."
		"7+6\njava.runtime.name=OpenJDK Runtime Environment\njava.runtime.version=21.0.7+6-"
		"LTS\njava.vm.name=OpenJDK 64-Bit Server VM\njava.vm.version=21.0.7+6-LTS\njava.vm."
		"info=mixed mode, sharing\njdk.debug=release\n",
		"openjdk version \"21.0.7\" 2025-04-15 LTS\nOpenJDK Runtime Environment "
		"Temurin-21.0.7+6 (build 21.0.7+6-LTS)\nOpenJDK 64-Bit Server VM Temurin-21.0.7+6 "
		"(build 21.0.7+6-LTS, mixed mode, sharing)");
	assert_version(
		"java.version=9\\:\\=\\u0041\\u20ac\\\njava.vm.name=X\njdk.debug=slowdebug\n",
		"java version \"9:=A?\\\"\n (slowdebug build )\nX (slowdebug build , )");
	gpc_java_properties_begin(&p);
	assert_false(gpc_java_version_text(&p, text, sizeof text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_jvm_that_listens, begin, end),
		cmocka_unit_test_setup_teardown(test_a_jvm_that_is_woken, begin, end),
		cmocka_unit_test_setup_teardown(test_version_2, begin, end),
		cmocka_unit_test_setup_teardown(test_version_2_is_not_there, begin, end),
		cmocka_unit_test_setup_teardown(test_no_answer, begin, end),
		cmocka_unit_test_setup_teardown(test_it_never_wakes, begin, end),
		cmocka_unit_test_setup_teardown(test_it_catches_no_signal, begin, end),
		cmocka_unit_test_setup_teardown(test_its_socket_was_removed, begin, end),
		cmocka_unit_test_setup_teardown(test_it_refuses, begin, end),
		cmocka_unit_test_setup_teardown(test_max_touch, begin, end),
		cmocka_unit_test_setup_teardown(test_it_fails, begin, end),
		cmocka_unit_test_setup_teardown(test_left_in_the_middle, begin, end),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
