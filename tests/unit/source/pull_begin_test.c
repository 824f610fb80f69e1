/* SPDX-License-Identifier: Apache-2.0 */
/* The first samples of a process with a collector. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pull_world.h"
#include "sym/images.h"

struct mapped {
	struct gpc_space space;
	unsigned asked;
	bool is_gone;
};

static const struct gpc_space *space_of(void *ctx, uint64_t target, uint32_t *jit)
{
	struct mapped *m = ctx;

	assert_int_equal(target, 7);
	*jit = 0;
	m->asked++;
	return m->is_gone ? NULL : &m->space;
}

static void test_not_before_its_mappings_are_known(void **state)
{
	struct world *w = *state;
	struct gpc_images_limits limits = {1 << 20, 64};
	struct gpc_area area = {.start = 0x1000, .end = 0x4000, .kind = GPC_AREA_ANON};
	struct mapped m = {.space = {1, 1, 1, &area}, .is_gone = true};
	struct gpc_images *images;
	struct gpc_unwind_tables *tables;

	assert_int_equal(gpc_images_new(&limits, NULL, &images, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_tables_new(images, 1 << 20, NULL, &tables, NULL), GPC_OK);
	add(w, true, false);
	assert_true(pull(w)); /* frame pointers are all that is wanted */
	gpc_pulls_set_unwind(w->pulls, tables, GPC_UNWIND_SMART);
	assert_false(pull(w));
	gpc_pulls_follow_code(w->pulls, space_of, &m, true);
	assert_false(pull(w));
	assert_int_equal(w->calls, 1);
	assert_int_equal(stats(w).asked, 1);
	m.is_gone = false;
	gpc_pulls_follow_code(w->pulls, space_of, &m, true);
	assert_true(pull(w));
	assert_int_equal(w->calls, 2);
	/* It is known now, and only looked at again when all are. */
	assert_int_equal(m.asked, 2);
	gpc_pulls_follow_code(w->pulls, space_of, &m, true);
	assert_int_equal(m.asked, 2);
	gpc_pulls_follow_code(w->pulls, space_of, &m, false);
	assert_int_equal(m.asked, 3);
	assert_true(pull(w));
	assert_true(gpc_pulls_remove(w->pulls, w, 7));
	gpc_unwind_tables_free(tables);
	gpc_images_free(images);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_not_before_its_mappings_are_known, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
