/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes one record of a perf ring into plain fields. The layout is that of
 * linux/perf_event.h (kernel 6.1 headers, records up to 6.18 known); unknown
 * types and longer records are fine. Lengths are checked: a record that does
 * not fit is refused, whatever the kernel or a file with recorded rings says. */
#ifndef GPC_SOURCE_DECODE_H
#define GPC_SOURCE_DECODE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a ring's events were opened. */
struct gpc_perf_format {
	uint64_t sample_type;
	uint64_t regs_mask; /* of user registers, when sample_type has them */
	bool sample_id_all;
};

struct gpc_perf_sample {
	uint64_t ip, period, cgroup;
	const uint64_t *ips; /* callchain with PERF_CONTEXT_ markers; in the record */
	uint32_t n_ips;
	uint32_t n_regs;      /* 0: not in user mode, or not asked for */
	const uint64_t *regs; /* lowest bit of the mask first */
	const uint8_t *stack; /* from the stack pointer on */
	uint32_t stack_bytes; /* what could be copied */
};

struct gpc_perf_mmap {
	uint64_t start, length, offset, inode, generation;
	uint32_t dev_major, dev_minor, prot, flags;
	uint8_t build_id[20];
	uint8_t build_id_len;
	const char *path; /* NUL terminated, in the record */
};

struct gpc_perf_task {
	uint32_t ppid, ptid;
};

struct gpc_perf_record {
	uint32_t type; /* PERF_RECORD_ */
	uint16_t misc, size;
	uint32_t pid, tid, cpu; /* UINT32_MAX: not given */
	uint64_t time, id;
	union {
		struct gpc_perf_sample sample;
		struct gpc_perf_mmap mmap; /* MMAP and MMAP2 */
		struct gpc_perf_task task; /* FORK and EXIT */
		const char *comm;
		uint64_t lost; /* LOST and LOST_SAMPLES: how many */
		struct {
			uint64_t id;
			const char *path;
		} cgroup;
		struct {
			uint64_t address;
			uint32_t length;
			uint16_t flags;
			const char *name;
		} ksymbol;
	};
};

/* record: size bytes, 8-aligned, starting with its perf_event_header. False
 * when it does not fit its own lengths. */
bool gpc_perf_decode(const void *record, size_t size, const struct gpc_perf_format *format,
		     struct gpc_perf_record *ret);

/* Of a sample that was decoded from record: where its copy of the stack stands in it, with
 * what tells its length. False: it has none. */
bool gpc_perf_stack_extent(const void *record, const struct gpc_perf_sample *s, uint32_t *from,
			   uint32_t *to);

/* Where the time of a record stands, for ordering without decoding: an offset
 * from the record's start, 0 when it has none. */
size_t gpc_perf_time_offset(const struct perf_event_header *head,
			    const struct gpc_perf_format *format);

#endif
