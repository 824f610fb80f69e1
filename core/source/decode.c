/* SPDX-License-Identifier: Apache-2.0 */
#include "source/decode.h"

#include <string.h>

#include "base/hot.h"

/* A reader over the record's bytes; going past the end sets bad and gives 0. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t u64(struct cursor *c)
{
	uint64_t v = 0;

	if (c->end - c->at < 8) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, 8);
	c->at += 8;
	return v;
}

static uint32_t u32(struct cursor *c)
{
	uint32_t v = 0;

	if (c->end - c->at < 4) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, 4);
	c->at += 4;
	return v;
}

/* A text that must end before the record does. */
static const char *text(struct cursor *c)
{
	const char *s = (const char *)c->at;
	size_t n = strnlen(s, (size_t)(c->end - c->at));

	if (c->at + n >= c->end) {
		c->bad = true;
		return "";
	}
	c->at += n + 1;
	return s;
}

static void skip(struct cursor *c, size_t n)
{
	if ((size_t)(c->end - c->at) < n)
		c->bad = true;
	else
		c->at += n;
}

static void decode_callchain(struct cursor *c, struct gpc_perf_sample *s)
{
	uint64_t n = u64(c);

	if (n > (uint64_t)(c->end - c->at) / 8) {
		c->bad = true;
		return;
	}
	s->ips = (const uint64_t *)(const void *)c->at;
	s->n_ips = (uint32_t)n;
	c->at += n * 8;
}

static void decode_regs(struct cursor *c, uint64_t mask, struct gpc_perf_sample *s)
{
	uint64_t abi = u64(c);
	size_t n = (size_t)__builtin_popcountll(mask);

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	if (n > (size_t)(c->end - c->at) / 8) {
		c->bad = true;
		return;
	}
	/* Of a 32-bit process the registers mean other things. */
	if (abi == PERF_SAMPLE_REGS_ABI_64) {
		s->regs = (const uint64_t *)(const void *)c->at;
		s->n_regs = (uint32_t)n;
	}
	c->at += n * 8;
}

/* The kernel reserves size bytes and says behind them how many it could fill. */
static void decode_stack(struct cursor *c, struct gpc_perf_sample *s)
{
	uint64_t size = u64(c), filled;
	const uint8_t *at = c->at;

	if (!size)
		return;
	if (size > (uint64_t)(c->end - c->at)) {
		c->bad = true;
		return;
	}
	c->at += size;
	filled = u64(c);
	if (filled > size)
		c->bad = true;
	s->stack = at;
	s->stack_bytes = c->bad ? 0 : (uint32_t)filled;
}

/* Fields between the callchain and the cgroup that may be there. */
static void decode_user_state(struct cursor *c, const struct gpc_perf_format *f,
			      struct gpc_perf_sample *s)
{
	if (f->sample_type & PERF_SAMPLE_RAW) {
		uint32_t n = u32(c);

		skip(c, n);
	}
	if (f->sample_type & PERF_SAMPLE_REGS_USER)
		decode_regs(c, f->regs_mask, s);
	if (f->sample_type & PERF_SAMPLE_STACK_USER)
		decode_stack(c, s);
}

static void decode_sample(struct cursor *c, const struct gpc_perf_format *f,
			  struct gpc_perf_record *r)
{
	uint64_t type = f->sample_type;
	struct gpc_perf_sample *s = &r->sample;

	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = u64(c);
	if (type & PERF_SAMPLE_IP)
		s->ip = u64(c);
	if (type & PERF_SAMPLE_TID) {
		r->pid = u32(c);
		r->tid = u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		r->time = u64(c);
	if (type & PERF_SAMPLE_ADDR)
		u64(c);
	if (type & PERF_SAMPLE_ID)
		r->id = u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		u64(c);
	if (type & PERF_SAMPLE_CPU) {
		r->cpu = u32(c);
		u32(c);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = u64(c);
	if (type & PERF_SAMPLE_CALLCHAIN)
		decode_callchain(c, s);
	decode_user_state(c, f, s);
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = u64(c);
}

/* Bytes of the sample_id trailer of records that are no samples. */
static size_t trailer_size(uint64_t type)
{
	size_t n = 0;

	n += type & PERF_SAMPLE_TID ? 8 : 0;
	n += type & PERF_SAMPLE_TIME ? 8 : 0;
	n += type & PERF_SAMPLE_ID ? 8 : 0;
	n += type & PERF_SAMPLE_STREAM_ID ? 8 : 0;
	n += type & PERF_SAMPLE_CPU ? 8 : 0;
	n += type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
	return n;
}

/* pid and tid of the trailer say who was running, which the record's own
 * fields mostly overrule. */
static void decode_trailer(struct cursor *c, uint64_t type, struct gpc_perf_record *r)
{
	if (type & PERF_SAMPLE_TID) {
		r->pid = u32(c);
		r->tid = u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		r->time = u64(c);
	if (type & PERF_SAMPLE_ID)
		r->id = u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		u64(c);
	if (type & PERF_SAMPLE_CPU) {
		r->cpu = u32(c);
		u32(c);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = u64(c);
}

static void decode_mmap2_file(struct cursor *c, struct gpc_perf_record *r)
{
	struct gpc_perf_mmap *m = &r->mmap;

	if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		uint8_t head[4];

		memset(head, 0, sizeof head);
		if (c->end - c->at >= 24) {
			memcpy(head, c->at, 4);
			memcpy(m->build_id, c->at + 4, sizeof m->build_id);
		}
		skip(c, 24);
		m->build_id_len = head[0] <= sizeof m->build_id ? head[0] : 0;
		return;
	}
	m->dev_major = u32(c);
	m->dev_minor = u32(c);
	m->inode = u64(c);
	m->generation = u64(c);
}

static void decode_mmap(struct cursor *c, struct gpc_perf_record *r)
{
	struct gpc_perf_mmap *m = &r->mmap;

	r->pid = u32(c);
	r->tid = u32(c);
	m->start = u64(c);
	m->length = u64(c);
	m->offset = u64(c);
	if (r->type == PERF_RECORD_MMAP2) {
		decode_mmap2_file(c, r);
		m->prot = u32(c);
		m->flags = u32(c);
	}
	m->path = text(c);
}

static void decode_task(struct cursor *c, struct gpc_perf_record *r)
{
	r->pid = u32(c);
	r->task.ppid = u32(c);
	r->tid = u32(c);
	r->task.ptid = u32(c);
}

static void decode_body(struct cursor *c, struct gpc_perf_record *r)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_mmap(c, r);
		break;
	case PERF_RECORD_COMM:
		r->pid = u32(c);
		r->tid = u32(c);
		r->comm = text(c);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		decode_task(c, r);
		break;
	case PERF_RECORD_LOST:
		u64(c);
		r->lost = u64(c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		r->lost = u64(c);
		break;
	case PERF_RECORD_CGROUP:
		r->cgroup.id = u64(c);
		r->cgroup.path = text(c);
		break;
	case PERF_RECORD_KSYMBOL:
		r->ksymbol.address = u64(c);
		r->ksymbol.length = u32(c);
		u32(c);
		r->ksymbol.name = text(c);
		break;
	default:
		break;
	}
}

GPC_HOT bool gpc_perf_decode(const void *record, size_t size, const struct gpc_perf_format *format,
			     struct gpc_perf_record *ret)
{
	struct perf_event_header head;
	struct cursor body = {.at = record};
	struct cursor trailer = {0};
	size_t n = 0;

	if (size < sizeof head)
		return false;
	memcpy(&head, record, sizeof head);
	if (head.size < sizeof head || head.size > size)
		return false;
	memset(ret, 0, sizeof *ret);
	ret->type = head.type;
	ret->misc = head.misc;
	ret->size = head.size;
	ret->pid = ret->tid = ret->cpu = UINT32_MAX;
	body.end = body.at + head.size;
	body.at += sizeof head;
	if (head.type == PERF_RECORD_SAMPLE) {
		decode_sample(&body, format, ret);
		return !body.bad;
	}
	n = format->sample_id_all ? trailer_size(format->sample_type) : 0;
	if (n > (size_t)(body.end - body.at))
		return false;
	trailer.at = body.end - n;
	trailer.end = body.end;
	body.end -= n;
	if (format->sample_id_all)
		decode_trailer(&trailer, format->sample_type, ret);
	decode_body(&body, ret);
	return !body.bad && !trailer.bad;
}

GPC_HOT bool gpc_perf_stack_extent(const void *record, const struct gpc_perf_sample *s,
				   uint32_t *from, uint32_t *to)
{
	uint64_t size;

	if (!s->stack)
		return false;
	memcpy(&size, s->stack - sizeof size, sizeof size);
	*from = (uint32_t)(s->stack - sizeof size - (const uint8_t *)record);
	*to = *from + (uint32_t)size + 2 * sizeof size;
	return true;
}

GPC_HOT size_t gpc_perf_time_offset(const struct perf_event_header *head,
				    const struct gpc_perf_format *format)
{
	uint64_t type = format->sample_type;
	size_t at = sizeof *head;

	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	if (head->type == PERF_RECORD_SAMPLE) {
		at += type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
		at += type & PERF_SAMPLE_IP ? 8 : 0;
		at += type & PERF_SAMPLE_TID ? 8 : 0;
		return at + 8 <= head->size ? at : 0;
	}
	if (!format->sample_id_all || head->size < sizeof *head + trailer_size(type))
		return 0;
	return head->size - trailer_size(type) + (type & PERF_SAMPLE_TID ? 8 : 0);
}
