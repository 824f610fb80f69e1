/* SPDX-License-Identifier: Apache-2.0 */
#include "py_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/modules.h"
#include "proc/target_threads.h"

static struct py_host *of(const struct gpc_host *h)
{
	return (struct py_host *)(uintptr_t)h;
}

/* ---- what a process says ------------------------------------------------------------ */

static void tell(struct py_host *h, const char *line)
{
	for (const char *s = line; *s; s++)
		(void)vec_push(&h->told, *s);
}

static void tell_place(struct py_host *h, const char *kind, const char *name,
		       const struct gpc_place *place)
{
	char line[256];

	snprintf(line, sizeof line, "%s %s %llx %llx\n", kind, name,
		 (unsigned long long)place->start, (unsigned long long)place->size);
	tell(h, line);
}

/* ---- what an image says -------------------------------------------------------------- */

static bool told(const struct py_host *h, const char *kind, const char *name, struct gpc_place *ret)
{
	char begin[128];
	const char *at = gpc_mem_image_stacks(h->image);
	size_t n = (size_t)snprintf(begin, sizeof begin, "%s %s ", kind, name);
	unsigned long long start, size;

	for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (strncmp(at, begin, n) == 0 && sscanf(at + n, "%llx %llx", &start, &size) == 2) {
			*ret = (struct gpc_place){start, size};
			return true;
		}
	return false;
}

/* ---- the host's table ------------------------------------------------------------------- */

static gpc_status place(struct py_host *h, const char *glob, const char *kind, const char *name,
			struct gpc_place *ret)
{
	struct gpc_module_file m;
	gpc_status st;

	/* Where code jumps is not recorded: images would hold the interpreter's loop. */
	if (strcmp(name, ".eh_frame_hdr") == 0)
		return GPC_E_GONE;
	if (h->image)
		return told(h, kind, name, ret) ? GPC_OK : GPC_E_GONE;
	st = gpc_module_open(h->target, glob, &m, NULL);
	if (st < 0)
		return st;
	st = *kind == 's' && kind[1] == 'y' ? gpc_module_symbol(&m, name, ret, NULL)
					    : gpc_module_section(&m, name, ret, NULL);
	close(m.fd);
	if (st == GPC_OK)
		tell_place(h, kind, name, ret);
	return st;
}

static gpc_status find_symbol(const struct gpc_host *host, const struct gpc_target *t,
			      const char *glob, const char *name, uint64_t *ret)
{
	struct gpc_place p;
	gpc_status st = place(of(host), glob, "symbol", name, &p);

	(void)t;
	if (st == GPC_OK)
		*ret = p.start;
	return st;
}

static gpc_status elf_symbol(const struct gpc_host *host, const struct gpc_target *t,
			     const char *glob, const char *name, uint64_t *start, uint64_t *bytes)
{
	struct gpc_place p;
	gpc_status st = place(of(host), glob, "symbol", name, &p);

	(void)t;
	if (st == GPC_OK) {
		*start = p.start;
		*bytes = p.size;
	}
	return st;
}

static gpc_status elf_section(const struct gpc_host *host, const struct gpc_target *t,
			      const char *glob, const char *name, uint64_t *start, uint64_t *bytes)
{
	struct gpc_place p;
	gpc_status st = place(of(host), glob, "section", name, &p);

	(void)t;
	if (st == GPC_OK) {
		*start = p.start;
		*bytes = p.size;
	}
	return st;
}

static int64_t read_mem(const struct gpc_host *host, const struct gpc_target *t, uint64_t at,
			void *buf, uint64_t n)
{
	struct py_host *h = of(host);
	int64_t got;

	if (h->image) {
		got = gpc_mem_image_read(h->image, at, buf, n);
		if (got > 0 && h->corrupt)
			h->corrupt(h->corrupt_ctx, buf, (uint64_t)got);
		return got;
	}
	got = gpc_mem_read(h->mem, t->id, t->pid, at, buf, n);
	if (got > 0) {
		struct py_range r = {at, at + (uint64_t)got};

		(void)vec_push(&h->read, r);
	}
	return got;
}

static void log_line(const struct gpc_host *h, gpc_level level, const char *text)
{
	(void)h;
	if (getenv("PY_HOST_VERBOSE"))
		fprintf(stderr, "%d: %s\n", (int)level, text);
}

static void report(const struct gpc_host *host, const struct gpc_target *t, gpc_status st,
		   const char *text)
{
	(void)t;
	snprintf(of(host)->report, sizeof of(host)->report, "%d %s", (int)st, text ? text : "");
}

static uint64_t now_ns(const struct gpc_host *host)
{
	return of(host)->now_ns;
}

static int32_t should_stop(const struct gpc_host *host)
{
	(void)host;
	return 0;
}

static int32_t open_file(const struct gpc_host *host, const struct gpc_target *t, const char *path,
			 int32_t flags)
{
	(void)host;
	(void)t;
	(void)path;
	(void)flags;
	return GPC_E_GONE;
}

/* ---- threads ---------------------------------------------------------------------------- */

struct threads { /* stands for struct gpc_target_threads in the collector's hands */
	struct py_host *host;
	struct gpc_target_threads *real;
};

static gpc_status threads_open(const struct gpc_host *host, const struct gpc_target *t,
			       struct gpc_target_threads **ret)
{
	struct threads *th = calloc(1, sizeof *th);

	th->host = of(host);
	if (!th->host->image && gpc_target_threads_open(t, th->host->mem, &th->real, NULL) < 0) {
		free(th);
		return GPC_E_UNSUPPORTED;
	}
	*ret = (struct gpc_target_threads *)(void *)th;
	return GPC_OK;
}

static void threads_close(struct gpc_target_threads *opaque)
{
	struct threads *th = (struct threads *)(void *)opaque;

	gpc_target_threads_free(th->real);
	free(th);
}

static gpc_status thread_of(struct gpc_target_threads *opaque, uint64_t pthread, int32_t *ret)
{
	struct threads *th = (struct threads *)(void *)opaque;
	struct gpc_place p = {0};
	char name[32];
	gpc_status st;

	snprintf(name, sizeof name, "%llx", (unsigned long long)pthread);
	if (th->host->image) {
		if (!told(th->host, "thread", name, &p))
			return GPC_E_GONE;
		*ret = (int32_t)p.start;
		return GPC_OK;
	}
	st = gpc_target_threads_tid(th->real, pthread, ret, NULL);
	p.start = (uint64_t)(uint32_t)*ret;
	if (st == GPC_OK)
		tell_place(th->host, "thread", name, &p);
	return st;
}

static const void *extension(const struct gpc_host *host, const char *id)
{
	return strcmp(id, "gpc.elf/1") == 0 ? &of(host)->elf : NULL;
}

static void fill(struct py_host *h)
{
	h->host = (struct gpc_host){.struct_size = sizeof h->host,
				    .level = GPC_TRACE,
				    .log = log_line,
				    .report = report,
				    .now_ns = now_ns,
				    .should_stop = should_stop,
				    .read_mem = read_mem,
				    .open_file = open_file,
				    .find_symbol = find_symbol,
				    .extension = extension};
	h->elf = (struct gpc_elf_api){.struct_size = sizeof h->elf,
				      .section = elf_section,
				      .threads_open = threads_open,
				      .threads_close = threads_close,
				      .thread_of = thread_of,
				      .symbol = elf_symbol};
	h->now_ns = 1;
}

/* ---- opening, writing ---------------------------------------------------------------------- */

bool py_host_open(struct py_host *h, int32_t pid)
{
	struct gpc_target_id id = {.pid = pid, .id = 1};

	memset(h, 0, sizeof *h);
	fill(h);
	if (gpc_mem_new(4, NULL, &h->mem, NULL) < 0 || gpc_target_read(&id, &h->view, NULL) < 0)
		return false;
	h->target = &h->view->target;
	return true;
}

void py_host_use(struct py_host *h, struct gpc_mem_image *image)
{
	memset(h, 0, sizeof *h);
	fill(h);
	h->image = image;
	h->target = gpc_mem_image_target(image);
}

bool py_host_load(struct py_host *h, const char *path)
{
	struct gpc_mem_image *image;

	if (gpc_mem_image_load(path, 64u << 20, &image, NULL) < 0)
		return false;
	py_host_use(h, image);
	return true;
}

void py_host_close(struct py_host *h)
{
	vec_deinit(&h->read);
	vec_deinit(&h->told);
	gpc_target_put(h->view);
	gpc_mem_free(h->mem);
	gpc_mem_image_free(h->image);
}

static int by_place(const void *a, const void *b)
{
	const struct py_range *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Ranges without overlap, in order. */
static size_t unite(struct py_range *r, size_t n)
{
	size_t kept = 0;

	qsort(r, n, sizeof *r, by_place);
	for (size_t i = 0; i < n; i++) {
		if (kept && r[i].at <= r[kept - 1].end) {
			if (r[i].end > r[kept - 1].end)
				r[kept - 1].end = r[i].end;
		} else {
			r[kept++] = r[i];
		}
	}
	return kept;
}

/* Paths as the process sees them. */
static const char *inside(const char *path, const char *root)
{
	size_t n = strlen(root);

	return n > 1 && strncmp(path, root, n) == 0 ? path + n : path;
}

/* The process's mappings, as such without memory, and what was read of them. */
static struct gpc_map *make_maps(struct py_host *h, const char *root, uint32_t *ret)
{
	size_t n = unite(h->read.at, h->read.n), from = h->target->n_maps;
	struct gpc_map *maps = calloc(from + n, sizeof *maps);

	for (size_t i = 0; i < from; i++) {
		maps[i] = h->view->maps[i];
		maps[i].prot &= ~(uint32_t)GPC_MAP_READ;
		maps[i].path = inside(maps[i].path, root);
	}
	for (size_t i = 0; i < n; i++)
		maps[from + i] = (struct gpc_map){.start = h->read.at[i].at,
						  .end = h->read.at[i].end,
						  .prot = GPC_MAP_READ,
						  .path = ""};
	*ret = (uint32_t)(from + n);
	return maps;
}

static bool write_text(struct py_host *h, const char *more, const char *path)
{
	FILE *to = fopen(path, "w"), *from = more ? fopen(more, "r") : NULL;

	for (int c; from && (c = fgetc(from)) != EOF;)
		fputc(c, to);
	fwrite(h->told.at, 1, h->told.n, to);
	if (from)
		fclose(from);
	return fclose(to) == 0;
}

bool py_host_write(struct py_host *h, const char *text, const char *path)
{
	struct gpc_target t = *h->target;
	struct gpc_capture c = {.target = &t, .mem = h->mem, .max_bytes = 64u << 20};
	struct gpc_capture_facts facts;
	char stacks[512], link[32], root[512] = "";
	bool is_written;

	snprintf(link, sizeof link, "/proc/%d/root", t.pid);
	if (readlink(link, root, sizeof root - 1) < 0)
		return false;

	snprintf(stacks, sizeof stacks, "%s.txt", path);
	if (!write_text(h, text, stacks))
		return false;
	c.stacks_path = stacks;
	t.exe = inside(t.exe, root);
	t.maps = make_maps(h, root, &t.n_maps);
	t.map_stride = sizeof *t.maps;
	is_written = gpc_mem_image_capture(&c, path, &facts, NULL) == GPC_OK;
	free((void *)(uintptr_t)t.maps);
	unlink(stacks);
	return is_written;
}

/* ---- a writer ---------------------------------------------------------------------------------
 */

static struct py_writer *writer_of(struct gpc_writer *w)
{
	return (struct py_writer *)(void *)w;
}

static gpc_str put_str(struct gpc_writer *writer, const char *s, uint32_t n)
{
	struct py_writer *w = writer_of(writer);
	char *copy = strndup(s, n);

	if (!vec_push(&w->texts, copy))
		abort();
	return (gpc_str)w->texts.n;
}

static gpc_frame put_frame(struct gpc_writer *writer, const struct gpc_frame_desc *d)
{
	struct py_writer *w = writer_of(writer);
	char *text;

	if (asprintf(&text, "%s|%s|%u", d->function ? w->texts.at[d->function - 1] : "",
		     d->file ? w->texts.at[d->file - 1] : "", d->line) < 0 ||
	    !vec_push(&w->frames, text))
		abort();
	return GPC_FRAME_TAG | w->frames.n;
}

void py_writer_init(struct py_writer *w)
{
	memset(w, 0, sizeof *w);
	w->writer = (struct gpc_writer){.struct_size = sizeof w->writer,
					.epoch = 1,
					.str = put_str,
					.frame = put_frame};
}

void py_writer_deinit(struct py_writer *w)
{
	for (size_t i = 0; i < w->texts.n; i++)
		free(w->texts.at[i]);
	for (size_t i = 0; i < w->frames.n; i++)
		free(w->frames.at[i]);
	vec_deinit(&w->texts);
	vec_deinit(&w->frames);
}

const char *py_writer_text(const struct py_writer *w, gpc_frame frame)
{
	uint64_t index = frame & ~GPC_FRAME_MASK;

	return index && index <= w->frames.n ? w->frames.at[index - 1] : "?";
}
