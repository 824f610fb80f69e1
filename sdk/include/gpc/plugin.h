/* SPDX-License-Identifier: Apache-2.0 */
/* gpc/plugin.h - the binary contract between the gpc core and its plugins.
 *
 * Stability. This is 0.x: core and plugin must have been built with exactly
 * the same major and minor. From 1.0 on: a plugin built against any 1.x header
 * loads in every later 1.y core; one built against 1.y loads in an older 1.x
 * core if its needs_minor <= x. The header is written under the rules of 1.x
 * from the first day:
 *
 *   1. The first member is struct_size, set by the side that owns the memory.
 *      A reader copies min(its own size, struct_size) and zeroes the rest.
 *   2. Members are only ever appended. Zero means "not given" for all of them.
 *   3. Arrays of structs are walked by the first element's struct_size and end
 *      with an element whose struct_size is 0. Hot arrays carry their stride in
 *      the struct that holds them.
 *
 * Threads. Each callback is tagged:
 *   [control]  the core's control thread; never two at once in one instance
 *   [worker]   one of the core's workers; how many at once: see .threads
 *   [any]      any thread, any time between create and destroy
 * A [worker] call gets a gpc_writer of its own; a writer is never shared.
 * No callback may exit, fork (use spawn), change signal dispositions, the
 * working directory, the umask or the locale.
 *
 * Memory. Who allocates, frees. Pointers handed to a callback are borrowed
 * until it returns, save where a comment says until when. What a module's
 * tables point to must live as long as the module is loaded.
 *
 * Life of a collector:
 *
 *   ELF note checked - loaded - entry called - tables copied - options filled
 *      |
 *    create ---- probe ---- start ------------------- stop ---- destroy
 *                             | per process: claim - attach - (ready)* - detach
 *                             | per window:  window
 *
 * Text is UTF-8. Times are nanoseconds of CLOCK_MONOTONIC unless a name says
 * otherwise.
 */
#ifndef GPC_PLUGIN_H
#define GPC_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GPC_ABI_MAJOR 0
#define GPC_ABI_MINOR 1

#if defined(__GNUC__)
#define GPC_EXPORT       __attribute__((visibility("default")))
#define GPC_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define GPC_EXPORT
#define GPC_PRINTF(f, a)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* True when the owner of *p knows member m. */
#define GPC_HAS(p, m)    ((p)->struct_size >= (uint32_t)(gpc_end_of(p, m)))
#define gpc_end_of(p, m) ((size_t)((const char *)&(p)->m - (const char *)(p)) + sizeof((p)->m))

/* ---- status, severity --------------------------------------------------- */

typedef int32_t gpc_status; /* 0, or one of these; the numbers never change */
enum {
	GPC_OK = 0,
	GPC_E_GONE = -1,        /* the process ended: not an error to show */
	GPC_E_PERM = -2,        /* a capability or a seccomp/LSM rule is missing */
	GPC_E_UNSUPPORTED = -3, /* runtime version, libc, architecture, kernel */
	GPC_E_BUSY = -4,        /* someone else profiles or debugs it */
	GPC_E_TIMEOUT = -5,
	GPC_E_BUDGET = -6,  /* over the budget; the core will slow us down */
	GPC_E_CORRUPT = -7, /* memory or file was not as the version promises */
	GPC_E_NOMEM = -8,
	GPC_E_CONFIG = -9,
	GPC_E_SYSTEM = -10, /* a system call failed; the detail says which */
	GPC_E_INTERNAL = -11,
	GPC_E_RETRY = -12,  /* sinks: keep the profile and call again later */
	GPC_E_SKIPPED = -13 /* left alone on purpose; the detail says why */
};

typedef int32_t gpc_level;
enum { GPC_ERROR = 1, GPC_WARN, GPC_INFO, GPC_DEBUG, GPC_TRACE };

/* ---- options ------------------------------------------------------------ */

enum {
	GPC_OPT_BOOL = 1, /* int32_t, 0 or 1 */
	GPC_OPT_INT,      /* int64_t */
	GPC_OPT_BYTES,    /* int64_t; accepts 64k, 2mb (binary multiples) */
	GPC_OPT_DURATION, /* int64_t ns; accepts 10ms, 2s; a bare number is seconds */
	GPC_OPT_STRING,   /* const char *; NULL when there is neither value nor default */
	GPC_OPT_CHOICE,   /* int32_t, index into choices (an alias has its own index) */
	GPC_OPT_LIST      /* struct gpc_list; "a,b" or "[a, b]"; repeating appends */
};

enum {
	GPC_OPT_SECRET = 1u << 0,     /* never shown: not in logs, profiles or help output */
	GPC_OPT_LIVE = 1u << 1,       /* may change while running */
	GPC_OPT_HIDDEN = 1u << 2,     /* not in --help */
	GPC_OPT_ABSOLUTE = 1u << 3,   /* name is the whole long name, no module prefix */
	GPC_OPT_SWITCH = 1u << 4,     /* takes no value; giving it stores .implied */
	GPC_OPT_OPTIONAL = 1u << 5,   /* value may be left out; then .implied is stored */
	GPC_OPT_MODE = 1u << 6,       /* GPC_OPT_CHOICE, one a module: the choices "disabled"
				       * and "none" switch the module off */
	GPC_OPT_DEPRECATED = 1u << 7, /* accepted; a warning is logged when given */
	GPC_OPT_REGEX = 1u << 8,      /* GPC_OPT_LIST: each occurrence is one element, commas
				       * and all */
	GPC_OPT_LAST = 1u << 9        /* GPC_OPT_LIST: the last occurrence counts, it does not
				       * append */
};

struct gpc_list {
	const char *const *at;
	uint32_t n, reserved;
};

/* Several rows may share an offset: "--java-mode=ap|disabled" and the switch
 * "--no-java" (ABSOLUTE | SWITCH, implied "disabled") fill the same member;
 * the last one given wins. */
struct gpc_option {
	uint32_t struct_size;
	uint32_t type;        /* GPC_OPT_BOOL ... */
	const char *name;     /* "safemode" of module java is --java-safemode */
	const char *aliases;  /* further whole long names, "glogger-server|x"; or NULL */
	const char *fallback; /* default, as text, parsed like a user's value; or NULL */
	const char *implied;  /* see SWITCH and OPTIONAL */
	const char *help;     /* one sentence */
	const char *metavar;  /* "N", "FILE"; shown in help; or NULL */
	const char *choices;  /* "auto|cpu|itimer"; STRING and LIST (its elements) may have
			       * some too */
	const char *dest;     /* key in the profile's run_arguments; or NULL: derived */
	int64_t min, max;     /* both 0: no bounds. Of a LIST: its elements are whole numbers */
	uint32_t offset;      /* where in the options struct the core stores it */
	uint32_t flags;       /* GPC_OPT_SECRET ... */
	char short_name;      /* 'f' for -f; or 0 */
	char reserved[7];
	int64_t absent; /* INT, BYTES, DURATION: stored when there is neither value nor
			 * default, to tell that from a 0 */
};

/* ---- what a collector declares ------------------------------------------ */

/* The fast path of discovery: a process may be ours when one row matches. */
enum {
	GPC_MATCH_EXE = 1, /* glob on the base name of the executable */
	GPC_MATCH_MAPPED,  /* glob on the base name of a mapped executable file */
	GPC_MATCH_SYMBOL,  /* glob-free name of a dynamic symbol of the executable */
	GPC_MATCH_ANY,     /* every process: claim() decides alone */
	GPC_MATCH_SECTION  /* glob-free name of a section of the executable */
};
struct gpc_match {
	uint32_t struct_size;
	uint32_t kind;
	const char *glob;
};

struct gpc_event {
	uint32_t struct_size;
	uint16_t id;      /* the collector's own small number, used in samples */
	uint16_t flags;   /* GPC_EVENT_CPU_TIME */
	const char *name; /* "cpu-time", "cycles", "alloc" */
	const char *unit; /* "samples", "nanoseconds", "count", "bytes" */
};
/* Counts CPU time: only such events are scaled to perf's counts and merged. */
enum { GPC_EVENT_CPU_TIME = 1u << 0 };

enum {
	GPC_CAP_CPU = 1u << 0,
	GPC_CAP_WALL = 1u << 1,
	GPC_CAP_ALLOC = 1u << 2,
	GPC_CAP_LOCK = 1u << 3,
	GPC_CAP_OFFCPU = 1u << 4,
	GPC_CAP_PMC = 1u << 5,
	GPC_CAP_METRICS = 1u << 6
};
enum { GPC_SCOPE_SYSTEM = 1, GPC_SCOPE_PROCESS };
enum {
	GPC_THREADS_ONE = 0,    /* all calls of an instance one after another */
	GPC_THREADS_PER_TARGET, /* targets in parallel, one call per target */
	GPC_THREADS_OWN         /* brings its own; no extension gives them writers yet */
};
enum { GPC_TOUCH_NOTHING = 0, GPC_TOUCH_READS, GPC_TOUCH_PAUSES, GPC_TOUCH_INJECTS };

/* ---- what the core tells about a process -------------------------------- */

enum { GPC_MAP_READ = 1, GPC_MAP_WRITE = 2, GPC_MAP_EXEC = 4 };
struct gpc_map {
	uint64_t start, end, offset; /* bytes; [start, end) */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t prot, flags; /* GPC_MAP_READ ... */
	const char *path;     /* as the target sees it; "" for anonymous memory */
};

struct gpc_target {
	uint32_t struct_size;
	int32_t pid;         /* in the core's pid namespace */
	uint64_t id;         /* of (pid, start time, exec count); never used twice */
	uint64_t start_time; /* clock ticks since boot */
	int32_t ns_pid;      /* in its own pid namespace */
	int32_t ppid;
	uint32_t uid;
	uint32_t exec_count; /* execs seen since the core knows the process */
	int32_t pidfd;       /* borrowed; -1 if the kernel has none */
	uint16_t machine;    /* ELF e_machine of the executable; 0 unknown */
	uint8_t libc;        /* 0 none or unknown, 1 glibc, 2 musl */
	uint8_t reserved;
	const char *comm, *exe, *cgroup, *container; /* never NULL; "" unknown */
	const char *cmdline;                         /* NUL separated */
	uint32_t cmdline_len;
	uint32_t n_maps, map_stride, reserved2;
	const struct gpc_map *maps; /* sorted by start */
};

/* ---- writing samples ---------------------------------------------------- */

typedef uint32_t gpc_str;   /* 0 is the empty string */
typedef uint64_t gpc_frame; /* an address, or GPC_FRAME_TAG | id from frame() */

/* The top byte of an interned frame. 0xE0 is no valid address on x86-64 (LA57
 * included); on arm64 strip tag and PAC bits from addresses first. */
#define GPC_FRAME_TAG  UINT64_C(0xE000000000000000)
#define GPC_FRAME_MASK UINT64_C(0xFF00000000000000)

enum {
	GPC_FRAME_JIT = 1u << 0,
	GPC_FRAME_INLINED = 1u << 1,
	GPC_FRAME_GC = 1u << 2,
	GPC_FRAME_ERROR = 1u << 3,
	GPC_FRAME_KERNEL = 1u << 4,
	/* One line of text shows file and line too: "function (file:line)", with a
	 * module "function (file:line [module])". */
	GPC_FRAME_SHOWS_FILE = 1u << 5
};
struct gpc_frame_desc {
	uint32_t struct_size;
	uint32_t flags;
	gpc_str function, file, module;
	uint32_t line;   /* 0 unknown */
	uint16_t suffix; /* 1 is the first of the collector's suffixes; 0 none */
	uint16_t reserved;
};

enum { GPC_REC_SAMPLE = 1, GPC_REC_COUNTER, GPC_REC_LABEL };
struct gpc_record { /* every record: skip what you do not know by its size */
	uint16_t type, flags;
	uint32_t size; /* bytes, with this header; a multiple of 8 */
};
struct gpc_sample {
	struct gpc_record head;
	uint64_t target;    /* gpc_target.id */
	uint64_t time_ns;   /* 0: somewhere in the window */
	uint64_t value;     /* in the event's unit; a count if already folded */
	int32_t tid;        /* 0 unknown */
	int32_t cpu;        /* -1 unknown */
	uint16_t event;     /* gpc_event.id */
	uint16_t n_frames;  /* leaf first */
	uint32_t frames_at; /* offset of the gpc_frame array in the record */
};

struct gpc_writer {
	uint32_t struct_size;
	uint32_t epoch; /* ids from another epoch are dead: drop your caches */
	uint8_t *pos;   /* free space, 8-aligned: [pos, end) */
	uint8_t *end;
	void *impl;
	gpc_status (*room)(struct gpc_writer *w, uint32_t bytes);
	/* 0 when memory is short */
	gpc_str (*str)(struct gpc_writer *w, const char *s, uint32_t len);
	gpc_frame (*frame)(struct gpc_writer *w, const struct gpc_frame_desc *f);
};

/* Copies one sample into the batch. No allocation, no lock, no call out unless
 * the batch is full. At most 65535 frames: more are refused. */
static inline gpc_status gpc_write(struct gpc_writer *w, const struct gpc_sample *s,
				   const gpc_frame *frames, uint32_t n)
{
	uint32_t size = (uint32_t)(sizeof *s + n * sizeof *frames);
	struct gpc_sample *out;

	if (n > UINT16_MAX)
		return GPC_E_BUDGET;
	if ((size_t)(w->end - w->pos) < size) {
		gpc_status st = w->room(w, size);
		if (st < 0)
			return st;
	}
	out = (struct gpc_sample *)(void *)w->pos;
	*out = *s;
	out->head.type = GPC_REC_SAMPLE;
	out->head.size = size;
	out->n_frames = (uint16_t)n;
	out->frames_at = (uint32_t)sizeof *s;
	if (n)
		memcpy(out + 1, frames, n * sizeof *frames);
	w->pos += size;
	return GPC_OK;
}

/* ---- what the core offers ----------------------------------------------- */

enum { GPC_OPEN_FOLDER = 1u << 0 }; /* flags of open_file */

enum { GPC_READY_FD = 1, GPC_READY_TIMER, GPC_READY_CHILD };
struct gpc_ready {
	uint32_t struct_size;
	uint32_t kind;   /* GPC_READY_FD ... */
	uint64_t token;  /* as given to watch_fd, set_timer or spawn */
	int32_t fd;      /* FD */
	uint32_t events; /* FD: EPOLLIN ... */
	int32_t child;   /* CHILD: its pid */
	int32_t status;  /* CHILD: as waitpid gives it */
};

struct gpc_spawn {
	uint32_t struct_size;
	uint32_t flags;
	const char *const *argv;         /* NULL terminated; argv[0] is a path */
	const struct gpc_target *target; /* whose tctx ready() gets; NULL: none */
	const struct gpc_target *inside; /* enter its mount and pid namespaces; or NULL */
	uint64_t deadline_ns;            /* killed then; 0: at detach or stop */
	uint64_t token;                  /* comes back in ready() at exit */
	int32_t fds[3];                  /* its stdin, stdout, stderr; -1: /dev/null */
	int32_t reserved;
};

struct gpc_host {
	uint32_t struct_size;
	uint16_t abi_major, abi_minor;
	const char *core_version;
	gpc_level level; /* messages above it are dropped: skip formatting */
	int32_t reserved;
	void *impl;

	/* [any] */
	void (*log)(const struct gpc_host *h, gpc_level level, const char *msg);
	/* [any] One trouble with one process (or NULL: with the collector). The
	 * core counts, rate-limits, and shows it as a frame in the profile:
	 * [Profiling error: detail], for GPC_E_SKIPPED [Profiling skipped: detail].
	 * GPC_E_GONE is counted and not shown. */
	void (*report)(const struct gpc_host *h, const struct gpc_target *t, gpc_status code,
		       const char *detail);
	/* [any] Monotonic; virtual under the test harness. */
	uint64_t (*now_ns)(const struct gpc_host *h);
	/* [any] True when a long call should return early. */
	int32_t (*should_stop)(const struct gpc_host *h);
	/* [any] Bytes of the target's memory. Returns the number read, which may be
	 * short, or a status below 0. */
	int64_t (*read_mem)(const struct gpc_host *h, const struct gpc_target *t, uint64_t addr,
			    void *buf, uint64_t len);
	/* [worker] A regular file as the target sees it, never outside its root,
	 * opened read only and close-on-exec; with GPC_OPEN_FOLDER a folder. The
	 * descriptor is the caller's. A status below 0 on failure. */
	int32_t (*open_file)(const struct gpc_host *h, const struct gpc_target *t, const char *path,
			     int32_t flags);
	/* [worker] The address, in the target, of a symbol of a mapped file whose
	 * base name matches the glob (NULL: the executable). */
	gpc_status (*find_symbol)(const struct gpc_host *h, const struct gpc_target *t,
				  const char *mapped_glob, const char *symbol, uint64_t *addr);
	/* [control,worker] ready() is called with token when fd polls (EPOLLIN ...).
	 * events 0 ends the watch; detach and stop end it too. The descriptor stays
	 * the caller's. target: whose tctx ready() gets, NULL: the collector's. */
	gpc_status (*watch_fd)(const struct gpc_host *h, const struct gpc_target *t, int32_t fd,
			       uint32_t events, uint64_t token);
	/* [control,worker] every_ns 0 ends the timer with this token. */
	gpc_status (*set_timer)(const struct gpc_host *h, const struct gpc_target *t,
				uint64_t every_ns, uint64_t token);
	/* [control,worker] Runs a program; the core reaps it, whoever owns SIGCHLD.
	 * From start() it waits for the worker: hold no lock that ready() takes. */
	gpc_status (*spawn)(const struct gpc_host *h, const struct gpc_spawn *s);
	/* [any] NULL if unknown. Ids end in /N and never change meaning. */
	const void *(*extension)(const struct gpc_host *h, const char *id);
};

struct gpc_session {
	uint32_t struct_size;
	uint32_t hz;           /* samples a second and CPU; 0: one per interval */
	uint64_t interval;     /* of the event, if hz is 0 */
	uint64_t caps;         /* what to measure: a subset of .caps */
	uint64_t window_ns;    /* length of a window */
	uint32_t cpu_permille; /* budget: share of one CPU; 0 unlimited */
	uint32_t max_targets;  /* 0 unlimited */
	uint64_t max_bytes;    /* budget: records in one window; 0 unlimited */
	uint64_t attach_ns;    /* budget: longest attach */
	const int32_t *pids;   /* only these and their children; alive until stop() */
	uint32_t n_pids;       /* 0: the whole machine */
	uint32_t insert_dso_name;
};

struct gpc_window {
	uint32_t struct_size;
	uint32_t seq;              /* 0 for the first window of a session */
	uint64_t begin_ns, end_ns; /* [begin, end) */
	uint64_t deadline_ns;      /* return by then; the rest is lost */
};

/* ---- collectors --------------------------------------------------------- */

struct gpc_collector {
	uint32_t struct_size;
	uint32_t scope;                /* GPC_SCOPE_ */
	uint64_t caps;                 /* GPC_CAP_ */
	uint32_t threads;              /* GPC_THREADS_ */
	uint32_t touch;                /* GPC_TOUCH_ */
	const char *name;              /* "pyspy", "phpspy": unique in the core */
	const char *runtime;           /* "python"; NULL: native code */
	const char *summary;           /* one line for plugins list */
	const char *const *needs;      /* "CAP_PERFMON", ..., NULL; may be NULL */
	const char *const *suffixes;   /* "p", "pn", ..., NULL; may be NULL */
	const struct gpc_match *match; /* any of; NULL for system scope */
	const struct gpc_event *events;

	/* [control] No side effects on the system before start(). options: the
	 * module's filled options struct, alive until destroy returns. */
	gpc_status (*create)(const struct gpc_host *h, const void *options, void **self);
	void (*destroy)(void *self);
	/* [control] Can this work here? Optional. report() says why not. */
	gpc_status (*probe)(void *self);
	/* [control] Optional. */
	gpc_status (*start)(void *self, const struct gpc_session *s);
	void (*stop)(void *self);
	/* [worker] The match table said yes: look closer. 0 no, 1..100 how sure.
	 * Optional. Asked once per process image, again after an exec or a new
	 * executable mapping as long as the answer was 0. */
	int32_t (*claim)(void *self, const struct gpc_target *t);
	/* [worker] process scope only. *t lives until detach returns. */
	gpc_status (*attach)(void *self, const struct gpc_target *t, void **tctx);
	void (*detach)(void *self, void *tctx);
	/* [worker] A descriptor, a timer or a child. tctx is NULL for what start()
	 * asked. Optional. */
	gpc_status (*ready)(void *self, void *tctx, const struct gpc_ready *r,
			    struct gpc_writer *w);
	/* [worker] Write all that was measured in this window: once per attached
	 * process, in system scope once with tctx NULL. Optional. */
	gpc_status (*window)(void *self, void *tctx, const struct gpc_window *win,
			     struct gpc_writer *w);
	/* [any] Optional. */
	const void *(*extension)(void *self, const char *id);
};

/* ---- sinks -------------------------------------------------------------- */

struct gpc_profile; /* read through gpc.profile/1, an extension of the host */

struct gpc_sink {
	uint32_t struct_size;
	uint32_t threads;
	const char *name, *summary;
	gpc_status (*create)(const struct gpc_host *h, const void *options, void **self);
	void (*destroy)(void *self);
	/* [worker] The profile is whole, read only, and alive until this returns.
	 * GPC_E_RETRY keeps it in the core's bounded queue. */
	gpc_status (*write)(void *self, const struct gpc_profile *p);
	/* [control] Last call before destroy. Optional. */
	gpc_status (*flush)(void *self, uint64_t deadline_ns);
};

/* ---- the module --------------------------------------------------------- */

struct gpc_module {
	uint32_t struct_size;
	uint16_t abi_major, abi_minor; /* of the header it was built with */
	uint16_t needs_minor;          /* oldest core it can live with */
	uint16_t reserved;
	uint32_t options_bytes; /* size of the struct that the options fill */
	const char *name;       /* [a-z][a-z0-9_]*: prefix of its options */
	const char *version;
	const char *summary;                           /* one line */
	const struct gpc_option *options;              /* or NULL */
	const struct gpc_collector *const *collectors; /* NULL terminated; or NULL */
	const struct gpc_sink *const *sinks;           /* NULL terminated; or NULL */
};

typedef const struct gpc_module *(*gpc_module_entry_fn)(void);

/* An ELF note (section .note.gpc, owner "gpc", type 1) lets the core refuse a
 * module before dlopen runs any of its code. */
#define GPC_NOTE_TYPE 1
struct gpc_note {
	uint32_t namesz, descsz, type;
	char name[4];
	uint16_t abi_major, abi_minor, needs_minor, reserved;
};

#if defined(__GNUC__)
#define GPC_NOTE_ATTRS __attribute__((section(".note.gpc"), used, aligned(4)))
#else
#define GPC_NOTE_ATTRS
#endif

#ifdef GPC_BUILTIN
#define GPC_ENTRY(id) gpc_module_entry_##id
#define GPC_NOTE(needs)
#else
#define GPC_ENTRY(id) gpc_module_entry
#define GPC_NOTE(needs)                                           \
	GPC_NOTE_ATTRS static const struct gpc_note gpc_note_ = { \
		4, 8, GPC_NOTE_TYPE, {'g', 'p', 'c', 0}, GPC_ABI_MAJOR, GPC_ABI_MINOR, needs, 0};
#endif

/* Once in a module: exports its one symbol and writes the note. */
#define GPC_MODULE(id, needs, mod)                               \
	GPC_NOTE(needs)                                          \
	GPC_EXPORT const struct gpc_module *GPC_ENTRY(id)(void); \
	const struct gpc_module *GPC_ENTRY(id)(void)             \
	{                                                        \
		return &(mod);                                   \
	}

#ifdef __cplusplus
}
#endif

/* What the core offers beyond that, and what a collector may offer it, found by ids
 * at run time: a file for each matter. */
#include <gpc/ext/source.h>
#include <gpc/ext/processes.h>
#include <gpc/ext/pull.h>
#include <gpc/ext/tick.h>
#include <gpc/ext/fork.h>
#include <gpc/ext/elf.h>
#include <gpc/ext/about.h>
#include <gpc/ext/inject.h>
#include <gpc/ext/profile.h>

#endif /* GPC_PLUGIN_H */
