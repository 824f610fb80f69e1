/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol: linux/cn_proc.h and linux/connector.h; drivers/connector/cn_proc.c of
 * Linux 6.1 for what it answers to whom. */
#include "proc/connector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/stat.h"

#define BUFFER_BYTES (1 << 20)
#define ANSWER_MS    500
#define AT_ONCE      4096 /* events told in one run, so that it ends under a storm of them */

struct gpc_connector {
	struct gpc_table_access access;
	int procfd, fd;
};

/* ---- messages --------------------------------------------------------------------- */

/* The fields stand one after another, but proc_event wants an alignment that a
 * datagram does not give it. */
#define CN_OFFSET    NLMSG_HDRLEN
#define EVENT_OFFSET (CN_OFFSET + sizeof(struct cn_msg))
#define MESSAGE_MIN  (EVENT_OFFSET + offsetof(struct proc_event, event_data.fork.child_tgid) + 4)

static bool is_connector(const unsigned char *bytes, size_t n)
{
	struct nlmsghdr head;
	struct cn_msg cn;

	if (n < MESSAGE_MIN)
		return false;
	memcpy(&head, bytes, sizeof head);
	memcpy(&cn, bytes + CN_OFFSET, sizeof cn);
	return head.nlmsg_type == NLMSG_DONE && head.nlmsg_len >= MESSAGE_MIN &&
	       head.nlmsg_len <= n && cn.id.idx == CN_IDX_PROC && cn.id.val == CN_VAL_PROC;
}

bool gpc_connector_parse(const void *bytes, size_t n, struct gpc_connector_event *ret)
{
	struct proc_event ev = {0};
	size_t have = n > EVENT_OFFSET ? n - EVENT_OFFSET : 0;

	*ret = (struct gpc_connector_event){0};
	if (!is_connector(bytes, n))
		return false;
	memcpy(&ev, (const unsigned char *)bytes + EVENT_OFFSET,
	       have < sizeof ev ? have : sizeof ev);
	ret->time_ns = ev.timestamp_ns;
	if (ev.what == PROC_EVENT_FORK &&
	    ev.event_data.fork.child_pid == ev.event_data.fork.child_tgid) {
		ret->kind = GPC_CONNECTOR_FORK;
		ret->pid = ev.event_data.fork.child_tgid;
		ret->ppid = ev.event_data.fork.parent_tgid;
	} else if (ev.what == PROC_EVENT_EXEC) {
		ret->kind = GPC_CONNECTOR_EXEC;
		ret->pid = ev.event_data.exec.process_tgid;
	} else if (ev.what == PROC_EVENT_EXIT &&
		   ev.event_data.exit.process_pid == ev.event_data.exit.process_tgid) {
		ret->kind = GPC_CONNECTOR_EXIT;
		ret->pid = ev.event_data.exit.process_tgid;
	}
	return true;
}

/* ---- the socket ------------------------------------------------------------------- */

static int send_op(int fd, enum proc_cn_mcast_op op)
{
	struct {
		struct nlmsghdr head;
		struct cn_msg cn;
		uint32_t op;
	} __attribute__((packed)) m = {
		.head = {.nlmsg_len = sizeof m, .nlmsg_type = NLMSG_DONE},
		.cn = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .len = sizeof m.op},
		.op = op,
	};

	return send(fd, &m, sizeof m, 0) == sizeof m ? 0 : -1;
}

/* Threads come and go in hosts: the kernel drops these for us. The filter's loads
 * are big-endian. */
static void filter_threads(int fd)
{
	enum { CHILD = offsetof(struct proc_event, event_data.fork.child_pid) + EVENT_OFFSET };
	enum { DEAD = offsetof(struct proc_event, event_data.exit.process_pid) + EVENT_OFFSET };
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, EVENT_OFFSET),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_FORK), 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXIT), 7, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 10, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_NONE), 9, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CHILD),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CHILD + 4),
		BPF_JUMP(BPF_JMP | BPF_JA, 3, 0, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DEAD),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DEAD + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

	/* Without it there is more to read, and the same is told. */
	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

static void enlarge(int fd)
{
	int bytes = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

/* The kernel does not answer at all to who is not in its first namespaces. */
static gpc_status wait_for_answer(int fd, struct gpc_err *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, ANSWER_MS) > 0)
		return GPC_OK;
	return gpc_err_set(err, GPC_E_UNSUPPORTED, "the kernel's proc connector does not answer");
}

static gpc_status listen_to_kernel(struct gpc_connector *c, struct gpc_err *err)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};

	c->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	if (c->fd < 0)
		return gpc_err_sys(err, "open the kernel's proc connector");
	enlarge(c->fd);
	filter_threads(c->fd);
	if (bind(c->fd, (struct sockaddr *)&address, sizeof address) < 0)
		return gpc_err_sys(err, "join the kernel's proc connector");
	if (send_op(c->fd, PROC_CN_MCAST_LISTEN) < 0)
		return gpc_err_sys(err, "listen to the kernel's proc connector");
	return wait_for_answer(c->fd, err);
}

gpc_status gpc_connector_new(const char *procfs, const struct gpc_table_access *access,
			     struct gpc_connector **ret, struct gpc_err *err)
{
	struct gpc_connector *c = calloc(1, sizeof *c);
	gpc_status status;

	if (!c)
		return gpc_err_nomem(err);
	c->access = *access;
	c->fd = -1;
	c->procfd = open(procfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	status = c->procfd < 0 ? gpc_err_sys(err, "open %s", procfs) : listen_to_kernel(c, err);
	if (status < 0) {
		gpc_connector_free(c);
		return status;
	}
	*ret = c;
	return GPC_OK;
}

void gpc_connector_free(struct gpc_connector *c)
{
	if (!c)
		return;
	/* Kernels before 6.6 count listeners and do not notice who goes. */
	if (c->fd >= 0)
		send_op(c->fd, PROC_CN_MCAST_IGNORE);
	gpc_cleanup_close(&c->fd);
	gpc_cleanup_close(&c->procfd);
	free(c);
}

int gpc_connector_fd(const struct gpc_connector *c)
{
	return c->fd;
}

/* ---- telling ---------------------------------------------------------------------- */

static void tell(struct gpc_connector *c, const struct gpc_connector_event *ev)
{
	const struct gpc_table_access *a = &c->access;
	struct gpc_proc_stat stat = {0};

	/* The name comes from /proc; one that is gone already gets it by another way. */
	if (ev->kind == GPC_CONNECTOR_EXEC && !gpc_proc_stat_read(c->procfd, ev->pid, &stat))
		stat.comm[0] = 0;
	a->lock(a->ctx);
	gpc_table_at(a->table, ev->time_ns);
	if (ev->kind == GPC_CONNECTOR_FORK)
		gpc_table_fork(a->table, ev->pid, ev->ppid);
	else if (ev->kind == GPC_CONNECTOR_EXEC)
		gpc_table_exec(a->table, ev->pid, stat.comm);
	else if (ev->kind == GPC_CONNECTOR_EXIT)
		gpc_table_exit(a->table, ev->pid);
	a->unlock(a->ctx);
}

static void tell_of_loss(struct gpc_connector *c)
{
	const struct gpc_table_access *a = &c->access;

	a->lock(a->ctx);
	gpc_table_distrust(a->table);
	a->unlock(a->ctx);
}

void gpc_connector_run(struct gpc_connector *c)
{
	for (unsigned i = 0; i < AT_ONCE; i++) {
		unsigned char bytes[512];
		struct sockaddr_nl from = {0};
		socklen_t len = sizeof from;
		struct gpc_connector_event ev;
		ssize_t n = recvfrom(c->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &len);

		if (n < 0 && errno == ENOBUFS)
			tell_of_loss(c);
		else if (n < 0 && errno != EINTR)
			return;
		else if (n > 0 && from.nl_pid == 0 && gpc_connector_parse(bytes, (size_t)n, &ev))
			tell(c, &ev);
	}
}
