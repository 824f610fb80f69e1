/* SPDX-License-Identifier: Apache-2.0 */
/* The gpc_writer of a pull answer: makes names and frames, takes no samples. On
 * the reader's stack, for one call. */
#ifndef GPC_SOURCE_PULL_WRITER_H
#define GPC_SOURCE_PULL_WRITER_H

#include "profile/names.h"

struct gpc_pull_writer {
	struct gpc_writer writer; /* first: its impl is this struct */
	struct gpc_names *names;  /* borrowed */
	const char *const *suffixes;
};

void gpc_pull_writer_init(struct gpc_pull_writer *w, struct gpc_names *names,
			  const char *const *suffixes);

#endif
