/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "containers/containers.h"
#include "fixture.h"

#define C     "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"
#define TASKS "run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define CONFIG                                                                              \
	"{\"annotations\":{\"io.kubernetes.cri.container-name\":\"web\","                   \
	"\"io.kubernetes.cri.sandbox-name\":\"p\",\"io.kubernetes.cri.sandbox-namespace\":" \
	"\"n\",\"io.kubernetes.cri.sandbox-uid\":\"u\"}}"

static struct gpc_containers *start(const struct root *r)
{
	struct gpc_containers_setup setup = {.root = r->path};
	struct gpc_containers *c;

	assert_int_equal(gpc_containers_new(&setup, &c, NULL), GPC_OK);
	return c;
}

static void expect(struct gpc_containers *c, const char *cgroup, const char *id, const char *name)
{
	struct gpc_container found;

	assert_true(gpc_containers_find(c, cgroup, gpc_now_ns() + 10 * GPC_SECOND_NS, &found));
	assert_string_equal(found.id.hex, id);
	if (name)
		assert_string_equal(found.name, name);
	else
		assert_null(found.name);
	gpc_container_deinit(&found);
}

static void test_no_runtime(void **state)
{
	struct gpc_container found;
	struct gpc_containers *c;
	struct root r;

	(void)state;
	root_init(&r);
	c = start(&r);
	expect(c, "/docker/" A, A, NULL);
	assert_false(gpc_containers_find(c, "0::/user.slice\n", UINT64_MAX, &found));
	assert_false(gpc_containers_find(c, "", UINT64_MAX, &found));
	gpc_containers_want(c, "/");
	gpc_containers_free(c);
	gpc_containers_free(NULL);
	root_deinit(&r);
}

static void test_bundle(void **state)
{
	struct gpc_containers *c;
	struct gpc_container found;
	struct root r;

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/config.json", CONFIG);
	c = start(&r);
	assert_true(gpc_containers_find(c, "/kubepods/podx/" A, gpc_now_ns() + 10 * GPC_SECOND_NS,
					&found));
	assert_string_equal(found.name, "k8s_web_p_n_u_0");
	assert_string_equal(found.pod, "p");
	assert_string_equal(found.pod_namespace, "n");
	gpc_container_deinit(&found);
	/* It ends, and keeps its name. */
	root_deinit(&r);
	expect(c, "/kubepods/podx/" A, A, "k8s_web_p_n_u_0");
	gpc_containers_free(c);
}

static void test_nested(void **state)
{
	struct gpc_containers *c;
	struct root r;

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/config.json", CONFIG);
	c = start(&r);
	/* The inner one is known to a runtime in the outer one only. */
	expect(c, "/kubepods/podx/" A "/docker/" B, A, "k8s_web_p_n_u_0");
	expect(c, "/docker/" B "/docker/" C, C, NULL);
	gpc_containers_free(c);
	root_deinit(&r);
}

/* ---- with Docker ---------------------------------------------------------------- */

struct place {
	struct root root;
	struct daemon daemon;
	struct gpc_containers *c;
	bool hangs, is_broken;
	bool is_closed;  /* answers wait until it is not */
	int lists, ones; /* requests */
};

static void answer(void *ctx, int fd, const char *path)
{
	struct place *p = ctx;
	char id[65] = "", body[512];
	char byte;

	if (__atomic_load_n(&p->hangs, __ATOMIC_SEQ_CST)) {
		ssize_t n = read(fd, &byte, 1); /* until the client goes */

		(void)n;
		return;
	}
	if (__atomic_load_n(&p->is_broken, __ATOMIC_SEQ_CST))
		return;
	while (__atomic_load_n(&p->is_closed, __ATOMIC_SEQ_CST))
		usleep(1000);
	if (strcmp(path, "/containers/json") == 0) {
		__atomic_add_fetch(&p->lists, 1, __ATOMIC_SEQ_CST);
		say_ok(fd, "[{\"Id\":\"" A "\",\"Names\":[\"/listed\"]}]");
		return;
	}
	__atomic_add_fetch(&p->ones, 1, __ATOMIC_SEQ_CST);
	sscanf(path, "/containers/%64[0-9a-f]/json", id);
	if (strcmp(id, A) != 0 && strcmp(id, B) != 0) {
		say_unknown(fd);
		return;
	}
	snprintf(body, sizeof body, "{\"Id\":\"%s\",\"Name\":\"/%.4s\",\"Config\":{}}", id, id);
	say_ok(fd, body);
}

static void begin(struct place *p)
{
	memset(p, 0, sizeof *p);
	root_init(&p->root);
	root_write(&p->root, "run/x", "");
	daemon_start(&p->daemon, &p->root, "run/docker.sock", answer, p);
	p->c = start(&p->root);
}

static void end(struct place *p)
{
	gpc_containers_free(p->c);
	daemon_stop(&p->daemon);
	root_deinit(&p->root);
}

static void test_docker(void **state)
{
	struct place p;

	(void)state;
	begin(&p);
	expect(p.c, "/docker/" A, A, "3f4b");
	expect(p.c, "/docker/" B, B, "0011");
	expect(p.c, "/docker/" C, C, NULL);
	assert_int_equal(__atomic_load_n(&p.ones, __ATOMIC_SEQ_CST), 3);
	/* Answers are kept, that nobody knows it too. */
	for (int i = 0; i < 20; i++) {
		expect(p.c, "/system.slice/docker-" A ".scope", A, "3f4b");
		expect(p.c, "/docker/" C, C, NULL);
	}
	assert_int_equal(__atomic_load_n(&p.ones, __ATOMIC_SEQ_CST), 3);
	assert_int_equal(__atomic_load_n(&p.lists, __ATOMIC_SEQ_CST), 0);
	end(&p);
}

/* A name from disk is there at once, Docker's takes its place. */
static void test_docker_wins(void **state)
{
	struct place p;
	uint64_t until = gpc_now_ns() + 10 * GPC_SECOND_NS;
	bool is_right = false;

	(void)state;
	begin(&p);
	root_write(&p.root, TASKS A "/config.json", CONFIG);
	while (!is_right && gpc_now_ns() < until) {
		struct gpc_container found;

		assert_true(gpc_containers_find(p.c, "/docker/" A, until, &found));
		is_right = found.name && strcmp(found.name, "3f4b") == 0;
		gpc_container_deinit(&found);
	}
	assert_true(is_right);
	end(&p);
}

/* Many unknown at once: Docker is asked for its list, then for what is not in it. */
static void test_many(void **state)
{
	struct place p;

	(void)state;
	begin(&p);
	/* While the first one waits, the others become one batch. */
	__atomic_store_n(&p.is_closed, true, __ATOMIC_SEQ_CST);
	gpc_containers_want(p.c, "/docker/" C);
	while (!__atomic_load_n(&p.daemon.requests, __ATOMIC_SEQ_CST))
		usleep(1000);
	for (int i = 0; i < 4; i++) {
		char path[96];

		snprintf(path, sizeof path, "/docker/%064d", i);
		gpc_containers_want(p.c, path);
	}
	gpc_containers_want(p.c, "/docker/" A);
	gpc_containers_want(p.c, "/docker/" B);
	__atomic_store_n(&p.is_closed, false, __ATOMIC_SEQ_CST);
	expect(p.c, "/docker/" A, A, "listed");
	expect(p.c, "/docker/" B, B, "0011");
	expect(p.c, "/docker/" C, C, NULL);
	expect(p.c, "/docker/0000000000000000000000000000000000000000000000000000000000000003",
	       "0000000000000000000000000000000000000000000000000000000000000003", NULL);
	assert_int_equal(__atomic_load_n(&p.lists, __ATOMIC_SEQ_CST), 1);
	assert_int_equal(__atomic_load_n(&p.ones, __ATOMIC_SEQ_CST), 1 + 4 + 1);
	end(&p);
}

static void test_hanging_docker(void **state)
{
	struct gpc_container found;
	struct place p;
	uint64_t begun;

	(void)state;
	begin(&p);
	__atomic_store_n(&p.hangs, true, __ATOMIC_SEQ_CST);
	root_write(&p.root, TASKS B "/config.json", CONFIG);
	begun = gpc_now_ns();
	assert_true(gpc_containers_find(p.c, "/docker/" A, begun + GPC_SECOND_NS / 5, &found));
	assert_null(found.name);
	gpc_container_deinit(&found);
	assert_true(gpc_now_ns() - begun < 2 * GPC_SECOND_NS);
	/* An end does not wait for it. */
	begun = gpc_now_ns();
	end(&p);
	assert_true(gpc_now_ns() - begun < 2 * GPC_SECOND_NS);
}

/* The other runtime's names do not wait for a Docker that hangs. */
static void test_bundle_beside_hanging_docker(void **state)
{
	struct place p;
	uint64_t begun = gpc_now_ns();

	(void)state;
	begin(&p);
	__atomic_store_n(&p.hangs, true, __ATOMIC_SEQ_CST);
	root_write(&p.root, TASKS B "/config.json", CONFIG);
	expect(p.c, "/docker/" B, B, "k8s_web_p_n_u_0");
	assert_true(gpc_now_ns() - begun < 2 * GPC_SECOND_NS);
	end(&p);
}

static void test_broken_docker(void **state)
{
	struct place p;

	(void)state;
	begin(&p);
	__atomic_store_n(&p.is_broken, true, __ATOMIC_SEQ_CST);
	expect(p.c, "/docker/" A, A, NULL);
	expect(p.c, "/docker/" B, B, NULL);
	/* After one failure it is not asked again at once. */
	assert_int_equal(__atomic_load_n(&p.daemon.requests, __ATOMIC_SEQ_CST), 1);
	end(&p);
}

/* ---- many ------------------------------------------------------------------------- */

static void test_bounded(void **state)
{
	struct gpc_containers *c;
	struct root r;
	char path[96];

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/config.json", CONFIG);
	c = start(&r);
	expect(c, "/docker/" A, A, "k8s_web_p_n_u_0");
	for (int i = 0; i < 6000; i++) {
		snprintf(path, sizeof path, "/docker/%064d", i);
		gpc_containers_want(c, path);
		if (i % 1000 == 0)
			gpc_containers_want(c, "/docker/" A);
	}
	/* The one that is used stays, though its file has gone. */
	root_deinit(&r);
	expect(c, "/docker/" A, A, "k8s_web_p_n_u_0");
	expect(c, path, path + 8, NULL);
	gpc_containers_free(c);
}

struct user {
	struct gpc_containers *c;
	int failures;
};

static void *use(void *arg)
{
	struct user *u = arg;

	for (int i = 0; i < 300; i++) {
		struct gpc_container found;
		char path[96];

		snprintf(path, sizeof path, "/docker/%064d", i % 40);
		gpc_containers_want(u->c, path);
		if (!gpc_containers_find(u->c, i % 2 ? "/docker/" A : path,
					 gpc_now_ns() + 10 * GPC_SECOND_NS, &found)) {
			u->failures++;
			continue;
		}
		u->failures += i % 2 ? !found.name : found.name != NULL;
		gpc_container_deinit(&found);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct user users[4];
	pthread_t threads[4];
	struct root r;

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/config.json", CONFIG);
	for (int i = 0; i < 4; i++)
		users[i] = (struct user){.c = i ? users[0].c : start(&r)};
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(users[i].failures, 0);
	}
	gpc_containers_free(users[0].c);
	root_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_runtime),
		cmocka_unit_test(test_bundle),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_docker),
		cmocka_unit_test(test_docker_wins),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_hanging_docker),
		cmocka_unit_test(test_bundle_beside_hanging_docker),
		cmocka_unit_test(test_broken_docker),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
