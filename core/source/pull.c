/* SPDX-License-Identifier: Apache-2.0 */
#include "source/pull.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hot.h"
#include "base/thread.h"
#include "proc/root.h"
#include "source/pull_impl.h"

#define RANGES_MAX 1024
#define HANGS_NS   GPC_SECOND_NS            /* longer waits are none */
#define HANGS      ((struct gpc_puller *)1) /* in gpc_pulled.asked: it was given up */
#define LEAVE_NS   GPC_SECOND_NS            /* then a reader counts as hanging */

gpc_status gpc_pulls_new(struct gpc_mem *mem, struct gpc_log *log, struct gpc_pulls **ret,
			 struct gpc_err *err)
{
	struct gpc_pulls *p = calloc(1, sizeof *p);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!p)
		return gpc_err_nomem(err);
	p->n_cpus = cpus > 0 ? (uint32_t)cpus : 1;
	p->shares = aligned_alloc(_Alignof(struct gpc_pull_share), p->n_cpus * sizeof *p->shares);
	if (!p->shares) {
		free(p);
		return gpc_err_nomem(err);
	}
	memset(p->shares, 0, p->n_cpus * sizeof *p->shares);
	p->mem = mem;
	p->log = log;
	*ret = p;
	return GPC_OK;
}

GPC_HOT void gpc_puller_put(struct gpc_puller *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	vec_deinit(&t->ranges);
	gpc_u64map_deinit(&t->tids);
	vec_deinit(&t->threads);
	vec_deinit(&t->hung);
	vec_deinit(&t->unknown_tids);
	gpc_pull_code_put(t->code);
	free(t);
}

bool gpc_pulls_has_stuck(struct gpc_pulls *p)
{
	for (uint32_t i = 0; i < p->n_cpus; i++)
		if (__atomic_load_n(&p->shares[i].inside, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

bool gpc_pulls_free(struct gpc_pulls *p)
{
	if (!p)
		return true;
	if (gpc_pulls_has_stuck(p))
		return false;
	gpc_u64map_deinit(&p->by_pid);
	vec_deinit(&p->early);
	gpc_names_put(p->names);
	free(p->shares);
	free(p);
	return true;
}

void gpc_pulls_set_realtime(struct gpc_pulls *p, bool is_realtime)
{
	__atomic_store_n(&p->is_realtime, is_realtime, __ATOMIC_RELAXED);
}

void gpc_pulls_keep_stacks(struct gpc_pulls *p)
{
	p->keeps_stacks = true;
}

void gpc_pulls_set_names(struct gpc_pulls *p, struct gpc_names *names)
{
	struct gpc_names *old;

	gpc_lock_take(&p->lock);
	old = p->names;
	p->names = gpc_names_get(names);
	gpc_lock_give(&p->lock);
	gpc_names_put(old);
}

/* ---- who is pulled ---------------------------------------------------------------- */

/* Locked. */
static struct gpc_puller *first_of(struct gpc_pulls *p, int32_t pid)
{
	uint64_t value;

	return gpc_u64map_get(&p->by_pid, (uint32_t)pid, &value)
		       ? (struct gpc_puller *)(uintptr_t)value
		       : NULL;
}

static gpc_status insert_range(struct gpc_puller *t, const struct gpc_code_range *r)
{
	size_t i = t->ranges.n;
	autohold(&t->lock);

	if (t->ranges.n >= RANGES_MAX)
		return GPC_E_BUDGET;
	if (!vec_reserve(&t->ranges, 1))
		return GPC_E_NOMEM;
	for (i = t->ranges.n; i && t->ranges.at[i - 1].start > r->start; i--)
		t->ranges.at[i] = t->ranges.at[i - 1];
	t->ranges.at[i] = *r;
	t->ranges.n++;
	return GPC_OK;
}

/* Locked. What was claimed before the process was added becomes its own (t), or
 * is forgotten (NULL). */
static void take_early(struct gpc_pulls *p, const void *self, uint64_t target, struct gpc_puller *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->early.n; i++) {
		const struct gpc_early_range *e = &p->early.at[i];

		if (e->self != self || e->target != target)
			p->early.at[kept++] = *e;
		else if (t)
			insert_range(t, &e->range);
	}
	p->early.n = kept;
}

gpc_status gpc_pulls_add(struct gpc_pulls *p, const struct gpc_pull_collector *c,
			 struct gpc_err *err)
{
	struct gpc_puller *t = calloc(1, sizeof *t);

	if (!t)
		return gpc_err_nomem(err);
	t->refs = 1;
	t->c = *c;
	t->target = c->target->id;
	t->pid = c->target->pid;
	t->is_same_ns = c->target->ns_pid == c->target->pid;
	if (gpc_mem_open(p->mem, t->target, t->pid, err) < 0) {
		gpc_puller_put(t);
		return err ? err->code : GPC_E_PERM;
	}
	autohold(&p->lock);
	take_early(p, c->self, t->target, t);
	t->next = first_of(p, t->pid);
	if (!gpc_u64map_set(&p->by_pid, (uint32_t)t->pid, (uintptr_t)t)) {
		gpc_mem_close(p->mem, t->target);
		gpc_puller_put(t);
		return gpc_err_nomem(err);
	}
	p->n++;
	p->n_foreign += !t->is_same_ns;
	return GPC_OK;
}

/* Takes it out of the list of its pid; the list's reference becomes ours. */
static struct gpc_puller *unlink_puller(struct gpc_pulls *p, const void *self, uint64_t target)
{
	autohold(&p->lock);

	take_early(p, self, target, NULL);
	for (size_t i = 0; i < p->by_pid.room; i++) {
		struct gpc_map_slot *slot = &p->by_pid.slots[i];
		struct gpc_puller *before = NULL, *t;

		if (!slot->value)
			continue;
		t = (struct gpc_puller *)(uintptr_t)(slot->value - 1);
		for (; t && !(t->target == target && t->c.self == self); t = t->next)
			before = t;
		if (!t)
			continue;
		if (before)
			before->next = t->next;
		else if (t->next)
			gpc_u64map_set(&p->by_pid, slot->key, (uintptr_t)t->next);
		else
			gpc_u64map_remove(&p->by_pid, slot->key);
		p->n--;
		p->n_foreign -= !t->is_same_ns;
		return t;
	}
	return NULL;
}

bool gpc_pulls_remove(struct gpc_pulls *p, const void *self, uint64_t target)
{
	struct gpc_puller *t = unlink_puller(p, self, target);
	uint64_t end = gpc_now_ns() + LEAVE_NS;
	bool is_free;

	if (!t)
		return true;
	/* Readers in it come back within microseconds, or not at all. */
	while (!(is_free = __atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) == 1) && gpc_now_ns() < end)
		usleep(100);
	gpc_mem_close(p->mem, target);
	gpc_puller_put(t); /* a reader that hangs has its own reference */
	return is_free;
}

size_t gpc_pulls_count(struct gpc_pulls *p)
{
	autohold(&p->lock);

	return p->n;
}

bool gpc_pulls_has_foreign(struct gpc_pulls *p)
{
	autohold(&p->lock);

	return p->n_foreign > 0;
}

void gpc_puller_give_up(struct gpc_puller *t, const char *why)
{
	if (__atomic_exchange_n(&t->is_given_up, true, __ATOMIC_ACQ_REL))
		return;
	if (t->c.given_up)
		t->c.given_up(t->c.ctx, t->target, why);
}

/* A process that is about to change its mappings lets readers wait, on a busy machine
 * for long: so it is left alone until they are back, for ever only if they are not
 * back soon. */
static void add_hung(struct gpc_puller *t, const struct gpc_pulled *ret)
{
	autohold(&t->lock);

	if (!vec_push(&t->hung, ret))
		return;
	__atomic_store_n(&t->hangs_since_ns, gpc_now_ns(), __ATOMIC_RELEASE);
	__atomic_store_n(&t->hanging, (uint32_t)t->hung.n, __ATOMIC_RELEASE);
}

void gpc_pulls_hangs(void *pulls, struct gpc_pulled *ret)
{
	struct gpc_pulls *p = pulls;
	struct gpc_puller *t;
	autohold(&p->asked_lock);

	/* While it is asked the reader has a reference, and once it is marked it waits for the
	 * lock before it gives that back; it may be back by now. */
	t = __atomic_load_n(&ret->asked, __ATOMIC_ACQUIRE);
	if (t && t != HANGS &&
	    __atomic_compare_exchange_n(&ret->asked, &t, HANGS, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		add_hung(t, ret);
}

GPC_HOT bool gpc_puller_is_back(struct gpc_pulls *p, struct gpc_puller *t, struct gpc_pulled *ret)
{
	struct gpc_puller *asked = t;
	bool was_given_up = false;

	if (__atomic_compare_exchange_n(&ret->asked, &asked, NULL, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return false;
	gpc_lock_take(&p->asked_lock);
	__atomic_store_n(&ret->asked, NULL, __ATOMIC_RELEASE);
	gpc_lock_give(&p->asked_lock);
	autohold(&t->lock);
	for (size_t i = 0; i < t->hung.n; i++)
		if (t->hung.at[i] == ret) {
			t->hung.at[i--] = t->hung.at[--t->hung.n];
			was_given_up = true;
		}
	__atomic_store_n(&t->hanging, (uint32_t)t->hung.n, __ATOMIC_RELEASE);
	return was_given_up;
}

static void check_hanging(struct gpc_puller *t)
{
	if (__atomic_load_n(&t->hanging, __ATOMIC_ACQUIRE) &&
	    gpc_now_ns() - __atomic_load_n(&t->hangs_since_ns, __ATOMIC_ACQUIRE) > HANGS_NS)
		gpc_puller_give_up(t, "reading its memory hangs: left alone from now on");
}

/* ---- code ranges --------------------------------------------------------------------- */

static struct gpc_puller *get_puller(struct gpc_pulls *p, const void *self, uint64_t target)
{
	autohold(&p->lock);

	for (size_t i = 0; i < p->by_pid.room; i++) {
		struct gpc_puller *t;

		if (!p->by_pid.slots[i].value)
			continue;
		t = (struct gpc_puller *)(uintptr_t)(p->by_pid.slots[i].value - 1);
		for (; t; t = t->next) {
			if (t->target != target || t->c.self != self)
				continue;
			__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
			return t;
		}
	}
	return NULL;
}

/* From attach(): the process is added when that has returned. */
static gpc_status claim_early(struct gpc_pulls *p, const struct gpc_early_range *e)
{
	size_t n = 0;
	autohold(&p->lock);

	for (size_t i = 0; i < p->early.n; i++)
		n += p->early.at[i].self == e->self;
	if (n >= RANGES_MAX)
		return GPC_E_BUDGET;
	return vec_push(&p->early, *e) ? GPC_OK : GPC_E_NOMEM;
}

gpc_status gpc_pulls_claim(struct gpc_pulls *p, const void *self, uint64_t target, uint64_t start,
			   uint64_t end)
{
	struct gpc_early_range e = {self, target, {start, end}};
	struct gpc_puller *t;
	gpc_status st;

	if (start >= end)
		return GPC_E_CONFIG;
	t = get_puller(p, self, target);
	if (!t)
		return claim_early(p, &e);
	st = insert_range(t, &e.range);
	gpc_puller_put(t);
	return st;
}

static gpc_status remove_range(struct gpc_puller *t, const struct gpc_code_range *r)
{
	autohold(&t->lock);

	for (size_t i = 0; i < t->ranges.n; i++) {
		if (t->ranges.at[i].start != r->start || t->ranges.at[i].end != r->end)
			continue;
		memmove(&t->ranges.at[i], &t->ranges.at[i + 1],
			(--t->ranges.n - i) * sizeof *t->ranges.at);
		return GPC_OK;
	}
	return GPC_E_CONFIG;
}

gpc_status gpc_pulls_release(struct gpc_pulls *p, const void *self, uint64_t target, uint64_t start,
			     uint64_t end)
{
	struct gpc_code_range r = {start, end};
	struct gpc_puller *t = get_puller(p, self, target);
	gpc_status st;

	if (!t)
		return GPC_E_GONE;
	st = remove_range(t, &r);
	gpc_puller_put(t);
	return st;
}

/* ---- threads --------------------------------------------------- */

void gpc_pulls_chores(struct gpc_pulls *p)
{
	vec(struct gpc_puller *) all = {0};

	gpc_lock_take(&p->lock);
	for (size_t i = 0; i < p->by_pid.room; i++) {
		struct gpc_puller *t =
			p->by_pid.slots[i].value
				? (struct gpc_puller *)(uintptr_t)(p->by_pid.slots[i].value - 1)
				: NULL;

		for (; t; t = t->next) {
			if (!vec_push(&all, t))
				continue;
			__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
		}
	}
	gpc_lock_give(&p->lock);
	for (size_t i = 0; i < all.n; i++) {
		gpc_puller_chores(all.at[i]);
		check_hanging(all.at[i]);
		gpc_puller_put(all.at[i]);
	}
	vec_deinit(&all);
}

void gpc_pulls_new_thread(struct gpc_pulls *p, int32_t pid, int32_t tid)
{
	struct gpc_puller *t;
	autohold(&p->lock);

	for (t = first_of(p, pid); t; t = t->next)
		gpc_puller_forget(t, tid);
}

static void add_stats(struct gpc_pull_stats *to, const struct gpc_pull_stats *from)
{
	uint64_t max = __atomic_load_n(&from->age_max_ns, __ATOMIC_RELAXED);
	uint64_t last = to->age_max_ns;

	for (size_t i = 0; i < sizeof *to / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] +=
			__atomic_load_n(&((const uint64_t *)from)[i], __ATOMIC_RELAXED);
	to->age_max_ns = max > last ? max : last;
}

void gpc_pulls_stats(struct gpc_pulls *p, struct gpc_pull_stats *ret)
{
	*ret = (struct gpc_pull_stats){0};
	for (uint32_t i = 0; i < p->n_cpus; i++)
		add_stats(ret, &p->shares[i].stats);
}
