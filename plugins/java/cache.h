/* SPDX-License-Identifier: Apache-2.0 */
/* What was found out once: about places in code, and about methods. Bounded; what
 * was not used for long goes first. Readers of several CPUs use it at once. The
 * caller checks that an entry is still true. */
#ifndef GPC_JAVA_CACHE_H
#define GPC_JAVA_CACHE_H

#include <pthread.h>

#include "code.h"
#include "method.h"
#include "scopes.h"

enum rule_kind {
	RULE_NONE,        /* cannot be told */
	RULE_SHAPE,       /* shape says it */
	RULE_DEOPT,       /* the true return address is at sp + shape.ra */
	RULE_INTERPRETER, /* its frame is at fp */
	RULE_ENTRY,       /* call stub: C++ calls Java; frame at fp */
	RULE_BARRIER,     /* the caller's frame is in the heap: continuation.h */
	RULE_SEARCH       /* where a return address is found */
};

/* A place in generated code. */
struct place {
	uint64_t pc;
	bool is_return;
	bool is_after_call; /* there is a call instruction before it */
	bool is_call;       /* a return address that a call there leaves */
	uint32_t epoch;     /* of frames */
	enum rule_kind rule;
	struct frame_shape shape;
	struct blob blob;
	uint32_t n;
	gpc_frame frames[GPC_JAVA_SCOPES_MAX]; /* innermost first */
};

struct place_cache {
	pthread_mutex_t lock;
	struct place **at; /* sets of ways */
	uint32_t *used;
	uint32_t clock, n;
};

/* A method's frames, without a line. */
enum { SUFFIX_COMPILED = 1, SUFFIX_INLINED, SUFFIX_INTERPRETED, SUFFIX_C1, SUFFIXES };
struct method_names {
	struct method method;
	uint32_t epoch;
	gpc_str function, file;
	gpc_frame frames[SUFFIXES]; /* 0: not made yet */
};

struct method_cache {
	pthread_mutex_t lock;
	struct method_names *at;
	uint32_t *used;
	uint32_t clock;
};

bool gpc_java_places_init(struct place_cache *c);
void gpc_java_places_deinit(struct place_cache *c);
/* Copies out. */
bool gpc_java_places_get(struct place_cache *c, uint64_t pc, bool is_return, struct place *ret);
void gpc_java_places_put(struct place_cache *c, const struct place *place);

bool gpc_java_methods_init(struct method_cache *c);
void gpc_java_methods_deinit(struct method_cache *c);
bool gpc_java_methods_get(struct method_cache *c, uint64_t method, struct method_names *ret);
void gpc_java_methods_put(struct method_cache *c, const struct method_names *names);

#endif
