/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/describe.h"

#include <jansson.h>

#include "base/cleanup.h"
#include "config/option.h"
#include "plugin/words.h"

static void drop(json_t **j)
{
	json_decref(*j);
}

#define autojson autocall(drop)

/* A plugin's texts are not checked when it is loaded. */
static json_t *text(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();

	return j ? j : json_string("(not UTF-8)");
}

static json_t *texts(const char *const *at)
{
	json_t *list = json_array();

	for (; at && *at; at++)
		json_array_append_new(list, text(*at));
	return list;
}

static json_t *caps_of(const struct gpc_collector *c)
{
	json_t *list = json_array();

	for (unsigned bit = 0; gpc_cap_word(bit); bit++)
		if (c->caps >> bit & 1)
			json_array_append_new(list, text(gpc_cap_word(bit)));
	return list;
}

static json_t *needs_of(const struct gpc_collector *c, const struct gpc_rights *rights)
{
	json_t *list = json_array();

	for (const char *const *need = c->needs; need && *need; need++) {
		enum gpc_met met = gpc_rights_meet(rights, *need);
		json_t *is_met =
			met == GPC_NEED_UNKNOWN ? json_null() : json_boolean(met == GPC_NEED_MET);

		json_array_append_new(list,
				      json_pack("{s:o, s:o}", "name", text(*need), "met", is_met));
	}
	return list;
}

static json_t *matches_of(const struct gpc_collector *c)
{
	const char *at = (const char *)c->match;
	uint32_t stride = at ? c->match->struct_size : 0;
	json_t *list = json_array();

	for (; stride && ((const struct gpc_match *)(const void *)at)->struct_size; at += stride) {
		const struct gpc_match *m = (const void *)at;

		json_array_append_new(list,
				      json_pack("{s:o, s:o}", "kind", text(gpc_match_word(m->kind)),
						"glob", text(m->glob)));
	}
	return list;
}

static json_t *events_of(const struct gpc_collector *c)
{
	const char *at = (const char *)c->events;
	uint32_t stride = at ? c->events->struct_size : 0;
	json_t *list = json_array();

	for (; stride && ((const struct gpc_event *)(const void *)at)->struct_size; at += stride) {
		const struct gpc_event *e = (const void *)at;

		json_array_append_new(list,
				      json_pack("{s:i, s:o, s:o, s:b}", "id", e->id, "name",
						text(e->name), "unit", text(e->unit), "cpu_time",
						(e->flags & GPC_EVENT_CPU_TIME) != 0));
	}
	return list;
}

static json_t *collector_json(const struct gpc_collector *c, const struct gpc_rights *rights)
{
	json_t *j = json_object();

	json_object_set_new(j, "name", text(c->name));
	json_object_set_new(j, "runtime", text(c->runtime));
	json_object_set_new(j, "summary", text(c->summary));
	json_object_set_new(j, "scope", text(gpc_scope_word(c->scope)));
	json_object_set_new(j, "caps", caps_of(c));
	json_object_set_new(j, "threads", text(gpc_threads_word(c->threads)));
	json_object_set_new(j, "touch", text(gpc_touch_word(c->touch)));
	json_object_set_new(j, "needs", needs_of(c, rights));
	json_object_set_new(j, "suffixes", texts(c->suffixes));
	json_object_set_new(j, "match", matches_of(c));
	json_object_set_new(j, "events", events_of(c));
	return j;
}

static json_t *sink_json(const struct gpc_sink *s)
{
	json_t *j = json_object();

	json_object_set_new(j, "name", text(s->name));
	json_object_set_new(j, "summary", text(s->summary));
	json_object_set_new(j, "threads", text(gpc_threads_word(s->threads)));
	return j;
}

static json_t *collectors_of(const struct gpc_loaded_module *m, const struct gpc_rights *rights)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < m->n_collectors; i++)
		json_array_append_new(list, collector_json(&m->collectors[i], rights));
	return list;
}

static json_t *sinks_of(const struct gpc_loaded_module *m)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < m->n_sinks; i++)
		json_array_append_new(list, sink_json(&m->sinks[i]));
	return list;
}

gpc_status gpc_describe_json(const struct gpc_loaded_module *m, const struct gpc_rights *rights,
			     struct json_t **ret, struct gpc_err *err)
{
	const struct gpc_module *mod = &m->module;
	autojson json_t *j = json_object();
	int bad = 0;

	bad |= json_object_set_new(j, "name", text(mod->name));
	bad |= json_object_set_new(j, "version", text(mod->version));
	bad |= json_object_set_new(j, "summary", text(mod->summary));
	bad |= json_object_set_new(j, "path", m->handle ? text(m->path) : json_null());
	bad |= json_object_set_new(j, "builtin", json_boolean(!m->handle));
	bad |= json_object_set_new(j, "abi",
				   json_pack("{s:i, s:i, s:i}", "major", mod->abi_major, "minor",
					     mod->abi_minor, "needs_minor", mod->needs_minor));
	bad |= json_object_set_new(j, "collectors", collectors_of(m, rights));
	bad |= json_object_set_new(j, "sinks", sinks_of(m));
	bad |= json_object_set_new(j, "options",
				   mod->options ? gpc_options_schema(mod->options, mod->name)
						: json_array());
	if (bad)
		return gpc_err_nomem(err);
	*ret = take(j);
	return GPC_OK;
}
