/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "containers/docker.h"

static void drop(json_t **json)
{
	json_decref(*json);
}

static bool set_id(const json_t *id, struct gpc_container_id *ret)
{
	const char *text = json_string_value(id);

	if (!text || strlen(text) != GPC_CONTAINER_ID ||
	    strspn(text, "0123456789abcdef") != GPC_CONTAINER_ID)
		return false;
	memcpy(ret->hex, text, sizeof ret->hex);
	return true;
}

static const char *without_slash(const char *name)
{
	return name && *name == '/' ? name + 1 : name;
}

/* A link to another container adds names of the form /OTHER/ALIAS. */
static const char *own_name(const json_t *names)
{
	size_t i;
	const json_t *at;

	json_array_foreach((json_t *)(uintptr_t)names, i, at)
	{
		const char *name = without_slash(json_string_value(at));

		if (name && !strchr(name, '/'))
			return name;
	}
	return NULL;
}

static bool copy(char **to, const char *text)
{
	*to = text && *text ? strdup(text) : NULL;
	return !text || !*text || *to;
}

/* Kubernetes' shims for Docker label what they start. */
static gpc_status fill(const json_t *id, const char *name, const json_t *labels,
		       struct gpc_container *ret, struct gpc_err *err)
{
	struct gpc_container c = {0};

	if (!set_id(id, &c.id) || !name || !*name)
		return gpc_err_set(err, GPC_E_CORRUPT, "a container without id or name");
	if (!copy(&c.name, name) ||
	    !copy(&c.pod, json_string_value(json_object_get(labels, "io.kubernetes.pod.name"))) ||
	    !copy(&c.pod_namespace,
		  json_string_value(json_object_get(labels, "io.kubernetes.pod.namespace")))) {
		gpc_container_deinit(&c);
		return gpc_err_nomem(err);
	}
	*ret = c;
	return GPC_OK;
}

static json_t *parse(const char *text, size_t n, struct gpc_err *err)
{
	json_error_t why;
	json_t *json = json_loadb(text, n, 0, &why);

	if (!json)
		gpc_err_set(err, GPC_E_CORRUPT, "Docker's answer, line %d: %s", why.line, why.text);
	return json;
}

gpc_status gpc_docker_parse_list(const char *text, size_t n, gpc_docker_fn fn, void *ctx,
				 struct gpc_err *err)
{
	autocall(drop) json_t *list = parse(text, n, err);
	json_t *at;
	size_t i;

	if (!list)
		return GPC_E_CORRUPT;
	if (!json_is_array(list))
		return gpc_err_set(err, GPC_E_CORRUPT, "Docker's answer is no list");
	json_array_foreach(list, i, at)
	{
		struct gpc_container c;

		if (fill(json_object_get(at, "Id"), own_name(json_object_get(at, "Names")),
			 json_object_get(at, "Labels"), &c, NULL) == GPC_OK)
			fn(ctx, &c);
	}
	return GPC_OK;
}

gpc_status gpc_docker_parse_one(const char *text, size_t n, struct gpc_container *ret,
				struct gpc_err *err)
{
	autocall(drop) json_t *one = parse(text, n, err);

	if (!one)
		return GPC_E_CORRUPT;
	return fill(json_object_get(one, "Id"),
		    without_slash(json_string_value(json_object_get(one, "Name"))),
		    json_object_get(json_object_get(one, "Config"), "Labels"), ret, err);
}
