/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"

#include <stdlib.h>

#include "frames.h"

#define INTERPRETERS_MAX 64
#define STATES_MAX       8192
#define LOOK_AGAIN_NS    (100 * UINT64_C(1000000))
#define NEAR             8 /* slots that are looked at for one thread */

gpc_status gpc_py_threads_init(struct py_threads *t)
{
	t->slots = calloc(PY_THREADS_SLOTS, sizeof *t->slots);
	if (!t->slots)
		return GPC_E_NOMEM;
	t->turn = 0;
	return GPC_OK;
}

void gpc_py_threads_deinit(struct py_threads *t)
{
	free(t->slots);
	t->slots = NULL;
}

/* ---- the lists ---------------------------------------------------------------------- */

/* The kernel's number of the thread that a state belongs to, in the target's pid
 * namespace. From 3.11 on the state has it, if the thread did not come by a fork;
 * before, and then, the C library knows it. */
static int32_t tid_of(const struct py_threads_of *of, const uint8_t *state)
{
	const struct py_layout *l = of->layout;
	int32_t tid = 0;

	if (of->native && of->elf &&
	    of->elf->thread_of(of->native, gpc_py_u64(state, l->thread_id), &tid) == GPC_OK)
		return tid;
	return l->thread_native_id == PY_NONE ? 0 : (int32_t)gpc_py_u64(state, l->thread_native_id);
}

int32_t gpc_py_thread_tid(const struct py_threads_of *of, uint64_t at)
{
	uint8_t state[PY_THREAD_MAX];
	size_t n = gpc_py_thread_bytes(of->layout);

	return n && gpc_py_read(of->memory, at, state, n) ? tid_of(of, state) : 0;
}

static bool is_of_tid(const struct py_threads_of *of, const uint8_t *state, int32_t ns_tid)
{
	const struct py_layout *l = of->layout;

	if (l->thread_native_id != PY_NONE &&
	    gpc_py_u64(state, l->thread_native_id) == (uint64_t)ns_tid)
		return true;
	return tid_of(of, state) == ns_tid;
}

static gpc_status each_state(const struct py_threads_of *of, uint64_t head,
			     bool (*fn)(void *ctx, const struct py_threads_of *of, uint64_t at,
					const uint8_t *state),
			     void *ctx)
{
	const struct py_layout *l = of->layout;
	size_t n = gpc_py_thread_bytes(l);
	uint8_t state[PY_THREAD_MAX];

	for (unsigned i = 0; head; i++) {
		if (i == STATES_MAX || !n || !gpc_py_read(of->memory, head, state, n))
			return GPC_E_CORRUPT;
		if (!fn(ctx, of, head, state))
			return GPC_E_BUDGET;
		head = gpc_py_u64(state, l->thread_next);
	}
	return GPC_OK;
}

static gpc_status each_interpreter(const struct py_threads_of *of,
				   bool (*fn)(void *ctx, const struct py_threads_of *of,
					      uint64_t at, const uint8_t *state),
				   void *ctx)
{
	uint64_t interp, head;

	if (!gpc_py_read_u64(of->memory, of->list, &interp))
		return GPC_E_CORRUPT;
	for (unsigned i = 0; interp; i++) {
		gpc_status st;

		if (i == INTERPRETERS_MAX ||
		    !gpc_py_read_u64(of->memory, interp + of->layout->interp_threads, &head))
			return GPC_E_CORRUPT;
		st = each_state(of, head, fn, ctx);
		if (st < 0)
			return st == GPC_E_BUDGET ? GPC_OK : st;
		if (!gpc_py_read_u64(of->memory, interp + of->layout->interp_next, &interp))
			return GPC_E_CORRUPT;
	}
	return GPC_OK;
}

struct each {
	bool (*fn)(void *ctx, const struct py_thread_info *info);
	void *ctx;
};

static bool tell(void *ctx, const struct py_threads_of *of, uint64_t at, const uint8_t *state)
{
	struct each *e = ctx;
	struct py_thread_info info = {.state = at, .ns_tid = tid_of(of, state)};

	return e->fn(e->ctx, &info);
}

gpc_status gpc_py_threads_each(const struct py_threads_of *of,
			       bool (*fn)(void *ctx, const struct py_thread_info *info), void *ctx)
{
	struct each e = {fn, ctx};

	return each_interpreter(of, tell, &e);
}

/* ---- one thread ---------------------------------------------------------------------- */

struct search {
	int32_t ns_tid;
	struct py_thread_state *found;
};

/* A thread has a state in each interpreter that it has been in. The one that
 * executes has frames; the newest interpreters stand first. */
PY_HOT static bool has_frames(const struct py_threads_of *of, const uint8_t *state)
{
	const struct py_layout *l = of->layout;
	uint64_t top = 0;

	if (l->thread_frame != PY_NONE)
		return gpc_py_u64(state, l->thread_frame) != 0;
	return gpc_py_read_u64(of->memory, gpc_py_u64(state, l->thread_cframe) + l->cframe_frame,
			       &top) &&
	       top != 0;
}

static bool look(void *ctx, const struct py_threads_of *of, uint64_t at, const uint8_t *state)
{
	struct search *s = ctx;

	if (!is_of_tid(of, state, s->ns_tid))
		return true;
	if (!s->found->at || has_frames(of, state)) {
		s->found->at = at;
		memcpy(s->found->bytes, state, gpc_py_thread_bytes(of->layout));
	}
	return !has_frames(of, state);
}

/* Is there one interpreter only? */
static bool is_single(const struct py_threads_of *of)
{
	uint64_t interp, next;

	return gpc_py_read_u64(of->memory, of->list, &interp) && interp &&
	       gpc_py_read_u64(of->memory, interp + of->layout->interp_next, &next) && !next;
}

static bool is_still(const struct py_threads_of *of, uint64_t at, int32_t ns_tid, uint8_t *state)
{
	size_t n = gpc_py_thread_bytes(of->layout);

	return n && gpc_py_read(of->memory, at, state, n) && is_of_tid(of, state, ns_tid) &&
	       (has_frames(of, state) || is_single(of));
}

/* Changes when a thread comes, in one interpreter at least. */
static uint64_t list_head(const struct py_threads_of *of)
{
	uint64_t interp, head = 0;

	if (gpc_py_read_u64(of->memory, of->list, &interp) && interp)
		(void)gpc_py_read_u64(of->memory, interp + of->layout->interp_threads, &head);
	return head;
}

_Static_assert(sizeof((struct py_thread_state *)0)->bytes == PY_THREAD_MAX, "the same bytes");

/* Whoever sees something of what another one writes sees its odd turn as well. */
static struct py_thread copy_of(const struct py_thread *from)
{
	struct py_thread ret = {.ns_tid = __atomic_load_n(&from->ns_tid, __ATOMIC_ACQUIRE)};

	ret.state = __atomic_load_n(&from->state, __ATOMIC_ACQUIRE);
	ret.head = __atomic_load_n(&from->head, __ATOMIC_ACQUIRE);
	ret.until_ns = __atomic_load_n(&from->until_ns, __ATOMIC_ACQUIRE);
	return ret;
}

static void put(struct py_thread *to, const struct py_thread *value)
{
	__atomic_store_n(&to->ns_tid, value->ns_tid, __ATOMIC_RELEASE);
	__atomic_store_n(&to->state, value->state, __ATOMIC_RELEASE);
	__atomic_store_n(&to->head, value->head, __ATOMIC_RELEASE);
	__atomic_store_n(&to->until_ns, value->until_ns, __ATOMIC_RELEASE);
}

PY_HOT static bool get(struct py_threads *t, int32_t ns_tid, struct py_thread *ret)
{
	uint32_t turn = __atomic_load_n(&t->turn, __ATOMIC_ACQUIRE);
	bool is_known = false;

	for (unsigned i = 0; i < NEAR && !is_known; i++) {
		*ret = copy_of(&t->slots[((uint32_t)ns_tid + i) % PY_THREADS_SLOTS]);
		is_known = ret->ns_tid == ns_tid;
	}
	return is_known && !(turn & 1) && __atomic_load_n(&t->turn, __ATOMIC_RELAXED) == turn;
}

static uint32_t place_of(const struct py_threads *t, int32_t ns_tid)
{
	uint32_t first = (uint32_t)ns_tid % PY_THREADS_SLOTS, to = first;

	for (unsigned i = 0; i < NEAR; i++) {
		uint32_t at = (first + i) % PY_THREADS_SLOTS;

		if (t->slots[at].ns_tid == ns_tid)
			return at;
		if (!t->slots[at].ns_tid && t->slots[to].ns_tid)
			to = at;
	}
	return to;
}

/* Or not, when another one is at it: it is found once more then. */
static void set(struct py_threads *t, const struct py_thread *value)
{
	uint32_t turn = __atomic_load_n(&t->turn, __ATOMIC_RELAXED);

	if (turn & 1 || !__atomic_compare_exchange_n(&t->turn, &turn, turn + 1, false,
						     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	put(&t->slots[place_of(t, value->ns_tid)], value);
	__atomic_store_n(&t->turn, turn + 2, __ATOMIC_RELEASE);
}

static uint64_t now_of(const struct py_threads_of *of)
{
	return of->memory->host->now_ns(of->memory->host);
}

PY_HOT gpc_status gpc_py_threads_find(struct py_threads *t, const struct py_threads_of *of,
				      int32_t ns_tid, struct py_thread_state *ret)
{
	struct py_thread known;
	struct search s = {.ns_tid = ns_tid, .found = ret};
	gpc_status st;

	ret->at = 0;
	if (get(t, ns_tid, &known)) {
		if (known.state && is_still(of, known.state, ns_tid, ret->bytes)) {
			ret->at = known.state;
			return GPC_OK;
		}
		if (!known.state && now_of(of) < known.until_ns && known.head == list_head(of))
			return GPC_OK;
	}
	st = each_interpreter(of, look, &s);
	if (st < 0 && !ret->at)
		return st;
	known = (struct py_thread){.ns_tid = ns_tid,
				   .state = ret->at,
				   .head = ret->at ? 0 : list_head(of),
				   .until_ns = now_of(of) + LOOK_AGAIN_NS};
	set(t, &known);
	return GPC_OK;
}
