/* SPDX-License-Identifier: Apache-2.0 */
/* Where CPython keeps what a reader wants: one flat table of offsets, whatever
 * the version. 3.13 and later publish them (_Py_DebugOffsets at the start of
 * _PyRuntime); for older versions tables.c holds what tables.py took from the
 * headers of each. */
#ifndef GPC_PYTHON_LAYOUT_H
#define GPC_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PY_NONE              UINT16_MAX /* the version has no such member */
#define PY_VERSION(maj, min) ((uint16_t)((maj) << 8 | (min)))

/* What a frame's position counts from. */
enum py_lasti {
	PY_LASTI_BYTES,  /* to 3.9: f_lasti is an offset in bytes */
	PY_LASTI_UNITS,  /* 3.10: in instructions of two bytes */
	PY_LASTI_POINTER /* from 3.11 on: an address within co_code_adaptive */
};

enum py_lines {
	PY_LINES_OLD_LNOTAB, /* 2.7: lines only grow */
	PY_LINES_LNOTAB,     /* to 3.9: Objects/lnotab_notes.txt of 3.9 */
	PY_LINES_TABLE,      /* 3.10: the same file of 3.10 */
	PY_LINES_LOCATIONS,  /* from 3.11 on: Objects/locations.md of 3.11 */
};

struct py_layout {
	uint16_t version; /* PY_VERSION */
	bool is_debug;    /* built --with-pydebug, and laid out otherwise */
	bool is_free_threaded;
	uint8_t lasti, lines;

	/* _PyRuntimeState; to 3.6 the list is a variable of its own */
	uint16_t runtime_head;
	/* struct _gil_runtime_state: of all to 3.11, then pointed to by each interpreter.
	 * Published offsets are from the interpreter's beginning: gil_base is its own. */
	uint16_t runtime_gil, interp_gil, gil_base, gil_holder, gil_locked;
	/* PyInterpreterState */
	uint16_t interp_next, interp_threads, interp_sysdict;
	/* PyThreadState */
	uint16_t thread_next, thread_interp, thread_id, thread_native_id;
	uint16_t thread_frame; /* from 3.13 on current_frame */
	uint16_t thread_cframe, thread_chunk, thread_status;
	/* _PyCFrame, 3.11 and 3.12 */
	uint16_t cframe_frame, cframe_previous;
	/* PyFrameObject to 3.10, then _PyInterpreterFrame */
	uint16_t frame_size, frame_back, frame_code, frame_at, frame_locals;
	uint16_t frame_owner, frame_is_entry, frame_tlbc;
	uint8_t owner_c; /* this owner or more: not a frame of Python code */
	/* PyCodeObject */
	uint16_t code_size, code_argcount, code_flags, code_firstline;
	uint16_t code_file, code_name, code_qualname, code_lines, code_names;
	uint16_t code_adaptive, code_tlbc;
	/* PyObject, PyTypeObject, PyVarObject */
	uint16_t ob_type, ob_size, type_name, type_basicsize, type_members;
	/* bytes, tuple, str */
	uint16_t bytes_data, tuple_items;
	uint16_t str_length, str_state, str_ascii, str_compact, str_data;
	uint8_t str_kind_shift; /* of the kind in its state */
};

/* Generated; ends with version 0. */
extern const struct py_layout gpc_py_tables[];

/* Which number of _Py_DebugOffsets is what; generated too. */
#define PY_PUBLISHED_MAX 44
struct py_published {
	uint8_t version[2];
	uint16_t numbers, n;
	struct {
		uint16_t member; /* of struct py_layout */
		uint16_t number;
	} at[PY_PUBLISHED_MAX];
};
extern const struct py_published gpc_py_published[];

/* NULL: none for this version. */
const struct py_layout *gpc_py_layout_find(uint16_t version, bool is_debug);

/* From the bytes of _Py_DebugOffsets. False: they make no sense. */
#define PY_DEBUG_OFFSETS_MAX 1024
bool gpc_py_layout_parse(const uint8_t *bytes, size_t n, struct py_layout *ret);
/* Do all offsets lie within what is read at once? A process tells some of them: until
 * this was asked they may lead anywhere. */
#define PY_FRAME_MAX 512 /* bytes of a frame */
#define PY_CODE_MAX  512 /* of a PyCodeObject, before its bytecode */
#define PY_HEAD_MAX  64  /* of an object, before its contents */
#define PY_INNER_MAX 256 /* of a _PyInterpreterFrame, before its locals */
bool gpc_py_layout_is_sound(const struct py_layout *l);
/* Do the bytes begin as they do? */
bool gpc_py_layout_is_published(const uint8_t *bytes, size_t n);

#endif
