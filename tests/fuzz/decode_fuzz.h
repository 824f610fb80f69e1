/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of the readers share. */
#ifndef GPC_TESTS_DECODE_FUZZ_H
#define GPC_TESTS_DECODE_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "decode/decode.h"
#include "encode/encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct gpc_fuzz_text {
	vec(char) bytes;
};

static gpc_status gpc_fuzz_keep(void *ctx, const void *bytes, uint64_t n)
{
	struct gpc_fuzz_text *t = ctx;

	if (!vec_reserve(&t->bytes, n))
		return GPC_E_NOMEM;
	if (n)
		memcpy(t->bytes.at + t->bytes.n, bytes, n);
	t->bytes.n += n;
	return GPC_OK;
}

static inline struct gpc_fuzz_text gpc_fuzz_encode(const struct gpc_profile *p, const char *format)
{
	struct gpc_fuzz_text t = {0};

	if (gpc_encode(p, format, gpc_fuzz_keep, &t) < 0)
		abort();
	return t;
}

static inline void gpc_fuzz_behead(struct gpc_fuzz_text *t)
{
	const char *end = memchr(t->bytes.at, '\n', t->bytes.n);
	size_t n = (size_t)(end - t->bytes.at);

	memmove(t->bytes.at, end, t->bytes.n - n);
	t->bytes.n -= n;
}

/* The profile written as format and read again is the same one for .col. */
static inline void gpc_fuzz_again(const struct gpc_profile *p, const char *format)
{
	struct gpc_fuzz_text first = gpc_fuzz_encode(p, "col"), bytes = gpc_fuzz_encode(p, format),
			     second;
	struct gpc_profile *again;
	struct gpc_err err = {0};

	if (gpc_decode(bytes.bytes.at, bytes.bytes.n, format, &again, &err) < 0) {
		fprintf(stderr, "%s: %s\n", format, err.text);
		abort();
	}
	second = gpc_fuzz_encode(again, "col");
	/* Inside of speedscope's JSON the header is written anew. */
	if (strcmp(format, "speedscope") == 0) {
		gpc_fuzz_behead(&first);
		gpc_fuzz_behead(&second);
	}
	if (first.bytes.n != second.bytes.n ||
	    memcmp(first.bytes.at, second.bytes.at, first.bytes.n) != 0) {
		fprintf(stderr, "through %s:\n%.*s\n---\n%.*s\n", format, (int)first.bytes.n,
			first.bytes.at, (int)second.bytes.n, second.bytes.at);
		abort();
	}
	gpc_profile_put(again);
	vec_deinit(&first.bytes);
	vec_deinit(&bytes.bytes);
	vec_deinit(&second.bytes);
}

/* Names that differ in what no format shows are one name from here on. */
static inline struct gpc_profile *gpc_fuzz_normal(const struct gpc_profile *p)
{
	struct gpc_fuzz_text col = gpc_fuzz_encode(p, "col");
	struct gpc_profile *normal;

	if (gpc_decode(col.bytes.at, col.bytes.n, "col", &normal, NULL) < 0)
		abort();
	vec_deinit(&col.bytes);
	return normal;
}

static inline void gpc_fuzz_encode_all(const struct gpc_profile *p)
{
	static const char *const formats[] = {"col", "html", "pprof", "speedscope", "firefox"};

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		struct gpc_fuzz_text text = gpc_fuzz_encode(p, formats[i]);

		vec_deinit(&text.bytes);
	}
}

static inline void gpc_fuzz_decode(const char *bytes, size_t n, const char *format)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_profile *p, *normal;
	struct gpc_err err = {0};

	if (gpc_decode(bytes, n, format, &p, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	gpc_fuzz_encode_all(p);
	gpc_fuzz_again(p, "col");
	gpc_profile_info(p, &info);
	/* The others count up to INT64_MAX. */
	if (info.samples <= INT64_MAX) {
		normal = gpc_fuzz_normal(p);
		gpc_fuzz_again(normal, "pprof");
		gpc_fuzz_again(normal, "speedscope");
		gpc_profile_put(normal);
	}
	gpc_profile_put(p);
}

#endif
