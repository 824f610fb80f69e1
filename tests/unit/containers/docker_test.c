/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/vec.h"
#include "containers/docker.h"
#include "fixture.h"

#define ENTRY(id, names, labels) \
	"{\"Id\":\"" id "\",\"Names\":[" names "],\"Image\":\"nginx\",\"Labels\":" labels "}"
#define POD "{\"io.kubernetes.pod.name\":\"p\",\"io.kubernetes.pod.namespace\":\"n\"}"

struct found {
	struct gpc_container at[8];
	size_t n;
};

static void keep(void *ctx, struct gpc_container *c)
{
	struct found *f = ctx;

	assert_true(f->n < 8);
	f->at[f->n++] = *c;
}

static void found_deinit(struct found *f)
{
	for (size_t i = 0; i < f->n; i++)
		gpc_container_deinit(&f->at[i]);
	f->n = 0;
}

/* ---- answers -------------------------------------------------------------------- */

static gpc_status parse_list(const char *text, struct found *f)
{
	memset(f, 0, sizeof *f);
	return gpc_docker_parse_list(text, strlen(text), keep, f, NULL);
}

static void test_list(void **state)
{
	struct found f;

	(void)state;
	assert_int_equal(parse_list("[]", &f), GPC_OK);
	assert_int_equal(f.n, 0);
	assert_int_equal(parse_list("[" ENTRY(A, "\"/shop_web_1\"",
					      "{}") "," ENTRY(B, "\"/other/alias\",\"/mine\"",
							      POD) "]",
				    &f),
			 GPC_OK);
	assert_int_equal(f.n, 2);
	assert_string_equal(f.at[0].id.hex, A);
	assert_string_equal(f.at[0].name, "shop_web_1");
	assert_null(f.at[0].pod);
	assert_string_equal(f.at[1].name, "mine");
	assert_string_equal(f.at[1].pod, "p");
	assert_string_equal(f.at[1].pod_namespace, "n");
	found_deinit(&f);
}

/* What is wrong costs that entry alone. */
static void test_odd_entries(void **state)
{
	static const char text[] =
		"[7, null, {}, [], \"x\"," ENTRY("abc", "\"/short\"", "{}") "," ENTRY(
			"../../etc", "\"/path\"",
			"{}") "," ENTRY(A, "",
					"{}") "," ENTRY(A, "7",
							"{}") ","
							      "{\"Id\":\"" A
							      "\",\"Names\":null}," ENTRY(
								      A, "\"/\"",
								      "{}") "," ENTRY(B,
										      "\"/good\"",
										      "null") "]";
	struct found f;

	(void)state;
	assert_int_equal(parse_list(text, &f), GPC_OK);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.at[0].name, "good");
	found_deinit(&f);
	assert_int_equal(parse_list("{\"message\":\"x\"}", &f), GPC_E_CORRUPT);
	assert_int_equal(parse_list("[" ENTRY(A, "\"/x\"", "{}"), &f), GPC_E_CORRUPT);
	assert_int_equal(parse_list("", &f), GPC_E_CORRUPT);
}

static void test_one(void **state)
{
	static const char text[] = "{\"Id\":\"" A "\",\"Name\":\"/db\",\"State\":{\"Running\":"
				   "false},\"Config\":{\"Labels\":" POD "}}";
	struct gpc_container c;

	(void)state;
	assert_int_equal(gpc_docker_parse_one(text, sizeof text - 1, &c, NULL), GPC_OK);
	assert_string_equal(c.id.hex, A);
	assert_string_equal(c.name, "db");
	assert_string_equal(c.pod, "p");
	gpc_container_deinit(&c);
	for (size_t n = 0; n < sizeof text - 1; n++)
		assert_int_equal(gpc_docker_parse_one(text, n, &c, NULL), GPC_E_CORRUPT);
	assert_int_equal(gpc_docker_parse_one("{\"Id\":7}", 8, &c, NULL), GPC_E_CORRUPT);
	assert_int_equal(gpc_docker_parse_one("[]", 2, &c, NULL), GPC_E_CORRUPT);
}

/* ---- requests ------------------------------------------------------------------- */

struct place {
	struct root root;
	struct daemon daemon;
	struct gpc_docker *docker;
};

static void begin(struct place *p, answer_fn fn)
{
	root_init(&p->root);
	daemon_start(&p->daemon, &p->root, "docker.sock", fn, p);
	assert_int_equal(gpc_docker_new(p->daemon.socket, &p->docker, NULL), GPC_OK);
	assert_true(gpc_docker_is_there(p->docker));
}

static void end(struct place *p)
{
	gpc_docker_free(p->docker);
	daemon_stop(&p->daemon);
	root_deinit(&p->root);
}

static void answer_well(void *ctx, int fd, const char *path)
{
	(void)ctx;
	if (strcmp(path, "/containers/json") == 0)
		say_ok(fd, "[" ENTRY(A, "\"/web\"", "{}") "]");
	else if (strcmp(path, "/containers/" B "/json") == 0)
		say_ok(fd, "{\"Id\":\"" B "\",\"Name\":\"/stopped\",\"Config\":{}}");
	else
		say_unknown(fd);
}

static void test_requests(void **state)
{
	static const struct gpc_container_id a = {A}, b = {B};
	struct found f = {.n = 0};
	struct gpc_container c;
	struct place p;

	(void)state;
	begin(&p, answer_well);
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	assert_int_equal(gpc_docker_list(p.docker, keep, &f, NULL), GPC_OK);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	assert_int_equal(f.n, 1);
	assert_string_equal(f.at[0].name, "web");
	found_deinit(&f);
	assert_int_equal(gpc_docker_one(p.docker, &b, &c, NULL), GPC_OK);
	assert_string_equal(c.name, "stopped");
	gpc_container_deinit(&c);
	assert_int_equal(gpc_docker_one(p.docker, &a, &c, NULL), GPC_E_GONE);
	assert_int_equal(__atomic_load_n(&p.daemon.requests, __ATOMIC_SEQ_CST), 3);
	end(&p);
}

/* As Docker sends lists: in chunks, here of one byte. */
static void answer_chunked(void *ctx, int fd, const char *path)
{
	static const char body[] = "[" ENTRY(A, "\"/chunked\"", "{}") "]";

	(void)ctx, (void)path;
	say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (const char *at = body; *at; at++) {
		char chunk[8];

		snprintf(chunk, sizeof chunk, "1\r\n%c\r\n", *at);
		say(fd, chunk);
	}
	say(fd, "0\r\n\r\n");
}

static void test_chunked(void **state)
{
	struct found f = {.n = 0};
	struct place p;

	(void)state;
	begin(&p, answer_chunked);
	assert_int_equal(gpc_docker_list(p.docker, keep, &f, NULL), GPC_OK);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.at[0].name, "chunked");
	found_deinit(&f);
	end(&p);
}

static void answer_badly(void *ctx, int fd, const char *path)
{
	struct place *p = ctx;

	(void)path;
	switch (p->daemon.requests) {
	case 1: /* closes at once */
		break;
	case 2: /* no HTTP */
		say(fd, "\x15\x03\x01 nonsense\r\n\r\n");
		break;
	case 3: /* cut */
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[");
		break;
	case 4: /* broken chunks */
		say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n");
		break;
	case 5:
		say(fd, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\n{}");
		break;
	case 6: /* led elsewhere: not followed */
		say(fd, "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n"
			"Content-Length: 0\r\n\r\n");
		break;
	case 7:
		say_ok(fd, "");
		break;
	default:
		say_ok(fd, "not json");
		break;
	}
}

static void test_bad_answers(void **state)
{
	static const struct gpc_container_id a = {A};
	struct found f = {.n = 0};
	struct place p;

	(void)state;
	begin(&p, answer_badly);
	for (int i = 1; i <= 9; i++) {
		struct gpc_err err = {0};
		struct gpc_container c;
		gpc_status st = i % 2 ? gpc_docker_list(p.docker, keep, &f, &err)
				      : gpc_docker_one(p.docker, &a, &c, &err);

		assert_true(st < 0 && st != GPC_E_GONE && st != GPC_E_UNSUPPORTED);
		assert_true(err.text[0]);
		assert_int_equal(__atomic_load_n(&p.daemon.requests, __ATOMIC_SEQ_CST), i);
	}
	assert_int_equal(f.n, 0);
	end(&p);
}

static void answer_without_end(void *ctx, int fd, const char *path)
{
	char block[4096];

	(void)ctx, (void)path;
	memset(block, ' ', sizeof block);
	say(fd, "HTTP/1.1 200 OK\r\n\r\n[");
	while (send(fd, block, sizeof block, MSG_NOSIGNAL) > 0)
		;
}

static void test_bounded(void **state)
{
	struct found f = {.n = 0};
	struct gpc_err err;
	struct place p;

	(void)state;
	begin(&p, answer_without_end);
	assert_int_equal(gpc_docker_list(p.docker, keep, &f, &err), GPC_E_BUDGET);
	assert_non_null(strstr(err.text, "more than"));
	end(&p);
}

static void answer_never(void *ctx, int fd, const char *path)
{
	char byte;
	ssize_t n = read(fd, &byte, 1); /* until the client goes */

	(void)ctx, (void)path, (void)n;
}

static void test_hangs(void **state)
{
	struct found f = {.n = 0};
	uint64_t begun, took;
	struct gpc_err err;
	struct place p;

	(void)state;
	begin(&p, answer_never);
	begun = gpc_now_ns();
	assert_int_equal(gpc_docker_list(p.docker, keep, &f, &err), GPC_E_SYSTEM);
	took = gpc_now_ns() - begun;
	assert_true(took > GPC_DOCKER_NS / 2 && took < GPC_DOCKER_NS * 2);
	end(&p);
}

static void *interrupt_soon(void *docker)
{
	usleep(200000);
	gpc_docker_interrupt(docker);
	return NULL;
}

static void test_interrupt(void **state)
{
	struct found f = {.n = 0};
	pthread_t thread;
	uint64_t begun;
	struct place p;

	(void)state;
	begin(&p, answer_never);
	begun = gpc_now_ns();
	assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, p.docker), 0);
	assert_int_equal(gpc_docker_list(p.docker, keep, &f, NULL), GPC_E_TIMEOUT);
	assert_true(gpc_now_ns() - begun < 2 * GPC_SECOND_NS);
	pthread_join(thread, NULL);
	/* And so are all that come later. */
	assert_int_equal(gpc_docker_list(p.docker, keep, &f, NULL), GPC_E_TIMEOUT);
	end(&p);
}

static void test_not_there(void **state)
{
	struct found f = {.n = 0};
	struct gpc_docker *d;
	struct place p;

	(void)state;
	assert_int_equal(gpc_docker_new("/nowhere/docker.sock", &d, NULL), GPC_OK);
	assert_false(gpc_docker_is_there(d));
	gpc_docker_free(d);
	assert_int_equal(gpc_docker_new("/dev/null", &d, NULL), GPC_OK);
	assert_false(gpc_docker_is_there(d));
	gpc_docker_free(d);
	gpc_docker_free(NULL);
	/* A socket that nobody listens to any more. */
	begin(&p, answer_well);
	daemon_stop(&p.daemon);
	assert_true(gpc_docker_is_there(p.docker));
	assert_int_equal(gpc_docker_list(p.docker, keep, &f, NULL), GPC_E_UNSUPPORTED);
	gpc_docker_free(p.docker);
	root_deinit(&p.root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),      cmocka_unit_test(test_odd_entries),
		cmocka_unit_test(test_one),       cmocka_unit_test(test_requests),
		cmocka_unit_test(test_chunked),   cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_bounded),   cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_interrupt), cmocka_unit_test(test_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
