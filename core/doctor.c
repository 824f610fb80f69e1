/* SPDX-License-Identifier: Apache-2.0 */
/* gprofiler-core doctor PID: what a profile would show of a process, and why not
 * more. Nothing is measured; collectors that only read are attached for a moment,
 * those that do more are only asked whether they would. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "core_impl.h"
#include "elf/gopclntab.h"
#include "elf/symtab.h"
#include "elf/unpack.h"
#include "plugin/match.h"
#include "plugin/needs.h"
#include "proc/debugfile.h"
#include "proc/modules.h"
#include "proc/root.h"
#include "proc/stat.h"
#include "sym/jitdump.h"

#define ANSWER_NS (10 * GPC_SECOND_NS) /* for claim and attach */

/* ---- the process ------------------------------------------------------------------ */

static bool is_same_ns(int32_t pid, const char *name)
{
	char path[64], ours[64];
	struct stat a, b;

	snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
	snprintf(ours, sizeof ours, "/proc/self/ns/%s", name);
	/* Where it may not be looked at, it is not ours. */
	return stat(path, &a) == 0 && stat(ours, &b) == 0 && a.st_ino == b.st_ino;
}

static bool is_kernel_thread(const struct gpc_target *t)
{
	return !t->n_maps && !*t->exe;
}

static void tell_process(const struct gpc_target *t, FILE *out)
{
	if (is_kernel_thread(t)) {
		fprintf(out,
			"process %d (%s), a kernel thread: it has no code of its own, only kernel "
			"functions show\n",
			t->pid, t->comm);
		return;
	}
	fprintf(out, "process %d (%s), user %u, %s\n", t->pid, t->comm, t->uid,
		*t->exe ? t->exe : "an executable that cannot be seen");
	if (!is_same_ns(t->pid, "pid"))
		fprintf(out, "  in a pid namespace of its own, as number %d\n", t->ns_pid);
	if (!is_same_ns(t->pid, "mnt"))
		fprintf(out,
			"  in a mount namespace of its own: files are opened inside its root\n");
	fprintf(out, "  C library: %s\n",
		t->libc == 1   ? "glibc"
		: t->libc == 2 ? "musl"
			       : "none that is known (static?)");
}

/* ---- rights ------------------------------------------------------------------------- */

static void tell_ptrace(FILE *out)
{
	char scope[16];

	if (gpc_read_small(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) >
		    0 &&
	    atoi(scope) > 0)
		fprintf(out, "    kernel.yama.ptrace_scope is %d: CAP_SYS_PTRACE is needed%s\n",
			atoi(scope), atoi(scope) > 2 ? ", and at 3 even that does not help" : "");
	else
		fprintf(out, "    run as root, or with CAP_SYS_PTRACE\n");
}

static void tell_memory(struct gpc_core *core, const struct gpc_target *t, FILE *out)
{
	uint8_t byte;
	int64_t n = t->n_maps ? gpc_mem_read(gpc_sampler_mem(core->sampler), t->id, t->pid,
					     t->maps[0].start, &byte, 1)
			      : GPC_E_GONE;

	if (n == 1) {
		fprintf(out, "  its memory can be read\n");
		return;
	}
	fprintf(out, "  its memory cannot be read (%s): runtimes show as native code\n",
		gpc_status_name((gpc_status)n));
	tell_ptrace(out);
}

static void tell_rights(struct gpc_core *core, FILE *out)
{
	struct gpc_rights rights;
	char why[256];

	if (gpc_rights_read(core->proc_fd, &rights, NULL) < 0)
		return;
	if (gpc_rights_meet(&rights, "CAP_PERFMON") != GPC_NEED_MET) {
		gpc_perf_explain(why, sizeof why);
		fprintf(out, "  %s\n", why);
	}
	if (gpc_rights_meet(&rights, "CAP_SYSLOG") != GPC_NEED_MET)
		fprintf(out, "  without CAP_SYSLOG kernel functions may have no names "
			     "(kernel.kptr_restrict)\n");
}

/* The kernel shows a process's name to everybody, but not what it maps. */
static gpc_status tell_denied(struct gpc_core *core, int32_t pid, FILE *out, struct gpc_err *err)
{
	struct gpc_proc_stat stat;

	if (!gpc_proc_stat_read(core->proc_fd, pid, &stat))
		return gpc_err_set(err, GPC_E_GONE, "process %d has ended", pid);
	fprintf(out, "process %d (%s), not ours\n", pid, stat.comm);
	fprintf(out,
		"  what it maps cannot be seen (%s): neither its functions nor its runtime show\n",
		err ? err->text : gpc_status_name(GPC_E_PERM));
	tell_ptrace(out);
	tell_rights(core, out);
	return GPC_OK;
}

/* ---- native code ---------------------------------------------------------------------- */

/* What is known of a file's functions, and from where. */
struct functions {
	size_t n;
	const char *remark;
};

/* With .symtab of another ELF image, which is not kept. */
static bool count_with(const struct gpc_elf *elf, const struct gpc_elf_source *other, size_t *ret)
{
	struct gpc_symtab *table = NULL;
	struct gpc_elf debug = {0};

	if (other && gpc_elf_init(&debug, other, NULL) < 0)
		return false;
	if (gpc_symtab_load(elf, other ? &debug : NULL, &table, NULL) == GPC_OK)
		*ret = gpc_symtab_count(table);
	gpc_symtab_free(table);
	if (other)
		gpc_elf_deinit(&debug);
	return true;
}

static bool count_debug_file(const struct gpc_elf *elf, int fd, size_t *ret)
{
	struct gpc_elf_source source;

	return fd >= 0 && gpc_elf_source_fd(fd, &source, NULL) == GPC_OK &&
	       count_with(elf, &source, ret);
}

static bool count_mini(const struct gpc_elf *elf, size_t *ret)
{
	autofree uint8_t *bytes = NULL;
	struct gpc_elf_source source;
	size_t n;

	if (gpc_elf_mini(elf, &bytes, &n, NULL) < 0)
		return false;
	source = gpc_elf_source_memory(bytes, n);
	return count_with(elf, &source, ret);
}

/* In the order in which profiles take names (docs/ARCHITECTURE.md, Symbols). */
static void find_names(const struct gpc_elf *elf, int debug_fd, struct functions *ret)
{
	struct gpc_gopclntab go;

	if (gpc_elf_section_named(elf, ".symtab")) {
		count_with(elf, NULL, &ret->n);
		ret->remark = "";
	} else if (count_debug_file(elf, debug_fd, &ret->n)) {
		ret->remark = ", with its debug file";
	} else if (count_mini(elf, &ret->n)) {
		ret->remark = ", with those packed into it (.gnu_debugdata)";
	} else if (count_with(elf, NULL, &ret->n)) {
		ret->remark = gpc_gopclntab_find(elf, &go) ? ", and those of Go's own table"
			      : ret->n                     ? " (stripped: exported ones only)"
							   : " (stripped)";
	}
}

static struct functions functions_of(const struct gpc_target *t, const char *path, int fd)
{
	struct functions ret = {0, " (no ELF file)"};
	struct gpc_debugfiles debug;
	struct gpc_elf_source source;
	struct gpc_elf elf;

	if (gpc_elf_source_fd(fd, &source, NULL) < 0 || gpc_elf_init(&elf, &source, NULL) < 0)
		return ret;
	debug = gpc_debugfiles_open(t->pid, path, fd);
	find_names(&elf, debug.own, &ret);
	gpc_elf_deinit(&elf);
	gpc_cleanup_close(&debug.own);
	gpc_cleanup_close(&debug.shared);
	return ret;
}

static void tell_file(const struct gpc_target *t, const struct gpc_map *m, FILE *out)
{
	autoclose int fd = gpc_module_open_map(t, m);
	struct functions f;

	if (fd < 0) {
		fprintf(out, "  %s: cannot be opened, or is another file by now: shows as (%s)\n",
			m->path, m->path);
		return;
	}
	f = functions_of(t, m->path, fd);
	fprintf(out, "  %s: %zu names of functions%s\n", m->path, f.n, f.remark);
}

static const char *perf_map_of(const struct gpc_target *t)
{
	char path[64];
	struct stat st;
	autoclose int fd = -1;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", t->ns_pid);
	if (gpc_root_open(t->pid, path, &fd, &st, NULL) < 0)
		return "neither a jitdump file nor a perf map names it";
	return gpc_proc_wrote(t->pid, &st) ? "its functions are named by its perf map"
					   : "its perf map belongs to another user: not read";
}

static void tell_generated(const struct gpc_target *t, uint64_t bytes, bool has_jitdump, FILE *out)
{
	fprintf(out, "  %llu KiB of generated code: %s\n", (unsigned long long)(bytes >> 10),
		has_jitdump ? "its functions are named by its jitdump file" : perf_map_of(t));
}

static void tell_unwinding(const struct gpc_core *core, FILE *out)
{
	const char *mode = gpc_options_text(core->options, "perf-mode");
	long long copy = (long long)gpc_options_number(core->options, "perf-dwarf-stack-size");

	if (!mode || strcmp(mode, "disabled") == 0 || strcmp(mode, "none") == 0)
		fprintf(out, "  perf is off: none of this is measured\n");
	else if (strcmp(mode, "fp") == 0)
		fprintf(out, "  stacks are followed by frame pointers: code built without them is "
			     "cut short\n");
	else
		fprintf(out,
			"  stacks are followed by call frame information, in a copy of their first "
			"%lld bytes%s\n",
			copy, strcmp(mode, "smart") == 0 ? ", or by frame pointers" : "");
}

static void tell_native(const struct gpc_core *core, const struct gpc_target *t, FILE *out)
{
	const char *last = "";
	bool has_jitdump = false;
	uint64_t generated = 0;

	fprintf(out, "native code:\n");
	for (uint32_t k = 0; k < t->n_maps; k++) {
		const struct gpc_map *m = &t->maps[k];

		if (!(m->prot & GPC_MAP_EXEC))
			continue;
		if (gpc_jitdump_is(m->path)) {
			has_jitdump = true;
		} else if (m->path[0] == '/' && m->inode) {
			if (strcmp(last, m->path) != 0)
				tell_file(t, m, out);
			last = m->path;
		} else if (m->path[0] != '[') {
			generated += m->end - m->start;
		}
	}
	if (generated)
		tell_generated(t, generated, has_jitdump, out);
	tell_unwinding(core, out);
}

/* ---- collectors ------------------------------------------------------------------------- */

static void tell_reports(struct gpc_instance *i, FILE *out)
{
	struct gpc_reports reports;

	gpc_instance_take_reports(i, &reports);
	for (size_t k = 0; k < reports.list.n; k++) {
		const struct gpc_report *r = &reports.list.at[k];

		fprintf(out, "    %s: %s\n", gpc_status_name(r->code),
			r->detail[0] ? r->detail : "no details");
	}
	gpc_reports_deinit(&reports);
}

/* Attaches, waits for the answer, detaches. */
static void try_attach(struct gpc_instance *i, struct gpc_target_view *view, FILE *out)
{
	bool is_attached;

	gpc_instance_attach(i, view);
	gpc_instance_settle(i, gpc_now_ns() + ANSWER_NS);
	is_attached = gpc_instance_targets(i) > 0;
	fprintf(out, is_attached ? "  %s: would show its frames\n" : "  %s: cannot be attached:\n",
		gpc_instance_name(i));
	if (!is_attached)
		tell_reports(i, out);
	gpc_instance_detach(i, view->target.id);
}

static void tell_collector(struct gpc_instance *i, struct gpc_target_view *view, bool is_match,
			   FILE *out)
{
	int32_t score;

	if (!is_match) {
		fprintf(out, "  %s: not for this program\n", gpc_instance_name(i));
		return;
	}
	score = gpc_instance_claim(i, view, gpc_now_ns() + ANSWER_NS);
	if (score <= 0) {
		fprintf(out, "  %s: %s\n", gpc_instance_name(i),
			score < 0 ? "did not answer in time"
				  : "looked closer and does not claim it");
		tell_reports(i, out);
	} else if (gpc_instance_collector(i)->touch > GPC_TOUCH_READS) {
		fprintf(out,
			"  %s: would take it (%d of 100); not tried, since it does more than "
			"read\n",
			gpc_instance_name(i), score);
	} else {
		try_attach(i, view, out);
	}
}

static void tell_collectors(struct gpc_core *core, struct gpc_target_view *view, FILE *out)
{
	const struct gpc_match *tables[GPC_MATCH_MAX];
	struct gpc_matcher *matcher;
	uint64_t matched;
	unsigned n = (unsigned)core->runtimes.n;

	fprintf(out, "runtime collectors:%s\n", n ? "" : " none is loaded");
	for (unsigned k = 0; k < n && k < GPC_MATCH_MAX; k++)
		tables[k] = gpc_instance_collector(core->runtimes.at[k])->match;
	if (!n || gpc_matcher_new(tables, n, &matcher, NULL) < 0)
		return;
	matched = gpc_matcher_ask(matcher, view);
	for (unsigned k = 0; k < n; k++)
		tell_collector(core->runtimes.at[k], view, matched >> k & 1, out);
	gpc_matcher_free(matcher);
	for (size_t k = 0; k < core->troubles.n; k++)
		fprintf(out, "  %s\n", core->troubles.at[k]);
}

/* ---- together ----------------------------------------------------------------------------- */

GPC_EXPORT gpc_status gpc_core_doctor(struct gpc_core *core, int32_t pid, FILE *out,
				      struct gpc_err *err)
{
	struct gpc_target_id id = {.pid = pid, .id = 1};
	struct gpc_target_view *view;
	gpc_status st;

	st = gpc_target_read(&id, &view, err);
	if (st == GPC_E_PERM)
		return tell_denied(core, pid, out, err);
	if (st < 0)
		return st;
	st = gpc_core_start_runtimes(core, err);
	if (st == GPC_OK && is_kernel_thread(&view->target)) {
		tell_process(&view->target, out);
		tell_rights(core, out);
	} else if (st == GPC_OK) {
		tell_process(&view->target, out);
		tell_memory(core, &view->target, out);
		tell_rights(core, out);
		if (view->target.n_maps)
			tell_native(core, &view->target, out);
		tell_collectors(core, view, out);
	}
	gpc_core_quiet(core);
	gpc_target_put(view);
	return st;
}
