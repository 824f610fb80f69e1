/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler over events of this kernel: what it takes into a window, and what it does
 * when records were lost. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record.h"
#include "source/reader_impl.h"
#include "source/sampler_impl.h"

#define HZ      999
#define FAR_NS  (gpc_now_ns() + 3600 * GPC_SECOND_NS)
#define NO_CPU  60000
#define LOST_OF 5

struct world {
	struct gpc_sampler *sampler;
	struct gpc_names *names;
	int32_t self;
	uint32_t stream;
	pid_t child; /* stopped */
};

static struct world *new_world(bool is_system_wide)
{
	struct world *w = calloc(1, sizeof *w);
	struct gpc_sampler_config config = {.stack_bytes = 1 << 20};

	assert_non_null(w);
	w->self = getpid();
	w->names = gpc_names_new(1);
	if (!is_system_wide) {
		config.pids = &w->self;
		config.n_pids = 1;
	}
	assert_int_equal(gpc_sampler_new(&config, NULL, &w->sampler, NULL), GPC_OK);
	return w;
}

static int begin_own(void **state)
{
	*state = new_world(false);
	return 0;
}

static int begin_wide(void **state)
{
	*state = new_world(true);
	return 0;
}

static int finish(void **state)
{
	struct world *w = *state;

	if (w->child > 0) {
		kill(w->child, SIGKILL);
		waitpid(w->child, NULL, 0);
	}
	assert_true(gpc_sampler_free(w->sampler));
	gpc_names_put(w->names);
	free(w);
	return 0;
}

static void start(struct world *w)
{
	struct gpc_perf_request req = {.name = "cpu-clock",
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .rate = HZ,
				       .unwind = GPC_UNWIND_FP};
	struct gpc_err err = {0};
	uint32_t index;
	gpc_status st;

	assert_int_equal(gpc_sampler_start(w->sampler, FAR_NS, &err), GPC_OK);
	st = gpc_sampler_open(w->sampler, &req, 1, &w->stream, &index, &err);
	if (st == GPC_E_PERM || err.sys == ENOSYS)
		skip();
	assert_int_equal(st, GPC_OK);
}

static struct gpc_stream_stats stats(struct world *w)
{
	struct gpc_stream_stats ret;

	gpc_sampler_stats(w->sampler, w->stream, &ret);
	return ret;
}

static void spin(uint64_t ns)
{
	uint64_t end = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/* ---- windows -------------------------------------------------------------------- */

/* A window that is ended early takes nothing of what comes while its readers, or its
 * tables, are waited for. */
static void test_nothing_comes_after_an_early_end(void **state)
{
	struct world *w = *state;
	struct gpc_stacks *taken;
	uint64_t end, begin = gpc_now_ns(), counted, sum = 0;

	start(w);
	spin(200 * GPC_MS_NS);
	end = gpc_sampler_end_now(w->sampler);
	counted = gpc_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_true(end > begin && end <= gpc_now_ns());
	assert_int_equal(gpc_sampler_end_now(w->sampler), end);
	spin(600 * GPC_MS_NS);
	usleep(300000); /* the source's thread has had its turn */
	assert_true(stats(w).samples > 0);
	assert_true(stats(w).samples <= counted * HZ / GPC_SECOND_NS + 5);
	gpc_sampler_cut(w->sampler, end, FAR_NS, w->names);
	taken = gpc_sampler_take(w->sampler, w->stream);
	for (size_t i = 0; i < gpc_stacks_rows(taken); i++)
		sum += gpc_stacks_row(taken, i).value;
	assert_int_equal(sum, stats(w).samples);
	gpc_sampler_give_back(w->sampler, w->stream);
	/* It is the next window's. */
	gpc_sampler_cut(w->sampler, gpc_sampler_end_now(w->sampler), FAR_NS, w->names);
	assert_true(stats(w).samples > sum + 300);
}

/* ---- lost records ------------------------------------------------------------------ */

/* A ring of the same stream on a CPU that is not there, with one record in it. */
static void lose(struct world *w, uint32_t stream)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct gpc_reader_ring ring = {.bytes = page,
				       .format = {.sample_type = REC_TYPE, .sample_id_all = true},
				       .stream = stream,
				       .cpu = NO_CPU};
	struct rec_id id = {.time = gpc_now_ns()};
	struct perf_event_mmap_page *head;
	struct rec *r = calloc(1, sizeof *r);

	assert_non_null(r);
	rec_begin(r, PERF_RECORD_LOST, 0);
	rec_u64(r, 1);
	rec_u64(r, LOST_OF);
	rec_trailer(r, REC_TYPE, &id);
	ring.mapping = mmap(NULL, page + ring.bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ring.mapping, MAP_FAILED);
	memcpy((uint8_t *)ring.mapping + page, r->words, r->n);
	head = ring.mapping;
	head->data_head = r->n;
	free(r);
	gpc_sampler_lock(w->sampler);
	assert_int_equal(gpc_reader_adopt(w->sampler->reader, &ring, NULL), GPC_OK);
	gpc_sampler_unlock(w->sampler);
}

static bool is_known(struct world *w)
{
	bool ret;

	gpc_sampler_lock(w->sampler);
	ret = gpc_table_find(gpc_sampler_table(w->sampler), w->child) != NULL;
	gpc_sampler_unlock(w->sampler);
	return ret;
}

/* Of a process that does not run the mappings are read once. Not before the record of its
 * beginning was, which forgets what was known of its number. */
static void know_the_child(struct world *w)
{
	uint64_t until = gpc_now_ns() + 10 * GPC_SECOND_NS;
	struct gpc_process *p;

	w->child = fork();
	if (w->child == 0)
		for (;;)
			raise(SIGSTOP);
	assert_true(w->child > 0);
	assert_int_equal(waitpid(w->child, NULL, WUNTRACED), w->child);
	while (!is_known(w)) {
		assert_true(gpc_now_ns() < until);
		usleep(10000);
	}
	gpc_sampler_lock(w->sampler);
	p = gpc_table_sampled(gpc_sampler_table(w->sampler), w->child, 0);
	assert_non_null(p);
	assert_true(gpc_table_space(gpc_sampler_table(w->sampler), p)->n > 0);
	gpc_sampler_unlock(w->sampler);
}

static bool is_trusted(struct world *w)
{
	bool ret;

	gpc_sampler_lock(w->sampler);
	ret = gpc_table_find(gpc_sampler_table(w->sampler), w->child)->space != NULL;
	gpc_sampler_unlock(w->sampler);
	return ret;
}

static void wait_for_distrust(struct world *w)
{
	uint64_t until = gpc_now_ns() + 10 * GPC_SECOND_NS;

	while (is_trusted(w)) {
		assert_true(gpc_now_ns() < until);
		usleep(10000);
	}
}

static void test_lost_samples_are_no_lost_mappings(void **state)
{
	struct world *w = *state;
	uint64_t until = gpc_now_ns() + 10 * GPC_SECOND_NS;

	start(w);
	if (!gpc_sampler_has_sideband(w->sampler))
		skip();
	know_the_child(w);
	lose(w, w->sampler->streams.at[w->stream].ring);
	while (stats(w).lost < LOST_OF) {
		assert_true(gpc_now_ns() < until);
		usleep(10000);
	}
	assert_true(is_trusted(w));
	lose(w, 0); /* the side-band's ring */
	wait_for_distrust(w);
}

/* These samples come with the side-band of the processes, in one ring. */
static void test_with_pids_they_are(void **state)
{
	struct world *w = *state;

	start(w);
	know_the_child(w);
	lose(w, w->sampler->streams.at[w->stream].ring);
	wait_for_distrust(w);
	assert_int_equal(stats(w).lost, LOST_OF);
}

/* ---- who waits for files ------------------------------------------------------------ */

struct file_server {
	struct gpc_images *images;
	int asked[2], answer[2];
};

static bool wait_for_the_server(void *ctx, uint32_t image)
{
	struct file_server *f = ctx;
	char c;

	(void)image;
	if (write(f->asked[1], "x", 1) != 1 || read(f->answer[0], &c, 1) != 1)
		abort();
	return true;
}

static void *work_on_images(void *arg)
{
	struct file_server *f = arg;

	gpc_images_trim(f->images, wait_for_the_server, f);
	return NULL;
}

static void *trim(void *arg)
{
	struct world *w = arg;

	gpc_sampler_trim(w->sampler, gpc_now_ns());
	return NULL;
}

/* Somebody is at the images, and does not come back: the source's thread goes on. */
static void test_trimming_waits_for_files_without_the_lock(void **state)
{
	struct world *w = *state;
	struct file_server f = {.images = gpc_sampler_images(w->sampler)};
	struct gpc_image_key key = {.inode = 1};
	pthread_t worker, trimmer;
	uint64_t until = gpc_now_ns() + 300 * GPC_MS_NS;
	unsigned refused = 0;
	char c;

	assert_true(gpc_images_add(f.images, &key, "/some/file") > 0);
	for (int i = 0; i < 3; i++)
		gpc_sampler_trim(w->sampler, gpc_now_ns());
	assert_true(gpc_images_add(f.images, &key, "/some/file") > 0);
	gpc_sampler_trim(w->sampler, gpc_now_ns());
	gpc_sampler_trim(w->sampler, gpc_now_ns()); /* not used in these two: who keeps it? */
	assert_int_equal(pipe(f.asked), 0);
	assert_int_equal(pipe(f.answer), 0);
	assert_int_equal(pthread_create(&worker, NULL, work_on_images, &f), 0);
	assert_int_equal(read(f.asked[0], &c, 1), 1);
	assert_int_equal(pthread_create(&trimmer, NULL, trim, w), 0);
	usleep(100000);
	while (gpc_now_ns() < until) {
		if (pthread_mutex_trylock(&w->sampler->lock) == 0)
			gpc_sampler_unlock(w->sampler);
		else
			refused++;
		usleep(10000);
	}
	assert_int_equal(write(f.answer[1], "x", 1), 1);
	pthread_join(worker, NULL);
	pthread_join(trimmer, NULL);
	for (int i = 0; i < 2; i++) {
		close(f.asked[i]);
		close(f.answer[i]);
	}
	assert_int_equal(refused, 0);
}

/* Whichever event: only clocks have distances that readers can set. */
static uint32_t opened(struct world *w)
{
	struct gpc_perf_request candidates[] = {
		{.name = "page-faults",
		 .type = PERF_TYPE_SOFTWARE,
		 .config = PERF_COUNT_SW_PAGE_FAULTS},
		{.name = "cpu-clock",
		 .type = PERF_TYPE_SOFTWARE,
		 .config = PERF_COUNT_SW_CPU_CLOCK},
		{.name = "task-clock",
		 .type = PERF_TYPE_SOFTWARE,
		 .config = PERF_COUNT_SW_TASK_CLOCK},
	};
	struct gpc_err err = {0};
	uint32_t index = 99;
	gpc_status st;

	for (int i = 0; i < 3; i++)
		candidates[i].rate = HZ;
	st = gpc_sampler_open(w->sampler, candidates, 3, &w->stream, &index, &err);
	if (st == GPC_E_PERM || err.sys == ENOSYS)
		skip();
	assert_int_equal(st, GPC_OK);
	return index;
}

static void test_clocks_come_first_where_samples_are_pulled(void **state)
{
	struct world *w = *state;

	assert_int_equal(gpc_sampler_start(w->sampler, FAR_NS, NULL), GPC_OK);
	assert_int_equal(opened(w), 0);
	gpc_sampler_set_pull(w->sampler, 4096, w->names);
	assert_int_equal(opened(w), 1);
}

static int tick_ms(struct world *w)
{
	int ret;

	gpc_sampler_lock(w->sampler);
	ret = gpc_sampler_tick_ms(w->sampler);
	gpc_sampler_unlock(w->sampler);
	return ret;
}

/* A ring is 8 MB at most: of such stacks that is an eighth of a second. */
static void test_rings_of_less_than_a_second_are_read_more_often(void **state)
{
	struct world *w = *state;
	int before;

	assert_int_equal(gpc_sampler_start(w->sampler, FAR_NS, NULL), GPC_OK);
	opened(w);
	before = tick_ms(w);
	gpc_sampler_set_pull(w->sampler, 65528, w->names);
	opened(w);
	assert_true(tick_ms(w) < before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_comes_after_an_early_end, begin_own,
						finish),
		cmocka_unit_test_setup_teardown(test_lost_samples_are_no_lost_mappings, begin_wide,
						finish),
		cmocka_unit_test_setup_teardown(test_with_pids_they_are, begin_own, finish),
		cmocka_unit_test_setup_teardown(test_trimming_waits_for_files_without_the_lock,
						begin_own, finish),
		cmocka_unit_test_setup_teardown(test_clocks_come_first_where_samples_are_pulled,
						begin_own, finish),
		cmocka_unit_test_setup_teardown(
			test_rings_of_less_than_a_second_are_read_more_often, begin_own, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
