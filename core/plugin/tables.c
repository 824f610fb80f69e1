/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/tables.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAME  32
#define MAX_TABLE 64 /* collectors, sinks, suffixes ... of one module: more is a missing end */
#define MAX_ROWS  1024
#define ASK       ": ask its author for a corrected build"

/* Bytes of a struct up to and with member m: the least that a table must have. */
#define through(type, m) (offsetof(struct type, m) + sizeof(((struct type *)NULL)->m))

static void copy_sized(void *to, uint32_t room, const void *from)
{
	uint32_t size = *(const uint32_t *)from;

	if (size > room)
		size = room;
	memset(to, 0, room);
	memcpy(to, from, size);
	*(uint32_t *)to = size;
}

static bool is_name(const char *s)
{
	if (!s || *s < 'a' || *s > 'z')
		return false;
	for (size_t i = 0; s[i]; i++)
		if (i >= MAX_NAME ||
		    !((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '_'))
			return false;
	return true;
}

/* A suffix stands between brackets in folded text. */
static bool is_suffix(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n > 0 && n <= MAX_NAME && s[n] == '\0';
}

static uint64_t bytes_of_option(uint32_t type)
{
	switch (type) {
	case GPC_OPT_BOOL:
	case GPC_OPT_CHOICE:
		return sizeof(int32_t);
	case GPC_OPT_INT:
	case GPC_OPT_BYTES:
	case GPC_OPT_DURATION:
		return sizeof(int64_t);
	case GPC_OPT_STRING:
		return sizeof(const char *);
	default:
		return sizeof(struct gpc_list);
	}
}

/* The core writes where the rows say: that must lie in the options struct. What
 * else can be wrong with a row is found when the table is added. */
static gpc_status check_options(const struct gpc_module *mod, struct gpc_err *err)
{
	const char *at = (const char *)mod->options;
	uint32_t stride = at ? mod->options->struct_size : 0;

	for (unsigned i = 0; stride; i++, at += stride) {
		struct gpc_option o;

		if (*(const uint32_t *)(const void *)at == 0)
			break;
		if (stride < through(gpc_option, flags) || stride % 8 || i >= MAX_ROWS)
			return gpc_err_set(err, GPC_E_CORRUPT, "its option table is damaged" ASK);
		copy_sized(&o, sizeof o, at);
		if (!o.name)
			return gpc_err_set(err, GPC_E_CORRUPT, "its option %u has no name" ASK, i);
		if (o.offset + bytes_of_option(o.type) > mod->options_bytes)
			return gpc_err_set(err, GPC_E_CORRUPT,
					   "its option \"%.40s\" lies outside of its %u bytes of "
					   "options" ASK,
					   o.name, mod->options_bytes);
	}
	return GPC_OK;
}

static gpc_status copy_module(const struct gpc_module *from, struct gpc_module *to,
			      struct gpc_err *err)
{
	struct gpc_note note;

	if (!from)
		return gpc_err_set(err, GPC_E_CORRUPT, "its entry returns no module table" ASK);
	if (from->struct_size < through(gpc_module, version))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "its module table has only %u bytes (is .struct_size set?)" ASK,
				   from->struct_size);
	copy_sized(to, sizeof *to, from);
	note = (struct gpc_note){.abi_major = to->abi_major,
				 .abi_minor = to->abi_minor,
				 .needs_minor = to->needs_minor};
	gpc_try(gpc_note_check(&note, err));
	if (!is_name(to->name))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "its module name \"%.40s\" is not a lower-case word of at most "
				   "%d letters" ASK,
				   to->name ? to->name : "", MAX_NAME);
	if (!to->version)
		return gpc_err_set(err, GPC_E_CORRUPT, "it has no version" ASK);
	return check_options(to, err);
}

static gpc_status missing(const char *kind, const char *name, const char *what, struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CORRUPT, "its %s \"%s\" has no %s" ASK, kind, name, what);
}

static gpc_status check_suffixes(const struct gpc_collector *c, struct gpc_err *err)
{
	for (unsigned i = 0; c->suffixes && c->suffixes[i]; i++)
		if (i >= MAX_TABLE || !is_suffix(c->suffixes[i]))
			return gpc_err_set(err, GPC_E_CORRUPT,
					   "its collector \"%s\" has a bad frame suffix" ASK,
					   c->name);
	return GPC_OK;
}

static gpc_status check_events(const struct gpc_collector *c, struct gpc_err *err)
{
	const char *at = (const char *)c->events;
	uint32_t stride = at ? c->events->struct_size : 0;

	for (unsigned i = 0; stride; i++, at += stride) {
		const struct gpc_event *e = (const void *)at;

		if (e->struct_size == 0)
			break;
		if (stride < through(gpc_event, unit) || stride % 8 || i >= MAX_TABLE || !e->name ||
		    !e->unit)
			return gpc_err_set(err, GPC_E_CORRUPT,
					   "its collector \"%s\" has a damaged event table" ASK,
					   c->name);
	}
	return GPC_OK;
}

static gpc_status check_matches(const struct gpc_collector *c, struct gpc_err *err)
{
	const char *at = (const char *)c->match;
	uint32_t stride = at ? c->match->struct_size : 0;

	for (unsigned i = 0; stride; i++, at += stride) {
		const struct gpc_match *m = (const void *)at;

		if (m->struct_size == 0)
			break;
		if (stride < through(gpc_match, glob) || stride % 8 || i >= MAX_ROWS ||
		    (m->kind != GPC_MATCH_ANY && !m->glob))
			return gpc_err_set(err, GPC_E_CORRUPT,
					   "its collector \"%s\" has a damaged match table" ASK,
					   c->name);
	}
	return GPC_OK;
}

static gpc_status check_callbacks(const struct gpc_collector *c, struct gpc_err *err)
{
	if (!c->create)
		return missing("collector", c->name, "create()", err);
	if (!c->destroy)
		return missing("collector", c->name, "destroy()", err);
	if (c->scope == GPC_SCOPE_PROCESS && !c->attach)
		return missing("collector", c->name, "attach()", err);
	if (c->scope == GPC_SCOPE_PROCESS && !c->detach)
		return missing("collector", c->name, "detach()", err);
	return GPC_OK;
}

static gpc_status check_collector(const struct gpc_collector *c, struct gpc_err *err)
{
	if (!is_name(c->name))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "its collector's name \"%.40s\" is not a lower-case word" ASK,
				   c->name ? c->name : "");
	if (c->scope != GPC_SCOPE_SYSTEM && c->scope != GPC_SCOPE_PROCESS)
		return missing("collector", c->name, "scope that this core knows", err);
	if (c->threads > GPC_THREADS_OWN)
		return missing("collector", c->name, "thread model that this core knows", err);
	/* An unknown one might do more than --max-touch allows. */
	if (c->touch > GPC_TOUCH_INJECTS)
		return missing("collector", c->name, "touch that this core knows", err);
	gpc_try(check_callbacks(c, err));
	gpc_try(check_suffixes(c, err));
	gpc_try(check_matches(c, err));
	return check_events(c, err);
}

static gpc_status check_sink(const struct gpc_sink *s, struct gpc_err *err)
{
	if (!is_name(s->name))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "its sink's name \"%.40s\" is not a lower-case word" ASK,
				   s->name ? s->name : "");
	if (!s->create)
		return missing("sink", s->name, "create()", err);
	if (!s->destroy)
		return missing("sink", s->name, "destroy()", err);
	if (!s->write)
		return missing("sink", s->name, "write()", err);
	return GPC_OK;
}

/* Rows of a NULL terminated array of pointers to structs with a struct_size. */
static gpc_status count_rows(const void *const *rows, size_t least, unsigned *ret,
			     struct gpc_err *err)
{
	unsigned n = 0;

	for (; rows && rows[n]; n++) {
		if (n >= MAX_TABLE)
			return gpc_err_set(
				err, GPC_E_CORRUPT,
				"it lists more than %d collectors or sinks (is the NULL at "
				"the end missing?)" ASK,
				MAX_TABLE);
		if (*(const uint32_t *)rows[n] < least)
			return gpc_err_set(err, GPC_E_CORRUPT,
					   "one of its collectors or sinks has only %u bytes (is "
					   ".struct_size set?)" ASK,
					   *(const uint32_t *)rows[n]);
	}
	*ret = n;
	return GPC_OK;
}

static gpc_status twice(const char *kind, const char *name, struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CORRUPT, "it has two %ss named \"%s\"" ASK, kind, name);
}

static gpc_status copy_collectors(struct gpc_loaded_module *m, struct gpc_err *err)
{
	const struct gpc_collector *const *rows = m->module.collectors;

	gpc_try(count_rows((const void *const *)rows, through(gpc_collector, destroy),
			   &m->n_collectors, err));
	m->collectors = calloc(m->n_collectors + 1, sizeof *m->collectors);
	if (!m->collectors)
		return gpc_err_nomem(err);
	for (unsigned i = 0; i < m->n_collectors; i++) {
		copy_sized(&m->collectors[i], sizeof m->collectors[i], rows[i]);
		gpc_try(check_collector(&m->collectors[i], err));
		for (unsigned k = 0; k < i; k++)
			if (strcmp(m->collectors[k].name, m->collectors[i].name) == 0)
				return twice("collector", m->collectors[i].name, err);
	}
	return GPC_OK;
}

static gpc_status copy_sinks(struct gpc_loaded_module *m, struct gpc_err *err)
{
	const struct gpc_sink *const *rows = m->module.sinks;

	gpc_try(count_rows((const void *const *)rows, through(gpc_sink, write), &m->n_sinks, err));
	m->sinks = calloc(m->n_sinks + 1, sizeof *m->sinks);
	if (!m->sinks)
		return gpc_err_nomem(err);
	for (unsigned i = 0; i < m->n_sinks; i++) {
		copy_sized(&m->sinks[i], sizeof m->sinks[i], rows[i]);
		gpc_try(check_sink(&m->sinks[i], err));
		for (unsigned k = 0; k < i; k++)
			if (strcmp(m->sinks[k].name, m->sinks[i].name) == 0)
				return twice("sink", m->sinks[i].name, err);
	}
	return GPC_OK;
}

gpc_status gpc_tables_copy(const struct gpc_module *from, struct gpc_loaded_module *m,
			   struct gpc_err *err)
{
	gpc_try(copy_module(from, &m->module, err));
	gpc_try(copy_collectors(m, err));
	gpc_try(copy_sinks(m, err));
	if (m->n_collectors + m->n_sinks == 0)
		return gpc_err_set(err, GPC_E_CORRUPT, "it has neither collectors nor sinks" ASK);
	return GPC_OK;
}
