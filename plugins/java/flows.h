/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled methods whose control flow was followed, for the next place in one of them. */
#ifndef GPC_JAVA_FLOWS_H
#define GPC_JAVA_FLOWS_H

#include <pthread.h>

#include "flow.h"
#include "heap.h"

#define GPC_JAVA_FLOWS 8 /* at most 350 KB each, by GPC_JAVA_FLOW_BYTES; mostly 60 */

struct java_followed {
	uint64_t code_begin, used;
	int32_t compile_id;
	bool is_known; /* else nothing can be said of it */
	struct flow flow;
	uint8_t *code;
};

struct java_flows {
	pthread_mutex_t lock; /* covers what follows, and the asking */
	uint64_t clock;
	struct java_followed *at[GPC_JAVA_FLOWS];
};

void gpc_java_flows_init(struct java_flows *f);
void gpc_java_flows_deinit(struct java_flows *f);
/* Locked. NULL: not there. */
struct java_followed *gpc_java_flows_find(struct java_flows *f, const struct blob *b);
/* Locked. Takes m. Returns what had to go for it: to be freed without the lock; or NULL. */
struct java_followed *gpc_java_flows_put(struct java_flows *f, const struct blob *b,
					 struct java_followed *m);
void gpc_java_followed_free(struct java_followed *m); /* NULL is fine */

#endif
