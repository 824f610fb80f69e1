/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proc/container.h"

#define A           "3f4b1c0a9d8e7f6655443322110099887766554433221100ffeeddccbbaa9988"
#define B           "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define C           "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"
#define D           "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
#define E           "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
#define UID         "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
#define UNDERSCORED "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0"

/* ids: innermost first, joined by spaces. */
static const struct {
	const char *cgroup, *ids;
} rows[] = {
	/* nobody's */
	{"", ""},
	{"/", ""},
	{"0::/\n", ""},
	{"0::/user.slice/user-1000.slice/session-3.scope\n", ""},
	{"0::/system.slice/docker.service\n", ""},
	/* Docker: cgroupfs, systemd, rootless, below another parent */
	{"/docker/" A, A},
	{"0::/docker/" A "\n", A},
	{"0::/system.slice/docker-" A ".scope\n", A},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" A ".scope", A},
	{"/my.slice/" A "/init.scope", A},
	{"/ecs/0123456789abcdef0123456789abcdef/" A, A},
	/* Kubernetes */
	{"/kubepods/burstable/pod" UID "/" A, A},
	{"/kubepods/pod0123456789abcdef0123456789abcdef/" A, A},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UNDERSCORED
	 ".slice/cri-containerd-" A ".scope",
	 A},
	{"/kubepods.slice/kubepods-pod" UNDERSCORED ".slice/docker-" A ".scope", A},
	{"/kubepods.slice/kubepods-pod" UNDERSCORED ".slice/crio-" A ".scope/container", A},
	{"/system.slice/containerd.service/kubepods-burstable-pod" UNDERSCORED
	 ".slice:cri-containerd:" A,
	 A},
	/* podman */
	{"/machine.slice/libpod-" A ".scope", A},
	{"/machine.slice/libpod-" A ".scope/container", A},
	{"/libpod_parent/libpod-" A, A},
	/* seen from a namespace of control groups */
	{"0::/../" A "\n", A},
	{"0::/../../kubepods-pod" UNDERSCORED ".slice/cri-containerd-" A ".scope\n", A},
	/* monitors stay outside */
	{"/kubepods.slice/crio-conmon-" A ".scope", ""},
	{"/machine.slice/libpod-conmon-" A ".scope", ""},
	/* nested: kind, Docker in Docker; a systemd inside; an id twice */
	{"/docker/" A "/docker/" B, B " " A},
	{"/system.slice/docker-" A
	 ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UNDERSCORED
	 ".slice/cri-containerd-" B ".scope",
	 B " " A},
	{"/docker/" A "/system.slice/nginx.service", A},
	{"/docker/" A "/docker/" A, A},
	{"/" A "/" B "/" C "/" D "/" E, E " " D " " C " " B},
	/* not an id: too short, too long, capitals, part of a word */
	{"/docker/3f4b1c0a9d8e", ""},
	{"/docker/" A "0", ""},
	{"/docker/" A A, ""},
	{"/docker/3F4B1C0A9D8E7F6655443322110099887766554433221100FFEEDDCCBBAA9988", ""},
	{"/docker/x" A, ""},
	{"/docker/" A "x", ""},
	{"/docker/" A "-" B, B},
	/* v1: all lines; the deepest, then the last; hybrid: the unified one may be bare */
	{"12:cpuset:/docker/" A "\n11:memory:/docker/" A "\n1:name=systemd:/docker/" A "\n", A},
	{"12:cpuset:/\n11:memory:/docker/" A "\n0::/\n", A},
	{"4:memory:/docker/" A "\n1:name=systemd:/docker/" B "\n", B},
	{"4:memory:/docker/" A "/docker/" B "\n1:name=systemd:/docker/" A "\n0::/\n", B " " A},
	{"4:memory:/docker/" A "\n0::/system.slice/containerd.service", A},
};

static void test_ids(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct gpc_container_id ids[GPC_CONTAINER_DEPTH];
		size_t n = gpc_container_ids(rows[i].cgroup, ids);
		char text[512] = "";

		for (size_t k = 0; k < n; k++)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
				 k ? " " : "", ids[k].hex);
		if (strcmp(text, rows[i].ids) != 0)
			fail_msg("row %zu, %s: %s", i, rows[i].cgroup, text);
	}
}

static void test_line(void **state)
{
	static const char text[] = "4:memory:/docker/" A "\n2:cpu:/docker/" A "\n0::/\n";
	size_t len;
	const char *line = gpc_container_line(text, &len);

	(void)state;
	assert_int_equal(len, strlen("2:cpu:/docker/" A));
	assert_memory_equal(line, "2:cpu:/docker/" A, len);
	gpc_container_line("0::/user.slice\n", &len);
	assert_int_equal(len, 0);
}

static void test_pod_uid(void **state)
{
	static const struct {
		const char *path, *uid;
	} pods[] = {
		{"/kubepods/burstable/pod" UID "/" A, UID},
		{"kubepods-burstable-pod" UNDERSCORED ".slice:cri-containerd:" A, UID},
		{"/kubepods.slice/kubepods-pod" UNDERSCORED ".slice", UID},
		{"/kubepods/pod0123456789abcdef0123456789abcdef/" A,
		 "0123456789abcdef0123456789abcdef"},
		{"/pods/podium/pod" UID, UID},
		{"/kubepods/besteffort/" A, NULL},
		{"/docker/" A, NULL},
		{"/pod0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f", NULL},
		{"/pod" UID "0", NULL},
		{"/xpod" UID, NULL},
		{"pod", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
		char uid[GPC_POD_UID + 1] = "";

		assert_int_equal(gpc_container_pod_uid(pods[i].path, uid), pods[i].uid != NULL);
		assert_string_equal(uid, pods[i].uid ? pods[i].uid : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_pod_uid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
