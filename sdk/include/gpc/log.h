/* SPDX-License-Identifier: Apache-2.0 */
/* gpc/log.h - printf over the host's log and report, for plugins in C. The ABI
 * itself takes ready texts, which other languages find easier. Inline: a plugin
 * has no undefined symbol of the core. */
#ifndef GPC_LOG_H
#define GPC_LOG_H

#include <stdarg.h>
#include <stdio.h>

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [any] Formats only when the level is wanted; cut at 1023 bytes. */
static inline void gpc_host_logf(const struct gpc_host *h, gpc_level level, const char *fmt, ...)
	GPC_PRINTF(3, 4);
static inline void gpc_host_logf(const struct gpc_host *h, gpc_level level, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (level > h->level)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	h->log(h, level, text);
}

/* [any] t may be NULL: the trouble is the collector's own. Returns code. */
static inline gpc_status gpc_host_reportf(const struct gpc_host *h, const struct gpc_target *t,
					  gpc_status code, const char *fmt, ...) GPC_PRINTF(4, 5);
static inline gpc_status gpc_host_reportf(const struct gpc_host *h, const struct gpc_target *t,
					  gpc_status code, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	h->report(h, t, code, text);
	return code;
}

#ifdef __cplusplus
}
#endif
#endif /* GPC_LOG_H */
