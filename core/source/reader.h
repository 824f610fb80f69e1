/* SPDX-License-Identifier: Apache-2.0 */
/* All perf rings of a core, read as one stream in the order of time. A stream
 * is one request (a sampling event, or side-band only), open on every CPU, or
 * for some processes and what they start on every CPU. CPUs that come and go
 * are followed.
 *
 * No thread of its own and no lock: the owner calls from one thread at a time. */
#ifndef GPC_SOURCE_READER_H
#define GPC_SOURCE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "source/decode.h"
#include "source/events.h"
#include "source/pull_thread.h"

struct gpc_reader;

struct gpc_reader_visitor {
	void *ctx;
	/* pulled: what a reader thread found of a sample's user stack; or NULL. */
	void (*record)(void *ctx, const struct gpc_perf_record *r, uint32_t stream,
		       const struct gpc_pulled *pulled);
	/* Optional: the record's bytes before decoding. */
	void (*raw)(void *ctx, const void *bytes, size_t n, uint32_t stream,
		    const struct gpc_perf_format *format);
};

gpc_status gpc_reader_new(struct gpc_log *log, struct gpc_reader **ret, struct gpc_err *err);
/* Closes everything. NULL is fine. */
void gpc_reader_free(struct gpc_reader *r);

/* Opens and enables a stream. pids NULL: system-wide. Processes of pids that
 * have gone are skipped; when none is left that is GPC_E_GONE. req->wake_bytes 0:
 * the reader is woken when a quarter of a ring is full. */
gpc_status gpc_reader_open(struct gpc_reader *r, const struct gpc_perf_request *req,
			   const int32_t *pids, uint32_t n_pids, uint32_t *ret_stream,
			   struct gpc_err *err);
/* What a CPU writes in a second, at most; of events by number: what was reckoned with. */
uint64_t gpc_reader_second_bytes(const struct gpc_perf_request *req);
/* Records still in the stream's rings are dropped. */
void gpc_reader_close(struct gpc_reader *r, uint32_t stream);

/* Polls readable when a ring has reached its wake-up mark. */
int gpc_reader_fd(const struct gpc_reader *r);
/* To be called when it did: an event whose thread has ended would be readable for
 * ever. */
void gpc_reader_woken(struct gpc_reader *r);

/* Visits all records older than until_ns, in order; what a CPU published late
 * comes with the next call. Returns the number of records. */
uint64_t gpc_reader_drain(struct gpc_reader *r, uint64_t until_ns,
			  const struct gpc_reader_visitor *v);

/* Opens rings on CPUs that came, lets go of those that went; what could not be
 * opened is tried again. Cheap; to be called no more often than once a second. */
void gpc_reader_follow_cpus(struct gpc_reader *r);

/* ---- pull: reader threads on all sampling streams --------------------------- */

/* One reader per CPU; on CPUs that come later too. *got: the lowest priority that
 * could be had. */
gpc_status gpc_reader_start_pull(struct gpc_reader *r, const struct gpc_pull_hooks *hooks,
				 enum gpc_priority wanted, enum gpc_priority *got,
				 struct gpc_err *err);
void gpc_reader_stop_pull(struct gpc_reader *r);
/* Gives up readers that hang. To be called a few times a second. is_calm: distances between
 * samples may be even (crowd.h). */
void gpc_reader_check_pull(struct gpc_reader *r, bool is_calm);

/* Has a reader thread still records older than until_ns to read? */
bool gpc_reader_is_behind(struct gpc_reader *r, uint64_t until_ns);

struct gpc_reader_stats {
	uint32_t rings, cpus;
	uint64_t ring_bytes;    /* locked memory */
	uint64_t reader_cpu_ns; /* of its reader threads that live */
	uint64_t dropped;       /* records that readers could not queue, ever */
	bool no_kernel;         /* of the stream: the kernel's part could not be had */
};
void gpc_reader_stats(const struct gpc_reader *r, uint32_t stream, struct gpc_reader_stats *ret);

#endif
