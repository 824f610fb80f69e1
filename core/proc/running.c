/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/running.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#define STATE_FIELD 3  /* proc(5), /proc/PID/stat */
#define CPU_FIELD   39 /* processor */

bool gpc_thread_place_parse(const char *text, struct gpc_thread_place *ret)
{
	const char *at = strrchr(text, ')');
	unsigned long cpu;
	char *end;

	if (!at || at[1] != ' ' || !isalpha((unsigned char)at[2]))
		return false;
	at += 2;
	ret->state = *at;
	for (unsigned field = STATE_FIELD; field < CPU_FIELD; field++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	if (!isdigit((unsigned char)*at))
		return false;
	cpu = strtoul(at, &end, 10);
	if (cpu > INT32_MAX || (*end != ' ' && *end != '\n' && *end))
		return false;
	ret->cpu = (uint32_t)cpu;
	return true;
}

static bool read_text(int procfd, int32_t pid, int32_t tid, const char *name, char text[1024])
{
	char path[64];

	snprintf(path, sizeof path, "%d/task/%d/%s", pid, tid, name);
	return gpc_read_small(procfd, path, text, 1024) > 0;
}

bool gpc_thread_place_read(int procfd, int32_t pid, int32_t tid, struct gpc_thread_place *ret)
{
	char text[1024];

	return read_text(procfd, pid, tid, "stat", text) && gpc_thread_place_parse(text, ret);
}

/* "se.exec_start      :      23771385.489360", milliseconds. Before it stands the thread's
 * name, which is foreign: at most 15 bytes, so it cannot hold both of these texts. */
bool gpc_exec_start_parse(const char *text, uint64_t *ret)
{
	static const char key[] = "\nse.exec_start";
	const char *at = strstr(text, ", #threads: ");
	unsigned long long ms, ns;

	at = at ? strstr(at, key) : NULL;
	if (!at)
		return false;
	at += sizeof key - 1;
	at += strspn(at, " ");
	if (sscanf(at, ": %llu.%6llu\n", &ms, &ns) != 2 || ms > UINT64_MAX / GPC_MS_NS - 1 ||
	    ns >= GPC_MS_NS)
		return false;
	*ret = ms * GPC_MS_NS + ns;
	return true;
}

bool gpc_exec_start_read(int procfd, int32_t pid, int32_t tid, uint64_t *ret)
{
	autoclose int fd = gpc_exec_start_open(procfd, pid, tid);

	return gpc_exec_start_again(fd, ret);
}

int gpc_exec_start_open(int procfd, int32_t pid, int32_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "%d/task/%d/sched", pid, tid);
	return openat(procfd, path, O_RDONLY | O_CLOEXEC);
}

bool gpc_exec_start_again(int fd, uint64_t *ret)
{
	char text[512];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return gpc_exec_start_parse(text, ret);
}

bool gpc_thread_cpu_ns(int procfd, int32_t pid, int32_t tid, uint64_t *ret)
{
	char text[1024];
	unsigned long long ns;

	if (!read_text(procfd, pid, tid, "schedstat", text) || sscanf(text, "%llu", &ns) != 1)
		return false;
	*ret = ns;
	return true;
}

uint64_t gpc_process_cpu_ns(int32_t pid)
{
	/* CPUCLOCK_SCHED of the process (linux/posix-timers.h); clock_getcpuclockid asks the
	 * kernel once more for the same. */
	clockid_t clock = (clockid_t)((~(unsigned)pid << 3) | 2);
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * GPC_SECOND_NS + (uint64_t)ts.tv_nsec;
}
