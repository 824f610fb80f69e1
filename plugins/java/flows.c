/* SPDX-License-Identifier: Apache-2.0 */
#include "flows.h"

#include <stdlib.h>

#include "lock.h"

void gpc_java_flows_init(struct java_flows *f)
{
	gpc_java_lock_init(&f->lock);
}

void gpc_java_followed_free(struct java_followed *m)
{
	if (!m)
		return;
	gpc_java_flow_deinit(&m->flow);
	free(m->code);
	free(m);
}

void gpc_java_flows_deinit(struct java_flows *f)
{
	for (int i = 0; i < GPC_JAVA_FLOWS; i++)
		gpc_java_followed_free(f->at[i]);
	pthread_mutex_destroy(&f->lock);
}

struct java_followed *gpc_java_flows_find(struct java_flows *f, const struct blob *b)
{
	for (int i = 0; i < GPC_JAVA_FLOWS; i++) {
		struct java_followed *m = f->at[i];

		if (m && m->code_begin == b->code_begin && m->compile_id == b->compile_id) {
			m->used = ++f->clock;
			return m;
		}
	}
	return NULL;
}

struct java_followed *gpc_java_flows_put(struct java_flows *f, const struct blob *b,
					 struct java_followed *m)
{
	struct java_followed **to = &f->at[0], *old;

	for (int i = 1; i < GPC_JAVA_FLOWS && *to; i++)
		if (!f->at[i] || f->at[i]->used < (*to)->used)
			to = &f->at[i];
	old = *to;
	m->code_begin = b->code_begin;
	m->compile_id = b->compile_id;
	m->used = ++f->clock;
	*to = m;
	return old;
}
