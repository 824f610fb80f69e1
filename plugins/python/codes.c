/* SPDX-License-Identifier: Apache-2.0 */
#include "codes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "brief.h"
#include "lines.h"
#include "text.h"

#define ROOM_FIRST 64
#define BYTES_MAX  (6u << 20)
#define FORK_MAX   (256u << 10) /* more is not copied for a child */
#define FRAMES_MAX 256          /* of one code object */
#define CHECK_NS   (250 * UINT64_C(1000000))
#define CHECK_PART 4 /* what has stood there for long is likely to stay for a part of that, */
#define CHECK_MAX  (8 * CHECK_NS) /* but nothing is believed for longer */
#define NAME_MAX_N (2 * PY_TEXT_MAX)

/* A frame that was made: of a position, or of a class. */
struct made {
	uint64_t type;
	int32_t at;
	uint32_t reserved;
	gpc_frame frame;
};

struct entry {
	struct py_code *code; /* NULL: free */
	uint64_t since_ns, checked_ns;
	struct made *made;
	uint32_t n, room;
};

struct py_codes {
	struct py_wording wording;
	struct py_briefs briefs;
	uint64_t code_type; /* atomic */
	pthread_mutex_t lock;
	struct entry *slots;
	uint32_t room, n, epoch;
	size_t bytes;
	uint64_t used_ns;             /* atomic */
	struct py_codes *next, *prev; /* of all; under their lock */
};

struct py_codes_all {
	pthread_mutex_t lock; /* taken before that of one of them */
	struct py_codes *first;
};

/* ---- all of them ---------------------------------------------------------------------- */

struct py_codes_all *gpc_py_codes_all_new(void)
{
	struct py_codes_all *all = calloc(1, sizeof *all);

	if (all)
		pthread_mutex_init(&all->lock, NULL);
	return all;
}

void gpc_py_codes_all_free(struct py_codes_all *all)
{
	if (!all)
		return;
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static void join(struct py_codes *c)
{
	struct py_codes_all *all = c->wording.all;

	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	c->next = all->first;
	if (c->next)
		c->next->prev = c;
	all->first = c;
	pthread_mutex_unlock(&all->lock);
}

static void leave(struct py_codes *c)
{
	struct py_codes_all *all = c->wording.all;

	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else
		all->first = c->next;
	pthread_mutex_unlock(&all->lock);
}

static size_t bytes_of(struct py_codes *c, bool *has_any)
{
	size_t bytes;

	pthread_mutex_lock(&c->lock);
	bytes = c->bytes + c->room * sizeof *c->slots;
	*has_any = c->n > 0;
	pthread_mutex_unlock(&c->lock);
	return bytes;
}

static void free_slots(struct entry *slots, uint32_t room)
{
	for (uint32_t i = 0; i < room; i++) {
		free(slots[i].code);
		free(slots[i].made);
	}
	free(slots);
}

/* Locked. */
static void forget_briefs(struct py_codes *c)
{
	memset(&c->briefs, 0, sizeof c->briefs);
}

/* Freed outside of the lock, which readers wait for. */
static void empty(struct py_codes *c)
{
	struct entry *slots = calloc(ROOM_FIRST, sizeof *slots), *old;
	uint32_t room;

	if (!slots)
		return;
	pthread_mutex_lock(&c->lock);
	old = c->slots;
	room = c->room;
	c->slots = slots;
	c->room = ROOM_FIRST;
	c->n = 0;
	c->bytes = 0;
	forget_briefs(c);
	pthread_mutex_unlock(&c->lock);
	free_slots(old, room);
}

/* The one not used the longest that has something, and what all take. Locked. */
static struct py_codes *least_recent(struct py_codes_all *all, size_t *bytes)
{
	struct py_codes *ret = NULL;

	*bytes = 0;
	for (struct py_codes *c = all->first; c; c = c->next) {
		bool has_any;

		*bytes += bytes_of(c, &has_any);
		if (has_any && (!ret || __atomic_load_n(&c->used_ns, __ATOMIC_RELAXED) <
						__atomic_load_n(&ret->used_ns, __ATOMIC_RELAXED)))
			ret = c;
	}
	return ret;
}

size_t gpc_py_codes_trim(struct py_codes_all *all, size_t max_bytes)
{
	struct py_codes *oldest;
	size_t bytes;

	pthread_mutex_lock(&all->lock);
	while ((oldest = least_recent(all, &bytes)) && bytes > max_bytes)
		empty(oldest);
	pthread_mutex_unlock(&all->lock);
	return bytes;
}

/* ---- one process's --------------------------------------------------------------------- */

struct py_codes *gpc_py_codes_new(const struct py_wording *wording)
{
	struct py_codes *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->wording = *wording;
	c->slots = calloc(ROOM_FIRST, sizeof *c->slots);
	if (!c->slots) {
		free(c);
		return NULL;
	}
	c->room = ROOM_FIRST;
	pthread_mutex_init(&c->lock, NULL);
	join(c);
	return c;
}

/* ---- the table; locked ---------------------------------------------------------------- */

static void clear(struct py_codes *c)
{
	for (uint32_t i = 0; i < c->room; i++) {
		free(c->slots[i].code);
		free(c->slots[i].made);
		c->slots[i] = (struct entry){0};
	}
	c->n = 0;
	c->bytes = 0;
	forget_briefs(c);
}

void gpc_py_codes_free(struct py_codes *c)
{
	if (!c)
		return;
	leave(c);
	free_slots(c->slots, c->room);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct entry *place(struct entry *slots, uint32_t room, uint64_t at)
{
	uint64_t h = (at >> 4) * UINT64_C(0x9E3779B97F4A7C15);
	uint32_t i = (uint32_t)(h >> 32) & (room - 1);

	while (slots[i].code && slots[i].code->at != at)
		i = (i + 1) & (room - 1);
	return &slots[i];
}

static bool grow(struct py_codes *c)
{
	struct entry *slots = calloc(2 * (size_t)c->room, sizeof *slots);

	if (!slots)
		return false;
	for (uint32_t i = 0; i < c->room; i++)
		if (c->slots[i].code)
			*place(slots, 2 * c->room, c->slots[i].code->at) = c->slots[i];
	free(c->slots);
	c->slots = slots;
	c->room *= 2;
	return true;
}

/* Takes code. */
static void insert(struct py_codes *c, struct py_code *code, uint64_t now)
{
	struct entry *e;

	if (c->bytes + code->bytes > BYTES_MAX)
		clear(c);
	if (2 * (c->n + 1) > c->room && !grow(c)) {
		free(code);
		return;
	}
	e = place(c->slots, c->room, code->at);
	if (e->code) {
		c->bytes -= e->code->bytes;
		free(e->code);
		e->n = 0;
		forget_briefs(c);
	} else {
		c->n++;
	}
	c->bytes += code->bytes;
	e->code = code;
	e->since_ns = e->checked_ns = now;
}

/* It is compared with what stands there when it is used first. False: no memory. */
static bool copy_entry(struct py_codes *c, const struct entry *from)
{
	size_t bytes = from->code->bytes;
	struct py_code *code = malloc(bytes);
	struct entry *to;

	if (!code)
		return false;
	memcpy(code, from->code, bytes);
	code->name = (char *)code + (from->code->name - (const char *)from->code);
	code->file = (char *)code + (from->code->file - (const char *)from->code);
	code->lines = (uint8_t *)code + (from->code->lines - (const uint8_t *)from->code);
	insert(c, code, 0);
	to = place(c->slots, c->room, code->at);
	if (to->code != code || !from->n)
		return true;
	to->made = malloc(from->n * sizeof *to->made);
	if (!to->made)
		return true;
	memcpy(to->made, from->made, from->n * sizeof *to->made);
	to->n = to->room = from->n;
	c->bytes += from->n * sizeof *to->made;
	return true;
}

struct py_codes *gpc_py_codes_fork(struct py_codes *parent)
{
	struct py_codes *c = gpc_py_codes_new(&parent->wording);

	if (!c)
		return NULL;
	pthread_mutex_lock(&parent->lock);
	c->code_type = __atomic_load_n(&parent->code_type, __ATOMIC_RELAXED);
	c->epoch = parent->epoch;
	for (uint32_t i = 0; parent->bytes <= FORK_MAX && i < parent->room; i++)
		if (parent->slots[i].code && !copy_entry(c, &parent->slots[i]))
			break;
	pthread_mutex_unlock(&parent->lock);
	return c;
}

/* Numbers of another epoch are dead. */
static void enter_epoch(struct py_codes *c, uint32_t epoch)
{
	if (c->epoch == epoch)
		return;
	for (uint32_t i = 0; i < c->room; i++)
		c->slots[i].n = 0;
	forget_briefs(c);
	c->epoch = epoch;
}

static gpc_frame find_made(const struct entry *e, uint64_t type, int32_t at)
{
	for (uint32_t i = 0; i < e->n; i++)
		if (e->made[i].at == at && e->made[i].type == type)
			return e->made[i].frame;
	return 0;
}

static void keep_made(struct py_codes *c, struct entry *e, const struct made *made)
{
	if (e->n == FRAMES_MAX)
		e->n = 0;
	if (e->n == e->room) {
		uint32_t room = e->room ? 2 * e->room : 2;
		struct made *bigger = realloc(e->made, room * sizeof *bigger);

		if (!bigger)
			return;
		c->bytes += (room - e->room) * sizeof *bigger;
		e->made = bigger;
		e->room = room;
	}
	e->made[e->n++] = *made;
}

/* ---- words ------------------------------------------------------------------------------ */

/* The class of a method's first argument; 0: there is none to be known. */
static uint64_t class_of(const struct py_memory *m, const struct py_layout *l, enum py_first first,
			 uint64_t object)
{
	uint64_t type;

	if (first == PY_FIRST_OTHER || object < 4096)
		return 0;
	if (first == PY_FIRST_CLS)
		return object;
	return gpc_py_read_u64(m, object + l->ob_type, &type) ? type : 0;
}

/* Its name; "" when there is none. */
static void read_class(const struct py_memory *m, const struct py_layout *l, uint64_t type,
		       char ret[PY_TEXT_MAX])
{
	const char *last;
	uint64_t at;

	ret[0] = '\0';
	if (!type)
		return;
	if (!gpc_py_read_u64(m, type + l->type_name, &at) || gpc_py_text_c(m, at, ret) < 0) {
		ret[0] = '\0';
		return;
	}
	last = strrchr(ret, '.'); /* types written in C are called module.Name */
	if (last)
		memmove(ret, last + 1, strlen(last));
}

static gpc_str text_of(struct gpc_writer *w, const char *s)
{
	return w->str(w, s, (uint32_t)strlen(s));
}

/* All of a frame that is not in the table. */
struct words {
	const char *function, *file;
	uint32_t line;
};

/* *is_final: it will not be other later. */
static gpc_frame intern(const struct py_codes *c, const struct words *words, struct gpc_writer *w,
			bool *is_final)
{
	struct gpc_frame_desc d = {.struct_size = sizeof d,
				   .flags = GPC_FRAME_SHOWS_FILE,
				   .suffix = 1,
				   .line = words->line};
	char package[PY_PACKAGE_MAX] = "";

	*is_final = !c->wording.packages ||
		    gpc_py_packages_find(c->wording.packages, words->file, package);
	d.function = text_of(w, words->function);
	d.file = text_of(w, words->file);
	d.module = *package ? text_of(w, package) : 0;
	return w->frame(w, &d);
}

static uint32_t line_of(const struct py_codes *c, const struct py_layout *l,
			const struct py_code *code, int32_t at)
{
	if (!c->wording.has_running_lines)
		return code->first_line > 0 ? (uint32_t)code->first_line : 0;
	return gpc_py_line(l->lines, code->lines, code->lines_n, code->first_line, at);
}

/* ---- one frame ---------------------------------------------------------------------------- */

enum known { KNOWN, STALE, UNKNOWN };

/* Of the table's entry, what can be used without the lock. */
struct look {
	enum py_first first;
	uint64_t identity, tlbc;
	gpc_frame frame; /* 0: there is more to find out */
};

/* Until when what is known counts. */
static uint64_t until(const struct entry *e)
{
	uint64_t span = (e->checked_ns - e->since_ns) / CHECK_PART;

	span = span < CHECK_NS ? CHECK_NS : span;
	return e->checked_ns + (span < CHECK_MAX ? span : CHECK_MAX);
}

/* Of a frame of which nothing more has to be read. Locked. */
static gpc_frame frame_of(const struct py_codes *c, const struct py_layout *l,
			  const struct entry *e, const struct py_frame *f, uint32_t epoch)
{
	int32_t at;

	if (c->epoch != epoch || e->code->first != PY_FIRST_OTHER || (f->tlbc && e->code->tlbc) ||
	    !gpc_py_code_position(NULL, l, e->code, f, &at))
		return 0;
	return find_made(e, 0, c->wording.has_running_lines ? at : 0);
}

static enum known look_up(struct py_codes *c, const struct py_layout *l, const struct py_frame *f,
			  uint64_t now, uint32_t epoch, struct look *ret)
{
	enum known known = UNKNOWN;
	struct entry *e;

	pthread_mutex_lock(&c->lock);
	e = place(c->slots, c->room, f->code);
	if (e->code) {
		known = now < until(e) ? KNOWN : STALE;
		*ret = (struct look){e->code->first, e->code->identity, e->code->tlbc, 0};
		if (known == KNOWN)
			ret->frame = frame_of(c, l, e, f, epoch);
		if (ret->frame && l->lasti == PY_LASTI_POINTER)
			gpc_py_briefs_put(&c->briefs, f, ret->frame, until(e));
	}
	pthread_mutex_unlock(&c->lock);
	return known;
}

PY_HOT void gpc_py_codes_known(struct py_codes *c, const struct py_frame *frames, uint32_t n,
			       uint64_t now, uint32_t epoch, gpc_frame *ret)
{
	__atomic_store_n(&c->used_ns, now, __ATOMIC_RELAXED);
	pthread_mutex_lock(&c->lock);
	if (c->epoch == epoch)
		gpc_py_briefs_find(&c->briefs, frames, n, now, ret);
	else
		memset(ret, 0, n * sizeof *ret);
	pthread_mutex_unlock(&c->lock);
}

static void confirm(struct py_codes *c, uint64_t at, uint64_t now)
{
	struct entry *e;

	pthread_mutex_lock(&c->lock);
	e = place(c->slots, c->room, at);
	if (e->code) {
		e->checked_ns = now;
		/* Of a parent process: here it is known from now on. */
		if (!e->since_ns)
			e->since_ns = now;
	}
	pthread_mutex_unlock(&c->lock);
}

static bool load(struct py_codes *c, const struct py_memory *m, const struct py_layout *l,
		 uint64_t at, uint64_t now, struct look *ret)
{
	uint64_t type = __atomic_load_n(&c->code_type, __ATOMIC_RELAXED);
	struct py_code *code;

	if (gpc_py_code_read(m, l, at, &type, &code) < 0)
		return false;
	__atomic_store_n(&c->code_type, type, __ATOMIC_RELAXED);
	*ret = (struct look){code->first, code->identity, code->tlbc, 0};
	pthread_mutex_lock(&c->lock);
	insert(c, code, now);
	pthread_mutex_unlock(&c->lock);
	return true;
}

/* What is known of it is of what stands there. */
static bool be_sure(struct py_codes *c, const struct py_memory *m, const struct py_layout *l,
		    const struct py_frame *f, uint32_t epoch, struct look *ret)
{
	uint64_t now = m->host->now_ns(m->host), at = f->code;

	__atomic_store_n(&c->used_ns, now, __ATOMIC_RELAXED);
	switch (look_up(c, l, f, now, epoch, ret)) {
	case KNOWN:
		return true;
	case STALE:
		if (gpc_py_code_identity(m, l, at) == ret->identity) {
			confirm(c, at, now);
			return true;
		}
		return load(c, m, l, at, now, ret);
	default:
		return load(c, m, l, at, now, ret);
	}
}

static gpc_frame find_frame(struct py_codes *c, uint64_t at, const struct made *key, uint32_t epoch)
{
	const struct entry *e;
	gpc_frame frame;

	pthread_mutex_lock(&c->lock);
	enter_epoch(c, epoch);
	e = place(c->slots, c->room, at);
	frame = e->code ? find_made(e, key->type, key->at) : 0;
	pthread_mutex_unlock(&c->lock);
	return frame;
}

static gpc_frame make_frame(struct py_codes *c, const struct py_layout *l, uint64_t at,
			    const struct made *key, const char *class_name, struct gpc_writer *w)
{
	char name[NAME_MAX_N];
	struct made made = *key;
	struct entry *e;
	bool is_final;

	pthread_mutex_lock(&c->lock);
	e = place(c->slots, c->room, at);
	if (e->code) { /* else another reader made room just now */
		struct words words = {e->code->name, e->code->file,
				      line_of(c, l, e->code, key->at)};

		if (*class_name) {
			snprintf(name, sizeof name, "%s.%s", class_name, e->code->name);
			words.function = name;
		}
		made.frame = intern(c, &words, w, &is_final);
		if (made.frame && is_final)
			keep_made(c, e, &made);
	}
	pthread_mutex_unlock(&c->lock);
	return made.frame;
}

PY_HOT gpc_frame gpc_py_codes_frame(struct py_codes *c, const struct py_memory *m,
				    const struct py_layout *l, const struct py_frame *f,
				    struct gpc_writer *w)
{
	struct py_code position = {.at = f->code};
	char class_name[PY_TEXT_MAX];
	struct made key = {0};
	struct look known;
	gpc_frame frame;

	if (!be_sure(c, m, l, f, w->epoch, &known))
		return 0;
	if (known.frame)
		return known.frame;
	position.tlbc = known.tlbc;
	if (!gpc_py_code_position(m, l, &position, f, &key.at))
		return 0;
	if (!c->wording.has_running_lines)
		key.at = 0;
	key.type = class_of(m, l, known.first, f->self);
	frame = find_frame(c, f->code, &key, w->epoch);
	if (frame)
		return frame;
	read_class(m, l, key.type, class_name);
	return make_frame(c, l, f->code, &key, class_name, w);
}
