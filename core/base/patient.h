/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that the kernel may keep waiting for ever: a file of a server that is gone, the
 * mappings of a process that does not get out of its exec. They are made on a thread
 * that is left behind when it does not come back. */
#ifndef GPC_BASE_PATIENT_H
#define GPC_BASE_PATIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define GPC_PATIENT_NS UINT64_C(2000000000) /* longer than any disk takes */

struct gpc_patient;

/* No thread is started before there is work. */
gpc_status gpc_patient_new(const char *thread_name, struct gpc_patient **ret, struct gpc_err *err);
/* Threads that were left behind end when the kernel lets them. */
void gpc_patient_free(struct gpc_patient *p); /* NULL is fine */

/* Runs fn(arg), one at a time. GPC_OK: it has returned. GPC_E_TIMEOUT: it has not, or
 * too many hang already; arg is dropped by drop when it does. What fn uses beside arg
 * must live as long as the program. */
struct gpc_patient_call {
	void (*fn)(void *arg);
	void (*drop)(void *arg);
	void *arg;
};
gpc_status gpc_patient_run(struct gpc_patient *p, const struct gpc_patient_call *call,
			   uint64_t timeout_ns);

/* gpc_read_file by it. */
gpc_status gpc_patient_read(struct gpc_patient *p, int dirfd, const char *path, size_t max,
			    char **ret, size_t *len, struct gpc_err *err);

#endif
