/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and frames, each stored once and known by number. One gpc_names is
 * one epoch: when it has grown over its budget the core starts a new one at the
 * end of a window, and profiles still being delivered keep the old one alive by
 * a reference. Within a window gpc_names_limit holds. Thread-safe; texts are borrowed
 * until the last reference goes. */
#ifndef GPC_PROFILE_NAMES_H
#define GPC_PROFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpc/plugin.h>

struct gpc_names;

struct gpc_frame_entry {
	gpc_str function, file, module;
	gpc_str suffix; /* its text, "p" or "k"; 0 none */
	uint32_t line, flags;
	gpc_str build_id; /* of the module, as hexadecimal text; 0 none */
	uint32_t reserved;
	uint64_t address; /* in the module as linked; 0: not asked for, or not known */
};

struct gpc_names *gpc_names_new(uint32_t epoch); /* NULL: no memory; one reference */
struct gpc_names *gpc_names_get(struct gpc_names *names);
void gpc_names_put(struct gpc_names *names); /* NULL is fine */

uint32_t gpc_names_epoch(const struct gpc_names *names);
size_t gpc_names_bytes(struct gpc_names *names);

/* Beyond max_bytes what is new gets one name, GPC_NAMES_OVER, and so does what
 * collectors add (gpc_names_collected_) beyond half of it: a process that makes
 * functions without end takes the names of others neither memory nor their own. Stacks
 * stay counted. GPC_E_NOMEM leaves it unlimited, as it is at first. */
#define GPC_NAMES_OVER "[names over the memory limit]"
gpc_status gpc_names_limit(struct gpc_names *names, size_t max_bytes);
/* Frames that got that name, as often as they were asked for. */
uint64_t gpc_names_refused(struct gpc_names *names);

/* Longer texts are cut: they come from files and processes that we don't know. */
#define GPC_NAMES_LONGEST 16384

/* 0 for the empty string, and when memory is short. A NUL ends s early. */
gpc_str gpc_names_str(struct gpc_names *names, const char *s, size_t len);
/* NUL terminated; "" for an unknown number. */
const char *gpc_names_text(struct gpc_names *names, gpc_str s, size_t *len);
/* GPC_FRAME_TAG | id; 0 when memory is short. */
gpc_frame gpc_names_frame(struct gpc_names *names, const struct gpc_frame_entry *entry);
/* The same for collectors, who tell what foreign processes say. */
gpc_str gpc_names_collected_str(struct gpc_names *names, const char *s, size_t len);
gpc_frame gpc_names_collected_frame(struct gpc_names *names, const struct gpc_frame_entry *entry);
bool gpc_names_entry(struct gpc_names *names, gpc_frame frame, struct gpc_frame_entry *ret);
/* The same with its texts, at the cost of one call. */
bool gpc_names_frame_text(struct gpc_names *names, gpc_frame frame, struct gpc_frame_text *ret);

#endif
