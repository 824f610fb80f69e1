/* SPDX-License-Identifier: Apache-2.0 */
/* What an interpreter says of its own structures: the types of code objects and
 * frames list their members with offsets (PyMemberDef of structmember.h), for
 * Python's own use. A table that does not agree is not used as it is. */
#ifndef GPC_PYTHON_MEMBERS_H
#define GPC_PYTHON_MEMBERS_H

#include "layout.h"
#include "memory.h"

#define PY_MEMBERS_MAX 32
struct py_member {
	char name[24];
	uint64_t offset;
};
struct py_members {
	bool is_debug; /* objects have two words more before them: old debug builds */
	uint64_t code_size, frame_size; /* tp_basicsize */
	unsigned n_code, n_frame;
	struct py_member code[PY_MEMBERS_MAX], frame[PY_MEMBERS_MAX];
};

void gpc_py_members_read(const struct py_memory *m, const char *glob, struct py_members *ret);
/* Corrects offsets of l that the interpreter tells otherwise, and logs that. False, and
 * reported: they differ so much that nothing of the table can be believed. */
bool gpc_py_members_agree(const struct py_memory *m, const struct py_members *members,
			  struct py_layout *l);

#endif
