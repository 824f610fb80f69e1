/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record.h"
#include "source/decode.h"

static const struct rec_id where = {
	.pid = 11, .tid = 12, .cpu = 3, .time = 0x1122334455667788, .id = 77, .stream_id = 78};
static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000, 0x402000};

/* Fields that can stand in a sample, in their order in the record. */
static const uint64_t fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,        PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,       PERF_SAMPLE_ID,        PERF_SAMPLE_CPU, PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_PERIOD,     PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW, PERF_SAMPLE_CGROUP,
};
#define N_FIELDS (sizeof fields / sizeof *fields)

static void pid_tid(struct rec *r)
{
	rec_u32(r, where.pid);
	rec_u32(r, where.tid);
}

static void middle(struct rec *r, uint64_t type)
{
	if (type & PERF_SAMPLE_ADDR)
		rec_u64(r, 0xadd);
	if (type & PERF_SAMPLE_ID)
		rec_u64(r, where.id);
	if (type & PERF_SAMPLE_STREAM_ID)
		rec_u64(r, where.stream_id);
	if (type & PERF_SAMPLE_CPU) {
		rec_u32(r, where.cpu);
		rec_u32(r, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		rec_u64(r, 1009);
}

static void make_sample(struct rec *r, uint64_t type)
{
	rec_begin(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	if (type & PERF_SAMPLE_IDENTIFIER)
		rec_u64(r, where.id);
	if (type & PERF_SAMPLE_IP)
		rec_u64(r, 0x401000);
	if (type & PERF_SAMPLE_TID)
		pid_tid(r);
	if (type & PERF_SAMPLE_TIME)
		rec_u64(r, where.time);
	middle(r, type);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		rec_u64(r, 3);
		rec_bytes(r, chain, sizeof chain);
	}
	if (type & PERF_SAMPLE_RAW) {
		rec_u32(r, 12);
		rec_bytes(r, "raw bytes 12", 12);
	}
	if (type & PERF_SAMPLE_CGROUP)
		rec_u64(r, 4242);
	rec_end(r);
}

static void check_sample(const struct gpc_perf_record *got, uint64_t type)
{
	assert_int_equal(got->type, PERF_RECORD_SAMPLE);
	assert_int_equal(got->pid, type & PERF_SAMPLE_TID ? where.pid : UINT32_MAX);
	assert_int_equal(got->tid, type & PERF_SAMPLE_TID ? where.tid : UINT32_MAX);
	assert_int_equal(got->cpu, type & PERF_SAMPLE_CPU ? where.cpu : UINT32_MAX);
	assert_int_equal(got->time, type & PERF_SAMPLE_TIME ? where.time : 0);
	assert_int_equal(got->id, type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? where.id : 0);
	assert_int_equal(got->sample.ip, type & PERF_SAMPLE_IP ? 0x401000 : 0);
	assert_int_equal(got->sample.period, type & PERF_SAMPLE_PERIOD ? 1009 : 0);
	assert_int_equal(got->sample.cgroup, type & PERF_SAMPLE_CGROUP ? 4242 : 0);
	assert_int_equal(got->sample.n_ips, type & PERF_SAMPLE_CALLCHAIN ? 3 : 0);
	if (got->sample.n_ips)
		assert_memory_equal(got->sample.ips, chain, sizeof chain);
}

/* Where decode finds the time is where the ring must find it. */
static void check_time_offset(const struct rec *r, const struct gpc_perf_format *format,
			      uint64_t time)
{
	size_t at = gpc_perf_time_offset((const struct perf_event_header *)(const void *)r->words,
					 format);

	assert_int_equal(at != 0, time != 0);
	if (at)
		assert_memory_equal((const uint8_t *)r->words + at, &time, sizeof time);
}

static void test_every_combination_of_sample_fields(void **state)
{
	struct rec r;

	(void)state;
	for (unsigned bits = 0; bits < 1u << N_FIELDS; bits++) {
		struct gpc_perf_format format = {.sample_id_all = true};
		struct gpc_perf_record got;

		for (unsigned k = 0; k < N_FIELDS; k++)
			format.sample_type |= bits >> k & 1 ? fields[k] : 0;
		make_sample(&r, format.sample_type);
		assert_true(gpc_perf_decode(r.words, r.n, &format, &got));
		check_sample(&got, format.sample_type);
		check_time_offset(&r, &format,
				  format.sample_type & PERF_SAMPLE_TIME ? where.time : 0);
	}
}

/* ---- the other records ------------------------------------------------------ */

static void make_mmap(struct rec *r)
{
	rec_begin(r, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER);
	rec_u32(r, 21);
	rec_u32(r, 22);
	rec_u64(r, 0x7f0000000000);
	rec_u64(r, 0x3000);
	rec_u64(r, 0x1000);
	rec_text(r, "/lib/libold.so");
}

static void check_range(const struct gpc_perf_record *got)
{
	assert_int_equal(got->pid, 21);
	assert_int_equal(got->tid, 22);
	assert_int_equal(got->mmap.start, 0x7f0000000000);
	assert_int_equal(got->mmap.length, 0x3000);
	assert_int_equal(got->mmap.offset, 0x1000);
}

static void check_mmap(const struct gpc_perf_record *got)
{
	check_range(got);
	assert_string_equal(got->mmap.path, "/lib/libold.so");
	assert_int_equal(got->mmap.inode, 0);
}

static void begin_mmap2(struct rec *r, uint16_t misc)
{
	rec_begin(r, PERF_RECORD_MMAP2, misc);
	rec_u32(r, 21);
	rec_u32(r, 22);
	rec_u64(r, 0x7f0000000000);
	rec_u64(r, 0x3000);
	rec_u64(r, 0x1000);
}

static void make_mmap2(struct rec *r)
{
	begin_mmap2(r, PERF_RECORD_MISC_USER);
	rec_u32(r, 8);
	rec_u32(r, 1);
	rec_u64(r, 123456);
	rec_u64(r, 99);
	rec_u32(r, 5);
	rec_u32(r, 2);
	rec_text(r, "/usr/lib/a name with spaces.so");
}

static void check_mmap2(const struct gpc_perf_record *got)
{
	check_range(got);
	assert_int_equal(got->mmap.dev_major, 8);
	assert_int_equal(got->mmap.dev_minor, 1);
	assert_int_equal(got->mmap.inode, 123456);
	assert_int_equal(got->mmap.generation, 99);
	assert_int_equal(got->mmap.prot, 5);
	assert_int_equal(got->mmap.flags, 2);
	assert_int_equal(got->mmap.build_id_len, 0);
	assert_string_equal(got->mmap.path, "/usr/lib/a name with spaces.so");
}

static const uint8_t build_id[20] = "0123456789abcdefghij";

static void put_build_id(struct rec *r, uint8_t len)
{
	begin_mmap2(r, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	rec_u32(r, len);
	rec_bytes(r, build_id, sizeof build_id);
	rec_u32(r, 5);
	rec_u32(r, 2);
	rec_text(r, "/x");
}

static void make_build_id(struct rec *r)
{
	put_build_id(r, 20);
}

static void check_build_id(const struct gpc_perf_record *got)
{
	check_range(got);
	assert_int_equal(got->mmap.build_id_len, 20);
	assert_memory_equal(got->mmap.build_id, build_id, 20);
	assert_int_equal(got->mmap.inode, 0);
	assert_int_equal(got->mmap.prot, 5);
	assert_string_equal(got->mmap.path, "/x");
}

static void make_long_build_id(struct rec *r)
{
	put_build_id(r, 21);
}

static void check_long_build_id(const struct gpc_perf_record *got)
{
	check_range(got);
	assert_int_equal(got->mmap.build_id_len, 0);
}

static void make_comm(struct rec *r)
{
	rec_begin(r, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	rec_u32(r, 31);
	rec_u32(r, 32);
	rec_text(r, "a (b) c");
}

static void check_comm(const struct gpc_perf_record *got)
{
	assert_int_equal(got->pid, 31);
	assert_int_equal(got->tid, 32);
	assert_true(got->misc & PERF_RECORD_MISC_COMM_EXEC);
	assert_string_equal(got->comm, "a (b) c");
}

static void put_task(struct rec *r, uint32_t type)
{
	rec_begin(r, type, 0);
	rec_u32(r, 41);
	rec_u32(r, 42);
	rec_u32(r, 43);
	rec_u32(r, 44);
	rec_u64(r, 45);
}

static void make_fork(struct rec *r)
{
	put_task(r, PERF_RECORD_FORK);
}

static void make_exit(struct rec *r)
{
	put_task(r, PERF_RECORD_EXIT);
}

static void check_task(const struct gpc_perf_record *got)
{
	assert_int_equal(got->pid, 41);
	assert_int_equal(got->task.ppid, 42);
	assert_int_equal(got->tid, 43);
	assert_int_equal(got->task.ptid, 44);
}

static void make_lost(struct rec *r)
{
	rec_begin(r, PERF_RECORD_LOST, 0);
	rec_u64(r, 1);
	rec_u64(r, 5000000001);
}

static void make_lost_samples(struct rec *r)
{
	rec_begin(r, PERF_RECORD_LOST_SAMPLES, 0);
	rec_u64(r, 5000000001);
}

static void check_lost(const struct gpc_perf_record *got)
{
	assert_int_equal(got->lost, 5000000001);
}

static void make_cgroup(struct rec *r)
{
	rec_begin(r, PERF_RECORD_CGROUP, 0);
	rec_u64(r, 51);
	rec_text(r, "/system.slice/x");
}

static void check_cgroup(const struct gpc_perf_record *got)
{
	assert_int_equal(got->cgroup.id, 51);
	assert_string_equal(got->cgroup.path, "/system.slice/x");
}

static void make_ksymbol(struct rec *r)
{
	rec_begin(r, PERF_RECORD_KSYMBOL, 0);
	rec_u64(r, 0xffffffffc0001000);
	rec_u32(r, 64);
	rec_u32(r, 1);
	rec_text(r, "bpf_prog_1");
}

static void check_ksymbol(const struct gpc_perf_record *got)
{
	assert_int_equal(got->ksymbol.address, 0xffffffffc0001000);
	assert_int_equal(got->ksymbol.length, 64);
	assert_string_equal(got->ksymbol.name, "bpf_prog_1");
}

static void make_throttle(struct rec *r)
{
	rec_begin(r, PERF_RECORD_THROTTLE, 0);
	rec_u64(r, 1);
	rec_u64(r, 2);
	rec_u64(r, 3);
}

static void make_future(struct rec *r)
{
	rec_begin(r, 1000, 0);
	rec_u64(r, 1);
}

static void check_nothing(const struct gpc_perf_record *got)
{
	(void)got;
}

static const struct kind {
	uint32_t type;
	void (*make)(struct rec *r);
	void (*check)(const struct gpc_perf_record *got);
	size_t least; /* bytes of the body that must be there */
} kinds[] = {
	{PERF_RECORD_MMAP, make_mmap, check_mmap, 32 + 15},
	{PERF_RECORD_MMAP2, make_mmap2, check_mmap2, 64 + 31},
	{PERF_RECORD_MMAP2, make_build_id, check_build_id, 64 + 3},
	{PERF_RECORD_MMAP2, make_long_build_id, check_long_build_id, 64 + 3},
	{PERF_RECORD_COMM, make_comm, check_comm, 8 + 8},
	{PERF_RECORD_FORK, make_fork, check_task, 16},
	{PERF_RECORD_EXIT, make_exit, check_task, 16},
	{PERF_RECORD_LOST, make_lost, check_lost, 16},
	{PERF_RECORD_LOST_SAMPLES, make_lost_samples, check_lost, 8},
	{PERF_RECORD_CGROUP, make_cgroup, check_cgroup, 8 + 16},
	{PERF_RECORD_KSYMBOL, make_ksymbol, check_ksymbol, 16 + 11},
	{PERF_RECORD_THROTTLE, make_throttle, check_nothing, 0},
	{1000, make_future, check_nothing, 0},
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static const uint64_t trailers[] = {
	0,
	PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
		PERF_SAMPLE_CPU,
	REC_TYPE,
};

static void check_trailer(const struct gpc_perf_record *got, uint64_t type)
{
	assert_int_equal(got->time, type & PERF_SAMPLE_TIME ? where.time : 0);
	assert_int_equal(got->cpu, type & PERF_SAMPLE_CPU ? where.cpu : UINT32_MAX);
	assert_int_equal(got->id, type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? where.id : 0);
}

static void test_every_kind_with_every_trailer(void **state)
{
	struct rec r;

	(void)state;
	for (size_t k = 0; k < N_KINDS; k++) {
		for (size_t t = 0; t < sizeof trailers / sizeof *trailers; t++) {
			struct gpc_perf_format format = {.sample_type = trailers[t],
							 .sample_id_all = true};
			struct gpc_perf_record got;

			kinds[k].make(&r);
			rec_trailer(&r, format.sample_type, &where);
			assert_true(gpc_perf_decode(r.words, r.n, &format, &got));
			assert_int_equal(got.type, kinds[k].type);
			assert_int_equal(got.size, r.n);
			kinds[k].check(&got);
			check_trailer(&got, format.sample_type);
			check_time_offset(&r, &format,
					  format.sample_type & PERF_SAMPLE_TIME ? where.time : 0);
		}
	}
}

/* Kernels before sample_id_all put no trailer behind what is no sample. */
static void test_without_trailers(void **state)
{
	struct gpc_perf_format format = {.sample_type = REC_TYPE, .sample_id_all = false};
	struct rec r;

	(void)state;
	for (size_t k = 0; k < N_KINDS; k++) {
		struct gpc_perf_record got;

		kinds[k].make(&r);
		rec_end(&r);
		assert_true(gpc_perf_decode(r.words, r.n, &format, &got));
		kinds[k].check(&got);
		assert_int_equal(got.time, 0);
		check_time_offset(&r, &format, 0);
	}
}

/* A thread's trailer says who was running: a comm of another task keeps its own. */
static void test_trailer_does_not_overrule_the_body(void **state)
{
	struct gpc_perf_format format = {.sample_type = REC_TYPE, .sample_id_all = true};
	struct gpc_perf_record got;
	struct rec r;

	(void)state;
	make_throttle(&r);
	rec_trailer(&r, REC_TYPE, &where);
	assert_true(gpc_perf_decode(r.words, r.n, &format, &got));
	assert_int_equal(got.pid, where.pid); /* has none of its own */
	make_comm(&r);
	rec_trailer(&r, REC_TYPE, &where);
	assert_true(gpc_perf_decode(r.words, r.n, &format, &got));
	assert_int_equal(got.pid, 31);
}

/* ---- what does not fit -------------------------------------------------------- */

/* Decodes from memory of exactly n bytes, so that a sanitizer sees each byte
 * read too many; the header says n, too. */
static bool decode_cut(const struct rec *r, size_t n, const struct gpc_perf_format *format)
{
	struct gpc_perf_record got;
	uint8_t *copy = malloc(n ? n : 1);
	bool is_good;

	assert_non_null(copy);
	memcpy(copy, r->words, n);
	if (n >= sizeof(struct perf_event_header))
		((struct perf_event_header *)(void *)copy)->size = (uint16_t)n;
	is_good = gpc_perf_decode(copy, n, format, &got);
	if (is_good)
		gpc_perf_time_offset((const struct perf_event_header *)(void *)copy, format);
	free(copy);
	return is_good;
}

static void test_cut_at_each_length(void **state)
{
	struct gpc_perf_format none = {.sample_type = 0, .sample_id_all = true},
			       all = {.sample_type = REC_TYPE, .sample_id_all = true};
	size_t head = sizeof(struct perf_event_header), trailer = 32;
	struct rec r;

	(void)state;
	for (size_t k = 0; k < N_KINDS; k++) {
		kinds[k].make(&r);
		rec_end(&r);
		for (size_t n = 0; n <= r.n; n++) {
			assert_int_equal(decode_cut(&r, n, &none), n >= head + kinds[k].least);
			assert_false(decode_cut(&r, n, &all) && n < head + trailer);
		}
	}
}

static void test_sample_cut_at_each_length(void **state)
{
	struct gpc_perf_format format = {.sample_type = 0, .sample_id_all = true};
	struct rec r;

	(void)state;
	for (size_t k = 0; k < N_FIELDS; k++)
		format.sample_type |= fields[k];
	make_sample(&r, format.sample_type);
	for (size_t n = 0; n < r.n; n++)
		assert_false(decode_cut(&r, n, &format));
	assert_true(decode_cut(&r, r.n, &format));
}

static void test_wild_lengths(void **state)
{
	static const uint64_t counts[] = {4, 1000, UINT64_C(1) << 32, UINT64_C(1) << 61,
					  UINT64_MAX};
	struct gpc_perf_format format = {.sample_type = PERF_SAMPLE_CALLCHAIN,
					 .sample_id_all = true};
	struct gpc_perf_record got;
	struct rec r;

	(void)state;
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		rec_begin(&r, PERF_RECORD_SAMPLE, 0);
		rec_u64(&r, counts[k]);
		rec_bytes(&r, chain, sizeof chain);
		rec_end(&r);
		assert_false(gpc_perf_decode(r.words, r.n, &format, &got));
	}
	format.sample_type = PERF_SAMPLE_RAW;
	rec_begin(&r, PERF_RECORD_SAMPLE, 0);
	rec_u32(&r, UINT32_MAX);
	rec_u32(&r, 0);
	rec_end(&r);
	assert_false(gpc_perf_decode(r.words, r.n, &format, &got));
}

static void test_header_that_lies(void **state)
{
	struct gpc_perf_format format = {.sample_type = 0, .sample_id_all = true};
	struct gpc_perf_record got;
	struct rec r;

	(void)state;
	make_fork(&r);
	rec_end(&r);
	rec_claim(&r, (uint16_t)(r.n + 8));
	assert_false(gpc_perf_decode(r.words, r.n, &format, &got));
	rec_claim(&r, 7);
	assert_false(gpc_perf_decode(r.words, r.n, &format, &got));
	rec_claim(&r, 0);
	assert_false(gpc_perf_decode(r.words, r.n, &format, &got));
}

/* A text without an end in the body must not end in the trailer. */
static void test_text_without_end(void **state)
{
	struct gpc_perf_format format = {.sample_type = PERF_SAMPLE_TIME, .sample_id_all = true};
	struct gpc_perf_record got;
	struct rec_id zero = {0};
	struct rec r;

	(void)state;
	rec_begin(&r, PERF_RECORD_COMM, 0);
	rec_u64(&r, 1);
	rec_bytes(&r, "12345678", 8);
	rec_trailer(&r, format.sample_type, &zero);
	assert_false(gpc_perf_decode(r.words, r.n, &format, &got));
}

/* A newer kernel may make its records longer. */
static void test_longer_than_known(void **state)
{
	struct gpc_perf_format format = {.sample_type = PERF_SAMPLE_TIME, .sample_id_all = true};
	struct gpc_perf_record got;
	struct rec r;

	(void)state;
	make_lost(&r);
	rec_u64(&r, 0xabcdef);
	rec_trailer(&r, format.sample_type, &where);
	assert_true(gpc_perf_decode(r.words, r.n, &format, &got));
	check_lost(&got);
	assert_int_equal(got.time, where.time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_combination_of_sample_fields),
		cmocka_unit_test(test_every_kind_with_every_trailer),
		cmocka_unit_test(test_without_trailers),
		cmocka_unit_test(test_trailer_does_not_overrule_the_body),
		cmocka_unit_test(test_cut_at_each_length),
		cmocka_unit_test(test_sample_cut_at_each_length),
		cmocka_unit_test(test_wild_lengths),
		cmocka_unit_test(test_header_that_lies),
		cmocka_unit_test(test_text_without_end),
		cmocka_unit_test(test_longer_than_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
