/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/io.h"

#define LARGEST_LIBC ((size_t)8 * 1024 * 1024)

/* A regular file as the host sees it: its links never lead out of root_fd. */
static int open_inside(int root_fd, const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	autoclose int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);
	struct stat st;

	/* Before Linux 5.6: the host's own files, which are what is looked for, may
	 * lead where they like. */
	if (fd < 0 && errno == ENOSYS)
		fd = openat(root_fd, path + strspn(path, "/"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return take_fd(&fd);
}

/* The file's beginning as a string; "" when it cannot be read. */
static bool read_inside(int root_fd, const char *path, char *buf, size_t size)
{
	autoclose int fd = open_inside(root_fd, path);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

static void copy_span(const char *from, size_t n, char *to, size_t size)
{
	if (n >= size)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* Value of the first line that begins with key; quotes and spaces go. False:
 * there is none. */
static bool find_value(const char *text, const char *key, char *to, size_t size)
{
	const char *line = text, *end;

	while (line && strncmp(line, key, strlen(key)) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return false;
	line += strlen(key);
	line += strspn(line, " \t:=\"'");
	end = line + strcspn(line, "\n");
	while (end > line && strchr(" \t\r\"'", end[-1]))
		end--;
	copy_span(line, (size_t)(end - line), to, size);
	return true;
}

static void read_os(int root_fd, struct gpc_machine *m)
{
	char text[4096];

	if (!read_inside(root_fd, "etc/os-release", text, sizeof text))
		read_inside(root_fd, "usr/lib/os-release", text, sizeof text);
	find_value(text, "ID=", m->os_name, sizeof m->os_name);
	find_value(text, "VERSION_ID=", m->os_release, sizeof m->os_release);
	find_value(text, "VERSION_CODENAME=", m->os_codename, sizeof m->os_codename);
}

static const char *cpu_codename(const char *family, const char *model)
{
	static const struct {
		const char *model, *name;
	} rows[] = {{"106", "ICX"}, {"143", "SPR"}, {"207", "EMR"}, {"173", "GNR"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(family, "6") == 0 && strcmp(model, rows[i].model) == 0)
			return rows[i].name;
	return "UNKNOWN";
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

static void read_hypervisor(struct gpc_machine *m)
{
	char vendor[13];

	if (!has_word(m->cpu_flags, "hypervisor"))
		strcpy(m->hypervisor, "NONE");
	else if (gpc_hypervisor_vendor(vendor))
		strcpy(m->hypervisor, vendor);
	else
		strcpy(m->hypervisor, "VM-UNKNOWN");
}

static void read_cpu(int proc_fd, struct gpc_machine *m)
{
	char text[16384], family[16] = "", model[16] = ""; /* the first CPU's part */

	if (gpc_read_small(proc_fd, "cpuinfo", text, sizeof text) <= 0)
		text[0] = '\0';
	find_value(text, "model name", m->cpu_model, sizeof m->cpu_model);
	find_value(text, "cpu family", family, sizeof family);
	find_value(text, "model\t", model, sizeof model);
	if (!find_value(text, "flags", m->cpu_flags, sizeof m->cpu_flags))
		find_value(text, "Features", m->cpu_flags, sizeof m->cpu_flags);
	strcpy(m->cpu_codename, cpu_codename(family, model));
	read_hypervisor(m);
}

/* glibc says its version in a text of its library; it is not run. */
static bool glibc_version(int fd, char *to, size_t size)
{
	static const char mark[] = "stable release version ";
	autofree char *bytes = NULL;
	const char *at;
	size_t n;

	if (gpc_read_fd(fd, LARGEST_LIBC, &bytes, &n, NULL) < 0)
		return false;
	at = memmem(bytes, n, mark, sizeof mark - 1);
	if (!at)
		return false;
	at += sizeof mark - 1;
	copy_span(at, strspn(at, "0123456789."), to, size);
	if (*to && to[strlen(to) - 1] == '.')
		to[strlen(to) - 1] = '\0';
	return true;
}

static void find_libc(int root_fd, struct gpc_machine *m)
{
	static const char *const glibc[] = {"lib/x86_64-linux-gnu/libc.so.6",
					    "lib/aarch64-linux-gnu/libc.so.6", "lib64/libc.so.6",
					    "usr/lib/libc.so.6", "lib/libc.so.6"};
	static const char *const musl[] = {"lib/ld-musl-x86_64.so.1", "lib/ld-musl-aarch64.so.1"};

	for (size_t i = 0; i < sizeof glibc / sizeof *glibc; i++) {
		autoclose int fd = open_inside(root_fd, glibc[i]);

		if (fd < 0)
			continue;
		strcpy(m->libc_type, "glibc");
		glibc_version(fd, m->libc_version, sizeof m->libc_version);
		return;
	}
	for (size_t i = 0; i < sizeof musl / sizeof *musl; i++) {
		autoclose int fd = open_inside(root_fd, musl[i]);

		if (fd >= 0)
			strcpy(m->libc_type, "musl");
	}
}

static void read_libc(int root_fd, bool is_own_root, struct gpc_machine *m)
{
	if (!is_own_root) {
		find_libc(root_fd, m);
		return;
	}
	strcpy(m->libc_type, "glibc");
	snprintf(m->libc_version, sizeof m->libc_version, "%s", gnu_get_libc_version());
}

/* Which cluster software's node this is, by the file that it leaves. */
static void read_big_data(int root_fd, struct gpc_machine *m)
{
	static const struct {
		const char *provider, *path, *key, *key_end;
	} rows[] = {
		{"emr", "mnt/var/lib/info/extraInstanceData.json", "\"releaseLabel\"", "\",}"},
		{"databricks", "databricks/DBR_VERSION", "", "\n"},
		{"dataproc", "etc/environment", "DATAPROC_IMAGE_VERSION=", "\"'\n"},
		{"cloudera", "opt/cloudera/cm-agent/cm_version.properties", "version=", "\n"},
	};
	char text[16384];

	for (size_t i = 0; i < sizeof rows / sizeof *rows && !m->data_provider[0]; i++) {
		const char *at;

		if (!read_inside(root_fd, rows[i].path, text, sizeof text) ||
		    !(at = strstr(text, rows[i].key)))
			continue;
		at += strlen(rows[i].key);
		at += strspn(at, " :\"'");
		copy_span(at, strcspn(at, rows[i].key_end), m->data_version,
			  sizeof m->data_version);
		strcpy(m->data_provider, rows[i].provider);
	}
	if (!m->data_provider[0] &&
	    read_inside(root_fd, "databricks/spark/conf/metrics.properties", text, sizeof text)) {
		strcpy(m->data_provider, "databricks");
		strcpy(m->data_version, "unknown");
	}
}

void gpc_machine_read(int root_fd, int proc_fd, bool is_own_root, struct gpc_machine *ret)
{
	memset(ret, 0, sizeof *ret);
	strcpy(ret->os_name, "unknown");
	strcpy(ret->os_release, "unknown");
	strcpy(ret->os_codename, "unknown");
	strcpy(ret->libc_type, "unknown");
	strcpy(ret->libc_version, "unknown");
	strcpy(ret->cpu_model, "unknown");
	read_os(root_fd, ret);
	read_cpu(proc_fd, ret);
	read_libc(root_fd, is_own_root, ret);
	read_big_data(root_fd, ret);
}
