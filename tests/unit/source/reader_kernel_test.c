/* SPDX-License-Identifier: Apache-2.0 */
/* The reader over events of this kernel: processes that end, threads that start while
 * they are looked for, rings that cannot be opened for a while. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "no_pull.h"
#include "record.h"
#include "source/reader_impl.h"
#include "source/slot.h"

#define HZ 999

struct world {
	struct gpc_reader *reader;
	pid_t first, second; /* children; 0: none */
	uint32_t of;         /* whose samples are counted */
	unsigned n;
	uint32_t stream;
};

static void on_record(void *ctx, const struct gpc_perf_record *r, uint32_t stream,
		      const struct gpc_pulled *pulled)
{
	struct world *w = ctx;

	(void)stream;
	(void)pulled;
	w->n += r->type == PERF_RECORD_SAMPLE && r->pid == w->of;
}

static unsigned drain(struct world *w)
{
	struct gpc_reader_visitor v = {.ctx = w, .record = on_record};

	w->n = 0;
	gpc_reader_drain(w->reader, UINT64_MAX, &v);
	return w->n;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	assert_int_equal(gpc_reader_new(NULL, &w->reader, NULL), GPC_OK);
	*state = w;
	return 0;
}

static void end(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	end(&w->first);
	end(&w->second);
	gpc_reader_free(w->reader);
	free(w);
	return 0;
}

/* Works as long as it is not stopped. */
static pid_t start_worker(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (volatile unsigned i = 0;; i++)
			;
	assert_true(pid > 0);
	return pid;
}

static struct gpc_perf_request request(bool pulled)
{
	return (struct gpc_perf_request){.name = "cpu-clock",
					 .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_CPU_CLOCK,
					 .rate = HZ,
					 .samples = true,
					 .inherit = true,
					 .pulled = pulled,
					 .wake_bytes = 1};
}

static void open_for(struct world *w, const struct gpc_perf_request *req, const int32_t *pids,
		     uint32_t n)
{
	struct gpc_err err = {0};
	gpc_status st = gpc_reader_open(w->reader, req, pids, n, &w->stream, &err);

	if (st == GPC_E_PERM || err.sys == ENOSYS)
		skip();
	assert_int_equal(st, GPC_OK);
}

/* ---- the first process ends ----------------------------------------------------- */

static void open_two(struct world *w, bool pulled)
{
	struct gpc_perf_request req = request(pulled);
	int32_t pids[2];

	w->first = pids[0] = start_worker();
	w->second = pids[1] = start_worker();
	w->of = (uint32_t)w->second;
	open_for(w, &req, pids, 2);
}

/* What is sampled in the next half second. */
static unsigned samples_of_half_a_second(struct world *w)
{
	unsigned n = 0;

	drain(w);
	for (int i = 0; i < 5; i++) {
		usleep(100000);
		n += drain(w);
	}
	return n;
}

static void test_readers_go_on_when_the_first_process_ends(void **state)
{
	struct gpc_pull_hooks hooks = NO_PULL;
	enum gpc_priority got;
	struct world *w = *state;

	open_two(w, true);
	assert_int_equal(gpc_reader_start_pull(w->reader, &hooks, GPC_PRIORITY_NORMAL, &got, NULL),
			 GPC_OK);
	assert_true(samples_of_half_a_second(w) > 0);
	end(&w->first);
	usleep(100000);
	assert_true(samples_of_half_a_second(w) > HZ / 2 / 10);
	assert_false(gpc_reader_is_behind(w->reader, gpc_now_ns() - 300 * GPC_MS_NS));
	/* When nobody is left they have no more to do than to be stopped. */
	end(&w->second);
	usleep(100000);
	drain(w);
	assert_int_equal(samples_of_half_a_second(w), 0);
}

static bool is_readable(struct world *w, int ms)
{
	struct pollfd fd = {.fd = gpc_reader_fd(w->reader), .events = POLLIN};

	return poll(&fd, 1, ms) > 0;
}

/* True: there are no more wake-ups than there is to read. */
static bool gets_calm(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		if (!is_readable(w, 50))
			return true;
		gpc_reader_woken(w->reader);
		drain(w);
	}
	return false;
}

static void test_an_ended_process_wakes_nobody(void **state)
{
	struct world *w = *state;

	open_two(w, false);
	assert_true(is_readable(w, 10000));
	kill(w->second, SIGSTOP);
	end(&w->first);
	usleep(50000);
	assert_true(gets_calm(w));
	/* The other one still does. */
	kill(w->second, SIGCONT);
	assert_true(is_readable(w, 10000));
	gpc_reader_woken(w->reader);
	assert_true(drain(w) > 0);
	end(&w->second);
	usleep(50000);
	assert_true(gets_calm(w));
}

/* ---- threads that start meanwhile ------------------------------------------------ */

#define IDLE 300 /* so many must be opened first */
#define BUSY 20  /* at most */

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

static void *work(void *arg)
{
	setpriority(PRIO_PROCESS, 0, 19); /* of this thread: the starter goes first */
	for (;;)
		;
	return arg;
}

/* Until it is told on stop that all are open. */
static void be_starter(int ready, int stop)
{
	struct pollfd told = {.fd = stop, .events = POLLIN};
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < IDLE; i++)
		pthread_create(&thread, &attr, wait_for_ever, NULL);
	if (write(ready, "x", 1) != 1)
		abort();
	for (int i = 0; i < BUSY && poll(&told, 1, 0) == 0; i++) {
		pthread_create(&thread, &attr, work, NULL);
		usleep(300);
	}
	pause();
}

/* Starts threads while its threads are looked for, all on one CPU: together they use it
 * as one would. */
static pid_t start_starter(int stop)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		be_starter(ready[1], stop);
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static uint64_t cpu_ns(pid_t pid)
{
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	return gpc_clock_ns(clock);
}

static void test_no_thread_is_counted_twice(void **state)
{
	struct gpc_perf_request req = request(false);
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		int stop[2];
		int32_t pid;
		uint64_t begin_ns;
		unsigned n, most;

		assert_int_equal(pipe(stop), 0);
		w->first = pid = start_starter(stop[0]);
		w->of = (uint32_t)pid;
		open_for(w, &req, &pid, 1);
		assert_int_equal(write(stop[1], "x", 1), 1);
		drain(w);
		begin_ns = cpu_ns(pid);
		usleep(500000);
		kill(pid, SIGSTOP);
		usleep(10000);
		n = drain(w);
		most = (unsigned)((cpu_ns(pid) - begin_ns) * HZ / GPC_SECOND_NS);
		end(&w->first);
		gpc_reader_close(w->reader, w->stream);
		close(stop[0]);
		close(stop[1]);
		assert_true(n <= most * 21 / 20 + 5);
	}
}

/* ---- rings that cannot be had ------------------------------------------------------ */

/* All perf events of this process are made to stand still, as those of a CPU that went
 * off line do. */
static unsigned stop_events(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		char path[300], to[64] = "";

		snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
		if (readlink(path, to, sizeof to - 1) > 0 && strstr(to, "[perf_event]"))
			n += ioctl(atoi(e->d_name), PERF_EVENT_IOC_DISABLE, 0) == 0;
	}
	closedir(dir);
	return n;
}

static unsigned rings(struct world *w)
{
	struct gpc_reader_stats stats;

	gpc_reader_stats(w->reader, w->stream, &stats);
	return stats.rings;
}

static void test_what_could_not_be_opened_is_tried_again(void **state)
{
	struct gpc_perf_request req = request(false);
	struct world *w = *state;
	struct rlimit limit, none;
	unsigned before;

	open_for(w, &req, NULL, 0);
	before = rings(w);
	assert_true(before > 0);
	gpc_reader_follow_cpus(w->reader);
	assert_int_equal(rings(w), before);
	assert_int_equal(stop_events(), before);
	gpc_reader_follow_cpus(w->reader); /* how long they have counted */
	drain(w);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	gpc_reader_follow_cpus(w->reader);
	gpc_reader_follow_cpus(w->reader);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(rings(w), 0);
	gpc_reader_follow_cpus(w->reader);
	assert_int_equal(rings(w), before);
}

/* What a ring has dropped stays counted when its CPU has gone. */
static void test_what_was_dropped_stays_so(void **state)
{
	struct gpc_perf_request req = request(false);
	struct gpc_reader_ring ring = {.bytes = 4096, .cpu = 60000, .dropped = 7};
	struct world *w = *state;
	struct gpc_reader_stats stats;
	int32_t self = getpid();

	open_for(w, &req, &self, 1);
	ring.stream = w->stream;
	ring.mapping = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + ring.bytes,
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ring.mapping, MAP_FAILED);
	assert_int_equal(gpc_reader_adopt(w->reader, &ring, NULL), GPC_OK);
	gpc_reader_stats(w->reader, w->stream, &stats);
	assert_int_equal(stats.dropped, 7);
	gpc_reader_follow_cpus(w->reader);
	gpc_reader_stats(w->reader, w->stream, &stats);
	assert_int_equal(stats.dropped, 7);
	gpc_reader_close(w->reader, w->stream);
	gpc_reader_stats(w->reader, w->stream, &stats);
	assert_int_equal(stats.dropped, 7);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_readers_go_on_when_the_first_process_ends),
		world_test(test_an_ended_process_wakes_nobody),
		world_test(test_no_thread_is_counted_twice),
		world_test(test_what_could_not_be_opened_is_tried_again),
		world_test(test_what_was_dropped_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
