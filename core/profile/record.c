/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/record.h"

#include <string.h>

/* The record at offset at is n bytes or more before the batch ends. */
static gpc_status check_head(const struct gpc_record *head, size_t left, size_t at,
			     struct gpc_err *err)
{
	if (head->size < sizeof *head || head->size % 8)
		return gpc_err_set(err, GPC_E_CORRUPT, "record at %zu: bad size %u", at,
				   head->size);
	if (head->size > left)
		return gpc_err_set(err, GPC_E_CORRUPT, "record at %zu: size %u, only %zu left", at,
				   head->size, left);
	return GPC_OK;
}

static gpc_status check_sample(const struct gpc_sample *s, uint32_t size, size_t at,
			       struct gpc_err *err)
{
	if (s->frames_at < sizeof *s || s->frames_at % 8 || s->frames_at > size)
		return gpc_err_set(err, GPC_E_CORRUPT, "sample at %zu: frames at %u of %u", at,
				   s->frames_at, size);
	if (s->n_frames > (size - s->frames_at) / sizeof(gpc_frame))
		return gpc_err_set(err, GPC_E_CORRUPT, "sample at %zu: %u frames in %u bytes", at,
				   s->n_frames, size - s->frames_at);
	return GPC_OK;
}

/* Works on a copy of the head: its writer may still have the memory mapped and
 * change it after the check. */
static gpc_status visit_sample(const uint8_t *record, uint32_t size, size_t at,
			       const struct gpc_record_visitor *v, struct gpc_err *err)
{
	struct gpc_sample s;

	if (size < sizeof s)
		return gpc_err_set(err, GPC_E_CORRUPT, "sample at %zu: only %u bytes", at, size);
	memcpy(&s, record, sizeof s);
	s.head.size = size;
	gpc_try(check_sample(&s, size, at, err));
	v->sample(v->ctx, &s, (const gpc_frame *)(const void *)(record + s.frames_at));
	return GPC_OK;
}

gpc_status gpc_records_walk(const uint8_t *records, size_t n, const struct gpc_record_visitor *v,
			    struct gpc_err *err)
{
	struct gpc_record head;

	if ((uintptr_t)records % 8)
		return gpc_err_set(err, GPC_E_CORRUPT, "batch is not 8-aligned");
	for (size_t at = 0; at < n; at += head.size) {
		if (n - at < sizeof head)
			return gpc_err_set(err, GPC_E_CORRUPT, "record at %zu: only %zu bytes", at,
					   n - at);
		memcpy(&head, records + at, sizeof head);
		gpc_try(check_head(&head, n - at, at, err));
		if (head.type == GPC_REC_SAMPLE)
			gpc_try(visit_sample(records + at, head.size, at, v, err));
	}
	return GPC_OK;
}
