/* SPDX-License-Identifier: Apache-2.0 */
#include "recent.h"

static uint32_t slot_of(uint64_t addr)
{
	return (uint32_t)((addr * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % GPC_JAVA_RECENT;
}

static bool is_recent(uint64_t ns, uint64_t now_ns)
{
	return ns && now_ns - ns < GPC_JAVA_RECENT_NS;
}

void gpc_java_recent_init(struct java_recent *r)
{
	memset(r, 0, sizeof *r);
	pthread_mutex_init(&r->lock, NULL);
}

void gpc_java_recent_deinit(struct java_recent *r)
{
	pthread_mutex_destroy(&r->lock);
}

JAVA_HOT bool gpc_java_recent_blob(struct java_recent *r, const struct blob *b, uint64_t now_ns)
{
	uint32_t at = slot_of(b->addr);
	bool is;

	pthread_mutex_lock(&r->lock);
	is = r->blobs[at].addr == b->addr && r->blobs[at].compile_id == b->compile_id &&
	     is_recent(r->blobs[at].ns, now_ns);
	pthread_mutex_unlock(&r->lock);
	return is;
}

JAVA_HOT void gpc_java_recent_blob_is(struct java_recent *r, const struct blob *b, uint64_t now_ns)
{
	uint32_t at = slot_of(b->addr);

	pthread_mutex_lock(&r->lock);
	r->blobs[at].addr = b->addr;
	r->blobs[at].compile_id = b->compile_id;
	r->blobs[at].ns = now_ns;
	pthread_mutex_unlock(&r->lock);
}

JAVA_HOT bool gpc_java_recent_method(struct java_recent *r, uint64_t addr, uint64_t now_ns,
				     struct method *ret)
{
	uint32_t at = slot_of(addr);
	bool has;

	pthread_mutex_lock(&r->lock);
	has = r->methods[at].method.addr == addr && is_recent(r->methods[at].ns, now_ns);
	if (has)
		*ret = r->methods[at].method;
	pthread_mutex_unlock(&r->lock);
	return has;
}

JAVA_HOT void gpc_java_recent_method_is(struct java_recent *r, const struct method *m,
					uint64_t now_ns)
{
	uint32_t at = slot_of(m->addr);

	pthread_mutex_lock(&r->lock);
	r->methods[at].method = *m;
	r->methods[at].ns = now_ns;
	pthread_mutex_unlock(&r->lock);
}
