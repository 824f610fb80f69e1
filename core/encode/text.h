/* SPDX-License-Identifier: Apache-2.0 */
/* Names of unknown origin, made safe for a text format: whatever bytes come
 * in, valid UTF-8 of one line goes out. */
#ifndef GPC_ENCODE_TEXT_H
#define GPC_ENCODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encode/encode.h"

#define GPC_UTF8_BAD UINT32_C(0xFFFD)

/* The character at s (not at its NUL) and its length; GPC_UTF8_BAD and 1 for a
 * byte that begins none. */
size_t gpc_utf8_next(const char *s, uint32_t *ret);

/* One field of a folded line: ';' becomes '|', line ends and control characters
 * become spaces, spaces at the ends go, bad bytes become U+FFFD. False when
 * nothing was left to write. */
bool gpc_out_field(struct gpc_out *o, const char *s);

/* Nothing that gpc_out_field would write. */
bool gpc_is_blank(const char *s);
/* How many of the n bytes at s, from the first on, are written as blanks. */
size_t gpc_blanks(const char *s, size_t n);

/* The name of a frame without its suffix, as all formats show it: its function, with
 * file, line and module where it wants that (GPC_FRAME_SHOWS_FILE), "[unknown]"
 * without one. Borrowed, or *made, which is the caller's to free. NULL: no memory. */
const char *gpc_frame_shown(const struct gpc_frame_text *f, char **made);
/* The same with its suffix (gpc_profile_api.text). */
uint32_t gpc_frame_line(const struct gpc_frame_text *f, char *ret, uint32_t size);

/* A JSON string with its quotes that may stand in a <script> element. */
void gpc_out_json(struct gpc_out *o, const char *s);
/* The same without quotes, a piece of one. */
void gpc_out_json_text(struct gpc_out *o, const char *s);

/* Text between tags. */
void gpc_out_html(struct gpc_out *o, const char *s);

#endif
