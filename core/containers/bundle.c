/* SPDX-License-Identifier: Apache-2.0 */
#include "containers/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "proc/root.h"

#define CONFIG_MAX (4u << 20)

static void drop(json_t **json)
{
	json_decref(*json);
}

/* ---- annotations ------------------------------------------------------------- */

/* containerd has names of its own, CRI-O takes the kubelet's labels over. */
static const char *const container_keys[] = {"io.kubernetes.cri.container-name",
					     "io.kubernetes.container.name", NULL};
static const char *const pod_keys[] = {"io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name",
				       NULL};
static const char *const namespace_keys[] = {"io.kubernetes.cri.sandbox-namespace",
					     "io.kubernetes.pod.namespace", NULL};
static const char *const uid_keys[] = {"io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid",
				       NULL};
static const char *const type_keys[] = {"io.kubernetes.cri.container-type",
					"io.kubernetes.cri-o.ContainerType", NULL};

/* The first that is there. */
static const char *text_of(const json_t *annotations, const char *const *keys)
{
	const char *text = NULL;

	for (; *keys && !text; keys++)
		text = json_string_value(json_object_get(annotations, *keys));
	return text && *text ? text : NULL;
}

/* A whole number of 0 or more; -1: it is none. */
static int64_t number(const char *text)
{
	char *end;
	long n;

	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	n = strtol(text, &end, 10);
	return *end || errno || n > INT32_MAX ? -1 : n;
}

/* How often the kubelet started it anew: its own annotation, which CRI-O keeps
 * and containerd does only when told to; else CRI-O's {"name":..,"attempt":N}. */
static int64_t restarts_of(const json_t *annotations)
{
	static const char *const count[] = {"io.kubernetes.container.restartCount", NULL};
	static const char *const metadata[] = {"io.kubernetes.cri-o.Metadata", NULL};
	const char *text = text_of(annotations, metadata);
	int64_t n = number(text_of(annotations, count));
	autocall(drop) json_t *json = NULL;
	const json_t *attempt;

	if (n >= 0 || !text)
		return n;
	json = json_loads(text, 0, NULL);
	if (!json_is_object(json))
		return -1;
	attempt = json_object_get(json, "attempt");
	n = attempt ? json_integer_value(attempt) : 0; /* Go leaves zeros out */
	return n >= 0 && n <= INT32_MAX ? n : -1;
}

static bool copy(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return !text || *to;
}

/* Before containerd 1.7 only the path of the control group told the uid. */
static const char *uid_of(const json_t *config, const json_t *annotations,
			  char room[GPC_POD_UID + 1])
{
	const char *uid = text_of(annotations, uid_keys);
	const char *path =
		json_string_value(json_object_get(json_object_get(config, "linux"), "cgroupsPath"));

	return uid || !path || !gpc_container_pod_uid(path, room) ? uid : room;
}

void gpc_bundle_deinit(struct gpc_bundle *b)
{
	free(b->container);
	free(b->pod);
	free(b->pod_namespace);
	free(b->pod_uid);
	memset(b, 0, sizeof *b);
}

static gpc_status fill(const json_t *config, struct gpc_bundle *ret, struct gpc_err *err)
{
	const json_t *annotations = json_object_get(config, "annotations");
	const char *type = text_of(annotations, type_keys);
	const char *container = text_of(annotations, container_keys);
	const char *pod = text_of(annotations, pod_keys);
	struct gpc_bundle b = {.restarts = restarts_of(annotations)};
	char room[GPC_POD_UID + 1];

	if (type && strcmp(type, "sandbox") == 0)
		container = "POD";
	if (!container || !pod)
		return gpc_err_set(err, GPC_E_GONE, "not a container of Kubernetes");
	if (!copy(&b.container, container) || !copy(&b.pod, pod) ||
	    !copy(&b.pod_namespace, text_of(annotations, namespace_keys)) ||
	    !copy(&b.pod_uid, uid_of(config, annotations, room))) {
		gpc_bundle_deinit(&b);
		return gpc_err_nomem(err);
	}
	*ret = b;
	return GPC_OK;
}

gpc_status gpc_bundle_parse(const char *text, size_t n, struct gpc_bundle *ret, struct gpc_err *err)
{
	json_error_t why;
	autocall(drop) json_t *config = json_loadb(text, n, 0, &why);

	if (!json_is_object(config))
		return gpc_err_set(err, GPC_E_CORRUPT, "config.json, line %d: no JSON object",
				   config ? 1 : why.line);
	return fill(config, ret, err);
}

/* ---- on disk -------------------------------------------------------------------- */

/* Around the container's id. k3s and MicroK8s bring a containerd of their own. */
#define TASKS "io.containerd.runtime.v2.task/k8s.io/"
static const struct {
	const char *folder, *file;
} places[] = {
	{"/run/containerd/" TASKS, "/config.json"},
	{"/run/containers/storage/overlay-containers/", "/userdata/config.json"},
	{"/run/k3s/containerd/" TASKS, "/config.json"},
	{"/var/snap/microk8s/common/run/containerd/" TASKS, "/config.json"},
	{"/run/containerd/io.containerd.runtime.v1.linux/k8s.io/", "/config.json"},
};

static gpc_status read_config(const char *root, size_t place, const char *id, char **ret, size_t *n)
{
	char path[PATH_MAX];
	autoclose int fd = -1;

	if (snprintf(path, sizeof path, "%s%s%s%s", root, places[place].folder, id,
		     places[place].file) >= (int)sizeof path)
		return GPC_E_GONE;
	gpc_try(gpc_regular_open(path, &fd, NULL, NULL));
	return gpc_read_fd(fd, CONFIG_MAX, ret, n, NULL);
}

static bool is_plain(const char *name)
{
	return name && *name && !strchr(name, '/');
}

/* The kubelet has the runtime log into POD/CONTAINER/RESTARTS.log: the highest
 * is the one that runs. */
static int64_t restarts_by_logs(const char *root, const struct gpc_bundle *b)
{
	char path[PATH_MAX];
	struct dirent *e;
	int64_t most = 0;
	autodir DIR *dir = NULL;

	if (!is_plain(b->container) || !is_plain(b->pod) || !is_plain(b->pod_namespace) ||
	    !is_plain(b->pod_uid))
		return 0;
	if (snprintf(path, sizeof path, "%s/var/log/pods/%s_%s_%s/%s", root, b->pod_namespace,
		     b->pod, b->pod_uid, b->container) < (int)sizeof path)
		dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		char *dot = strstr(e->d_name, ".log");
		int64_t n;

		if (!dot)
			continue;
		*dot = '\0';
		n = number(e->d_name);
		most = n > most ? n : most;
	}
	return most;
}

static const char *known(const char *text)
{
	return text ? text : "";
}

/* Takes the texts of b that it keeps. */
static gpc_status name(struct gpc_container *c, struct gpc_bundle *b, struct gpc_err *err)
{
	if (asprintf(&c->name, "k8s_%s_%s_%s_%s_%lld", b->container, b->pod,
		     known(b->pod_namespace), known(b->pod_uid), (long long)b->restarts) < 0) {
		c->name = NULL;
		return gpc_err_nomem(err);
	}
	c->pod = take(b->pod);
	c->pod_namespace = take(b->pod_namespace);
	return GPC_OK;
}

gpc_status gpc_bundle_find(const char *root, struct gpc_container *ret, struct gpc_err *err)
{
	struct gpc_err last = {.code = GPC_E_GONE, .text = "no bundle"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		autocall(gpc_bundle_deinit) struct gpc_bundle b = {0};
		autofree char *text = NULL;
		size_t n = 0;

		if (read_config(root, i, ret->id.hex, &text, &n) < 0)
			continue;
		if (gpc_bundle_parse(text, n, &b, &last) < 0)
			continue;
		if (b.restarts < 0)
			b.restarts = restarts_by_logs(root, &b);
		return name(ret, &b, err);
	}
	if (err)
		*err = last;
	return last.code;
}
