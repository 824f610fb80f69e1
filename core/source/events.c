/* SPDX-License-Identifier: Apache-2.0 */
#include "source/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "source/regs.h"

int gpc_perf_open_syscall(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			  unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

static void ask_for_user_state(const struct gpc_perf_request *req, struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = gpc_regs_mask;
	if (!req->stack_bytes)
		return;
	attr->sample_type |= PERF_SAMPLE_STACK_USER;
	attr->sample_stack_user = (req->stack_bytes + 7) & ~7u;
}

static void ask_for_samples(const struct gpc_perf_request *req, struct perf_event_attr *attr)
{
	attr->type = req->type;
	attr->config = req->config;
	attr->config1 = req->config1;
	attr->config2 = req->config2;
	attr->precise_ip = req->precise & 3;
	attr->freq = !req->is_period;
	attr->sample_period = req->rate; /* shares its place with sample_freq */
	attr->sample_type |=
		PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP;
	if (req->user_state)
		ask_for_user_state(req, attr);
	attr->exclude_callchain_user = req->no_user_chain;
	attr->exclude_guest = 1;
	attr->exclude_kernel = req->no_kernel;
	attr->exclude_hv = req->no_kernel;
	attr->exclude_callchain_kernel = req->no_kernel;
}

void gpc_perf_attr(const struct gpc_perf_request *req, struct perf_event_attr *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->size = sizeof *ret;
	ret->disabled = 1;
	ret->inherit = req->inherit;
	ret->sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	ret->sample_id_all = 1;
	ret->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	ret->use_clockid = 1;
	ret->clockid = CLOCK_MONOTONIC;
	ret->watermark = 1;
	ret->wakeup_watermark = req->wake_bytes;
	if (req->samples) {
		ask_for_samples(req, ret);
	} else {
		ret->type = PERF_TYPE_SOFTWARE;
		ret->config = PERF_COUNT_SW_DUMMY;
		ret->sample_period = 1;
		/* The records come whatever is excluded, and this needs less rights. */
		ret->exclude_kernel = 1;
		ret->exclude_hv = 1;
	}
	if (req->sideband) {
		ret->mmap = ret->mmap2 = 1;
		ret->comm = ret->comm_exec = 1;
		ret->task = 1;
		ret->build_id = 1;
		ret->ksymbol = 1;
		ret->cgroup = 1;
	}
}

uint64_t gpc_perf_timer_ns(const struct gpc_perf_request *req)
{
	bool is_clock =
		req->type == PERF_TYPE_SOFTWARE &&
		(req->config == PERF_COUNT_SW_CPU_CLOCK || req->config == PERF_COUNT_SW_TASK_CLOCK);

	return is_clock && !req->is_period && req->rate ? GPC_SECOND_NS / req->rate : 0;
}

/* One wish that can be given up; apply says whether it was there. */
struct wish {
	const char *name;
	bool (*drop)(struct perf_event_attr *attr);
};

static bool drop_build_id(struct perf_event_attr *a)
{
	bool had = a->build_id;

	a->build_id = 0;
	return had;
}

static bool drop_cgroup(struct perf_event_attr *a)
{
	bool had = a->cgroup || a->sample_type & PERF_SAMPLE_CGROUP;

	a->cgroup = 0;
	a->sample_type &= ~(uint64_t)PERF_SAMPLE_CGROUP;
	return had;
}

static bool drop_ksymbol(struct perf_event_attr *a)
{
	bool had = a->ksymbol;

	a->ksymbol = 0;
	return had;
}

static bool drop_comm_exec(struct perf_event_attr *a)
{
	bool had = a->comm_exec;

	a->comm_exec = 0;
	return had;
}

static bool drop_precise(struct perf_event_attr *a)
{
	bool had = a->precise_ip;

	a->precise_ip = had ? a->precise_ip - 1 : 0;
	return had;
}

static bool drop_exclude_guest(struct perf_event_attr *a)
{
	bool had = a->exclude_guest;

	a->exclude_guest = 0;
	return had;
}

static bool drop_mmap2(struct perf_event_attr *a)
{
	bool had = a->mmap2;

	a->mmap2 = 0;
	return had;
}

static const struct wish wishes[] = {
	{"build-ids of mappings (Linux 5.12)", drop_build_id},
	{"control groups (Linux 5.7)", drop_cgroup},
	{"kernel symbol records (Linux 5.1)", drop_ksymbol},
	{NULL, drop_precise}, /* several steps, told when the last is done */
	{"leaving guests out", drop_exclude_guest},
	{"exec marks on names (Linux 3.16)", drop_comm_exec},
	{"inodes of mappings (Linux 3.16)", drop_mmap2},
};

static bool drop_one(struct perf_event_attr *attr, struct gpc_log *log)
{
	for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
		if (!wishes[i].drop(attr))
			continue;
		if (wishes[i].name)
			gpc_debug(log, "source", "perf: doing without %s", wishes[i].name);
		return true;
	}
	return false;
}

static bool drop_kernel(struct perf_event_attr *attr, struct gpc_log *log)
{
	if (attr->exclude_kernel)
		return false;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	attr->exclude_callchain_kernel = 1;
	gpc_warn(log, "source",
		 "kernel stacks cannot be sampled without CAP_PERFMON "
		 "or kernel.perf_event_paranoid <= 1: native frames only");
	return true;
}

/* ENOENT is the kernel's word for an event that this machine has not; ESRCH
 * alone says that the process has gone. */
static gpc_status open_failed(struct gpc_err *err, const char *what)
{
	int sys = errno;
	gpc_status st = gpc_err_sys(err, "%s", what);

	if (sys != ENOENT)
		return st;
	return gpc_err_set(err, GPC_E_UNSUPPORTED, "%s: this machine has no such event", what);
}

gpc_status gpc_perf_open(gpc_perf_open_fn open_fn, struct perf_event_attr *attr, pid_t pid, int cpu,
			 struct gpc_log *log, int *ret, struct gpc_err *err)
{
	unsigned precise = attr->precise_ip;

	for (;;) {
		int fd = open_fn(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0) {
			if (attr->precise_ip < precise)
				gpc_debug(log, "source", "perf: doing with precise_ip %d",
					  (int)attr->precise_ip);
			*ret = fd;
			return GPC_OK;
		}
		if (errno == EINVAL && drop_one(attr, log))
			continue;
		/* The PMU's word for "not that precise" (or for no samples at all). */
		if (errno == EOPNOTSUPP && drop_precise(attr))
			continue;
		/* System-wide sampling needs the right as a whole. */
		if ((errno == EACCES || errno == EPERM) && pid != -1 && drop_kernel(attr, log))
			continue;
		return open_failed(err, "perf_event_open");
	}
}

/* Hardware events may open and count nothing (in virtual machines, most of all).
 * Software events and tracepoints count what happens, which a busy loop in user space
 * is not. */
static bool is_hardware(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

static void burn(uint64_t ns)
{
	uint64_t end = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

gpc_status gpc_perf_probe(const struct gpc_perf_request *req, struct gpc_err *err)
{
	struct perf_event_attr attr = {.size = sizeof attr,
				       .type = req->type,
				       .config = req->config,
				       .config1 = req->config1,
				       .config2 = req->config2,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	autoclose int fd = gpc_perf_open_syscall(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t count = 0;

	if (fd < 0)
		return open_failed(err, req->name);
	if (!is_hardware(req->type))
		return GPC_OK;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	burn(2 * GPC_MS_NS);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof count) != sizeof count)
		return gpc_err_sys(err, "event %s: read", req->name);
	if (count == 0)
		return gpc_err_set(err, GPC_E_UNSUPPORTED,
				   "event %s opens but counts nothing here (no hardware counter)",
				   req->name);
	return GPC_OK;
}

void gpc_perf_explain(char *buf, size_t size)
{
	char text[32];
	long level;

	if (gpc_read_small(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text) <
	    0) {
		snprintf(buf, size, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
		return;
	}
	level = strtol(text, NULL, 10);
	snprintf(buf, size,
		 "kernel.perf_event_paranoid is %ld: sampling the whole machine needs CAP_PERFMON "
		 "(or root), or a value of 0 or less; your own processes can be sampled with "
		 "--pids%s",
		 level, level > 2 ? " only after lowering it to 2" : "");
}
