/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <stdlib.h>

#include "text.h"

#define LINES_MAX 65536
#define CODE_SPAN (64 << 20) /* bytecode of one function, in bytes */

static size_t code_bytes(const struct py_layout *l)
{
	return l->code_size <= PY_CODE_MAX ? l->code_size : PY_CODE_MAX;
}

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * UINT64_C(0x9E3779B97F4A7C15);
	return h ^ h >> 29;
}

static uint64_t identity(const struct py_layout *l, const uint8_t *code)
{
	uint64_t h = mix(1, gpc_py_u64(code, l->ob_type));

	h = mix(h, gpc_py_u64(code, l->code_name));
	h = mix(h, gpc_py_u64(code, l->code_file));
	h = mix(h, gpc_py_u64(code, l->code_lines));
	h = mix(h, gpc_py_u32(code, l->code_firstline));
	return h | 1;
}

PY_HOT uint64_t gpc_py_code_identity(const struct py_memory *m, const struct py_layout *l,
				     uint64_t at)
{
	uint8_t code[PY_CODE_MAX];

	return gpc_py_read(m, at, code, code_bytes(l)) ? identity(l, code) : 0;
}

/* Its type is the one of code objects. */
static bool is_code(const struct py_memory *m, const struct py_layout *l, uint64_t type,
		    uint64_t *code_type)
{
	char name[PY_TEXT_MAX];
	uint64_t at;

	if (*code_type)
		return type == *code_type;
	if (!gpc_py_read_u64(m, type + l->type_name, &at) || gpc_py_text_c(m, at, name) < 0 ||
	    strcmp(name, "code") != 0)
		return false;
	*code_type = type;
	return true;
}

static enum py_first first_argument(const struct py_memory *m, const struct py_layout *l,
				    const uint8_t *code)
{
	char name[PY_TEXT_MAX];
	uint64_t names = gpc_py_u64(code, l->code_names), first;

	if (!gpc_py_u32(code, l->code_argcount) ||
	    !gpc_py_read_u64(m, names + l->tuple_items, &first) ||
	    gpc_py_text_str(m, l, first, name) < 0)
		return PY_FIRST_OTHER;
	return strcmp(name, "self") == 0  ? PY_FIRST_SELF
	       : strcmp(name, "cls") == 0 ? PY_FIRST_CLS
					  : PY_FIRST_OTHER;
}

/* What is read before its size is known. */
struct parts {
	char name[PY_TEXT_MAX], file[PY_TEXT_MAX];
	int name_n, file_n;
	uint64_t lines, lines_n;
};

static bool read_parts(const struct py_memory *m, const struct py_layout *l, const uint8_t *code,
		       struct parts *p)
{
	bool has_qualname = l->code_qualname != PY_NONE;
	uint16_t name = has_qualname ? l->code_qualname : l->code_name;

	p->name_n = gpc_py_text_str(m, l, gpc_py_u64(code, name), p->name);
	p->file_n = gpc_py_text_str(m, l, gpc_py_u64(code, l->code_file), p->file);
	p->lines = gpc_py_u64(code, l->code_lines);
	if (p->name_n <= 0 || p->file_n < 0 ||
	    !gpc_py_read_u64(m, p->lines + l->ob_size, &p->lines_n))
		return false;
	/* Lines are worth less than names: an odd table is left out. */
	if (p->lines_n > LINES_MAX)
		p->lines_n = 0;
	return true;
}

static struct py_code *make(const struct py_memory *m, const struct py_layout *l,
			    const struct parts *p)
{
	size_t text = (size_t)p->name_n + (size_t)p->file_n + 2;
	size_t bytes = sizeof(struct py_code) + text + p->lines_n;
	struct py_code *c = calloc(1, bytes);

	if (!c)
		return NULL;
	c->bytes = (uint32_t)bytes;
	c->name = (char *)(c + 1);
	c->file = c->name + p->name_n + 1;
	c->lines = (uint8_t *)c->file + p->file_n + 1;
	memcpy(c->name, p->name, (size_t)p->name_n);
	memcpy(c->file, p->file, (size_t)p->file_n);
	if (p->lines_n && gpc_py_read(m, p->lines + l->bytes_data, c->lines, p->lines_n))
		c->lines_n = (uint32_t)p->lines_n;
	return c;
}

gpc_status gpc_py_code_read(const struct py_memory *m, const struct py_layout *l, uint64_t at,
			    uint64_t *code_type, struct py_code **ret)
{
	uint8_t code[PY_CODE_MAX];
	struct parts parts;
	struct py_code *c;

	if (!gpc_py_read(m, at, code, code_bytes(l)) ||
	    !is_code(m, l, gpc_py_u64(code, l->ob_type), code_type) ||
	    !read_parts(m, l, code, &parts))
		return GPC_E_CORRUPT;
	c = make(m, l, &parts);
	if (!c)
		return GPC_E_NOMEM;
	c->at = at;
	c->identity = identity(l, code);
	c->first_line = (int32_t)gpc_py_u32(code, l->code_firstline);
	if (l->code_qualname == PY_NONE)
		c->first = first_argument(m, l, code);
	if (l->is_free_threaded && l->code_tlbc != PY_NONE)
		c->tlbc = gpc_py_u64(code, l->code_tlbc);
	*ret = c;
	return GPC_OK;
}

PY_HOT bool gpc_py_code_position(const struct py_memory *m, const struct py_layout *l,
				 const struct py_code *code, const struct py_frame *f, int32_t *ret)
{
	uint64_t begin = code->at + l->code_adaptive;
	int64_t at;

	if (l->lasti != PY_LASTI_POINTER) {
		*ret = f->at;
		return true;
	}
	/* _PyCodeArray of cpython/code.h (3.14): its length, then pointers. */
	if (f->tlbc && code->tlbc &&
	    !gpc_py_read_u64(m, code->tlbc + 8 + 8 * (uint64_t)f->tlbc, &begin))
		return false;
	at = (int64_t)(f->pointer - begin);
	if (at < -64 || at > CODE_SPAN)
		return false;
	*ret = (int32_t)at;
	return true;
}
