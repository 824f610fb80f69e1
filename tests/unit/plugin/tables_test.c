/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "plugin/tables.h"

/* One module that each test breaks in one place. */
struct bench {
	struct gpc_option options[3];
	struct gpc_match match[2];
	struct gpc_event events[2];
	const char *suffixes[2];
	struct gpc_collector one, two;
	struct gpc_sink sink;
	const struct gpc_collector *collectors[3];
	const struct gpc_sink *sinks[3];
	struct gpc_module module;
};

static struct bench *the_bench; /* an entry takes no argument */

static const struct gpc_module *entry(void)
{
	return &the_bench->module;
}

static const struct gpc_module *entry_of_nothing(void)
{
	return NULL;
}

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	(void)h;
	(void)options;
	(void)self;
	return GPC_OK;
}

static void destroy(void *self)
{
	(void)self;
}

static gpc_status attach(void *self, const struct gpc_target *t, void **tctx)
{
	(void)self;
	(void)t;
	(void)tctx;
	return GPC_OK;
}

static void detach(void *self, void *tctx)
{
	(void)self;
	(void)tctx;
}

static gpc_status write_profile(void *self, const struct gpc_profile *p)
{
	(void)self;
	(void)p;
	return GPC_OK;
}

static void fill_collector(struct bench *b, struct gpc_collector *c, const char *name)
{
	*c = (struct gpc_collector){.struct_size = sizeof *c,
				    .scope = GPC_SCOPE_PROCESS,
				    .name = name,
				    .suffixes = b->suffixes,
				    .match = b->match,
				    .events = b->events,
				    .create = create,
				    .destroy = destroy,
				    .attach = attach,
				    .detach = detach};
}

static int setup(void **state)
{
	static struct bench b;

	b = (struct bench){0};
	b.options[0] = (struct gpc_option){.struct_size = sizeof(struct gpc_option),
					   .type = GPC_OPT_INT,
					   .name = "count"};
	b.match[0] = (struct gpc_match){sizeof(struct gpc_match), GPC_MATCH_EXE, "x*"};
	b.events[0] = (struct gpc_event){.struct_size = sizeof(struct gpc_event),
					 .name = "cpu-time",
					 .unit = "samples"};
	b.suffixes[0] = "x";
	fill_collector(&b, &b.one, "one");
	fill_collector(&b, &b.two, "two");
	b.sink = (struct gpc_sink){.struct_size = sizeof b.sink,
				   .name = "drain",
				   .create = create,
				   .destroy = destroy,
				   .write = write_profile};
	b.collectors[0] = &b.one;
	b.collectors[1] = &b.two;
	b.sinks[0] = &b.sink;
	b.module = (struct gpc_module){.struct_size = sizeof b.module,
				       .abi_major = GPC_ABI_MAJOR,
				       .abi_minor = GPC_ABI_MINOR,
				       .options_bytes = 8,
				       .name = "bench",
				       .version = "1",
				       .options = b.options,
				       .collectors = b.collectors,
				       .sinks = b.sinks};
	the_bench = &b;
	*state = &b;
	return 0;
}

static void assert_refused(const char *text)
{
	struct gpc_loaded_module *m = NULL;
	struct gpc_err err = {0};

	assert_true(gpc_module_builtin(entry, &m, &err) < 0);
	assert_null(m);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.text);
}

static void takes_a_complete_module(void **state)
{
	struct gpc_loaded_module *m = NULL;

	(void)state;
	assert_int_equal(gpc_module_builtin(entry, &m, NULL), GPC_OK);
	assert_string_equal(m->path, "(built in)");
	assert_null(m->handle);
	assert_int_equal(m->n_collectors, 2);
	assert_string_equal(m->collectors[1].name, "two");
	assert_int_equal(m->n_sinks, 1);
	gpc_module_free(m);
}

static void copies_no_more_than_struct_size(void **state)
{
	struct bench *b = *state;
	struct gpc_loaded_module *m = NULL;

	b->module.struct_size = offsetof(struct gpc_module, sinks);
	b->one.struct_size = offsetof(struct gpc_collector, ready);
	b->one.ready =
		(gpc_status(*)(void *, void *, const struct gpc_ready *, struct gpc_writer *))1;
	assert_int_equal(gpc_module_builtin(entry, &m, NULL), GPC_OK);
	assert_int_equal(m->n_sinks, 0);
	assert_null(m->collectors[0].ready);
	assert_false(GPC_HAS(&m->collectors[0], ready));
	assert_true(GPC_HAS(&m->collectors[1], ready));
	gpc_module_free(m);
}

static void refuses_bad_modules(void **state)
{
	struct bench *b = *state;
	struct gpc_loaded_module *m = NULL;
	struct gpc_err err;

	assert_int_equal(gpc_module_builtin(entry_of_nothing, &m, &err), GPC_E_CORRUPT);
	assert_non_null(strstr(err.text, "no module table"));
	b->module.struct_size = 0;
	assert_refused("only 0 bytes");
	setup(state);
	b->module.abi_minor++;
	assert_refused("plugin ABI");
	setup(state);
	b->module.version = NULL;
	assert_refused("no version");
	setup(state);
	b->collectors[0] = NULL;
	b->sinks[0] = NULL;
	assert_refused("neither collectors nor sinks");
}

static void refuses_bad_names(void **state)
{
	static const char *const bad[] = {NULL,         "",
					  "Upper",      "with space",
					  "with-dash",  "1st",
					  "_x",         "\xff",
					  "semi;colon", "a123456789012345678901234567890123456789"};
	struct bench *b = *state;

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		setup(state);
		b->module.name = bad[i];
		assert_refused("its module name");
		setup(state);
		b->two.name = bad[i];
		assert_refused("its collector's name");
		setup(state);
		b->sink.name = bad[i];
		assert_refused("its sink's name");
	}
}

static void refuses_missing_callbacks(void **state)
{
	struct bench *b = *state;

	b->one.create = NULL;
	assert_refused("\"one\" has no create()");
	setup(state);
	b->two.destroy = NULL;
	assert_refused("\"two\" has no destroy()");
	setup(state);
	b->one.attach = NULL;
	assert_refused("no attach()");
	setup(state);
	b->one.detach = NULL;
	assert_refused("no detach()");
	setup(state);
	b->sink.create = NULL;
	assert_refused("sink \"drain\" has no create()");
	setup(state);
	b->sink.destroy = NULL;
	assert_refused("sink \"drain\" has no destroy()");
	setup(state);
	b->sink.write = NULL;
	assert_refused("sink \"drain\" has no write()");
}

static void refuses_unknown_constants(void **state)
{
	struct bench *b = *state;

	b->one.scope = 0;
	assert_refused("scope");
	b->one.scope = GPC_SCOPE_PROCESS + 1;
	assert_refused("scope");
	setup(state);
	b->one.threads = GPC_THREADS_OWN + 1;
	assert_refused("thread model");
	setup(state);
	b->one.touch = GPC_TOUCH_INJECTS + 1;
	assert_refused("touch");
}

static void refuses_sizes_too_small(void **state)
{
	struct bench *b = *state;

	b->two.struct_size = 8;
	assert_refused("only 8 bytes");
	setup(state);
	b->sink.struct_size = offsetof(struct gpc_sink, write);
	assert_refused("only");
}

static void refuses_endless_lists(void **state)
{
	static const struct gpc_collector *many[100];
	struct bench *b = *state;

	for (unsigned i = 0; i < 100; i++)
		many[i] = &b->one;
	b->module.collectors = many;
	assert_refused("more than 64");
}

static void refuses_names_given_twice(void **state)
{
	struct bench *b = *state;

	b->two.name = "one";
	assert_refused("two collectors named \"one\"");
	setup(state);
	b->sinks[1] = &b->sink;
	assert_refused("two sinks named \"drain\"");
}

static void refuses_bad_tables(void **state)
{
	struct bench *b = *state;

	b->suffixes[0] = "p];evil";
	assert_refused("bad frame suffix");
	b->suffixes[0] = "";
	assert_refused("bad frame suffix");
	setup(state);
	b->events[0].unit = NULL;
	assert_refused("damaged event table");
	setup(state);
	b->events[0].struct_size = 4;
	assert_refused("damaged event table");
	setup(state);
	b->match[0].glob = NULL;
	assert_refused("damaged match table");
	b->match[0].kind = GPC_MATCH_ANY;
	setup(state);
	b->match[0].struct_size = 7;
	assert_refused("damaged match table");
}

/* The core writes at these offsets. */
static void refuses_options_out_of_bounds(void **state)
{
	static const uint32_t types[] = {GPC_OPT_BOOL,     GPC_OPT_INT,    GPC_OPT_BYTES,
					 GPC_OPT_DURATION, GPC_OPT_STRING, GPC_OPT_CHOICE,
					 GPC_OPT_LIST};
	struct bench *b = *state;
	struct gpc_loaded_module *m;

	for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
		b->options[0].type = types[i];
		b->options[0].offset = 6;
		assert_refused("\"count\" lies outside of its 8 bytes");
		b->options[0].offset = UINT32_MAX;
		assert_refused("lies outside");
	}
	b->options[0] = (struct gpc_option){.struct_size = sizeof(struct gpc_option),
					    .type = GPC_OPT_BOOL,
					    .name = "x",
					    .offset = 4};
	assert_int_equal(gpc_module_builtin(entry, &m, NULL), GPC_OK);
	gpc_module_free(m);
	b->options[1] = b->options[0];
	b->options[1].name = NULL;
	assert_refused("option 1 has no name");
	b->options[0].struct_size = 12;
	assert_refused("option table is damaged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(takes_a_complete_module, setup),
		cmocka_unit_test_setup(copies_no_more_than_struct_size, setup),
		cmocka_unit_test_setup(refuses_bad_modules, setup),
		cmocka_unit_test_setup(refuses_bad_names, setup),
		cmocka_unit_test_setup(refuses_missing_callbacks, setup),
		cmocka_unit_test_setup(refuses_unknown_constants, setup),
		cmocka_unit_test_setup(refuses_sizes_too_small, setup),
		cmocka_unit_test_setup(refuses_endless_lists, setup),
		cmocka_unit_test_setup(refuses_names_given_twice, setup),
		cmocka_unit_test_setup(refuses_bad_tables, setup),
		cmocka_unit_test_setup(refuses_options_out_of_bounds, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
