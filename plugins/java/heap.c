/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#define HEAP_BYTES_MAX  (UINT64_C(1) << 32)
#define SEGMENT_FREE    0xff
#define SEGMENT_WINDOW  256
#define SEGMENT_HOPS    64 /* windows: a blob of 4 MiB at 128 bytes a segment has some 128 hops */
#define BLOB_BYTES_MAX  (64u << 20)
#define FRAME_BYTES_MAX (1 << 20)

/* ---- the heaps --------------------------------------------------------------------- */

static bool read_heap(const struct jmem *m, const struct layout *l, uint64_t addr,
		      struct code_heap *ret)
{
	uint64_t memory = addr + (uint32_t)l->field[F_HEAP_MEMORY];
	uint64_t map = addr + (uint32_t)l->field[F_HEAP_SEGMAP];

	ret->header = addr;
	if (!gpc_java_read_u64(m, memory + (uint32_t)l->field[F_SPACE_LOW_BOUNDARY], &ret->from) ||
	    !gpc_java_read_u64(m, memory + (uint32_t)l->field[F_SPACE_HIGH_BOUNDARY], &ret->to) ||
	    !gpc_java_read_u64(m, memory + (uint32_t)l->field[F_SPACE_LOW], &ret->base) ||
	    !gpc_java_read_u64(m, map + (uint32_t)l->field[F_SPACE_LOW], &ret->segmap) ||
	    !gpc_java_read_u32(m, addr + (uint32_t)l->field[F_HEAP_LOG2_SEGMENT],
			       &ret->log2_segment))
		return false;
	return gpc_java_is_pointer(ret->from) && ret->from < ret->to &&
	       ret->to - ret->from <= HEAP_BYTES_MAX && gpc_java_is_pointer(ret->to - 1) &&
	       ret->base >= ret->from && ret->base < ret->to && gpc_java_is_pointer(ret->segmap) &&
	       ret->log2_segment >= 4 && ret->log2_segment <= 16;
}

static gpc_status read_list(const struct jmem *m, const struct layout *l, struct code_heaps *ret)
{
	uint64_t array, data, heap;
	uint32_t n;

	if (!gpc_java_has(l, F_ARRAY_LEN) || !gpc_java_has(l, F_ARRAY_DATA))
		return GPC_E_UNSUPPORTED;
	/* Not there yet in a JVM that has just begun. */
	if (!gpc_java_read_u64(m, l->at[S_HEAPS], &array) || !array)
		return GPC_E_BUSY;
	if (!gpc_java_read_u32(m, array + (uint32_t)l->field[F_ARRAY_LEN], &n) ||
	    !gpc_java_read_u64(m, array + (uint32_t)l->field[F_ARRAY_DATA], &data))
		return GPC_E_CORRUPT;
	if (!n)
		return GPC_E_BUSY;
	if (n > GPC_JAVA_HEAPS)
		return GPC_E_CORRUPT;
	for (uint32_t i = 0; i < n; i++, ret->n++)
		if (!gpc_java_read_u64(m, data + 8 * (uint64_t)i, &heap) ||
		    !read_heap(m, l, heap, &ret->at[i]))
			return GPC_E_CORRUPT;
	return GPC_OK;
}

gpc_status gpc_java_heaps_read(const struct jmem *m, const struct layout *l, struct code_heaps *ret)
{
	uint64_t heap;

	ret->n = 0;
	if (l->at[S_HEAPS])
		return read_list(m, l, ret);
	if (!gpc_java_read_u64(m, l->at[S_HEAP], &heap))
		return GPC_E_CORRUPT;
	if (!heap)
		return GPC_E_BUSY;
	if (!read_heap(m, l, heap, &ret->at[0]))
		return GPC_E_BUSY; /* it is made first and filled later */
	ret->n = 1;
	return GPC_OK;
}

static const struct code_heap *heap_of(const struct code_heaps *heaps, uint64_t pc)
{
	for (uint32_t i = 0; i < heaps->n; i++)
		if (pc >= heaps->at[i].from && pc < heaps->at[i].to)
			return &heaps->at[i];
	return NULL;
}

JAVA_HOT bool gpc_java_heaps_has(const struct code_heaps *heaps, uint64_t pc)
{
	return heap_of(heaps, pc) != NULL;
}

/* ---- the blob of an address ---------------------------------------------------------- */

/* Each segment has a byte in the map: how many segments to go back, 0 at a block's
 * first, 0xff where nothing is (CodeHeap::find_block_for). */
static bool find_segment(const struct jmem *m, const struct code_heap *h, uint64_t *segment)
{
	uint8_t map[SEGMENT_WINDOW];
	uint64_t at = *segment;

	for (int hops = 0; hops < SEGMENT_HOPS; hops++) {
		uint64_t first = at >= SEGMENT_WINDOW - 1 ? at - (SEGMENT_WINDOW - 1) : 0;

		if (!gpc_java_read(m, h->segmap + first, map, at - first + 1) ||
		    map[at - first] == SEGMENT_FREE)
			return false;
		while (map[at - first] && map[at - first] <= at - first)
			at -= map[at - first];
		if (!map[at - first]) {
			*segment = at;
			return true;
		}
	}
	return false;
}

uint64_t gpc_java_blob_find(const struct jmem *m, const struct layout *l,
			    const struct code_heaps *heaps, uint64_t pc)
{
	const struct code_heap *h = heap_of(heaps, pc);
	uint64_t segment, block;
	uint8_t used;

	if (!h || pc < h->base)
		return 0;
	segment = (pc - h->base) >> h->log2_segment;
	if (!find_segment(m, h, &segment))
		return 0;
	block = h->base + (segment << h->log2_segment);
	if (!gpc_java_read(m, block + (uint32_t)l->field[F_BLOCK_USED], &used, 1) || used != 1)
		return 0;
	return block + l->size[T_HEAP_BLOCK];
}

/* ---- what a blob is -------------------------------------------------------------------- */

/* Names are given where blobs are made, and are the same in all versions from 8 to
 * 27 in what is compared here. */
static enum blob_kind kind_of(const char *name)
{
	static const struct {
		const char *prefix;
		enum blob_kind kind;
	} known[] = {
		{"nmethod", BLOB_COMPILED},        {"native nmethod", BLOB_NATIVE},
		{"Interpreter", BLOB_INTERPRETER}, {"vtable", BLOB_FRAMELESS},
		{"I2C/C2I", BLOB_FRAMELESS},       {"MethodHandles", BLOB_FRAMELESS},
		{"StubRoutines", BLOB_STUBS},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(name, known[i].prefix, strlen(known[i].prefix)) == 0)
			return known[i].kind;
	return strstr(name, "(stub gen)") ? BLOB_STUBS : BLOB_RUNTIME;
}

/* OpenJDK code/codeBlob.hpp, CodeBlobKind, from 23 on. */
#define KIND_ADAPTER 3

/* What comes from an AOT cache has the name that it has there (27): adapters that of
 * their arguments, stubs that of their group (OpenJDK runtime/stubInfo.cpp). */
static bool is_adapter(const struct layout *l, const uint8_t *head)
{
	return gpc_java_has(l, F_BLOB_KIND) && head[l->field[F_BLOB_KIND]] == KIND_ADAPTER;
}

static uint64_t offset_of(const struct layout *l, enum vm_field f, const void *bytes)
{
	return (uint64_t)gpc_java_number(l, f, bytes);
}

/* Debugging information lies in the blob (8 to 22), or beside it (23 on). */
static bool read_places(const struct layout *l, const uint8_t *head, struct blob *b)
{
	uint64_t pcs = offset_of(l, F_NM_SCOPES_PCS_OFFSET, head), end;

	if (gpc_java_has(l, F_NM_IMMUTABLE_DATA)) {
		uint64_t base = gpc_java_u64(head, (uint32_t)l->field[F_NM_IMMUTABLE_DATA]);

		b->scopes = base + offset_of(l, F_NM_SCOPES_DATA_OFFSET, head);
		b->pcs = base + pcs;
		end = b->scopes;
	} else {
		b->scopes = gpc_java_has(l, F_NM_SCOPES_DATA_BEGIN)
				    ? gpc_java_u64(head, (uint32_t)l->field[F_NM_SCOPES_DATA_BEGIN])
				    : b->addr + offset_of(l, F_NM_SCOPES_DATA_OFFSET, head);
		b->pcs = b->addr + pcs;
		end = b->addr + offset_of(l, F_NM_DEPENDENCIES_OFFSET, head);
	}
	if (gpc_java_has(l, F_BLOB_MUTABLE_DATA) && !gpc_java_has(l, F_NM_METADATA_OFFSET))
		b->metadata = gpc_java_u64(head, (uint32_t)l->field[F_BLOB_MUTABLE_DATA]) +
			      offset_of(l, F_BLOB_RELOCATION_SIZE, head);
	else if (gpc_java_has(l, F_NM_IMMUTABLE_DATA)) /* 23, 24: from the data's begin on */
		b->metadata = b->addr + offset_of(l, F_BLOB_DATA_OFFSET, head) +
			      (uint16_t)offset_of(l, F_NM_METADATA_OFFSET, head);
	else
		b->metadata = b->addr + offset_of(l, F_NM_METADATA_OFFSET, head);
	if (end < b->pcs || end - b->pcs > BLOB_BYTES_MAX)
		return false;
	b->n_pcs = (uint32_t)((end - b->pcs) / 16);
	return true;
}

/* An address, or an offset from the blob. */
static uint64_t handler_of(const struct layout *l, const uint8_t *head, const struct blob *b,
			   enum vm_field begin, enum vm_field offset)
{
	uint64_t at = gpc_java_has(l, begin)    ? gpc_java_u64(head, (uint32_t)l->field[begin])
		      : gpc_java_has(l, offset) ? b->addr + offset_of(l, offset, head)
						: 0;

	return at >= b->code_begin && at < b->code_end ? at : 0;
}

static bool read_nmethod(const struct layout *l, const uint8_t *head, struct blob *b)
{
	b->method = gpc_java_u64(head, (uint32_t)l->field[F_NM_METHOD]);
	b->compile_id = (int32_t)gpc_java_number(l, F_NM_COMPILE_ID, head);
	b->comp_level = (int8_t)gpc_java_number(l, F_NM_COMP_LEVEL, head);
	b->orig_pc = (uint32_t)gpc_java_number(l, F_NM_ORIG_PC_OFFSET, head);
	b->entry = b->code_begin;
	if (gpc_java_has(l, F_NM_ENTRY))
		b->entry = gpc_java_u64(head, (uint32_t)l->field[F_NM_ENTRY]);
	else if (gpc_java_has(l, F_NM_ENTRY_OFFSET))
		b->entry += (uint16_t)gpc_java_number(l, F_NM_ENTRY_OFFSET, head);
	b->deopt[0] = handler_of(l, head, b, F_NM_DEOPT_BEGIN, F_NM_DEOPT_OFFSET);
	b->deopt[1] = handler_of(l, head, b, F_NM_DEOPT_MH_BEGIN, F_NM_DEOPT_MH_OFFSET);
	if (b->entry < b->code_begin || b->entry >= b->code_end)
		b->entry = b->code_begin;
	return gpc_java_is_pointer(b->method) && read_places(l, head, b);
}

static bool read_extent(const struct layout *l, const uint8_t *head, struct blob *b)
{
	uint32_t size = (uint32_t)gpc_java_number(l, F_BLOB_SIZE, head);

	if (gpc_java_has(l, F_BLOB_CODE_BEGIN)) {
		b->code_begin = gpc_java_u64(head, (uint32_t)l->field[F_BLOB_CODE_BEGIN]);
		b->code_end = gpc_java_u64(head, (uint32_t)l->field[F_BLOB_CODE_END]);
	} else {
		b->code_begin = b->addr + offset_of(l, F_BLOB_CODE_OFFSET, head);
		b->code_end = b->addr + offset_of(l, F_BLOB_DATA_OFFSET, head);
	}
	b->frame_bytes = (int32_t)gpc_java_number(l, F_BLOB_FRAME_SIZE, head);
	b->frame_complete = (int32_t)gpc_java_number(l, F_BLOB_FRAME_COMPLETE, head);
	if (size > BLOB_BYTES_MAX || b->code_begin < b->addr || b->code_end <= b->code_begin ||
	    b->code_end > b->addr + size)
		return false;
	if (b->frame_bytes < 0 || b->frame_bytes > FRAME_BYTES_MAX / 8)
		return false;
	b->frame_bytes *= 8;
	return true;
}

bool gpc_java_blob_read(const struct jmem *m, const struct layout *l, uint64_t addr,
			struct blob *ret)
{
	uint8_t head[GPC_JAVA_BLOB_MAX];
	uint32_t size = l->size[T_NMETHOD];

	memset(ret, 0, sizeof *ret);
	ret->addr = addr;
	/* At a heap's end there may be less than an nmethod's header: zeros then. */
	memset(head, 0, sizeof head);
	if (size > sizeof head - 8 || size < l->size[T_CODE_BLOB] ||
	    gpc_java_read_some(m, addr, head, size) < l->size[T_CODE_BLOB])
		return false;
	if (!gpc_java_read_text(m, gpc_java_u64(head, (uint32_t)l->field[F_BLOB_NAME]), ret->name,
				sizeof ret->name) ||
	    !read_extent(l, head, ret))
		return false;
	ret->kind = is_adapter(l, head) ? BLOB_FRAMELESS : kind_of(ret->name);
	if (ret->kind <= BLOB_NATIVE)
		return read_nmethod(l, head, ret);
	return true;
}

JAVA_HOT bool gpc_java_blob_is(const struct jmem *m, const struct layout *l, const struct blob *b)
{
	uint8_t head[GPC_JAVA_BLOB_MAX];
	uint32_t from = (uint32_t)l->field[F_NM_METHOD], id = (uint32_t)l->field[F_NM_COMPILE_ID];
	uint32_t first = from < id ? from : id, n = (from < id ? id : from) + 8 - first;

	if (b->kind > BLOB_NATIVE)
		return true; /* made at the start, and never freed */
	return n <= sizeof head && gpc_java_read(m, b->addr + first, head, n) &&
	       gpc_java_u64(head, from - first) == b->method &&
	       (int32_t)gpc_java_u32(head, id - first) == b->compile_id;
}
