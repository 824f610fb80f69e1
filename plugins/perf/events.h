/* SPDX-License-Identifier: Apache-2.0 */
/* Names of perf events: the generic ones of linux/perf_event.h, as perf list
 * prints them, and raw ones (rHEX: the config of a PERF_TYPE_RAW event). */
#ifndef PERF_EVENTS_H
#define PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

bool gpc_perf_event_find(const char *name, uint32_t *type, uint64_t *config);
/* All names in one text, for messages. */
const char *gpc_perf_event_names(void);

#endif
