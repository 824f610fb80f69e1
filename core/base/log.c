/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"

#define QUIET_NS (10 * UINT64_C(1000000000))

void gpc_log_init(struct gpc_log *log, gpc_level level, gpc_log_fn fn, void *ctx)
{
	memset(log, 0, sizeof *log);
	log->level = level;
	log->fn = fn;
	log->ctx = ctx;
	gpc_mutex_init_inherit(&log->lock);
}

void gpc_log_deinit(struct gpc_log *log)
{
	pthread_mutex_destroy(&log->lock);
}

/* Returns true when the message is to be dropped; otherwise *dropped says how
 * many equal ones were dropped since it was last seen. */
static bool is_repeat(struct gpc_log *log, const char *message, uint32_t *dropped)
{
	uint64_t hash = gpc_hash(message, strlen(message));
	uint64_t now = gpc_now_ns();
	size_t slot = hash % GPC_LOG_RECENT;
	bool same, repeat;

	pthread_mutex_lock(&log->lock);
	same = log->recent[slot].hash == hash;
	repeat = same && now < log->recent[slot].until_ns;
	*dropped = same ? log->recent[slot].dropped : 0;
	if (repeat) {
		log->recent[slot].dropped++;
	} else {
		log->recent[slot].hash = hash;
		log->recent[slot].until_ns = now + QUIET_NS;
		log->recent[slot].dropped = 0;
	}
	pthread_mutex_unlock(&log->lock);
	return repeat;
}

void gpc_logf(struct gpc_log *log, gpc_level level, const char *module, int32_t pid,
	      const char *fmt, ...)
{
	char text[1024];
	struct gpc_log_line line = {.level = level, .module = module, .pid = pid, .message = text};
	uint32_t dropped = 0;
	va_list args;
	size_t n;

	if (!gpc_log_has(log, level) || !log->fn)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (level <= GPC_INFO && is_repeat(log, text, &dropped))
		return;
	n = strlen(text);
	if (dropped)
		snprintf(text + n, sizeof text - n, " (and %u times before)", dropped);
	log->fn(log->ctx, &line);
}
