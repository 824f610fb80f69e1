/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cleanup.h"
#include "decode/decode.h"
#include "decode/draft.h"
#include "encode/text.h"

#define APPID "appid:" /* and a blank */

struct reader {
	struct gpc_draft draft;
	struct gpc_u64map seen; /* hash of a stack -> how often it stood here */
	size_t line;
};

static void reader_deinit(struct reader *r)
{
	gpc_draft_deinit(&r->draft);
	gpc_u64map_deinit(&r->seen);
}

static gpc_status expected(const char *what, struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CORRUPT, "expected %s", what);
}

/* Takes the field up to the next ';'; false when there is none. */
static bool next_field(struct gpc_draft_text *rest, struct gpc_draft_text *ret)
{
	const char *end;

	if (!rest->at)
		return false;
	end = memchr(rest->at, ';', rest->n);
	*ret = (struct gpc_draft_text){rest->at, end ? (size_t)(end - rest->at) : rest->n};
	rest->n -= ret->n + (end != NULL);
	rest->at = end ? end + 1 : NULL;
	return true;
}

static bool read_number(struct gpc_draft_text text, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < text.n; i++)
		if (text.at[i] < '0' || text.at[i] > '9' ||
		    __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text.at[i] - '0'), &value))
			return false;
	*ret = value;
	return text.n;
}

/* What is written like the label is the label, whatever stands for its blanks here. */
static bool skip_label(struct gpc_draft_text *field)
{
	size_t n = gpc_blanks(field->at, field->n), blanks;

	if (field->n - n <= strlen(APPID) || memcmp(field->at + n, APPID, strlen(APPID)) != 0)
		return false;
	n += strlen(APPID);
	blanks = gpc_blanks(field->at + n, field->n - n);
	field->at += n + blanks;
	field->n -= n + blanks;
	return blanks > 0;
}

/* A blank one is no appid, since it would not be written as one. */
static gpc_status read_appid(struct gpc_draft *d, struct gpc_draft_text *rest, gpc_str *ret,
			     struct gpc_err *err)
{
	struct gpc_draft_text after = *rest, field;
	gpc_str appid;

	if (!rest->at)
		return GPC_OK;
	next_field(&after, &field);
	if (!after.at || !skip_label(&field))
		return GPC_OK; /* the only frame, or another */
	gpc_try(gpc_draft_str(d, field, &appid, err));
	if (gpc_is_blank(gpc_names_text(d->names, appid, NULL)))
		return GPC_OK;
	*ret = appid;
	*rest = after;
	return GPC_OK;
}

static gpc_status read_prefix(struct reader *r, struct gpc_draft_text *rest,
			      struct gpc_draft_process *ret, struct gpc_err *err)
{
	struct gpc_draft *d = &r->draft;
	struct gpc_draft_text field;
	uint64_t index = 0;

	if (d->has_index && (!next_field(rest, &field) || !read_number(field, &index) ||
			     index > UINT32_MAX || !rest->at))
		return expected("the index of application metadata and ';'", err);
	ret->metadata = (uint32_t)index;
	if (d->has_container) {
		next_field(rest, &field);
		if (!rest->at)
			return expected("'container;process;frames count'", err);
		gpc_try(gpc_draft_str(d, field, &ret->container, err));
	}
	next_field(rest, &field);
	gpc_try(gpc_draft_str(d, field, &ret->comm, err));
	return read_appid(d, rest, &ret->appid, err);
}

/* The frames come root first. */
static gpc_status read_frames(struct gpc_draft *d, struct gpc_draft_text rest, struct gpc_err *err)
{
	struct gpc_draft_text field;

	d->stack.n = 0;
	while (next_field(&rest, &field)) {
		struct gpc_frame_entry entry = {0};
		gpc_frame frame;

		gpc_try(gpc_draft_frame(d, field, &entry, &frame, err));
		gpc_try(gpc_draft_push(d, frame, err));
	}
	for (size_t i = 0; i < d->stack.n / 2; i++) {
		gpc_frame swapped = d->stack.at[i];

		d->stack.at[i] = d->stack.at[d->stack.n - 1 - i];
		d->stack.at[d->stack.n - 1 - i] = swapped;
	}
	return GPC_OK;
}

/* How many lines with this stack came before: each is of another process. */
static gpc_status count_twins(struct reader *r, struct gpc_draft_text stack, uint64_t *ret,
			      struct gpc_err *err)
{
	uint64_t hash = gpc_hash(stack.at, stack.n), twins = 0;

	gpc_u64map_get(&r->seen, hash, &twins);
	if (!gpc_u64map_set(&r->seen, hash, twins + 1))
		return gpc_err_nomem(err);
	*ret = twins;
	return GPC_OK;
}

static gpc_status read_stack(struct reader *r, struct gpc_draft_text line, struct gpc_err *err)
{
	const char *space = memrchr(line.at, ' ', line.n);
	struct gpc_draft_process process = {0};
	struct gpc_draft_text stack = line, count;
	uint64_t value, id;

	if (!space)
		return expected("a stack, a space and a count", err);
	stack.n = (size_t)(space - line.at);
	count = (struct gpc_draft_text){space + 1, line.n - stack.n - 1};
	if (!read_number(count, &value) || value > INT64_MAX)
		return expected("a count after the last space", err);
	gpc_try(count_twins(r, stack, &process.twin, err));
	while (stack.n && *stack.at == ' ') {
		stack.at++;
		stack.n--;
	}
	gpc_try(read_prefix(r, &stack, &process, err));
	gpc_try(read_frames(&r->draft, stack, err));
	gpc_try(gpc_draft_process(&r->draft, &process, &id, err));
	return gpc_draft_row(&r->draft, 0, id, value, err);
}

static gpc_status read_header(struct reader *r, struct gpc_draft_text line, struct gpc_err *err)
{
	gpc_try(gpc_draft_header(&r->draft, (struct gpc_draft_text){line.at + 2, line.n - 2}, err));
	return gpc_draft_header_event(&r->draft, err);
}

static gpc_status read_line(struct reader *r, struct gpc_draft_text line, struct gpc_err *err)
{
	if (line.n && line.at[line.n - 1] == '\r')
		line.n--;
	if (r->line == 1 && line.n > 2 && memcmp(line.at, "# ", 2) == 0)
		return read_header(r, line, err);
	if (!line.n || *line.at == '#')
		return GPC_OK;
	if (!r->draft.events.n)
		gpc_try(gpc_draft_header_event(&r->draft, err));
	return read_stack(r, line, err);
}

gpc_status gpc_decode_col(const char *text, size_t n, struct gpc_profile **ret, struct gpc_err *err)
{
	autocall(reader_deinit) struct reader r = {0};

	gpc_try(gpc_draft_init(&r.draft, err));
	r.draft.has_container = false; /* plain folded stacks, until a header says otherwise */
	while (n) {
		const char *end = memchr(text, '\n', n);
		struct gpc_draft_text line = {text, end ? (size_t)(end - text) : n};

		r.line++;
		if (read_line(&r, line, err) < 0)
			return gpc_err_prefix(err, "line %zu", r.line);
		n -= line.n + (end != NULL);
		text += line.n + (end != NULL);
	}
	if (!r.draft.events.n)
		gpc_try(gpc_draft_header_event(&r.draft, err));
	return gpc_draft_finish(&r.draft, ret, err);
}
