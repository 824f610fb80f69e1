/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "containers/bundle.h"
#include "fixture.h"

#define UID       "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
#define TASKS     "run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define CRIO      "run/containers/storage/overlay-containers/"
#define ANNOTATED "{\"ociVersion\":\"1.1.0\",\"annotations\":{"

#define CONTAINERD                                                      \
	ANNOTATED "\"io.kubernetes.cri.container-name\":\"web\","       \
		  "\"io.kubernetes.cri.container-type\":\"container\"," \
		  "\"io.kubernetes.cri.sandbox-id\":\"" B "\","         \
		  "\"io.kubernetes.cri.sandbox-name\":\"shop-7d9f\","   \
		  "\"io.kubernetes.cri.sandbox-namespace\":\"prod\""

static void expect(const char *text, const char *want)
{
	struct gpc_bundle b = {0};
	gpc_status st = gpc_bundle_parse(text, strlen(text), &b, NULL);
	char got[256] = "";

	if (st == GPC_OK)
		snprintf(got, sizeof got, "%s %s %s %s %d", b.container, b.pod,
			 b.pod_namespace ? b.pod_namespace : "-", b.pod_uid ? b.pod_uid : "-",
			 (int)b.restarts);
	else
		snprintf(got, sizeof got, "%s", gpc_status_name(st));
	gpc_bundle_deinit(&b);
	assert_string_equal(got, want);
}

static void test_containerd(void **state)
{
	(void)state;
	expect(CONTAINERD ",\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"}}",
	       "web shop-7d9f prod " UID " -1");
	/* Older ones tell the uid by the group alone. */
	expect(CONTAINERD "},\"linux\":{\"cgroupsPath\":\"/kubepods/burstable/pod" UID "/" A "\"}}",
	       "web shop-7d9f prod " UID " -1");
	expect(CONTAINERD "},\"linux\":{\"cgroupsPath\":\"kubepods-pod0f1e2d3c_4b5a_6978_8796_"
			  "a5b4c3d2e1f0.slice:cri-containerd:" A "\"}}",
	       "web shop-7d9f prod " UID " -1");
	expect(CONTAINERD "}}", "web shop-7d9f prod - -1");
	expect(CONTAINERD ",\"io.kubernetes.container.restartCount\":\"3\"}}",
	       "web shop-7d9f prod - 3");
	expect(ANNOTATED "\"io.kubernetes.cri.container-type\":\"sandbox\","
			 "\"io.kubernetes.cri.sandbox-name\":\"shop-7d9f\","
			 "\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}",
	       "POD shop-7d9f prod - -1");
}

static void test_crio(void **state)
{
#define LABELS                                                \
	ANNOTATED "\"io.kubernetes.container.name\":\"db\","  \
		  "\"io.kubernetes.pod.name\":\"pg-0\","      \
		  "\"io.kubernetes.pod.namespace\":\"data\"," \
		  "\"io.kubernetes.pod.uid\":\"" UID "\","    \
		  "\"io.kubernetes.cri-o.ContainerType\":\"container\""
	(void)state;
	expect(LABELS ",\"io.kubernetes.container.restartCount\":\"2\"}}",
	       "db pg-0 data " UID " 2");
	expect(LABELS ",\"io.kubernetes.cri-o.Metadata\":\"{\\\"name\\\":\\\"db\\\","
		      "\\\"attempt\\\":4}\"}}",
	       "db pg-0 data " UID " 4");
	expect(LABELS ",\"io.kubernetes.cri-o.Metadata\":\"{\\\"name\\\":\\\"db\\\"}\"}}",
	       "db pg-0 data " UID " 0");
	expect(LABELS ",\"io.kubernetes.cri-o.Metadata\":\"{\"}}", "db pg-0 data " UID " -1");
	expect(LABELS ",\"io.kubernetes.cri-o.Metadata\":\"{\\\"attempt\\\":-7}\"}}",
	       "db pg-0 data " UID " -1");
}

static void test_no_pod(void **state)
{
	(void)state;
	expect("{}", "gone");
	expect("{\"annotations\":{}}", "gone");
	expect("{\"annotations\":[]}", "gone");
	expect("{\"annotations\":null}", "gone");
	expect(ANNOTATED "\"io.container.manager\":\"libpod\"}}", "gone");
	expect(ANNOTATED "\"io.kubernetes.cri.container-name\":\"web\"}}", "gone");
	expect(ANNOTATED "\"io.kubernetes.cri.container-name\":7,"
			 "\"io.kubernetes.cri.sandbox-name\":\"p\"}}",
	       "gone");
	expect(ANNOTATED "\"io.kubernetes.cri.container-name\":\"\","
			 "\"io.kubernetes.cri.sandbox-name\":\"p\"}}",
	       "gone");
}

static void test_broken(void **state)
{
	static const char whole[] = CONTAINERD "}}";

	(void)state;
	expect("", gpc_status_name(GPC_E_CORRUPT));
	expect("[]", gpc_status_name(GPC_E_CORRUPT));
	expect("7", gpc_status_name(GPC_E_CORRUPT));
	expect("{\"annotations\":{\"\xff\":1}}", gpc_status_name(GPC_E_CORRUPT));
	for (size_t n = 0; n < sizeof whole - 1; n++) {
		struct gpc_bundle b = {0};

		assert_int_equal(gpc_bundle_parse(whole, n, &b, NULL), GPC_E_CORRUPT);
	}
	expect(CONTAINERD ",\"io.kubernetes.container.restartCount\":\"99999999999999999999\"}}",
	       "web shop-7d9f prod - -1");
	expect(CONTAINERD ",\"io.kubernetes.container.restartCount\":\"-1\"}}",
	       "web shop-7d9f prod - -1");
}

/* ---- folders ------------------------------------------------------------------- */

static void expect_name(const struct root *r, const char *want)
{
	struct gpc_container c = {.id = {A}};
	gpc_status st = gpc_bundle_find(r->path, &c, NULL);

	if (!want) {
		assert_int_equal(st, GPC_E_GONE);
		return;
	}
	assert_int_equal(st, GPC_OK);
	assert_string_equal(c.name, want);
	assert_string_equal(c.id.hex, A);
	gpc_container_deinit(&c);
}

static void test_find(void **state)
{
	static const char config[] = CONTAINERD ",\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"}}";
	static const char *const places[] = {
		TASKS A "/config.json",
		CRIO A "/userdata/config.json",
		"run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" A "/config.json",
		"var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task/k8s.io/" A
		"/config.json",
		"run/containerd/io.containerd.runtime.v1.linux/k8s.io/" A "/config.json",
	};

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct root r;

		root_init(&r);
		expect_name(&r, NULL);
		root_write(&r, places[i], config);
		expect_name(&r, "k8s_web_shop-7d9f_prod_" UID "_0");
		root_deinit(&r);
	}
}

static void test_labels(void **state)
{
	struct gpc_container c = {.id = {A}};
	struct root r;

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/config.json", CONTAINERD "}}");
	assert_int_equal(gpc_bundle_find(r.path, &c, NULL), GPC_OK);
	assert_string_equal(c.name, "k8s_web_shop-7d9f_prod__0");
	assert_string_equal(c.pod, "shop-7d9f");
	assert_string_equal(c.pod_namespace, "prod");
	gpc_container_deinit(&c);
	root_deinit(&r);
}

/* Where no annotation tells how often it was started, the logs do. */
static void test_restarts(void **state)
{
	struct root r;

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/config.json",
		   CONTAINERD ",\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"}}");
	root_write(&r, "var/log/pods/prod_shop-7d9f_" UID "/web/9.log", "");
	root_write(&r, "var/log/pods/prod_shop-7d9f_" UID "/web/11.log", "");
	root_write(&r, "var/log/pods/prod_shop-7d9f_" UID "/web/10.log.20260101-000000.gz", "");
	root_write(&r, "var/log/pods/prod_shop-7d9f_" UID "/web/x.log", "");
	root_write(&r, "var/log/pods/prod_shop-7d9f_" UID "/other/99.log", "");
	expect_name(&r, "k8s_web_shop-7d9f_prod_" UID "_11");
	root_deinit(&r);
}

/* Names are the runtime's: they lead nowhere else. */
static void test_no_way_out(void **state)
{
	struct root r;

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/config.json",
		   ANNOTATED "\"io.kubernetes.cri.container-name\":\"../../x\","
			     "\"io.kubernetes.cri.sandbox-name\":\"p\","
			     "\"io.kubernetes.cri.sandbox-namespace\":\"n\","
			     "\"io.kubernetes.cri.sandbox-uid\":\"u\"}}");
	root_write(&r, "var/log/pods/n_p_u/w/1.log", "");
	root_write(&r, "var/log/x/5.log", "");
	expect_name(&r, "k8s_../../x_p_n_u_0");
	root_deinit(&r);
}

/* A pipe or a folder in its place does not hold us up; what is too long is left. */
static void test_no_file(void **state)
{
	char path[256];
	struct root r;
	char *spaces = calloc(1, (5u << 20) + 1);

	(void)state;
	root_init(&r);
	root_write(&r, TASKS A "/x", "");
	snprintf(path, sizeof path, "%s/" TASKS A "/config.json", r.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_name(&r, NULL);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_name(&r, NULL);
	rmdir(path);
	memset(spaces, ' ', 5u << 20);
	memcpy(spaces, CONTAINERD "}}", strlen(CONTAINERD "}}"));
	root_write(&r, TASKS A "/config.json", spaces);
	expect_name(&r, NULL);
	spaces[3u << 20] = '\0';
	root_write(&r, TASKS A "/config.json", spaces);
	expect_name(&r, "k8s_web_shop-7d9f_prod__0");
	root_deinit(&r);
	free(spaces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containerd), cmocka_unit_test(test_crio),
		cmocka_unit_test(test_no_pod),     cmocka_unit_test(test_broken),
		cmocka_unit_test(test_find),       cmocka_unit_test(test_labels),
		cmocka_unit_test(test_restarts),   cmocka_unit_test(test_no_way_out),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
