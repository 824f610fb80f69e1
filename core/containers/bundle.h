/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of Kubernetes, as containerd and CRI-O leave them on disk: for each
 * container a folder with the OCI runtime's config.json, whose annotations tell
 * the pod. No daemon is asked. Names are those that Docker gave to Kubernetes'
 * containers: k8s_CONTAINER_POD_NAMESPACE_UID_RESTARTS. */
#ifndef GPC_CONTAINERS_BUNDLE_H
#define GPC_CONTAINERS_BUNDLE_H

#include <stdint.h>

#include "containers/container.h"

/* What a config.json says; texts are owned, NULL: not said. */
struct gpc_bundle {
	char *container; /* "POD" for the container that holds a pod's namespaces */
	char *pod, *pod_namespace, *pod_uid;
	int64_t restarts; /* -1: not said */
};

/* GPC_E_CORRUPT: no JSON object. GPC_E_GONE: not a container of Kubernetes. */
gpc_status gpc_bundle_parse(const char *text, size_t n, struct gpc_bundle *ret,
			    struct gpc_err *err);
void gpc_bundle_deinit(struct gpc_bundle *b);

/* Looks in the runtimes' folders below root ("" is the machine's own). ret->id
 * is given. GPC_E_GONE: no runtime knows it as one of Kubernetes. */
gpc_status gpc_bundle_find(const char *root, struct gpc_container *ret, struct gpc_err *err);

#endif
