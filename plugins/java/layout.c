/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <stdio.h>

#define ENTRIES_MAX 8192
#define STRIDE_MAX  256
#define TEXT_MAX    96

/* ---- what is looked for ---------------------------------------------------------- */

struct row {
	const char *type, *name;
	int index;
};

/* Some rows are other versions' words for the same. */
static const struct row fields[] = {
	{"GrowableArrayBase", "_len", F_ARRAY_LEN},
	{"GenericGrowableArray", "_len", F_ARRAY_LEN},
	{"GrowableArray<int>", "_data", F_ARRAY_DATA},
	{"CodeHeap", "_memory", F_HEAP_MEMORY},
	{"CodeHeap", "_segmap", F_HEAP_SEGMAP},
	{"CodeHeap", "_log2_segment_size", F_HEAP_LOG2_SEGMENT},
	{"VirtualSpace", "_low_boundary", F_SPACE_LOW_BOUNDARY},
	{"VirtualSpace", "_high_boundary", F_SPACE_HIGH_BOUNDARY},
	{"VirtualSpace", "_low", F_SPACE_LOW},
	{"VirtualSpace", "_high", F_SPACE_HIGH},
	{"HeapBlock::Header", "_used", F_BLOCK_USED},
	{"CodeBlob", "_name", F_BLOB_NAME},
	{"CodeBlob", "_size", F_BLOB_SIZE},
	{"CodeBlob", "_frame_complete_offset", F_BLOB_FRAME_COMPLETE},
	{"CodeBlob", "_frame_size", F_BLOB_FRAME_SIZE},
	{"CodeBlob", "_code_begin", F_BLOB_CODE_BEGIN},
	{"CodeBlob", "_code_end", F_BLOB_CODE_END},
	{"CodeBlob", "_code_offset", F_BLOB_CODE_OFFSET},
	{"CodeBlob", "_data_offset", F_BLOB_DATA_OFFSET},
	{"CodeBlob", "_mutable_data", F_BLOB_MUTABLE_DATA},
	{"CodeBlob", "_relocation_size", F_BLOB_RELOCATION_SIZE},
	{"CodeBlob", "_kind", F_BLOB_KIND},
	{"CompiledMethod", "_method", F_NM_METHOD},
	{"nmethod", "_method", F_NM_METHOD},
	{"CompiledMethod", "_scopes_data_begin", F_NM_SCOPES_DATA_BEGIN},
	{"nmethod", "_scopes_data_offset", F_NM_SCOPES_DATA_OFFSET},
	{"nmethod", "_scopes_pcs_offset", F_NM_SCOPES_PCS_OFFSET},
	{"nmethod", "_dependencies_offset", F_NM_DEPENDENCIES_OFFSET},
	{"nmethod", "_metadata_offset", F_NM_METADATA_OFFSET},
	{"nmethod", "_immutable_data", F_NM_IMMUTABLE_DATA},
	{"CompiledMethod", "_deopt_handler_begin", F_NM_DEOPT_BEGIN},
	{"nmethod", "_deopt_handler_offset", F_NM_DEOPT_OFFSET},
	{"nmethod", "_deopt_handler_entry_offset", F_NM_DEOPT_OFFSET},
	{"nmethod", "_deoptimize_offset", F_NM_DEOPT_OFFSET},
	{"CompiledMethod", "_deopt_mh_handler_begin", F_NM_DEOPT_MH_BEGIN},
	{"nmethod", "_deopt_mh_handler_offset", F_NM_DEOPT_MH_OFFSET},
	{"nmethod", "_deoptimize_mh_offset", F_NM_DEOPT_MH_OFFSET},
	{"nmethod", "_orig_pc_offset", F_NM_ORIG_PC_OFFSET},
	{"nmethod", "_verified_entry_point", F_NM_ENTRY},
	{"nmethod", "_verified_entry_offset", F_NM_ENTRY_OFFSET},
	{"nmethod", "_compile_id", F_NM_COMPILE_ID},
	{"nmethod", "_comp_level", F_NM_COMP_LEVEL},
	{"PcDesc", "_pc_offset", F_PC_OFFSET},
	{"PcDesc", "_scope_decode_offset", F_PC_SCOPE},
	{"Method", "_constMethod", F_METHOD_CONST},
	{"Method", "_access_flags", F_METHOD_ACCESS},
	{"ConstMethod", "_constants", F_CONST_POOL},
	{"ConstMethod", "_flags", F_CONST_FLAGS},
	{"ConstMethod", "_flags._flags", F_CONST_FLAGS},
	{"ConstMethod", "_code_size", F_CONST_CODE_SIZE},
	{"ConstMethod", "_name_index", F_CONST_NAME},
	{"ConstMethod", "_signature_index", F_CONST_SIGNATURE},
	{"ConstantPool", "_pool_holder", F_POOL_HOLDER},
	{"ConstantPool", "_length", F_POOL_LENGTH},
	{"ConstantPool", "_source_file_name_index", F_POOL_SOURCE_FILE},
	{"InstanceKlass", "_source_file_name_index", F_KLASS_SOURCE_FILE},
	{"Klass", "_name", F_KLASS_NAME},
	{"Klass", "_super", F_KLASS_SUPER},
	{"Klass", "_layout_helper", F_KLASS_LAYOUT},
	{"InstanceKlass", "_constants", F_KLASS_POOL},
	{"InstanceKlass", "_fieldinfo_stream", F_KLASS_FIELDS},
	{"Array<u1>", "_data", F_BYTES_DATA},
	{"oopDesc", "_metadata._compressed_klass", F_OBJECT_KLASS},
	{"oopDesc", "_compressed_klass", F_OBJECT_KLASS},
	{"Symbol", "_length", F_SYMBOL_LENGTH},
	{"Symbol", "_length_and_refcount", F_SYMBOL_LENGTH},
	{"Symbol", "_body", F_SYMBOL_BODY},
	{"Symbol", "_body[0]", F_SYMBOL_BODY},
	{"JavaThread", "_next", F_THREAD_NEXT},
	{"JavaThread", "_osthread", F_THREAD_OSTHREAD},
	{"Thread", "_osthread", F_THREAD_OSTHREAD},
	{"JavaThread", "_anchor", F_THREAD_ANCHOR},
	{"JavaThread", "_stack_base", F_THREAD_STACK_BASE},
	{"JavaThread", "_stack_size", F_THREAD_STACK_SIZE},
	{"JavaThread", "_cont_entry", F_THREAD_CONT_ENTRY},
	{"OSThread", "_thread_id", F_OSTHREAD_ID},
	{"JavaFrameAnchor", "_last_Java_sp", F_ANCHOR_SP},
	{"JavaFrameAnchor", "_last_Java_pc", F_ANCHOR_PC},
	{"JavaFrameAnchor", "_last_Java_fp", F_ANCHOR_FP},
	{"JavaCallWrapper", "_anchor", F_WRAPPER_ANCHOR},
	{"ThreadsList", "_length", F_LIST_LENGTH},
	{"ThreadsList", "_threads", F_LIST_THREADS},
	{"JVMFlag", "_name", F_FLAG_NAME},
	{"JVMFlag", "_addr", F_FLAG_ADDR},
	{"JVMFlag", "_flags", F_FLAG_FLAGS},
	{"JVMFlag", "_type", F_FLAG_TYPE},
	{"Flag", "_name", F_FLAG_NAME},
	{"Flag", "_addr", F_FLAG_ADDR},
	{"Flag", "_flags", F_FLAG_FLAGS},
	{"Flag", "_type", F_FLAG_TYPE},
	{0},
};

static const struct row statics[] = {
	{"CodeCache", "_heaps", S_HEAPS},
	{"CodeCache", "_heap", S_HEAP},
	{"CodeCache", "_low_bound", S_LOW_BOUND},
	{"CodeCache", "_high_bound", S_HIGH_BOUND},
	{"ThreadsSMRSupport", "_java_thread_list", S_THREADS_LIST},
	{"Threads", "_thread_list", S_THREAD_FIRST},
	{"StubRoutines", "_call_stub_return_address", S_CALL_STUB_RETURN},
	{"JVMFlag", "flags", S_FLAGS},
	{"JVMFlag", "numFlags", S_NUM_FLAGS},
	{"Flag", "flags", S_FLAGS},
	{"Flag", "numFlags", S_NUM_FLAGS},
	{"JDK_Version", "_current", S_JDK_VERSION},
	{"Abstract_VM_Version", "_vm_major_version", S_VM_MAJOR},
	{"Abstract_VM_Version", "_s_vm_release", S_VM_RELEASE},
	{"Abstract_VM_Version", "_s_internal_vm_info_string", S_VM_INFO},
	{"Arguments", "_java_command", S_JAVA_COMMAND},
	{"Arguments", "_jvm_args_array", S_JVM_ARGS},
	{"Arguments", "_num_jvm_args", S_NUM_JVM_ARGS},
	{"Arguments", "_jvm_flags_array", S_JVM_FLAGS},
	{"Arguments", "_num_jvm_flags", S_NUM_JVM_FLAGS},
	{"CompressedOops", "_narrow_oop._base", S_OOP_BASE},
	{"CompressedOops", "_narrow_oop._shift", S_OOP_SHIFT},
	{"CompressedOops", "_base", S_OOP_BASE},
	{"CompressedOops", "_shift", S_OOP_SHIFT},
	{"CompressedKlassPointers", "_narrow_klass._base", S_KLASS_BASE},
	{"CompressedKlassPointers", "_narrow_klass._shift", S_KLASS_SHIFT},
	{"CompressedKlassPointers", "_base", S_KLASS_BASE},
	{"CompressedKlassPointers", "_shift", S_KLASS_SHIFT},
	{"ContinuationEntry", "_return_pc", S_CONT_RETURN},
	{0},
};

static const struct row types[] = {
	{"HeapBlock", "", T_HEAP_BLOCK},
	{"ConstMethod", "", T_CONST_METHOD},
	{"ConstantPool", "", T_CONSTANT_POOL},
	{"CodeBlob", "", T_CODE_BLOB},
	{"Method", "", T_METHOD},
	{"nmethod", "", T_NMETHOD},
	{"JVMFlag", "", T_FLAG},
	{"Flag", "", T_FLAG},
	{0},
};

/* Without these nothing can be told. */
static const uint8_t needed[] = {
	F_HEAP_MEMORY,
	F_HEAP_SEGMAP,
	F_HEAP_LOG2_SEGMENT,
	F_SPACE_LOW,
	F_SPACE_HIGH,
	F_SPACE_LOW_BOUNDARY,
	F_SPACE_HIGH_BOUNDARY,
	F_BLOCK_USED,
	F_BLOB_NAME,
	F_BLOB_SIZE,
	F_BLOB_FRAME_COMPLETE,
	F_BLOB_FRAME_SIZE,
	F_BLOB_DATA_OFFSET,
	F_NM_METHOD,
	F_NM_SCOPES_PCS_OFFSET,
	F_NM_ORIG_PC_OFFSET,
	F_NM_COMPILE_ID,
	F_NM_COMP_LEVEL,
	F_PC_OFFSET,
	F_PC_SCOPE,
	F_METHOD_CONST,
	F_METHOD_ACCESS,
	F_CONST_POOL,
	F_CONST_FLAGS,
	F_CONST_CODE_SIZE,
	F_CONST_NAME,
	F_CONST_SIGNATURE,
	F_POOL_HOLDER,
	F_KLASS_NAME,
	F_SYMBOL_LENGTH,
	F_SYMBOL_BODY,
};

/* ---- the tables ------------------------------------------------------------------- */

/* How one table is laid out, as the variables beside it say. */
struct table {
	uint64_t at;
	uint32_t stride;
	uint32_t column[6];
};

static bool read_variable(const struct jmem *m, const char *name, uint64_t *ret)
{
	uint64_t addr;

	return m->host->find_symbol(m->host, m->target, "libjvm.so*", name, &addr) == GPC_OK &&
	       gpc_java_read_u64(m, addr, ret);
}

static bool open_table(const struct jmem *m, const char *prefix, const char *const columns[],
		       struct table *ret)
{
	char name[96];
	uint64_t value;

	snprintf(name, sizeof name, "gHotSpot%ss", prefix);
	if (!read_variable(m, name, &ret->at) || !gpc_java_is_pointer(ret->at))
		return false;
	snprintf(name, sizeof name, "gHotSpot%sEntryArrayStride", prefix);
	if (!read_variable(m, name, &value) || value > STRIDE_MAX || value < 8)
		return false;
	ret->stride = (uint32_t)value;
	for (int i = 0; columns[i]; i++) {
		snprintf(name, sizeof name, "gHotSpot%sEntry%sOffset", prefix, columns[i]);
		if (!read_variable(m, name, &value) || value + 8 > ret->stride)
			return false;
		ret->column[i] = (uint32_t)value;
	}
	return true;
}

static const struct row *find_row(const struct row *rows, const char *type, const char *name)
{
	for (; rows->type; rows++)
		if (strcmp(rows->name, name) == 0 && strcmp(rows->type, type) == 0)
			return rows;
	return NULL;
}

/* By the type's name, as the table gives it. */
static uint8_t width_of(const char *type)
{
	static const struct {
		const char *name;
		uint8_t width;
	} known[] = {{"u1", 1},        {"bool", 1},     {"u2", 2},       {"int16_t", 2},
		     {"jushort", 2},   {"uint16_t", 2}, {"short", 2},    {"unsigned short", 2},
		     {"CompLevel", 1}, {"size_t", 8},   {"uint64_t", 8}, {NULL, 0}};

	for (int i = 0; known[i].name; i++)
		if (strcmp(known[i].name, type) == 0)
			return known[i].width;
	return strchr(type, '*') || strcmp(type, "address") == 0 ? 8 : 4;
}

enum { COL_TYPE, COL_FIELD, COL_TYPE_TEXT, COL_STATIC, COL_OFFSET, COL_ADDRESS };

static void take_struct(const struct jmem *m, const struct table *t, const uint8_t *entry,
			struct layout *l)
{
	char type[TEXT_MAX], name[TEXT_MAX], text[TEXT_MAX];
	const struct row *row;
	bool is_static = gpc_java_u32(entry, t->column[COL_STATIC]) != 0;

	if (!gpc_java_read_text(m, gpc_java_u64(entry, t->column[COL_TYPE]), type, sizeof type) ||
	    !gpc_java_read_text(m, gpc_java_u64(entry, t->column[COL_FIELD]), name, sizeof name))
		return;
	row = find_row(is_static ? statics : fields, type, name);
	if (!row)
		return;
	if (is_static) {
		l->at[row->index] = gpc_java_u64(entry, t->column[COL_ADDRESS]);
		return;
	}
	if (gpc_java_u64(entry, t->column[COL_OFFSET]) > 65536)
		return;
	l->field[row->index] = (int32_t)gpc_java_u64(entry, t->column[COL_OFFSET]);
	if (gpc_java_read_text(m, gpc_java_u64(entry, t->column[COL_TYPE_TEXT]), text, sizeof text))
		l->width[row->index] = width_of(text);
}

static void take_type(const struct jmem *m, const struct table *t, const uint8_t *entry,
		      struct layout *l)
{
	char name[TEXT_MAX];
	const struct row *row;
	uint64_t size = gpc_java_u64(entry, t->column[1]);

	if (!gpc_java_read_text(m, gpc_java_u64(entry, t->column[0]), name, sizeof name))
		return;
	row = find_row(types, name, "");
	if (row && size <= 65536)
		l->size[row->index] = (uint32_t)size;
}

/* Why compiled code is left before a loop, when what the loop was compiled for is not so
 * (OpenJDK opto/loopPredicate.cpp, loopnode.cpp). */
static bool is_loop_reason(const char *name)
{
	static const char *const known[] = {"predicate", "profile_predicate", "loop_limit_check",
					    "short_running_long_loop", "auto_vectorization_check"};
	static const char prefix[] = "Deoptimization::Reason_";

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(name, prefix, sizeof prefix - 1) == 0 &&
		    strcmp(name + sizeof prefix - 1, known[i]) == 0)
			return true;
	return false;
}

static void take_constant(const struct jmem *m, const struct table *t, const uint8_t *entry,
			  struct layout *l)
{
	char name[TEXT_MAX];
	uint32_t value = gpc_java_u32(entry, t->column[1]);

	if (!gpc_java_read_text(m, gpc_java_u64(entry, t->column[0]), name, sizeof name))
		return;
	if (strcmp(name, "frame::entry_frame_call_wrapper_offset") == 0)
		l->entry_wrapper = (int32_t)value;
	else if (strcmp(name, "ConstMethod::_has_linenumber_table") == 0 ||
		 strcmp(name, "ConstMethodFlags::_misc_has_linenumber_table") == 0)
		l->has_line_numbers = value;
	else if (is_loop_reason(name) && value < 32)
		l->loop_reasons |= 1u << value;
}

typedef void (*take_fn)(const struct jmem *m, const struct table *t, const uint8_t *entry,
			struct layout *l);

/* Ends with an entry without a name. */
static bool read_table(const struct jmem *m, const struct table *t, take_fn take_entry,
		       struct layout *l)
{
	uint8_t entry[STRIDE_MAX];

	for (uint32_t i = 0; i < ENTRIES_MAX; i++) {
		if (!gpc_java_read(m, t->at + (uint64_t)i * t->stride, entry, t->stride))
			return false;
		if (!gpc_java_u64(entry, t->column[0]))
			return i > 0;
		take_entry(m, t, entry, l);
	}
	return false;
}

static bool read_tables(const struct jmem *m, struct layout *l)
{
	static const char *const structs[] = {"TypeName", "FieldName", "TypeString", "IsStatic",
					      "Offset",   "Address",   NULL};
	static const char *const sizes[] = {"TypeName", "Size", NULL};
	static const char *const constants[] = {"Name", "Value", NULL};
	struct table t;

	if (!open_table(m, "VMStruct", structs, &t) || !read_table(m, &t, take_struct, l))
		return false;
	if (!open_table(m, "VMType", sizes, &t) || !read_table(m, &t, take_type, l))
		return false;
	return open_table(m, "VMIntConstant", constants, &t) && read_table(m, &t, take_constant, l);
}

/* ---- the version -------------------------------------------------------------------- */

/* JDK_Version was there until 22, and tells 8 from 25, which both have a VM of
 * "25" (OpenJDK 8 hotspot/src/share/vm/runtime/java.hpp: the first byte). */
static uint32_t read_major(const struct jmem *m, const struct layout *l)
{
	uint32_t value = 0;

	if (l->at[S_JDK_VERSION] && gpc_java_read_u32(m, l->at[S_JDK_VERSION], &value) &&
	    (value & 0xff))
		return value & 0xff;
	if (l->at[S_VM_MAJOR] && gpc_java_read_u32(m, l->at[S_VM_MAJOR], &value))
		return value;
	return 0;
}

/* The constants that no table holds.
 * UNSIGNED5: code/compressedStream.hpp, from JDK 20 utilities/unsigned5.hpp, where
 * a byte 0 never occurs. bcp: cpu/x86/frame_x86.hpp, interpreter_frame_bcp_offset;
 * JDK 9 put the class's mirror before it. */
static void set_version(struct layout *l, uint32_t major)
{
	l->major = major;
	l->unsigned5_excluded = major >= 20;
	l->bcp_words = major >= 9 ? -8 : -7;
}

/* Members that are looked at in a copy of their struct must lie in it. */
static bool is_within(const struct layout *l, enum vm_field from, enum vm_field to, int32_t bytes)
{
	for (int i = from; i <= (int)to; i++)
		if (l->field[i] > bytes - 8)
			return false;
	return true;
}

/* Each version has one or the other. */
static bool has_places(const struct layout *l)
{
	if (!gpc_java_has(l, F_BLOB_CODE_OFFSET) &&
	    !(gpc_java_has(l, F_BLOB_CODE_BEGIN) && gpc_java_has(l, F_BLOB_CODE_END)))
		return false;
	if (!gpc_java_has(l, F_NM_METADATA_OFFSET) &&
	    !(gpc_java_has(l, F_BLOB_MUTABLE_DATA) && gpc_java_has(l, F_BLOB_RELOCATION_SIZE)))
		return false;
	return gpc_java_has(l, F_NM_IMMUTABLE_DATA)
		       ? gpc_java_has(l, F_NM_SCOPES_DATA_OFFSET)
		       : gpc_java_has(l, F_NM_DEPENDENCIES_OFFSET) &&
				 (gpc_java_has(l, F_NM_SCOPES_DATA_BEGIN) ||
				  gpc_java_has(l, F_NM_SCOPES_DATA_OFFSET));
}

static bool has_needed(const struct layout *l)
{
	for (size_t i = 0; i < sizeof needed; i++)
		if (l->field[needed[i]] < 0)
			return false;
	for (int i = 0; i < T_TYPES; i++)
		if (!l->size[i] && i != T_FLAG)
			return false;
	return (l->at[S_HEAPS] || l->at[S_HEAP]) && has_places(l) &&
	       is_within(l, F_BLOB_NAME, F_NM_COMP_LEVEL, GPC_JAVA_BLOB_MAX) &&
	       is_within(l, F_METHOD_CONST, F_CONST_SIGNATURE, GPC_JAVA_METHOD_MAX);
}

gpc_status gpc_java_layout_read(const struct jmem *m, struct layout *ret, char *why, uint32_t room)
{
	memset(ret, 0, sizeof *ret);
	for (int i = 0; i < F_FIELDS; i++) {
		ret->field[i] = -1;
		ret->width[i] = 4;
	}
	ret->has_line_numbers = 1;
	ret->entry_wrapper = -6; /* cpu/x86/frame_x86.hpp, Linux */
	if (!read_tables(m, ret)) {
		snprintf(why, room,
			 "profiling this JVM is not supported: it has no tables of structures");
		return GPC_E_UNSUPPORTED;
	}
	set_version(ret, read_major(m, ret));
	if (ret->major < 8 || !has_needed(ret)) {
		snprintf(why, room, "profiling this JVM is not supported");
		return GPC_E_UNSUPPORTED;
	}
	return GPC_OK;
}

int64_t gpc_java_number(const struct layout *l, enum vm_field f, const void *bytes)
{
	uint32_t at = (uint32_t)l->field[f];

	switch (l->width[f]) {
	case 1:
		return *((const uint8_t *)bytes + at);
	case 2:
		return (int16_t)gpc_java_u16(bytes, at);
	case 8:
		return (int64_t)gpc_java_u64(bytes, at);
	default:
		return (int32_t)gpc_java_u32(bytes, at);
	}
}
