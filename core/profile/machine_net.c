/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/thread.h"
#include "profile/machine.h"

#define VISIT_STACK ((size_t)512 << 10)

struct visit {
	int proc_fd;
	struct gpc_machine_net *ret;
};

static int open_foreign(int proc_fd, const char *kind)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof path, "thread-self/ns/%s", kind);
	if (fstatat(proc_fd, path, &ours, 0) < 0)
		return -1;
	snprintf(path, sizeof path, "1/ns/%s", kind);
	if (fstatat(proc_fd, path, &theirs, 0) < 0 ||
	    (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino))
		return -1;
	return openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
}

static void enter(int proc_fd, const char *kind, int type)
{
	autoclose int fd = open_foreign(proc_fd, kind);

	if (fd >= 0 && setns(fd, type) < 0)
		return; /* not allowed: our own will do */
}

static void put_mac(const struct sockaddr_ll *ll, char *to, size_t size)
{
	const unsigned char *a = ll->sll_addr;

	if (ll->sll_halen == 6 && (a[0] | a[1] | a[2] | a[3] | a[4] | a[5]))
		snprintf(to, size, "%02X:%02X:%02X:%02X:%02X:%02X", a[0], a[1], a[2], a[3], a[4],
			 a[5]);
}

/* The interface that packets to the world would leave by. */
static bool default_interface(int proc_fd, char name[IF_NAMESIZE])
{
	unsigned best = UINT32_MAX, destination, metric;
	char text[8192], iface[IF_NAMESIZE];

	if (gpc_read_small(proc_fd, "thread-self/net/route", text, sizeof text) <= 0)
		return false;
	for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
		if (sscanf(line + 1, "%15s %x %*x %*x %*d %*d %u", iface, &destination, &metric) !=
			    3 ||
		    destination || metric >= best)
			continue;
		best = metric;
		strcpy(name, iface);
	}
	return best != UINT32_MAX;
}

static void read_interfaces(int proc_fd, struct gpc_machine_net *ret)
{
	char route[IF_NAMESIZE] = "";
	struct ifaddrs *list;
	bool has_route = default_interface(proc_fd, route);

	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!i->ifa_addr || (i->ifa_flags & IFF_LOOPBACK))
			continue;
		if (i->ifa_addr->sa_family == AF_PACKET && ret->mac[0] == 'u')
			put_mac((const void *)i->ifa_addr, ret->mac, sizeof ret->mac);
		if (i->ifa_addr->sa_family == AF_INET && ret->ip[0] == 'u' && has_route &&
		    strcmp(i->ifa_name, route) == 0)
			inet_ntop(
				AF_INET,
				&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr,
				ret->ip, sizeof ret->ip);
	}
	freeifaddrs(list);
}

static void *visit(void *arg)
{
	const struct visit *v = arg;

	enter(v->proc_fd, "uts", CLONE_NEWUTS);
	if (gethostname(v->ret->hostname, sizeof v->ret->hostname - 1) < 0)
		strcpy(v->ret->hostname, "<unknown>");
	enter(v->proc_fd, "net", CLONE_NEWNET);
	read_interfaces(v->proc_fd, v->ret);
	return NULL;
}

bool gpc_machine_is_foreign(int proc_fd, const char *kind)
{
	autoclose int fd = open_foreign(proc_fd, kind);

	return fd >= 0;
}

void gpc_machine_net_read(int proc_fd, struct gpc_machine_net *ret)
{
	struct visit v = {proc_fd, ret};

	memset(ret, 0, sizeof *ret);
	strcpy(ret->hostname, "<unknown>");
	strcpy(ret->mac, "unknown");
	strcpy(ret->ip, "unknown");
	/* A thread of its own: namespaces are a thread's, and ours must stay. */
	gpc_thread_run("gpc-machine", VISIT_STACK, visit, &v);
}
