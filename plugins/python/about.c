/* SPDX-License-Identifier: Apache-2.0 */
#include "about.h"

#include <elf.h>
#include <stdio.h>
#include <unistd.h>

#include "appid.h"

struct teller {
	const struct py_target *t;
	const struct gpc_host *host;
	const struct gpc_about_api *api;
};

static void tell(const struct teller *w, const char *key, const char *value)
{
	w->api->member(w->host, w->t->target, key, value);
}

static int read_file(void *ctx, const char *path, char *ret, size_t size)
{
	const struct teller *w = ctx;
	int32_t fd = w->host->open_file(w->host, w->t->target, path, 0);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, ret, size - 1);
	close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n < 0 ? -1 : (int)n;
}

static void tell_appid(const struct teller *w)
{
	const struct gpc_target *target = w->t->target;
	struct py_command command = {.read_file = read_file, .ctx = (void *)(uintptr_t)w};
	char cwd[512] = "", text[PY_APPID_MAX];

	if (w->api->fact(w->host, target, GPC_FACT_CWD, cwd, sizeof cwd) < 0)
		cwd[0] = '\0';
	command.cwd = cwd;
	gpc_py_command_split(target->cmdline, target->cmdline_len, &command);
	if (gpc_py_appid(&command, text))
		w->api->appid(w->host, target, text);
}

/* glob NULL: the executable. False: it was not all read. */
static bool tell_file(const struct teller *w, const char *key, const char *glob)
{
	const struct gpc_elf_api *elf = w->t->elf;
	gpc_status st = GPC_E_UNSUPPORTED;
	char text[64];

	if (elf && GPC_HAS(elf, file_id))
		st = elf->file_id(w->host, w->t->target, glob, text);
	if (st != GPC_E_RETRY)
		tell(w, key, st == GPC_OK ? text : NULL);
	return st != GPC_E_RETRY;
}

static const char *machine_name(uint16_t machine)
{
	return machine == EM_X86_64 ? "x86_64" : machine == EM_AARCH64 ? "aarch64" : NULL;
}

/* To 3.2 builds differed in it: the names of functions tell (Include/unicodeobject.h). */
static const char *maxunicode(const struct teller *w)
{
	static const char *const wide = "PyUnicodeUCS4_FromUnicode",
				 *const narrow = "PyUnicodeUCS2_FromUnicode";
	const struct gpc_host *h = w->host;
	const char *glob = *w->t->runtime.module ? w->t->runtime.module : NULL;
	uint64_t at;

	if (w->t->runtime.layout.version >= PY_VERSION(3, 0))
		return NULL;
	if (h->find_symbol(h, w->t->target, glob, wide, &at) == GPC_OK)
		return "1114111";
	return h->find_symbol(h, w->t->target, glob, narrow, &at) == GPC_OK ? "65535" : NULL;
}

static void tell_metadata(const struct teller *w)
{
	const struct py_runtime *r = &w->t->runtime;
	const struct gpc_target *target = w->t->target;
	char text[512];

	tell(w, "exe", target->exe);
	if (w->api->fact(w->host, target, GPC_FACT_EXECFN, text, sizeof text) < 0)
		tell(w, "execfn", NULL);
	else
		tell(w, "execfn", text);
	tell(w, "arch", machine_name(target->machine));
	snprintf(text, sizeof text, "Python %s", r->version);
	tell(w, "python_version", *r->version ? text : NULL);
	tell(w, "sys_maxunicode", maxunicode(w));
}

void gpc_py_about(const struct py_target *t)
{
	struct teller w = {.t = t, .host = t->python->host};

	w.api = w.host->extension(w.host, "gpc.about/1");
	if (!w.api)
		return;
	tell_appid(&w);
	tell_metadata(&w);
}

bool gpc_py_about_files(const struct py_target *t)
{
	const struct py_runtime *r = &t->runtime;
	struct teller w = {.t = t, .host = t->python->host};

	w.api = w.host->extension(w.host, "gpc.about/1");
	if (!w.api)
		return true;
	if (!tell_file(&w, "exe_elfid", NULL))
		return false;
	if (*r->module)
		return tell_file(&w, "libpython_elfid", r->module);
	tell(&w, "libpython_elfid", NULL);
	return true;
}

void gpc_py_about_child(const struct py_target *t, const struct py_target *parent)
{
	const struct gpc_host *h = t->python->host;
	const struct gpc_about_api *api = h->extension(h, "gpc.about/1");

	if (api && GPC_HAS(api, inherit) && api->inherit)
		api->inherit(h, t->target, parent->target);
}
