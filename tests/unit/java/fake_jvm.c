/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_jvm.h"

#define ENTRIES 160

/* ---- memory ------------------------------------------------------------------------ */

void *fake_at(struct fake_jvm *j, uint64_t addr)
{
	return j->bytes + (addr - FAKE_BASE);
}

void fake_put64(struct fake_jvm *j, uint64_t addr, uint64_t value)
{
	memcpy(fake_at(j, addr), &value, 8);
}

void fake_put32(struct fake_jvm *j, uint64_t addr, uint32_t value)
{
	memcpy(fake_at(j, addr), &value, 4);
}

void fake_put16(struct fake_jvm *j, uint64_t addr, uint16_t value)
{
	memcpy(fake_at(j, addr), &value, 2);
}

uint64_t fake_make(struct fake_jvm *j, uint64_t n)
{
	uint64_t at = j->next;

	j->next += (n + 7) & ~UINT64_C(7);
	return at;
}

static uint64_t text(struct fake_jvm *j, const char *s)
{
	uint64_t at = fake_make(j, strlen(s) + 1);

	memcpy(fake_at(j, at), s, strlen(s) + 1);
	return at;
}

static int64_t read_mem(const struct gpc_host *h, const struct gpc_target *t, uint64_t addr,
			void *buf, uint64_t len)
{
	struct fake_jvm *j = h->impl;
	uint64_t at = addr - FAKE_BASE;

	(void)t;
	__atomic_fetch_add(&j->reads, 1, __ATOMIC_RELAXED);
	if (addr < FAKE_BASE || at >= FAKE_BYTES)
		return GPC_E_CORRUPT;
	if (len > FAKE_BYTES - at)
		len = FAKE_BYTES - at;
	memcpy(buf, j->bytes + at, len);
	return (int64_t)len;
}

static gpc_status find_symbol(const struct gpc_host *h, const struct gpc_target *t,
			      const char *glob, const char *symbol, uint64_t *addr)
{
	struct fake_jvm *j = h->impl;

	(void)t;
	if (!glob || strcmp(glob, "libjvm.so*") != 0)
		return GPC_E_GONE;
	for (uint32_t i = 0; i < j->n_symbols; i++)
		if (strcmp(j->symbols[i].name, symbol) == 0) {
			*addr = j->symbols[i].at;
			return GPC_OK;
		}
	return GPC_E_GONE;
}

static uint64_t now_ns(const struct gpc_host *h)
{
	return ((struct fake_jvm *)h->impl)->now;
}

static void variable(struct fake_jvm *j, const char *name, uint64_t value)
{
	uint64_t at = fake_make(j, 8);

	fake_put64(j, at, value);
	j->symbols[j->n_symbols++] = (struct fake_symbol){name, at};
}

/* ---- tables ------------------------------------------------------------------------- */

/* An entry of 40 bytes: static 0, type 8, name 16, text 24, offset or address 32. */
void fake_entry(struct fake_jvm *j, const char *type, const char *name, const char *kind,
		uint64_t value, bool is_static)
{
	uint64_t at = j->structs + 56 * (uint64_t)j->n_structs++;

	fake_put32(j, at, is_static);
	fake_put64(j, at + 8, text(j, type));
	fake_put64(j, at + 16, text(j, name));
	fake_put64(j, at + 24, text(j, kind));
	fake_put64(j, at + (is_static ? 40 : 32), value);
}

static void size_of(struct fake_jvm *j, const char *type, uint64_t size)
{
	uint64_t at = j->types + 16 * (uint64_t)j->n_types++;

	fake_put64(j, at, text(j, type));
	fake_put64(j, at + 8, size);
}

static const struct {
	const char *type, *name, *kind;
	uint32_t offset;
} members[] = {
	{"GrowableArrayBase", "_len", "int", 4},
	{"GrowableArray<int>", "_data", "int*", 16},
	{"CodeHeap", "_memory", "VirtualSpace", 8},
	{"CodeHeap", "_segmap", "VirtualSpace", 48},
	{"CodeHeap", "_log2_segment_size", "int", 96},
	{"VirtualSpace", "_low_boundary", "char*", 0},
	{"VirtualSpace", "_high_boundary", "char*", 8},
	{"VirtualSpace", "_low", "char*", 16},
	{"VirtualSpace", "_high", "char*", 24},
	{"HeapBlock::Header", "_used", "bool", 8},
	{"CodeBlob", "_name", "const char*", 8},
	{"CodeBlob", "_size", "int", 16},
	{"CodeBlob", "_frame_complete_offset", "int16_t", 20},
	{"CodeBlob", "_data_offset", "int", 24},
	{"CodeBlob", "_frame_size", "int", 28},
	{"CodeBlob", "_code_begin", "address", 32},
	{"CodeBlob", "_code_end", "address", 40},
	{"CompiledMethod", "_method", "Method*", 56},
	{"CompiledMethod", "_scopes_data_begin", "address", 64},
	{"CompiledMethod", "_deopt_handler_begin", "address", 72},
	{"nmethod", "_metadata_offset", "int", 80},
	{"nmethod", "_scopes_pcs_offset", "int", 84},
	{"nmethod", "_dependencies_offset", "int", 88},
	{"nmethod", "_orig_pc_offset", "int", 92},
	{"nmethod", "_compile_id", "int", 96},
	{"nmethod", "_comp_level", "CompLevel", 100},
	{"nmethod", "_verified_entry_point", "address", 104},
	{"PcDesc", "_pc_offset", "int", 0},
	{"PcDesc", "_scope_decode_offset", "int", 4},
	{"Method", "_constMethod", "ConstMethod*", 8},
	{"Method", "_access_flags", "AccessFlags", 16},
	{"ConstMethod", "_constants", "ConstantPool*", 0},
	{"ConstMethod", "_flags", "u2", 8},
	{"ConstMethod", "_code_size", "u2", 10},
	{"ConstMethod", "_name_index", "u2", 12},
	{"ConstMethod", "_signature_index", "u2", 14},
	{"ConstantPool", "_pool_holder", "InstanceKlass*", 0},
	{"ConstantPool", "_source_file_name_index", "u2", 8},
	{"Klass", "_name", "Symbol*", 24},
	{"Symbol", "_length", "u2", 4},
	{"Symbol", "_body", "", 6},
	{"JavaThread", "_osthread", "OSThread*", 8},
	{"JavaThread", "_anchor", "JavaFrameAnchor", 16},
	{"OSThread", "_thread_id", "pid_t", 4},
	{"JavaFrameAnchor", "_last_Java_sp", "intptr_t*", 0},
	{"JavaFrameAnchor", "_last_Java_pc", "address", 8},
	{"JavaFrameAnchor", "_last_Java_fp", "intptr_t*", 16},
	{"JavaCallWrapper", "_anchor", "JavaFrameAnchor", 8},
	{"ThreadsList", "_length", "const uint", 0},
	{"ThreadsList", "_threads", "JavaThread**", 8},
};

static void make_tables(struct fake_jvm *j)
{
	static const char *const columns[] = {"gHotSpotVMStructEntryIsStaticOffset",
					      "gHotSpotVMStructEntryTypeNameOffset",
					      "gHotSpotVMStructEntryFieldNameOffset",
					      "gHotSpotVMStructEntryTypeStringOffset",
					      "gHotSpotVMStructEntryOffsetOffset",
					      "gHotSpotVMStructEntryAddressOffset"};

	j->structs = fake_make(j, 56 * ENTRIES);
	j->types = fake_make(j, 16 * 16);
	j->constants = fake_make(j, 16 * 16);
	for (uint32_t i = 0; i < 6; i++)
		variable(j, columns[i], 8 * i);
	variable(j, "gHotSpotVMStructs", j->structs);
	variable(j, "gHotSpotVMStructEntryArrayStride", 56);
	variable(j, "gHotSpotVMTypes", j->types);
	variable(j, "gHotSpotVMTypeEntryArrayStride", 16);
	variable(j, "gHotSpotVMTypeEntryTypeNameOffset", 0);
	variable(j, "gHotSpotVMTypeEntrySizeOffset", 8);
	variable(j, "gHotSpotVMIntConstants", j->constants);
	variable(j, "gHotSpotVMIntConstantEntryArrayStride", 16);
	variable(j, "gHotSpotVMIntConstantEntryNameOffset", 0);
	variable(j, "gHotSpotVMIntConstantEntryValueOffset", 8);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		fake_entry(j, members[i].type, members[i].name, members[i].kind, members[i].offset,
			   false);
	size_of(j, "HeapBlock", 16);
	size_of(j, "ConstMethod", 16);
	size_of(j, "ConstantPool", 16);
	size_of(j, "CodeBlob", 56);
	size_of(j, "Method", 24);
	size_of(j, "nmethod", 112);
	fake_put64(j, j->constants, text(j, "ConstMethod::_has_linenumber_table"));
	fake_put32(j, j->constants + 8, 1);
}

/* ---- methods ---------------------------------------------------------------------------- */

uint64_t fake_symbol(struct fake_jvm *j, const char *s)
{
	uint64_t at = fake_make(j, 6 + strlen(s));

	fake_put16(j, at + 4, (uint16_t)strlen(s));
	memcpy(fake_at(j, at + 6), s, strlen(s));
	return at;
}

/* Ten bytecodes; at 0 line 7, at 4 line 9. */
uint64_t fake_method(struct fake_jvm *j, const char *class_name, const char *name,
		     const char *signature)
{
	static const uint8_t lines[] = {0 << 3 | 7, 4 << 3 | 2, 0};
	uint64_t klass = fake_make(j, 32), pool = fake_make(j, 16 + 8 * 4),
		 constant = fake_make(j, 16 + 16), at = fake_make(j, 24);

	fake_put64(j, klass + 24, fake_symbol(j, class_name));
	fake_put64(j, pool, klass);
	fake_put16(j, pool + 8, 3);
	fake_put64(j, pool + 16 + 8, fake_symbol(j, name));
	fake_put64(j, pool + 16 + 16, fake_symbol(j, signature) | 1);
	fake_put64(j, pool + 16 + 24, fake_symbol(j, "Source.java"));
	fake_put64(j, constant, pool);
	fake_put16(j, constant + 8, 1);
	fake_put16(j, constant + 10, 10);
	fake_put16(j, constant + 12, 1);
	fake_put16(j, constant + 14, 2);
	memcpy(fake_at(j, constant + 16 + 10), lines, sizeof lines);
	fake_put64(j, at + 8, constant);
	fake_put16(j, at + 16, 0x9); /* public static */
	return at;
}

/* ---- the code cache ------------------------------------------------------------------------ */

static uint8_t *segment_map(struct fake_jvm *j)
{
	return fake_at(j, FAKE_BASE + 0xff00);
}

/* A blob of n segments from first on; its code begins at 256. */
uint64_t fake_blob(struct fake_jvm *j, uint32_t first, uint32_t n, const char *name, int32_t frame)
{
	uint64_t block = FAKE_CODE + (uint64_t)first * FAKE_SEGMENT, at = block + 16;

	for (uint32_t i = 0; i < n; i++)
		segment_map(j)[first + i] = (uint8_t)(i ? 1 : 0); /* hop by hop */
	*(uint8_t *)fake_at(j, block + 8) = 1;
	fake_put64(j, at + 8, text(j, name));
	fake_put32(j, at + 16, n * FAKE_SEGMENT - 16);
	fake_put32(j, at + 24, n * FAKE_SEGMENT - 16);
	fake_put32(j, at + 28, (uint32_t)frame);
	fake_put64(j, at + 32, at + 240);
	fake_put64(j, at + 40, at + n * FAKE_SEGMENT - 16);
	return at;
}

uint64_t fake_code(uint64_t blob_at)
{
	return blob_at + 240;
}

/* push rbp; sub rsp, 32; then nothing known; a call that returns to 32. */
static void make_nmethod(struct fake_jvm *j)
{
	static const uint8_t prologue[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0x0f, 0x0b};
	static const uint8_t scopes[] = {0, 0, 1, 5, /* at 1: hot, bci 4 */
					 1, 2, 1 /* at 4: called from 1: spin, bci 0 */};
	uint64_t at = fake_blob(j, 8, 8, "nmethod", 6), pcs, data, metadata;

	j->nmethod = at;
	j->nmethod_id = at + 96;
	pcs = fake_make(j, 16 * 4);
	data = fake_make(j, sizeof scopes);
	metadata = fake_make(j, 16);
	memcpy(fake_at(j, data), scopes, sizeof scopes);
	fake_put64(j, metadata, j->hot);
	fake_put64(j, metadata + 8, j->spin);
	/* -1: before the code; then [..32) in spin, [32..64) in hot alone */
	fake_put32(j, pcs, 0xffffffff);
	fake_put32(j, pcs + 16, 32);
	fake_put32(j, pcs + 20, 4);
	fake_put32(j, pcs + 32, 64);
	fake_put32(j, pcs + 36, 1);
	fake_put32(j, pcs + 48, 0x7fffffff);
	fake_put64(j, at + 56, j->hot);
	fake_put64(j, at + 64, data);
	fake_put64(j, at + 72, fake_code(at) + 128);
	fake_put32(j, at + 80, (uint32_t)(metadata - at));
	fake_put32(j, at + 84, (uint32_t)(pcs - at));
	fake_put32(j, at + 88, (uint32_t)(pcs + 64 - at));
	fake_put32(j, at + 92, 8);
	fake_put32(j, at + 96, 77);
	*(uint8_t *)fake_at(j, at + 100) = 4;
	fake_put64(j, at + 104, fake_code(at));
	fake_put16(j, at + 20, 5);
	memcpy(fake_at(j, fake_code(at)), prologue, sizeof prologue);
	*(uint8_t *)fake_at(j, fake_code(at) + 27) = 0xe8;
}

static void make_code(struct fake_jvm *j)
{
	uint64_t array = fake_make(j, 24), list = fake_make(j, 8), heap = fake_make(j, 104),
		 variable_at = fake_make(j, 8), stub, interpreter;

	fake_put64(j, heap + 8, FAKE_CODE);
	fake_put64(j, heap + 16, FAKE_CODE + 64 * FAKE_SEGMENT);
	fake_put64(j, heap + 24, FAKE_CODE);
	fake_put64(j, heap + 48 + 16, FAKE_BASE + 0xff00);
	fake_put32(j, heap + 96, 7);
	fake_put64(j, list, heap);
	fake_put32(j, array + 4, 1);
	fake_put64(j, array + 16, list);
	fake_put64(j, variable_at, array);
	fake_entry(j, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", variable_at, true);
	memset(segment_map(j), 0xff, 64);
	interpreter = fake_blob(j, 0, 6, "Interpreter", 0);
	make_nmethod(j);
	stub = fake_blob(j, 20, 4, "StubRoutines (1)", 0);
	j->call_stub_return = fake_code(stub) + 64;
	*(uint8_t *)fake_at(j, j->call_stub_return - 2) = 0xff; /* call rcx */
	*(uint8_t *)fake_at(j, j->call_stub_return - 1) = 0xd1;
	j->interp_pc = fake_code(interpreter) + 64;
	variable_at = fake_make(j, 8);
	fake_put64(j, variable_at, j->call_stub_return);
	fake_entry(j, "StubRoutines", "_call_stub_return_address", "address", variable_at, true);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

/* From the leaf up: 0 locals of A.hot (40 bytes, rbp at 32, return at 40), then the
 * interpreter's frame at 0xc0, then call stub's at 0x140, then native. */
static void make_stack(struct fake_jvm *j)
{
	uint64_t sp = FAKE_STACK, fp = FAKE_STACK + 0xc0, entry_fp = FAKE_STACK + 0x140, constant;

	j->leaf_sp = sp;
	j->leaf_fp = 12345; /* C2 uses it for something else */
	j->leaf_pc = fake_code(j->nmethod) + 20;
	j->interp_fp = fp;
	j->entry_fp = entry_fp;
	fake_put64(j, sp + 32, fp);
	fake_put64(j, sp + 40, j->interp_pc);
	memcpy(&constant, fake_at(j, j->main_method + 8), 8);
	fake_put64(j, fp - 64, constant + 16 + 5);
	fake_put64(j, fp - 24, j->main_method);
	fake_put64(j, fp - 8, fp + 0x20);
	fake_put64(j, fp, entry_fp);
	fake_put64(j, fp + 8, j->call_stub_return);
	fake_put64(j, entry_fp, 0);
	fake_put64(j, entry_fp + 8, FAKE_NATIVE);
}

static void make_thread(struct fake_jvm *j)
{
	uint64_t list = fake_make(j, 16), threads = fake_make(j, 8), os = fake_make(j, 8),
		 version = fake_make(j, 4), at;

	j->thread = fake_make(j, 64);
	fake_put64(j, threads, j->thread);
	fake_put32(j, list, 1);
	fake_put64(j, list + 8, threads);
	fake_put64(j, j->thread + 8, os);
	fake_put32(j, os + 4, FAKE_TID);
	at = fake_make(j, 8);
	fake_put64(j, at, list);
	fake_entry(j, "ThreadsSMRSupport", "_java_thread_list", "ThreadsList*", at, true);
	fake_put32(j, version, 17);
	fake_entry(j, "JDK_Version", "_current", "JDK_Version", version, true);
}

struct fake_jvm *fake_jvm_new(void)
{
	struct fake_jvm *j = calloc(1, sizeof *j);

	if (!j)
		return NULL;
	j->bytes = calloc(1, FAKE_BYTES);
	if (!j->bytes) {
		free(j);
		return NULL;
	}
	j->next = FAKE_BASE + 0x100;
	j->now = UINT64_C(1000000000);
	j->host = (struct gpc_host){.struct_size = sizeof j->host,
				    .impl = j,
				    .read_mem = read_mem,
				    .now_ns = now_ns,
				    .find_symbol = find_symbol};
	make_tables(j);
	j->hot = fake_method(j, "A", "hot", "(J)J");
	j->spin = fake_method(j, "B", "spin", "(J)J");
	j->main_method = fake_method(j, "pkg/C$$Lambda$5+0x123", "main", "([Ljava/lang/String;)V");
	make_code(j);
	make_thread(j);
	make_stack(j);
	return j;
}

void fake_jvm_free(struct fake_jvm *j)
{
	if (j)
		free(j->bytes);
	free(j);
}
