/* SPDX-License-Identifier: Apache-2.0 */
#include "tell.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "about.h"

#define ARGS_MAX   1024
#define ARG_MAX    1024
#define APPID_MAX  4096
#define SPARK_FILE "__spark_conf__/__spark_conf__.properties"

struct teller {
	const struct vm *vm;
	const struct gpc_host *host;
	const struct gpc_target *target;
	const struct gpc_about_api *api;
	char appid[APPID_MAX];
};

static void add(struct teller *w, const char *before, const char *text)
{
	size_t n = strlen(w->appid);

	snprintf(w->appid + n, sizeof w->appid - n, "%s%s", before, text);
}

/* ---- arguments of the JVM ---------------------------------------------------------- */

/* Calls fn for each until it returns true. */
static bool each_argument(struct teller *w, bool (*fn)(struct teller *w, const char *arg))
{
	const struct layout *l = &w->vm->layout;
	const struct jmem *m = &w->vm->mem;
	uint64_t array, text;
	uint32_t n;
	char arg[ARG_MAX];

	if (!l->at[S_JVM_ARGS] || !l->at[S_NUM_JVM_ARGS] ||
	    !gpc_java_read_u64(m, l->at[S_JVM_ARGS], &array) ||
	    !gpc_java_read_u32(m, l->at[S_NUM_JVM_ARGS], &n))
		return false;
	for (uint32_t i = 0; i < n && i < ARGS_MAX; i++)
		if (gpc_java_read_u64(m, array + 8 * (uint64_t)i, &text) &&
		    gpc_java_read_text(m, text, arg, sizeof arg) && fn(w, arg))
			return true;
	return false;
}

static bool matches(const struct gpc_list *patterns, const char *arg)
{
	for (uint32_t i = 0; i < patterns->n; i++) {
		regex_t re;
		bool found;

		if (regcomp(&re, patterns->at[i], REG_EXTENDED | REG_NOSUB) != 0)
			continue;
		found = regexec(&re, arg, 0, NULL, 0) == 0;
		regfree(&re);
		if (found)
			return true;
	}
	return false;
}

static bool add_argument(struct teller *w, const char *arg)
{
	if (matches(w->api->appid_args(w->host), arg)) {
		add(w, strchr(w->appid, '(') ? " " : " (", arg);
	}
	return false;
}

/* ---- Spark ----------------------------------------------------------------------------- */

static bool is_executor(struct teller *w, const char *arg)
{
	(void)w;
	return strstr(arg, "org.apache.spark.executor") != NULL;
}

bool gpc_java_property(const char *text, const char *key, char *ret, uint32_t room)
{
	size_t n = strlen(key);

	for (const char *line = text; *line; line += *line == '\n') {
		size_t len = strcspn(line, "\r\n");

		if (len > n && strncmp(line, key, n) == 0 && (line[n] == '=' || line[n] == ':')) {
			snprintf(ret, room, "%.*s", (int)(len - n - 1), line + n + 1);
			return true;
		}
		line += len + (line[len] == '\r');
	}
	return false;
}

static void add_spark(struct teller *w)
{
	char path[1024], text[8192], name[256] = "app name not found";
	const char *own = w->appid[0] ? ", " : "";
	int32_t fd;
	ssize_t n;

	if (w->api->fact(w->host, w->target, GPC_FACT_CWD, path, sizeof path / 2) == GPC_OK) {
		snprintf(path + strlen(path), sizeof path - strlen(path), "/" SPARK_FILE);
		fd = w->host->open_file(w->host, w->target, path, 0);
		n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		gpc_java_property(text, "spark.app.name", name, sizeof name);
	}
	add(w, own, "spark: ");
	add(w, "", name);
}

/* ---- what is told --------------------------------------------------------------------- */

static void tell_appid(struct teller *w, const struct java_about *about)
{
	if (gpc_java_about_appid(about, w->appid, sizeof w->appid) &&
	    w->api->appid_args(w->host)->n) {
		each_argument(w, add_argument);
		if (strchr(w->appid, '('))
			add(w, ")", "");
	}
	if (w->vm->options->spark_app_name &&
	    (each_argument(w, is_executor) || is_executor(w, about->command)))
		add_spark(w);
	if (w->appid[0])
		w->api->appid(w->host, w->target, w->appid);
}

static void tell_build_id(struct teller *w, const char *key, const char *glob)
{
	const struct gpc_elf_api *elf = w->host->extension(w->host, "gpc.elf/1");
	uint8_t id[20];
	char text[64] = "buildid:";
	uint32_t n = 0;

	if (!elf || elf->build_id(w->host, w->target, glob, id, &n) < 0 || !n) {
		w->api->member(w->host, w->target, key, NULL);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		snprintf(text + strlen(text), 3, "%02x", id[i]);
	w->api->member(w->host, w->target, key, text);
}

static void tell_metadata(struct teller *w, const struct java_about *about)
{
	char execfn[512];
	char *flags = gpc_java_flags_json(&w->vm->mem, &w->vm->layout, &w->vm->options->jvm_flags);
	bool has_execfn =
		w->api->fact(w->host, w->target, GPC_FACT_EXECFN, execfn, sizeof execfn) == GPC_OK;

	w->api->member(w->host, w->target, "exe", w->target->exe);
	w->api->member(w->host, w->target, "execfn", has_execfn ? execfn : NULL);
	w->api->member(w->host, w->target, "arch", "x86_64");
	w->api->member(w->host, w->target, "java_version", about->version);
	tell_build_id(w, "libjvm_elfid", "libjvm.so*");
	w->api->json(w->host, w->target, "jvm_flags", flags ? flags : "[]");
	free(flags);
}

bool gpc_java_tell(const struct vm *vm, bool is_last)
{
	struct teller w = {.vm = vm, .host = vm->mem.host, .target = vm->mem.target};
	struct java_about about;

	w.api = w.host->extension(w.host, "gpc.about/1");
	if (!w.api || !GPC_HAS(w.api, appid_args))
		return true;
	gpc_java_about_read(&vm->mem, &vm->layout, &about);
	if (!about.command[0] && !is_last)
		return false;
	tell_appid(&w, &about);
	tell_metadata(&w, &about);
	return true;
}
