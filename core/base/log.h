/* SPDX-License-Identifier: Apache-2.0 */
/* One event, one line: level, module, pid, message. Where lines go is decided
 * by the owner of the log (a file, the embedder's callback); the log itself
 * only drops what is above its level and what repeats. Thread-safe. */
#ifndef GPC_BASE_LOG_H
#define GPC_BASE_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <gpc/gpc.h>

typedef void (*gpc_log_fn)(void *ctx, const struct gpc_log_line *line);

#define GPC_LOG_RECENT 32 /* messages remembered to drop repeats */

struct gpc_log {
	gpc_level level;
	gpc_log_fn fn;
	void *ctx;
	pthread_mutex_t lock;
	struct {
		uint64_t hash, until_ns;
		uint32_t dropped;
	} recent[GPC_LOG_RECENT];
};

void gpc_log_init(struct gpc_log *log, gpc_level level, gpc_log_fn fn, void *ctx);
void gpc_log_deinit(struct gpc_log *log);

/* A text that was logged within the last ten seconds is dropped and counted
 * (debug and trace lines are never dropped). Never blocks on anything but fn. */
void gpc_logf(struct gpc_log *log, gpc_level level, const char *module, int32_t pid,
	      const char *fmt, ...) GPC_PRINTF(5, 6);

/* A function, so that gpc_info(&c->log, ...) is no comparison of an address. */
static inline bool gpc_log_has(const struct gpc_log *log, gpc_level level)
{
	return log && log->level >= level;
}

#define gpc_log_at(log, lvl, module, pid, ...)                        \
	do {                                                          \
		if (gpc_log_has(log, lvl))                            \
			gpc_logf(log, lvl, module, pid, __VA_ARGS__); \
	} while (0)

#define gpc_error(log, module, ...) gpc_log_at(log, GPC_ERROR, module, 0, __VA_ARGS__)
#define gpc_warn(log, module, ...)  gpc_log_at(log, GPC_WARN, module, 0, __VA_ARGS__)
#define gpc_info(log, module, ...)  gpc_log_at(log, GPC_INFO, module, 0, __VA_ARGS__)
#define gpc_debug(log, module, ...) gpc_log_at(log, GPC_DEBUG, module, 0, __VA_ARGS__)

#endif
