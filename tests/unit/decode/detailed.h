/* SPDX-License-Identifier: Apache-2.0 */
/* A profile with all that a profile can have: two events, threads, addresses. */
#ifndef GPC_TESTS_DETAILED_H
#define GPC_TESTS_DETAILED_H

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "decode/decode.h"
#include "encode/encode.h"

struct gpc_text {
	vec(char) bytes;
};

static inline gpc_status gpc_text_keep(void *ctx, const void *bytes, uint64_t n)
{
	struct gpc_text *t = ctx;

	assert_true(vec_reserve(&t->bytes, n + 1));
	if (n)
		memcpy(t->bytes.at + t->bytes.n, bytes, n);
	t->bytes.n += n;
	t->bytes.at[t->bytes.n] = '\0';
	return GPC_OK;
}

static inline struct gpc_text gpc_text_of(const struct gpc_profile *p, const char *format)
{
	struct gpc_text t = {0};

	assert_int_equal(gpc_encode(p, format, gpc_text_keep, &t), GPC_OK);
	return t;
}

/* The profile's .col without its header line equals lines. */
static inline void gpc_assert_col(const struct gpc_profile *p, const char *lines)
{
	struct gpc_text t = gpc_text_of(p, "col");

	assert_string_equal(strchr(t.bytes.at, '\n') + 1, lines);
	vec_deinit(&t.bytes);
}

static inline gpc_frame gpc_detailed_frame(struct gpc_names *names, const char *function,
					   uint64_t address)
{
	struct gpc_frame_entry e = {
		.function = gpc_names_str(names, function, strlen(function)),
		.module = gpc_names_str(names, "/usr/lib/libx.so", 16),
		.build_id = gpc_names_str(names, "c0ffee", 6),
		.address = address,
	};

	return gpc_names_frame(names, &e);
}

static inline void gpc_detailed_fill(struct gpc_profile *p, struct gpc_names *names)
{
	struct gpc_profile_process process = {.id = 7,
					      .pid = 70,
					      .comm = "svc",
					      .container = "box",
					      .appid = "python: a.py",
					      .pod = "web-1",
					      .pod_namespace = "shop"};
	gpc_frame here = gpc_detailed_frame(names, "f", 0x1000),
		  there = gpc_detailed_frame(names, "f", 0x2000),
		  start = gpc_detailed_frame(names, "main", 0x500);
	struct gpc_stacks *cpu, *faults;

	assert_int_equal(gpc_profile_add_process(p, &process, NULL), GPC_OK);
	assert_int_equal(gpc_profile_add_thread(p, gpc_key(7, 71), "one", NULL), GPC_OK);
	assert_int_equal(gpc_profile_add_thread(p, gpc_key(7, 72), "two", NULL), GPC_OK);
	assert_int_equal(gpc_stacks_new(0, &cpu, NULL), GPC_OK);
	gpc_stacks_add(cpu, gpc_key(7, 71), (gpc_frame[]){here, start}, 2, 5);
	gpc_stacks_add(cpu, gpc_key(7, 72), (gpc_frame[]){here, start}, 2, 6);
	gpc_stacks_add(cpu, gpc_key(7, 72), (gpc_frame[]){there, start}, 2, 7);
	gpc_stacks_add(cpu, gpc_key(7, 72), NULL, 0, 1);
	assert_int_equal(gpc_profile_add_event(p, "cpu-time", "samples", cpu, NULL), GPC_OK);
	assert_int_equal(gpc_stacks_new(0, &faults, NULL), GPC_OK);
	gpc_stacks_add(faults, gpc_key(7, 71), (gpc_frame[]){start}, 1, 3);
	assert_int_equal(gpc_profile_add_event(p, "page-faults", "count", faults, NULL), GPC_OK);
	gpc_profile_set_wants(p, GPC_WANT_THREADS | GPC_WANT_ADDRESSES);
	assert_int_equal(gpc_profile_set_header(p,
						"{\"sampling_event\": \"cpu-time\", "
						"\"sampling_mode\": \"frequency\", "
						"\"sampling_frequency\": 100, "
						"\"application_metadata_enabled\": true}",
						NULL),
			 GPC_OK);
}

static inline struct gpc_profile *gpc_detailed_new(void)
{
	struct gpc_profile_span span = {0, INT64_C(1770091506000000000),
					INT64_C(1770091566000000000), UINT64_C(60000000000)};
	struct gpc_names *names = gpc_names_new(1);
	struct gpc_profile *p;

	assert_int_equal(gpc_profile_new(names, &span, &p, NULL), GPC_OK);
	gpc_detailed_fill(p, names);
	gpc_names_put(names);
	return p;
}

/* What .col says of it. */
#define GPC_DETAILED_COL                            \
	"0;box;svc;appid: python: a.py;main;f 18\n" \
	"0;box;svc;appid: python: a.py;" GPC_OVERFLOW_TEXT " 1"

#endif
