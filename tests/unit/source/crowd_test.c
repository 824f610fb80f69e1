/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "source/crowd.h"

struct world {
	int fd; /* of a file in memory */
	char path[32];
	struct gpc_crowd crowd;
	uint64_t now_ns, waited_us;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	w->fd = memfd_create("pressure", MFD_CLOEXEC);
	assert_true(w->fd >= 0);
	snprintf(w->path, sizeof w->path, "/proc/self/fd/%d", w->fd);
	w->now_ns = 5 * GPC_SECOND_NS;
	w->waited_us = 123456789;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	close(w->fd);
	free(w);
	return 0;
}

static void say(struct world *w, const char *text)
{
	assert_int_equal(ftruncate(w->fd, 0), 0);
	assert_int_equal(pwrite(w->fd, text, strlen(text), 0), strlen(text));
}

/* ms later, of which threads waited so many microseconds. */
static bool look(struct world *w, unsigned ms, uint64_t waited_us)
{
	char text[200];

	w->now_ns += ms * GPC_MS_NS;
	w->waited_us += waited_us;
	snprintf(text, sizeof text,
		 "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		 (unsigned long long)w->waited_us);
	say(w, text);
	return gpc_crowd_is_calm(&w->crowd, w->now_ns, w->path);
}

static void by_what_waited(void **state)
{
	struct world *w = *state;

	assert_false(look(w, 0, 0)); /* of before nothing is known */
	assert_true(look(w, 2000, 115000));
	assert_false(look(w, 2000, 135000));
	assert_false(look(w, 2000, 1800000));
	/* The answer holds for two seconds. */
	assert_false(look(w, 1000, 0));
	assert_true(look(w, 1000, 0));
	assert_true(look(w, 1999, 1000000));
	assert_false(look(w, 1, 0));
}

static void what_is_not_told(void **state)
{
	struct world *w = *state;

	assert_false(look(w, 0, 0));
	assert_true(look(w, 2000, 0));
	say(w, "nonsense");
	w->now_ns += 2 * GPC_SECOND_NS;
	assert_false(gpc_crowd_is_calm(&w->crowd, w->now_ns, w->path));
	assert_false(look(w, 2000, 0)); /* the first again */
	assert_true(look(w, 2000, 0));
	w->now_ns += 2 * GPC_SECOND_NS;
	assert_false(gpc_crowd_is_calm(&w->crowd, w->now_ns, "/proc/self/none"));
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(by_what_waited),
		world_test(what_is_not_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
