/* SPDX-License-Identifier: Apache-2.0 */
#include "members.h"

#include <gpc/log.h>

/* PyTypeObject (Include/object.h to 3.7, cpython/object.h): the same in every
 * version but for the two words of old debug builds. */
#define TYPE_NAME      24
#define TYPE_BASICSIZE 32
#define TYPE_MEMBERS   240
#define DEBUG_HEAD     16
#define MEMBER_BYTES   40 /* PyMemberDef: name, type, offset, flags, doc */
#define MEMBER_OFFSET  16

struct type {
	uint64_t basicsize, members;
	bool is_debug;
};

static bool read_type(const struct py_memory *m, uint64_t at, const char *name, struct type *ret)
{
	for (unsigned shift = 0; shift <= DEBUG_HEAD; shift += DEBUG_HEAD) {
		char text[16];
		uint64_t pointer;

		if (!gpc_py_read_u64(m, at + TYPE_NAME + shift, &pointer) ||
		    gpc_py_read_some(m, pointer, text, strlen(name) + 1) < strlen(name) + 1 ||
		    memcmp(text, name, strlen(name) + 1) != 0)
			continue;
		ret->is_debug = shift > 0;
		return gpc_py_read_u64(m, at + TYPE_BASICSIZE + shift, &ret->basicsize) &&
		       gpc_py_read_u64(m, at + TYPE_MEMBERS + shift, &ret->members);
	}
	return false;
}

static unsigned read_members(const struct py_memory *m, uint64_t at, struct py_member *ret)
{
	unsigned n = 0;

	for (; n < PY_MEMBERS_MAX; n++, at += MEMBER_BYTES) {
		uint64_t name;
		size_t got;

		if (!gpc_py_read_u64(m, at, &name) || !name ||
		    !gpc_py_read_u64(m, at + MEMBER_OFFSET, &ret[n].offset))
			break;
		got = gpc_py_read_some(m, name, ret[n].name, sizeof ret[n].name);
		if (!got)
			break;
		ret[n].name[got - 1] = '\0';
	}
	return n;
}

void gpc_py_members_read(const struct py_memory *m, const char *glob, struct py_members *ret)
{
	struct type type = {0};
	uint64_t at;

	memset(ret, 0, sizeof *ret);
	if (m->host->find_symbol(m->host, m->target, glob, "PyCode_Type", &at) == GPC_OK &&
	    read_type(m, at, "code", &type)) {
		ret->code_size = type.basicsize;
		ret->n_code = read_members(m, type.members, ret->code);
		ret->is_debug = type.is_debug;
	}
	if (m->host->find_symbol(m->host, m->target, glob, "PyFrame_Type", &at) == GPC_OK &&
	    read_type(m, at, "frame", &type)) {
		ret->frame_size = type.basicsize;
		ret->n_frame = read_members(m, type.members, ret->frame);
	}
}

/* ---- comparing --------------------------------------------------------------------------- */

struct pair {
	const char *name;
	uint16_t member; /* of struct py_layout */
};
static const struct pair code_pairs[] = {
	{"co_argcount", offsetof(struct py_layout, code_argcount)},
	{"co_firstlineno", offsetof(struct py_layout, code_firstline)},
	{"co_filename", offsetof(struct py_layout, code_file)},
	{"co_name", offsetof(struct py_layout, code_name)},
	{"co_qualname", offsetof(struct py_layout, code_qualname)},
	{"co_linetable", offsetof(struct py_layout, code_lines)},
	{"co_lnotab", offsetof(struct py_layout, code_lines)},
	{"co_varnames", offsetof(struct py_layout, code_names)},
};
static const struct pair frame_pairs[] = {
	{"f_back", offsetof(struct py_layout, frame_back)},
	{"f_code", offsetof(struct py_layout, frame_code)},
	{"f_lasti", offsetof(struct py_layout, frame_at)},
};

static const struct py_member *find(const struct py_member *members, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(members[i].name, name) == 0)
			return &members[i];
	return NULL;
}

struct verdict {
	unsigned same, other;
};

static void compare(const struct py_member *members, unsigned n, const struct pair *p,
		    struct py_layout *l, struct verdict *v)
{
	const struct py_member *told = find(members, n, p->name);
	uint16_t *mine = (uint16_t *)(void *)((char *)l + p->member);

	if (!told)
		return;
	if (told->offset == *mine) {
		v->same++;
	} else if (told->offset && told->offset < 4096) {
		v->other++;
		*mine = (uint16_t)told->offset;
	}
}

bool gpc_py_members_agree(const struct py_memory *m, const struct py_members *members,
			  struct py_layout *l)
{
	struct verdict v = {0};

	for (unsigned i = 0; i < sizeof code_pairs / sizeof *code_pairs; i++)
		compare(members->code, members->n_code, &code_pairs[i], l, &v);
	/* From 3.11 on frame objects are not what is executed. */
	for (unsigned i = 0; l->version < PY_VERSION(3, 11) && i < 3; i++)
		compare(members->frame, members->n_frame, &frame_pairs[i], l, &v);
	if (v.other > v.same || !gpc_py_layout_is_sound(l)) {
		gpc_host_reportf(m->host, m->target, GPC_E_CORRUPT,
				 "Python: its code objects are not laid out as this version knows "
				 "them (%u of %u members are elsewhere)",
				 v.other, v.other + v.same);
		return false;
	}
	if (v.other)
		gpc_host_logf(m->host, GPC_INFO,
			      "Python of process %d: %u members of its structures are elsewhere "
			      "than in the table of its version; taken as it says",
			      m->target->pid, v.other);
	return true;
}
