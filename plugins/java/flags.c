/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM's flags: OpenJDK runtime/flags/jvmFlag.hpp (8: runtime/globals.hpp). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpc/log.h>

#include "about.h"

#define FLAGS_MAX  4096
#define TEXT_MAX   96
#define FLAG_BYTES 64

#define ORIGIN_MASK 15
#define KINDS       13

/* The bits above the origin (OpenJDK runtime/globals.hpp of 8, runtime/flags/jvmFlag.hpp
 * of 11, 17 and 25). In the order of words. */
enum { KIND_MANAGEABLE = 1, KIND_NOT_PRODUCT = 4, KIND_DEVELOP, KIND_PLATFORM };
static const char *const words[KINDS] = {"product",    "manageable", "diagnostic",  "experimental",
					 "notproduct", "develop",    "pd",          "C1",
					 "C2",         "ARCH",       "lp64_product"};
struct scheme {
	int8_t bit[KINDS]; /* 0: it has none */
};
static const struct scheme schemes[] = {
	{{4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15}}, /* 9 to 14 */
	{{4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16}}, /* 8 */
	{{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}}, /* 15 on */
	{{4, 5, 6, 7, 0, 8, 9, 10, 11, 12, 13}},  /* since notproduct went */
};

struct flag {
	char name[TEXT_MAX], type[16], value[48];
	uint32_t bits;
};

/* ---- one flag ---------------------------------------------------------------------- */

/* By number from JDK 15 on (JVMFlag::TypeEnum), as text before. */
static const char *type_of(const struct jmem *m, const struct layout *l, const uint8_t *bytes,
			   char *room, uint32_t n)
{
	static const char *const names[] = {"bool",     "int",    "uint",   "intx",  "uintx",
					    "uint64_t", "size_t", "double", "ccstr", "ccstrlist"};
	uint32_t at = (uint32_t)l->field[F_FLAG_TYPE];

	if (l->width[F_FLAG_TYPE] == 8)
		return gpc_java_read_text(m, gpc_java_u64(bytes, at), room, n) ? room : "";
	return gpc_java_u32(bytes, at) < 10 ? names[gpc_java_u32(bytes, at)] : "";
}

/* False: a type that is not shown. */
static bool read_value(const struct jmem *m, const char *type, uint64_t addr, char *ret, uint32_t n)
{
	bool is_small = strcmp(type, "int") == 0 || strcmp(type, "uint") == 0;
	uint64_t v = 0;
	double d;

	if (!gpc_java_read(m, addr, &v, strcmp(type, "bool") == 0 ? 1 : is_small ? 4 : 8))
		return false;
	memcpy(&d, &v, sizeof d);
	if (strcmp(type, "bool") == 0)
		snprintf(ret, n, "%s", v ? "true" : "false");
	else if (strcmp(type, "double") == 0)
		snprintf(ret, n, "%.3f", d);
	else if (strcmp(type, "int") == 0)
		snprintf(ret, n, "%" PRId32, (int32_t)v);
	else if (strcmp(type, "intx") == 0)
		snprintf(ret, n, "%" PRId64, (int64_t)v);
	else if (is_small || strcmp(type, "uintx") == 0 || strcmp(type, "size_t") == 0 ||
		 strcmp(type, "uint64_t") == 0)
		snprintf(ret, n, "%" PRIu64, v);
	else
		return false;
	return true;
}

static bool read_flag(const struct jmem *m, const struct layout *l, const uint8_t *bytes,
		      struct flag *ret)
{
	const char *type = type_of(m, l, bytes, ret->type, sizeof ret->type);

	if (type != ret->type)
		snprintf(ret->type, sizeof ret->type, "%s", type);
	ret->bits = gpc_java_u32(bytes, (uint32_t)l->field[F_FLAG_FLAGS]);
	return gpc_java_read_text(m, gpc_java_u64(bytes, (uint32_t)l->field[F_FLAG_NAME]),
				  ret->name, sizeof ret->name) &&
	       ret->name[strspn(ret->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_")] == '\0' &&
	       read_value(m, ret->type, gpc_java_u64(bytes, (uint32_t)l->field[F_FLAG_ADDR]),
			  ret->value, sizeof ret->value);
}

/* ---- which are wanted ------------------------------------------------------------------- */

static bool has_word(const struct gpc_list *list, const char *word)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (strcmp(list->at[i], word) == 0)
			return true;
	return false;
}

static bool has_kind(const struct scheme *s, const struct flag *f, int kind)
{
	return s->bit[kind] && f->bits >> s->bit[kind] & 1;
}

static bool is_wanted(const struct scheme *s, const struct flag *f, const struct gpc_list *wanted)
{
	if (has_kind(s, f, KIND_MANAGEABLE)) /* it may change at any time */
		return false;
	if (has_word(wanted, "all"))
		return true;
	if (has_word(wanted, "default"))
		return (f->bits & ORIGIN_MASK) && !has_kind(s, f, KIND_NOT_PRODUCT) &&
		       !has_kind(s, f, KIND_DEVELOP) && !has_kind(s, f, KIND_PLATFORM);
	return has_word(wanted, f->name);
}

/* ---- as JSON ------------------------------------------------------------------------------ */

static void print_flag(FILE *out, const struct layout *l, const struct scheme *scheme,
		       const struct flag *f, bool is_first)
{
	static const uint8_t by_word[] = {9, 7, 8, 5, 2, 3, 10, 1, 4, 6, 0};
	static const char *const origins[] = {"default",     "command line", "environment",
					      "config file", "management",   "ergonomic",
					      "attach",      "internal",     "jimage"};
	uint32_t origin = f->bits & ORIGIN_MASK;
	bool comma = false;

	fprintf(out, "%s{\"name\": \"%s\", \"type\": \"%s\", \"value\": \"%s\", \"origin\": \"%s\"",
		is_first ? "" : ", ", f->name, f->type, f->value,
		l->major == 8 ? origin ? "non-default" : "default"
		: origin < 9  ? origins[origin]
			      : "internal");
	fputs(", \"kind\": [", out);
	for (size_t i = 0; i < sizeof by_word; i++) {
		if (!has_kind(scheme, f, by_word[i]))
			continue;
		fprintf(out, "%s\"%s\"", comma ? ", " : "", words[by_word[i]]);
		comma = true;
	}
	fputs("]}", out);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct flag *)a)->name, ((const struct flag *)b)->name);
}

/* Whether a flag that depends on the platform in all versions has the newest bit. */
static const struct scheme *scheme_of(const struct layout *l, const struct flag *flags, uint32_t n)
{
	if (l->width[F_FLAG_TYPE] == 8)
		return &schemes[l->major == 8];
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(flags[i].name, "BackgroundCompilation") == 0)
			return &schemes[flags[i].bits >> 9 & 1 ? 3 : 2];
	return &schemes[2];
}

struct flag_table {
	uint64_t at, n, size;
};

static bool open_flags(const struct jmem *m, const struct layout *l, struct flag_table *ret)
{
	ret->size = l->size[T_FLAG];
	if (!l->at[S_FLAGS] || !gpc_java_read_u64(m, l->at[S_FLAGS], &ret->at) ||
	    !gpc_java_read_u64(m, l->at[S_NUM_FLAGS], &ret->n) || ret->size > FLAG_BYTES ||
	    ret->size < 8)
		return false;
	for (int i = F_FLAG_NAME; i <= F_FLAG_TYPE; i++)
		if (l->field[i] < 0 || (uint64_t)l->field[i] + l->width[i] > ret->size)
			return false;
	ret->n = ret->n < FLAGS_MAX ? ret->n : FLAGS_MAX;
	return true;
}

uint64_t gpc_java_flag_address(const struct jmem *m, const struct layout *l, const char *name)
{
	struct flag_table t;
	uint8_t bytes[FLAG_BYTES];
	char text[TEXT_MAX];

	if (!open_flags(m, l, &t))
		return 0;
	for (uint64_t i = 0; i < t.n; i++)
		if (gpc_java_read(m, t.at + i * t.size, bytes, t.size) &&
		    gpc_java_read_text(m, gpc_java_u64(bytes, (uint32_t)l->field[F_FLAG_NAME]),
				       text, sizeof text) &&
		    strcmp(text, name) == 0)
			return gpc_java_u64(bytes, (uint32_t)l->field[F_FLAG_ADDR]);
	return 0;
}

static uint32_t collect(const struct jmem *m, const struct layout *l, struct flag *ret)
{
	struct flag_table t;
	uint8_t bytes[FLAG_BYTES];
	uint32_t found = 0;

	if (!open_flags(m, l, &t))
		return 0;
	for (uint64_t i = 0; i < t.n; i++)
		if (gpc_java_read(m, t.at + i * t.size, bytes, t.size) &&
		    read_flag(m, l, bytes, &ret[found]))
			found++;
	qsort(ret, found, sizeof *ret, by_name);
	return found;
}

/* ---- single ones ---------------------------------------------------------------------------- */

static void take_single(const struct jmem *m, const char *name, uint64_t value,
			struct java_flags *ret)
{
	const struct {
		const char *name;
		bool *value;
	} switches[] = {
		{"UseCompressedOops", &ret->has_short_oops},
		{"UseCompressedClassPointers", &ret->has_short_klasses},
		{"UseCompactObjectHeaders", &ret->has_klass_in_mark},
		{"UseZGC", &ret->has_zgc},
		{"ZGenerational", &ret->is_generational},
		{"DisableAttachMechanism", &ret->has_no_attach},
	};
	uint64_t text;
	uint8_t byte;

	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		if (strcmp(switches[i].name, name) == 0 && gpc_java_read(m, value, &byte, 1))
			*switches[i].value = byte != 0;
	if (strcmp(name, "ErrorFile") == 0 && gpc_java_read_u64(m, value, &text) && text)
		gpc_java_read_text(m, text, ret->error_file, sizeof ret->error_file);
}

void gpc_java_flags_read(const struct jmem *m, const struct layout *l, struct java_flags *ret)
{
	struct flag_table t;
	uint8_t bytes[FLAG_BYTES];
	char name[TEXT_MAX];

	/* From 27 on there is nothing else, and no flag; from 24 on no other ZGC. */
	*ret = (struct java_flags){.has_short_klasses = true, .is_generational = l->major >= 24};
	if (!open_flags(m, l, &t))
		return;
	for (uint64_t i = 0; i < t.n; i++)
		if (gpc_java_read(m, t.at + i * t.size, bytes, t.size) &&
		    gpc_java_read_text(m, gpc_java_u64(bytes, (uint32_t)l->field[F_FLAG_NAME]),
				       name, sizeof name))
			take_single(m, name, gpc_java_u64(bytes, (uint32_t)l->field[F_FLAG_ADDR]),
				    ret);
}

/* ---- the list ------------------------------------------------------------------------------- */

/* Names that were asked for and are not shown. */
static void warn_missing(const struct jmem *m, const struct gpc_list *wanted,
			 const struct flag *flags, uint32_t n, const struct scheme *scheme)
{
	char text[512] = "";

	for (uint32_t k = 0; k < wanted->n; k++) {
		bool is_there =
			strcmp(wanted->at[k], "all") == 0 || strcmp(wanted->at[k], "default") == 0;

		for (uint32_t i = 0; i < n && !is_there; i++)
			is_there = strcmp(flags[i].name, wanted->at[k]) == 0 &&
				   is_wanted(scheme, &flags[i], wanted);
		if (!is_there)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
				 text[0] ? "," : "", wanted->at[k]);
	}
	if (text[0])
		gpc_host_logf(m->host, GPC_WARN, "Missing requested flags: %s", text);
}

char *gpc_java_flags_json(const struct jmem *m, const struct layout *l,
			  const struct gpc_list *wanted)
{
	const struct scheme *scheme;
	struct flag *flags;
	char *text = NULL;
	uint32_t found;
	bool is_first = true;
	size_t n;
	FILE *out;

	if (!wanted->n || has_word(wanted, "none"))
		return NULL;
	flags = calloc(FLAGS_MAX, sizeof *flags);
	out = flags ? open_memstream(&text, &n) : NULL;
	if (out) {
		found = collect(m, l, flags);
		scheme = scheme_of(l, flags, found);
		fputc('[', out);
		for (uint32_t i = 0; i < found; i++) {
			if (!is_wanted(scheme, &flags[i], wanted))
				continue;
			print_flag(out, l, scheme, &flags[i], is_first);
			is_first = false;
		}
		fputc(']', out);
		warn_missing(m, wanted, flags, found, scheme);
		fclose(out);
	}
	free(flags);
	return text;
}
