/* SPDX-License-Identifier: Apache-2.0 */
/* What collectors say of a process beside its stacks: which application it is,
 * and its metadata. Kept until the process is forgotten. Thread-safe; bounded in
 * processes and in the length of texts. */
#ifndef GPC_PROFILE_ABOUT_H
#define GPC_PROFILE_ABOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_abouts;

struct gpc_abouts *gpc_abouts_new(void);    /* NULL: no memory */
void gpc_abouts_free(struct gpc_abouts *a); /* NULL is fine */

/* The first one stays: a process is one application. */
gpc_status gpc_abouts_appid(struct gpc_abouts *a, uint64_t process, const char *text);
/* value NULL: null. The last one stays. */
gpc_status gpc_abouts_member(struct gpc_abouts *a, uint64_t process, const char *key,
			     const char *value);
/* The same of a JSON text. GPC_E_CORRUPT: it is none. */
gpc_status gpc_abouts_json(struct gpc_abouts *a, uint64_t process, const char *key,
			   const char *text);

/* All that is said of from is said of to, until more is. */
gpc_status gpc_abouts_inherit(struct gpc_abouts *a, uint64_t to, uint64_t from);
/* Both are new, and NULL where nothing was said. */
void gpc_abouts_find(struct gpc_abouts *a, uint64_t process, char **appid, json_t **metadata);
/* Forgets processes that is_known does not know. */
void gpc_abouts_trim(struct gpc_abouts *a, bool (*is_known)(void *ctx, uint64_t process),
		     void *ctx);

#endif
