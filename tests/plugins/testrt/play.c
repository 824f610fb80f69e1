/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the lines of a script: stacks, troubles and misdeeds. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpc/log.h>

#include "testrt.h"

#define FRAMES_MAX 64
#define NO_TARGET  UINT64_C(0xFFFFFFFFFFFF)

/* ---- stacks -------------------------------------------------------------- */

/* "@symbol" of the executable or "@glob!symbol": a plain address. */
static gpc_frame native(const struct testrt *rt, const struct gpc_target *t, char *name)
{
	char *symbol = strchr(name, '!');
	uint64_t address = 0;
	gpc_status st;

	if (symbol)
		*symbol++ = '\0';
	st = rt->host->find_symbol(rt->host, t, symbol ? name : NULL, symbol ? symbol : name,
				   &address);
	if (st < 0)
		gpc_host_reportf(rt->host, t, st, "symbol %s was not found",
				 symbol ? symbol : name);
	/* Return addresses and program counters point behind a function's start. */
	return st < 0 ? 0 : address + 1;
}

/* "name", "name%2" for the second suffix, "name%0" for none. */
static gpc_frame foreign(struct gpc_writer *w, char *name)
{
	struct gpc_frame_desc d = {.struct_size = sizeof d, .suffix = 1};
	char *percent = strchr(name, '%');

	if (percent) {
		*percent = '\0';
		d.suffix = (uint16_t)atoi(percent + 1);
	}
	d.function = w->str(w, name, (uint32_t)strlen(name));
	return w->frame(w, &d);
}

static struct gpc_sample sample_of(const struct testrt_target *c, uint16_t event, uint64_t value)
{
	return (struct gpc_sample){.target = c->target->id,
				   .event = event,
				   .value = value,
				   .cpu = -1};
}

gpc_status testrt_write(struct testrt *rt, struct testrt_target *c, const struct script_line *line,
			uint16_t event, struct gpc_writer *w)
{
	struct gpc_sample s = sample_of(c, event, line->value);
	gpc_frame frames[FRAMES_MAX];
	char text[1024], *at = text, *name;
	uint32_t n = 0;

	snprintf(text, sizeof text, "%s", line->text);
	while ((name = strsep(&at, ";")) && n < FRAMES_MAX) {
		n++;
		frames[FRAMES_MAX - n] =
			*name == '@' ? native(rt, c->target, name + 1) : foreign(w, name);
	}
	return gpc_write(w, &s, frames + FRAMES_MAX - n, n);
}

gpc_status testrt_play(struct testrt *rt, struct testrt_target *c, const char *name, uint16_t event,
		       struct gpc_writer *w)
{
	const struct script_line *line;
	uint32_t at = 0;

	while ((line = script_next(&c->script, name, &at))) {
		struct script_line stack = *line;
		char text[1024], *space;
		gpc_status st;

		if (*name) { /* a directive's text holds the value too */
			snprintf(text, sizeof text, "%s", line->text);
			space = strrchr(text, ' ');
			stack.value = space ? strtoull(space, NULL, 10) : 1;
			if (space)
				*space = '\0';
			stack.text = text;
		}
		st = testrt_write(rt, c, &stack, event, w);
		if (st < 0)
			return st;
	}
	return GPC_OK;
}

/* ---- troubles and misdeeds ------------------------------------------------ */

static void report_all(struct testrt *rt, const struct testrt_target *c, const char *name,
		       gpc_status code)
{
	const struct script_line *line;
	uint32_t at = 0;

	while ((line = script_next(&c->script, name, &at)))
		rt->host->report(rt->host, c->target, code, line->text);
}

static void nap(int64_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&ts, &ts) < 0)
		;
}

/* A sample that lies about its frames, as a broken collector might write it. */
static void corrupt(const struct testrt_target *c, struct gpc_writer *w)
{
	struct gpc_sample s = sample_of(c, EVENT_CPU, 1);
	gpc_frame frame = 0;
	uint8_t *at = w->pos;

	if (gpc_write(w, &s, &frame, 1) < 0)
		return;
	at = w->pos - sizeof s - sizeof frame;
	((struct gpc_sample *)(void *)at)->n_frames = 1000;
}

static void stranger(const struct testrt_target *c, struct gpc_writer *w)
{
	struct gpc_sample s = sample_of(c, EVENT_CPU, 1000);
	char name[] = "stranger";
	gpc_frame frame = foreign(w, name);

	s.target = NO_TARGET;
	gpc_write(w, &s, &frame, 1);
}

static gpc_status flood(struct testrt *rt, const struct testrt_target *c, int64_t bytes,
			struct gpc_writer *w)
{
	struct gpc_sample s = sample_of(c, EVENT_CPU, 1);
	gpc_frame frames[FRAMES_MAX];
	char name[] = "flood";
	gpc_frame one = foreign(w, name);
	gpc_status st = GPC_OK;
	int64_t written = 0;

	for (uint32_t i = 0; i < FRAMES_MAX; i++)
		frames[i] = one;
	while (written < bytes && st == GPC_OK) {
		st = gpc_write(w, &s, frames, FRAMES_MAX);
		if (st == GPC_OK)
			written += (int64_t)(sizeof s + sizeof frames);
	}
	testrt_trace(rt, "flood %d %lld %d", c->target->pid, (long long)written, st);
	return st;
}

gpc_status testrt_act(struct testrt *rt, struct testrt_target *c, struct gpc_writer *w)
{
	int64_t bytes = script_number(&c->script, "flood", 0);
	int64_t ms = script_number(&c->script, "sleep", 0);

	report_all(rt, c, "error", GPC_E_CORRUPT);
	report_all(rt, c, "skip", GPC_E_SKIPPED);
	report_all(rt, c, "gone", GPC_E_GONE);
	if (ms)
		nap(ms);
	if (script_number(&c->script, "stranger", 0))
		stranger(c, w);
	if (bytes)
		return flood(rt, c, bytes, w);
	/* Last: the rest of the batch goes with a record that cannot be read. */
	if (script_number(&c->script, "corrupt", 0))
		corrupt(c, w);
	return (gpc_status)script_number(&c->script, "status", GPC_OK);
}
