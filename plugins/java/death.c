/* SPDX-License-Identifier: Apache-2.0 */
#include "death.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPORT_BYTES 16384

/* ---- a report ---------------------------------------------------------------------------- */

/* Up to the line's end, and up to stop. */
static void copy_until(const char *from, const char *stop, char *ret, size_t room)
{
	size_t n = strcspn(from, "\r\n"), end = strcspn(from, stop);

	n = end < n ? end : n;
	snprintf(ret, room, "%.*s", (int)(n < room ? n : room - 1), from);
	for (char *c = ret; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

/* "#  SIGSEGV (0xb) at pc=...", "#  Internal Error (file.cpp:12), pid=...",
 * "#  Out of Memory Error (os.cpp:12), pid=..." */
static bool take_what(const char *line, struct java_crash *ret)
{
	const char *text = line + 3;

	if (strncmp(line, "#  ", 3) != 0)
		return false;
	if (strncmp(text, "SIG", 3) == 0 && strstr(text, " at pc="))
		copy_until(text, " ", ret->what, sizeof ret->what);
	else if (strncmp(text, "Internal Error", 14) == 0 ||
		 strncmp(text, "Out of Memory Error", 19) == 0)
		copy_until(text, ",", ret->what, sizeof ret->what);
	return ret->what[0] != '\0';
}

/* "# C  [libfoo.so+0x10]  crash+0x4", "# J 12 c2 A.b()V (3 bytes) ...", "# j  A.b()V+4" */
static void take_where(const char *line, struct java_crash *ret)
{
	char file[64], name[80] = "";
	const char *open = strchr(line, '['), *end = line + strcspn(line, "\n"), *close;

	if (strncmp(line, "# ", 2) != 0)
		return;
	if ((line[2] != 'C' && line[2] != 'V') || !open || open > end) {
		copy_until(line + 2, "\n", ret->where, sizeof ret->where);
		return;
	}
	copy_until(open + 1, "+]", file, sizeof file);
	close = strchr(open, ']');
	if (close && close < end)
		copy_until(close + 1 + strspn(close + 1, " "), "\n", name, sizeof name);
	snprintf(ret->where, sizeof ret->where, "%s%s%s", file, name[0] ? ", " : "", name);
}

bool gpc_java_crash_parse(const char *text, struct java_crash *ret)
{
	*ret = (struct java_crash){0};
	if (text[0] != '#')
		return false;
	for (const char *line = text; *line == '#'; line = next_line(line)) {
		if (!ret->what[0] && take_what(line, ret))
			continue;
		if (!ret->what[0] && strstr(line, "insufficient memory for the Java Runtime") &&
		    strstr(line, "insufficient memory for the Java Runtime") <
			    line + strcspn(line, "\n"))
			snprintf(ret->what, sizeof ret->what, "out of memory");
		if (strncmp(line, "# Problematic frame:", 20) == 0)
			take_where(next_line(line), ret);
	}
	return ret->what[0] != '\0';
}

/* ---- the kernel's log ------------------------------------------------------------------------ */

static bool take_number(const char *text, int32_t *ret)
{
	char *end;
	long v = strtol(text, &end, 10);

	*ret = v > 0 && v < INT32_MAX ? (int32_t)v : 0;
	return end != text && *ret;
}

/* "[Memory cgroup out of memory: ]Killed process 12 (java) total-vm:1kB, anon-rss:2kB, ..."
 * (Linux mm/oom_kill.c) */
static bool take_oom(const char *text, struct kernel_death *ret)
{
	const char *at = strstr(text, "Killed process "), *rss;

	if (!at || !take_number(at + 15, &ret->pid) || !strstr(at, " total-vm:"))
		return false;
	ret->is_oom = true;
	ret->is_group = strstr(text, "emory cgroup") != NULL;
	rss = strstr(at, "anon-rss:");
	if (rss)
		copy_until(rss, ",", ret->what, sizeof ret->what);
	return true;
}

/* "java[12]: segfault at 0 ip 1 sp 2 error 4 in libfoo.so[1000+1]",
 * "traps: java[12] general protection fault ip:1 sp:2 error:0 in libfoo.so[1000+1]"
 * (Linux arch/x86/mm/fault.c, arch/x86/kernel/traps.c),
 * "java[12]: unhandled exception: ..., in libfoo.so[...]" (arch/arm64/kernel/traps.c).
 * A thread's name may hold brackets of its own: the last ones before the fault count. */
static bool take_fault(const char *text, struct kernel_death *ret)
{
	static const char *const faults[] = {"segfault at ",        "general protection fault",
					     "unhandled exception", "trap invalid opcode",
					     "trap divide error",   NULL};
	const char *fault = NULL, *open, *in;
	char what[32], file[48];

	for (int i = 0; faults[i] && !fault; i++) {
		fault = strstr(text, faults[i]);
		snprintf(what, sizeof what, "%s", faults[i]);
	}
	for (open = fault; open && open > text && *open != '['; open--)
		;
	if (!open || *open != '[' || !take_number(open + 1, &ret->pid))
		return false;
	if (strcmp(what, "segfault at ") == 0)
		what[8] = '\0';
	in = strstr(fault, " in ");
	copy_until(in ? in + 4 : "", "[", file, sizeof file);
	snprintf(ret->what, sizeof ret->what, "%s%s%s", what, file[0] ? " in " : "", file);
	return true;
}

bool gpc_java_kernel_parse(const char *record, struct kernel_death *ret)
{
	const char *text = strchr(record, ';');
	char line[512];

	*ret = (struct kernel_death){0};
	if (!text)
		return false;
	copy_until(text + 1, "\n", line, sizeof line);
	return take_oom(line, ret) || take_fault(line, ret);
}

/* ---- where reports are ----------------------------------------------------------------------- */

void gpc_java_report_name(const char *pattern, int32_t pid, char *ret, uint32_t room)
{
	uint32_t n = 0;
	char number[16];

	snprintf(number, sizeof number, "%d", pid);
	for (; *pattern && n + 1 < room; pattern++) {
		if (pattern[0] == '%' && pattern[1] == 'p') {
			for (const char *c = number; *c && n + 1 < room; c++)
				ret[n++] = *c;
			pattern++;
		} else {
			ret[n++] = *pattern;
			pattern += pattern[0] == '%' && pattern[1] == '%';
		}
	}
	ret[n] = '\0';
}

/* path: absolute, as the JVM sees it. */
static void add_place(struct java_reports *r, const struct vm *vm, const char *path)
{
	struct java_report_place *p = &r->at[r->n];
	const char *slash = strrchr(path, '/');
	char folder[512];

	if (r->n == GPC_JAVA_REPORTS || !slash || strlen(slash + 1) >= sizeof p->name ||
	    strlen(path) >= sizeof p->path)
		return;
	snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	p->folder = vm->mem.host->open_file(vm->mem.host, vm->mem.target, folder, GPC_OPEN_FOLDER);
	if (p->folder < 0)
		return;
	snprintf(p->name, sizeof p->name, "%s", slash + 1);
	snprintf(p->path, sizeof p->path, "%s", path);
	r->n++;
}

void gpc_java_reports_open(struct java_reports *r, const struct vm *vm)
{
	const struct gpc_host *h = vm->mem.host;
	const struct gpc_target *t = vm->mem.target;
	const struct gpc_about_api *about = h->extension(h, "gpc.about/1");
	char name[512], cwd[512] = "", path[1100];

	r->n = 0;
	r->since = (int64_t)time(NULL);
	if (!about || about->fact(h, t, GPC_FACT_CWD, cwd, sizeof cwd) != GPC_OK)
		cwd[0] = '\0';
	gpc_java_report_name(vm->flags.error_file, t->ns_pid, name, sizeof name);
	if (name[0] && (name[0] == '/' || cwd[0])) {
		snprintf(path, sizeof path, "%s%s%s", name[0] == '/' ? "" : cwd,
			 name[0] == '/' ? "" : "/", name);
		add_place(r, vm, path);
	}
	if (cwd[0]) {
		snprintf(path, sizeof path, "%s/hs_err_pid%d.log", strcmp(cwd, "/") == 0 ? "" : cwd,
			 t->ns_pid);
		add_place(r, vm, path);
	}
	snprintf(path, sizeof path, "/tmp/hs_err_pid%d.log", t->ns_pid);
	add_place(r, vm, path);
}

void gpc_java_reports_close(struct java_reports *r)
{
	while (r->n)
		close(r->at[--r->n].folder);
}

/* A regular file that the JVM's user wrote since. */
static bool read_report(const struct java_report_place *p, const struct java_reports *r,
			const struct gpc_target *t, char *text, size_t room)
{
	char self[40];
	struct stat st;
	ssize_t n = -1;
	int path = openat(p->folder, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;

	if (path >= 0 && fstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_uid == t->uid || st.st_uid == 0) && st.st_mtime >= r->since) {
		snprintf(self, sizeof self, "/proc/self/fd/%d", path);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	if (fd >= 0) {
		n = read(fd, text, room - 1);
		close(fd);
	}
	if (path >= 0)
		close(path);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool gpc_java_reports_find(const struct java_reports *r, const struct gpc_target *t,
			   struct java_crash *ret, const char **path)
{
	char text[REPORT_BYTES];

	for (uint32_t i = 0; i < r->n; i++) {
		*path = r->at[i].path;
		if (read_report(&r->at[i], r, t, text, sizeof text) &&
		    gpc_java_crash_parse(text, ret))
			return true;
	}
	return false;
}
