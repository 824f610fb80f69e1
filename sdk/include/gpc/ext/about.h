/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.about/1: what a process is.
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_ABOUT_H
#define GPC_EXT_ABOUT_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	GPC_FACT_CWD = 1, /* its working directory, as it sees it */
	GPC_FACT_EXECFN   /* the path that its image was started by (AT_EXECFN) */
};
struct gpc_folder_id {
	uint64_t device, inode;
	int64_t changed_ns; /* Unix time: entries came or went */
};

struct gpc_about_api {
	uint32_t struct_size, reserved;
	/* [worker] Which application the process is: "gunicorn: shop.wsgi (/srv/shop/wsgi.py)". The
	 * first collector's answer stays. */
	gpc_status (*appid)(const struct gpc_host *h, const struct gpc_target *t, const char *text);
	/* [worker] A member of its metadata, as of the profile's header. value NULL: null. */
	gpc_status (*member)(const struct gpc_host *h, const struct gpc_target *t, const char *key,
			     const char *value);
	/* [worker] A GPC_FACT_ as text; longer ones are refused. */
	gpc_status (*fact)(const struct gpc_host *h, const struct gpc_target *t, uint32_t which,
			   char *ret, uint64_t size);
	/* [worker] Calls fn with the name of each entry of a folder, as the target sees it
	 * and never outside its root, until it returns non-zero. */
	gpc_status (*folder)(const struct gpc_host *h, const struct gpc_target *t, const char *path,
			     int32_t (*fn)(void *arg, const char *name), void *arg);
	/* [worker] As member(), of a value that is JSON: a list, an object. */
	gpc_status (*json)(const struct gpc_host *h, const struct gpc_target *t, const char *key,
			   const char *text);
	/* [worker] --app-id-args-filter: arguments that one of them matches belong to the
	 * application's name. Never NULL. */
	const struct gpc_list *(*appid_args)(const struct gpc_host *h);
	/* [worker] t is what parent was when it was forked: nothing is read. */
	gpc_status (*inherit)(const struct gpc_host *h, const struct gpc_target *t,
			      const struct gpc_target *parent);
	/* [worker] Which folder that is: processes in different roots may have the same. */
	gpc_status (*folder_id)(const struct gpc_host *h, const struct gpc_target *t,
				const char *path, struct gpc_folder_id *ret);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_ABOUT_H */
