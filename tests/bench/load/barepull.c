/* SPDX-License-Identifier: Apache-2.0 */
/* The least that reading at samples can cost: a perf event on each CPU with the
 * registers and the first bytes of the stack, a pinned real-time thread on each
 * that is woken by each sample (or looks every 100 ms), and two reads of the
 * sampled process's memory: where the thread's frames are, and a block of them.
 *
 * Usage: barepull PID HZ SECONDS STACK BATCHED ADDRESS. Prints the samples of the
 * process, of the machine, and the CPU nanoseconds of all reader threads. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING  (1u << 20)
#define BLOCK 2048

struct reader {
	int cpu, fd;
	struct perf_event_mmap_page *page;
	uint64_t samples, all, cpu_ns;
};

static int memory, batched;
static int32_t pid;
static uint64_t address, until_ns;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int open_event(int cpu, unsigned long hz, unsigned stack)
{
	struct perf_event_attr attr = {.size = sizeof attr,
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .freq = 1,
				       .sample_freq = hz,
				       .watermark = 1,
				       .wakeup_watermark = 1};

	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
			   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.sample_regs_user = 0xff0fff;
	attr.sample_stack_user = stack;
	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void look(uint64_t top)
{
	uint8_t block[BLOCK];
	uint64_t slot[32];

	if (pread(memory, slot, sizeof slot, (off_t)top) < 0 ||
	    pread(memory, block, sizeof block, (off_t)top) < 0)
		abort();
}

static void read_ring(struct reader *r)
{
	uint8_t *data = (uint8_t *)r->page + 4096;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;

	while (tail < head) {
		struct perf_event_header h;
		uint32_t who[2];

		memcpy(&h, data + tail % RING, sizeof h);
		memcpy(who, data + (tail + sizeof h) % RING, sizeof who);
		r->all += h.type == PERF_RECORD_SAMPLE;
		if (h.type == PERF_RECORD_SAMPLE && (int32_t)who[0] == pid) {
			look(address);
			r->samples++;
		}
		tail += h.size;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}

static void *run(void *arg)
{
	struct reader *r = arg;
	struct sched_param fifo = {.sched_priority = 1};
	struct pollfd fd = {.fd = r->fd, .events = POLLIN};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(r->cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
	if (!batched)
		sched_setscheduler(0, SCHED_FIFO, &fifo);
	while (now(CLOCK_MONOTONIC) < until_ns) {
		poll(&fd, batched ? 0 : 1, 100);
		read_ring(r);
	}
	r->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

int main(int argc, char **argv)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct reader *readers = calloc((size_t)cpus, sizeof *readers);
	pthread_t *threads = calloc((size_t)cpus, sizeof *threads);
	uint64_t samples = 0, all = 0, cpu_ns = 0;
	char path[40];

	if (argc < 7 || !readers || !threads)
		return 2;
	pid = atoi(argv[1]);
	batched = atoi(argv[5]);
	address = strtoull(argv[6], NULL, 0);
	until_ns = now(CLOCK_MONOTONIC) + strtoull(argv[3], NULL, 10) * 1000000000u;
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < cpus; i++) {
		readers[i].cpu = i;
		readers[i].fd = open_event(i, strtoul(argv[2], NULL, 10),
					   (unsigned)strtoul(argv[4], NULL, 10));
		readers[i].page = mmap(NULL, 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED,
				       readers[i].fd, 0);
		if (memory < 0 || readers[i].page == MAP_FAILED)
			return 3;
	}
	for (int i = 0; i < cpus; i++)
		pthread_create(&threads[i], NULL, run, &readers[i]);
	for (int i = 0; i < cpus; i++) {
		pthread_join(threads[i], NULL);
		samples += readers[i].samples;
		all += readers[i].all;
		cpu_ns += readers[i].cpu_ns;
	}
	printf("%llu %llu %llu\n", (unsigned long long)samples, (unsigned long long)all,
	       (unsigned long long)cpu_ns);
	return 0;
}
