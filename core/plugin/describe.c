/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/describe.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "plugin/words.h"

enum { NAME, VERSION, ABI, HAS, TOUCH, STATE, N_COLUMNS };

struct row {
	char *cells[N_COLUMNS]; /* new */
};

struct table {
	vec(struct row) rows;
};

static void table_deinit(struct table *t)
{
	for (size_t i = 0; i < t->rows.n; i++)
		for (unsigned c = 0; c < N_COLUMNS; c++)
			free(t->rows.at[i].cells[c]);
	vec_deinit(&t->rows);
}

/* Takes the cells, on failure too; one that is NULL for lack of memory is one. */
static gpc_status table_add(struct table *t, struct row row, struct gpc_err *err)
{
	bool complete = true;

	for (unsigned c = 0; c < N_COLUMNS; c++)
		complete = complete && row.cells[c];
	if (complete && vec_push(&t->rows, row))
		return GPC_OK;
	for (unsigned c = 0; c < N_COLUMNS; c++)
		free(row.cells[c]);
	return gpc_err_nomem(err);
}

static void table_print(const struct table *t, FILE *out)
{
	size_t width[N_COLUMNS] = {0};

	for (size_t i = 0; i < t->rows.n; i++)
		for (unsigned c = 0; c < N_COLUMNS; c++) {
			size_t n = strlen(t->rows.at[i].cells[c]);

			width[c] = n > width[c] ? n : width[c];
		}
	for (size_t i = 0; i < t->rows.n; i++) {
		char *const *cells = t->rows.at[i].cells;

		for (unsigned c = 0; c < STATE; c++)
			fprintf(out, "%-*s  ", (int)width[c], cells[c]);
		fprintf(out, "%s\n", cells[STATE]);
	}
}

GPC_PRINTF(1, 2) static char *format(const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

/* "python, ruby; sink s3": what a module brings. */
static char *has_text(const struct gpc_loaded_module *m)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < m->n_collectors; i++)
		fprintf(out, "%s%s", i ? ", " : "", m->collectors[i].name);
	for (unsigned i = 0; i < m->n_sinks; i++)
		fprintf(out, "%s%s",
			i                 ? ", "
			: m->n_collectors ? "; sink "
					  : "sink ",
			m->sinks[i].name);
	fclose(out);
	return text;
}

static const char *touch_text(const struct gpc_loaded_module *m)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < m->n_collectors; i++)
		if (m->collectors[i].touch > most)
			most = m->collectors[i].touch;
	return m->n_collectors ? gpc_touch_word(most) : "-";
}

static char *state_text(const struct gpc_loaded_module *m, const struct gpc_rights *rights)
{
	for (unsigned i = 0; i < m->n_collectors; i++) {
		const char *need = gpc_rights_missing(rights, m->collectors[i].needs);

		if (need)
			return format("%s lacks %s", m->collectors[i].name, need);
	}
	return strdup(m->handle ? "ready" : "ready (built in)");
}

static gpc_status add_module(struct table *t, const struct gpc_loaded_module *m,
			     const struct gpc_rights *rights, struct gpc_err *err)
{
	struct row row = {
		.cells = {[NAME] = strdup(m->module.name),
			  [VERSION] = strdup(m->module.version),
			  [ABI] = format("%u.%u", m->module.abi_major, m->module.abi_minor),
			  [HAS] = has_text(m),
			  [TOUCH] = strdup(touch_text(m)),
			  [STATE] = state_text(m, rights)}};

	return table_add(t, row, err);
}

static gpc_status add_refusal(struct table *t, const struct gpc_refusal *r, struct gpc_err *err)
{
	const char *slash = strrchr(r->path, '/');
	struct row row = {.cells = {[NAME] = strdup(slash ? slash + 1 : r->path),
				    [VERSION] = strdup("-"),
				    [ABI] = strdup("-"),
				    [HAS] = strdup("-"),
				    [TOUCH] = strdup("-"),
				    [STATE] = format("refused: %s", r->reason)}};

	return table_add(t, row, err);
}

gpc_status gpc_describe_list(const struct gpc_modules *ms, const struct gpc_rights *rights,
			     FILE *out, struct gpc_err *err)
{
	autocall(table_deinit) struct table t = {0};
	struct row head = {.cells = {[NAME] = strdup("NAME"),
				     [VERSION] = strdup("VERSION"),
				     [ABI] = strdup("ABI"),
				     [HAS] = strdup("COLLECTORS, SINKS"),
				     [TOUCH] = strdup("TOUCH"),
				     [STATE] = strdup("STATE")}};

	gpc_try(table_add(&t, head, err));
	for (unsigned i = 0; i < ms->n; i++)
		gpc_try(add_module(&t, ms->at[i], rights, err));
	for (unsigned i = 0; i < ms->n_refused; i++)
		gpc_try(add_refusal(&t, &ms->refused[i], err));
	table_print(&t, out);
	return ferror(out) ? gpc_err_sys(err, "write the list of plugins") : GPC_OK;
}

static void show_texts(const char *label, const char *const *at, FILE *out)
{
	if (!at || !*at)
		return;
	fprintf(out, "    %-9s", label);
	for (unsigned i = 0; at[i]; i++)
		fprintf(out, "%s%s", i ? ", " : " ", at[i]);
	fputc('\n', out);
}

static void show_caps(const struct gpc_collector *c, FILE *out)
{
	const char *names[64 + 1] = {0};
	unsigned n = 0;

	for (unsigned bit = 0; gpc_cap_word(bit); bit++)
		if (c->caps >> bit & 1)
			names[n++] = gpc_cap_word(bit);
	show_texts("measures", names, out);
}

static void show_needs(const struct gpc_collector *c, const struct gpc_rights *rights, FILE *out)
{
	static const char *const words[] = {
		[GPC_NEED_MISSING] = "missing here",
		[GPC_NEED_MET] = "met here",
		[GPC_NEED_UNKNOWN] = "cannot be tested",
	};

	for (const char *const *need = c->needs; need && *need; need++)
		fprintf(out, "    %-9s %s (%s)\n", "needs", *need,
			words[gpc_rights_meet(rights, *need)]);
}

static void show_events(const struct gpc_collector *c, FILE *out)
{
	const char *at = (const char *)c->events;
	uint32_t stride = at ? c->events->struct_size : 0;

	for (; stride && ((const struct gpc_event *)(const void *)at)->struct_size; at += stride) {
		const struct gpc_event *e = (const void *)at;

		fprintf(out, "    %-9s %s (%s)\n", "event", e->name, e->unit);
	}
}

static void show_collector(const struct gpc_collector *c, const struct gpc_rights *rights,
			   FILE *out)
{
	fprintf(out, "\n  collector %s%s%s\n", c->name, c->summary ? ": " : "",
		c->summary ? c->summary : "");
	fprintf(out, "    %-9s %s\n", "scope", gpc_scope_word(c->scope));
	fprintf(out, "    %-9s %s\n", "runtime", c->runtime ? c->runtime : "native code");
	show_caps(c, out);
	fprintf(out, "    %-9s %s\n", "touch", gpc_touch_word(c->touch));
	fprintf(out, "    %-9s %s\n", "threads", gpc_threads_word(c->threads));
	show_needs(c, rights, out);
	show_events(c, out);
	show_texts("suffixes", c->suffixes, out);
}

static void show_option(const struct gpc_option *o, const char *module, FILE *out)
{
	bool is_absolute = o->flags & GPC_OPT_ABSOLUTE;
	bool is_secret = o->flags & GPC_OPT_SECRET;

	fprintf(out, "  --%s%s%s", is_absolute ? "" : module, is_absolute ? "" : "-", o->name);
	if (!(o->flags & GPC_OPT_SWITCH) && (o->choices || o->metavar))
		fprintf(out, "=%s", o->choices ? o->choices : o->metavar);
	if (o->fallback && !is_secret)
		fprintf(out, " (default %s)", o->fallback);
	fprintf(out, "\n      %s\n", o->help ? o->help : "");
}

static void show_options(const struct gpc_module *mod, FILE *out)
{
	const char *at = (const char *)mod->options;
	uint32_t stride = at ? mod->options->struct_size : 0;

	if (stride)
		fputs("\noptions:\n", out);
	for (; stride && *(const uint32_t *)(const void *)at; at += stride) {
		struct gpc_option o = {0};

		memcpy(&o, at, stride < sizeof o ? stride : sizeof o);
		if (!(o.flags & GPC_OPT_HIDDEN))
			show_option(&o, mod->name, out);
	}
}

gpc_status gpc_describe_show(const struct gpc_loaded_module *m, const struct gpc_rights *rights,
			     FILE *out, struct gpc_err *err)
{
	const struct gpc_module *mod = &m->module;

	fprintf(out, "%s %s%s%s\n", mod->name, mod->version, mod->summary ? ": " : "",
		mod->summary ? mod->summary : "");
	fprintf(out, "  file      %s\n", m->path);
	fprintf(out, "  ABI       %u.%u", mod->abi_major, mod->abi_minor);
	if (mod->abi_major) /* before 1.0 versions must match, whatever it needs */
		fprintf(out, ", needs %u.%u", mod->abi_major, mod->needs_minor);
	fputc('\n', out);
	for (unsigned i = 0; i < m->n_collectors; i++)
		show_collector(&m->collectors[i], rights, out);
	for (unsigned i = 0; i < m->n_sinks; i++)
		fprintf(out, "\n  sink %s%s%s\n", m->sinks[i].name, m->sinks[i].summary ? ": " : "",
			m->sinks[i].summary ? m->sinks[i].summary : "");
	show_options(mod, out);
	return ferror(out) ? gpc_err_sys(err, "write about plugin %s", mod->name) : GPC_OK;
}
