/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/about.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

#define PROCESSES_MAX 16384
#define TEXT_MAX      4096
#define JSON_MAX      (256 * 1024)
#define MEMBERS_MAX   64

struct about {
	uint64_t process;
	char *appid;
	json_t *metadata;
};

struct gpc_abouts {
	pthread_mutex_t lock;
	vec(struct about) list;
	struct gpc_u64map places; /* process -> its place in list */
};

struct gpc_abouts *gpc_abouts_new(void)
{
	struct gpc_abouts *a = calloc(1, sizeof *a);

	if (a)
		pthread_mutex_init(&a->lock, NULL);
	return a;
}

static void deinit(struct about *about)
{
	free(about->appid);
	json_decref(about->metadata);
}

void gpc_abouts_free(struct gpc_abouts *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->list.n; i++)
		deinit(&a->list.at[i]);
	vec_deinit(&a->list);
	gpc_u64map_deinit(&a->places);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Locked. */
static struct about *find(struct gpc_abouts *a, uint64_t process)
{
	uint64_t place;

	return gpc_u64map_get(&a->places, process, &place) ? &a->list.at[place] : NULL;
}

/* Locked. */
static gpc_status find_or_add(struct gpc_abouts *a, uint64_t process, struct about **ret)
{
	struct about fresh = {.process = process};

	*ret = find(a, process);
	if (*ret)
		return GPC_OK;
	if (a->list.n >= PROCESSES_MAX)
		return GPC_E_BUDGET;
	if (!vec_push(&a->list, fresh))
		return GPC_E_NOMEM;
	if (!gpc_u64map_set(&a->places, process, a->list.n - 1)) {
		a->list.n--;
		return GPC_E_NOMEM;
	}
	*ret = &a->list.at[a->list.n - 1];
	return GPC_OK;
}

gpc_status gpc_abouts_appid(struct gpc_abouts *a, uint64_t process, const char *text)
{
	struct about *about;
	autolock(&a->lock);

	gpc_try(find_or_add(a, process, &about));
	if (!about->appid)
		about->appid = strndup(text, TEXT_MAX);
	return about->appid ? GPC_OK : GPC_E_NOMEM;
}

/* Texts come from processes: what is no UTF-8 is no value. */
static json_t *value_of(const char *value)
{
	json_t *text = value ? json_stringn(value, strnlen(value, TEXT_MAX)) : NULL;

	return text ? text : json_null();
}

/* Takes value. */
static gpc_status set_member(struct gpc_abouts *a, uint64_t process, const char *key, json_t *value)
{
	struct about *about;
	gpc_status st;
	autolock(&a->lock);

	st = find_or_add(a, process, &about);
	if (st == GPC_OK && !about->metadata)
		about->metadata = json_object();
	if (st == GPC_OK && json_object_size(about->metadata) >= MEMBERS_MAX)
		st = GPC_E_BUDGET;
	if (st < 0) {
		json_decref(value);
		return st;
	}
	return json_object_set_new(about->metadata, key, value) < 0 ? GPC_E_NOMEM : GPC_OK;
}

gpc_status gpc_abouts_member(struct gpc_abouts *a, uint64_t process, const char *key,
			     const char *value)
{
	return set_member(a, process, key, value_of(value));
}

gpc_status gpc_abouts_json(struct gpc_abouts *a, uint64_t process, const char *key,
			   const char *text)
{
	size_t n = strnlen(text, JSON_MAX);
	json_t *value = n < JSON_MAX ? json_loadb(text, n, JSON_DECODE_ANY, NULL) : NULL;

	return value ? set_member(a, process, key, value) : GPC_E_CORRUPT;
}

gpc_status gpc_abouts_inherit(struct gpc_abouts *a, uint64_t to, uint64_t from)
{
	const struct about *parent;
	struct about *child;
	autolock(&a->lock);

	if (!find(a, from))
		return GPC_OK;
	gpc_try(find_or_add(a, to, &child));
	parent = find(a, from); /* adding moves them */
	if (!child->appid && parent->appid)
		child->appid = strdup(parent->appid);
	if (!child->metadata && parent->metadata)
		child->metadata = json_copy(parent->metadata);
	return GPC_OK;
}

void gpc_abouts_find(struct gpc_abouts *a, uint64_t process, char **appid, json_t **metadata)
{
	const struct about *about;
	autolock(&a->lock);

	*appid = NULL;
	*metadata = NULL;
	about = find(a, process);
	if (about && about->appid)
		*appid = strdup(about->appid);
	if (about && about->metadata)
		*metadata = json_deep_copy(about->metadata);
}

void gpc_abouts_trim(struct gpc_abouts *a, bool (*is_known)(void *ctx, uint64_t process), void *ctx)
{
	size_t kept = 0;
	autolock(&a->lock);

	gpc_u64map_clear(&a->places);
	for (size_t i = 0; i < a->list.n; i++) {
		struct about about = a->list.at[i];

		if (is_known(ctx, about.process) && gpc_u64map_set(&a->places, about.process, kept))
			a->list.at[kept++] = about;
		else
			deinit(&about);
	}
	a->list.n = kept;
}
