/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <string.h>

struct reader {
	const uint8_t *at;
	uint32_t n;
};

/* Do these bytes come next? */
static bool has(const struct reader *r, const char *bytes, uint32_t n)
{
	return r->n >= n && memcmp(r->at, bytes, n) == 0;
}

static int32_t imm32(const struct reader *r, uint32_t at)
{
	int32_t v;

	memcpy(&v, r->at + at, sizeof v);
	return v;
}

static void skip(struct reader *r, uint32_t n)
{
	r->at += n;
	r->n -= n;
}

/* ---- prologue ---------------------------------------------------------------------- */

/* The length of an instruction that changes neither sp nor fp; 0: not known. */
static uint32_t neutral(const struct reader *r)
{
	/* mov [rsp+disp32], eax: touches the stack's end */
	if (has(r, "\x89\x84\x24", 3))
		return 7;
	if (has(r, "\x48\x8b\xec", 3) || has(r, "\x48\x89\xe5", 3)) /* mov rbp, rsp */
		return 3;
	if (has(r, "\x48\x8d\x6c\x24", 4)) /* lea rbp, [rsp+disp8] */
		return 5;
	if (has(r, "\x48\x8d\xac\x24", 4)) /* lea rbp, [rsp+disp32] */
		return 8;
	if (has(r, "\x48\x83\xc5", 3) || has(r, "\x48\x83\xed", 3)) /* add/sub rbp, imm8 */
		return 4;
	if (has(r, "\x48\x81\xc5", 3) || has(r, "\x48\x81\xed", 3)) /* add/sub rbp, imm32 */
		return 7;
	/* nops */
	if (has(r, "\x66\x66\x90", 3))
		return 3;
	if (has(r, "\x66\x90", 2))
		return 2;
	if (has(r, "\x90", 1))
		return 1;
	if (has(r, "\x0f\x1f\x00", 3))
		return 3;
	if (has(r, "\x0f\x1f\x40", 3))
		return 4;
	if (has(r, "\x0f\x1f\x44", 3))
		return 5;
	if (has(r, "\x66\x0f\x1f\x44", 4))
		return 6;
	if (has(r, "\x0f\x1f\x80", 3))
		return 7;
	if (has(r, "\x0f\x1f\x84", 3))
		return 8;
	if (has(r, "\x66\x0f\x1f\x84", 4))
		return 9;
	return 0;
}

/* An instruction that changes sp, or saves fp; its length, 0: none such. */
static uint32_t framing(const struct reader *r, struct frame_shape *s)
{
	int32_t n;

	if (has(r, "\x55", 1)) { /* push rbp */
		s->ra += 8;
		s->fp = 0;
		return 1;
	}
	if (has(r, "\x48\x83\xec", 3) && r->n >= 4) /* sub rsp, imm8 */
		n = (int8_t)r->at[3];
	else if (has(r, "\x48\x81\xec", 3) && r->n >= 7) /* sub rsp, imm32 */
		n = imm32(r, 3);
	else if (has(r, "\x48\x89\x6c\x24", 4) && r->n >= 5) { /* mov [rsp+disp8], rbp */
		s->fp = (int8_t)r->at[4];
		return 5;
	} else if (has(r, "\x48\x89\xac\x24", 4) && r->n >= 8) { /* mov [rsp+disp32], rbp */
		s->fp = imm32(r, 4);
		return 8;
	} else {
		return 0;
	}
	if (n < 0 || n > 1 << 20)
		return 0;
	s->ra += n;
	if (s->fp >= 0)
		s->fp += n;
	return r->at[1] == 0x83 ? 4 : 7;
}

bool gpc_java_code_prologue(const uint8_t *code, uint32_t n, uint32_t pc, struct frame_shape *ret)
{
	struct reader r = {code, n};
	struct frame_shape s = {0, -1};
	uint32_t at = 0;

	while (at < pc) {
		struct frame_shape after = s;
		uint32_t len = neutral(&r);

		if (!len)
			len = framing(&r, &after);
		if (!len || len > r.n)
			return false;
		at += len;
		if (at > pc)
			return false; /* pc is inside an instruction */
		s = after;
		skip(&r, len);
	}
	*ret = s;
	return true;
}

/* ---- epilogue ------------------------------------------------------------------------- */

/* What stands between the frame's end and the return: looking whether a safepoint
 * is wanted, in each version's way. */
static uint32_t poll(const struct reader *r)
{
	if (has(r, "\x49\x3b\x67", 3)) /* cmp rsp, [r15+disp8] */
		return 4;
	if (has(r, "\x49\x3b\xa7", 3)) /* cmp rsp, [r15+disp32] */
		return 7;
	if (has(r, "\x0f\x87", 2)) /* ja */
		return 6;
	if (has(r, "\x77", 1))
		return 2;
	if (has(r, "\x4d\x8b\x97", 3)) /* mov r10, [r15+disp32] */
		return 7;
	if (has(r, "\x4d\x8b\x57", 3)) /* mov r10, [r15+disp8] */
		return 4;
	if (has(r, "\x41\x85\x02", 3)) /* test [r10], eax */
		return 3;
	if (has(r, "\x85\x05", 2)) /* test [rip+disp32], eax */
		return 6;
	if (has(r, "\xc5\xf8\x77", 3)) /* vzeroupper */
		return 3;
	return 0;
}

bool gpc_java_code_epilogue(const uint8_t *code, uint32_t n, struct frame_shape *ret)
{
	struct reader r = {code, n};
	struct frame_shape s = {0, -1};

	if (has(&r, "\x5d", 1)) { /* pop rbp */
		s = (struct frame_shape){8, 0};
		skip(&r, 1);
	}
	for (int i = 0; i < 6; i++) {
		uint32_t len = poll(&r);

		if (!len || len > r.n)
			break;
		skip(&r, len);
	}
	if (!has(&r, "\xc3", 1) && !has(&r, "\xc2", 1))
		return false;
	*ret = s;
	return true;
}

/* ---- calls ------------------------------------------------------------------------------ */

bool gpc_java_code_is_call(const uint8_t *code, uint32_t n)
{
	const uint8_t *end = code + n;

	if (n >= 5 && end[-5] == 0xe8) /* call rel32 */
		return true;
	/* call r/m64, by its length */
	for (uint32_t len = 2; len <= 7 && len <= n; len++)
		if (end[-(int)len] == 0xff && (end[-(int)len + 1] & 0x38) == 0x10)
			return true;
	return false;
}

/* A look whether a safepoint is wanted: test [reg], eax or test [rip+disp32], eax (the
 * loops of all versions), or cmp rsp, [r15+disp] (returns). */
bool gpc_java_code_is_poll(const uint8_t *code, uint32_t n)
{
	struct reader r = {code, n};

	if (has(&r, "\x49\x3b\x67", 3) || has(&r, "\x49\x3b\xa7", 3))
		return true;
	if (has(&r, "\x41", 1))
		skip(&r, 1);
	/* eax, without an index */
	return r.n >= 2 && r.at[0] == 0x85 && (r.at[1] & 0x38) == 0 && r.at[1] >> 6 <= 1 &&
	       (r.at[1] & 7) != 4;
}
