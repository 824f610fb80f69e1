/* SPDX-License-Identifier: Apache-2.0 */
/* What paths of control groups say about containers. Docker, containerd, CRI-O
 * and podman all put a container's id, 64 hex digits, into its group's name:
 * "/docker/ID", "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope",
 * "libpod-ID.scope", "kubepods-...slice:cri-containerd:ID" ... */
#ifndef GPC_PROC_CONTAINER_H
#define GPC_PROC_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#define GPC_CONTAINER_ID    64
#define GPC_CONTAINER_DEPTH 4 /* containers in containers that we look at */
#define GPC_POD_UID         36

struct gpc_container_id {
	char hex[GPC_CONTAINER_ID + 1];
};

/* cgroup: one path, or the text of /proc/PID/cgroup. Of a text with several
 * lines (cgroup v1 has one per hierarchy) the line with most ids counts, of
 * those the last. Returns how many were found, innermost first; beyond
 * GPC_CONTAINER_DEPTH the outermost are left out. The monitor of a container
 * ("crio-conmon-ID.scope") is not in it. */
size_t gpc_container_ids(const char *cgroup, struct gpc_container_id ret[GPC_CONTAINER_DEPTH]);
/* The line that gpc_container_ids looks at, without its newline. *len is 0 when
 * no line names a container. Points into cgroup. */
const char *gpc_container_line(const char *cgroup, size_t *len);
/* The uid of the pod that a path lies in: "pod" and a UUID, whose dashes systemd
 * wants written as "_". ret has dashes. */
bool gpc_container_pod_uid(const char *path, char ret[GPC_POD_UID + 1]);

#endif
