/* SPDX-License-Identifier: Apache-2.0 */
#include "appid.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define INI_MAX 16384

void gpc_py_command_split(const char *cmdline, uint32_t n, struct py_command *ret)
{
	uint32_t at = 0;

	ret->n = 0;
	while (at < n && ret->n < PY_ARGS_MAX) {
		size_t length = strnlen(cmdline + at, n - at);

		if (at + length == n) /* cut: no NUL */
			break;
		ret->args[ret->n++] = cmdline + at;
		at += (uint32_t)length + 1;
	}
}

static const char *arg(const struct py_command *c, unsigned i)
{
	return i < c->n ? c->args[i] : "";
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool ends_with(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && strcmp(s + n - m, with) == 0;
}

/* python, python3, python2.7, python3.11 */
static bool is_python(const char *path)
{
	const char *s = base_name(path);

	if (strncmp(s, "python", 6) != 0)
		return false;
	s += 6;
	if (*s != '2' && *s != '3')
		return !*s;
	if (*++s != '.')
		return !*s;
	s++;
	return isdigit((unsigned char)s[0]) && (!s[1] || (isdigit((unsigned char)s[1]) && !s[2]));
}

/* ---- files ---------------------------------------------------------------------------- */

static void join(const struct py_command *c, const char *path, char ret[PY_APPID_MAX])
{
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	if (*path == '/' || !*c->cwd)
		snprintf(ret, PY_APPID_MAX, "%s", path);
	else
		snprintf(ret, PY_APPID_MAX, "%s%s%s", c->cwd, ends_with(c->cwd, "/") ? "" : "/",
			 path);
}

/* "shop.wsgi:app" is in shop/wsgi.py. */
static void module_file(const struct py_command *c, const char *module, size_t n,
			char ret[PY_APPID_MAX])
{
	char path[PY_APPID_MAX];
	bool is_file;

	if (n > sizeof path - 4)
		n = sizeof path - 4;
	memcpy(path, module, n);
	path[n] = '\0';
	is_file = ends_with(path, ".py");
	for (char *s = path; *s && !is_file; s++)
		if (*s == '.')
			*s = '/';
	if (!is_file)
		memcpy(path + n, ".py", 4);
	join(c, path, ret);
}

static bool put(char ret[PY_APPID_MAX], const char *tool, const char *what, const char *file)
{
	if (*file)
		snprintf(ret, PY_APPID_MAX, "%s: %.*s (%.*s)", tool, 400, what, 500, file);
	else
		snprintf(ret, PY_APPID_MAX, "%s: %.*s", tool, 900, what);
	return true;
}

static bool put_module(const struct py_command *c, const char *tool, const char *spec,
		       char ret[PY_APPID_MAX])
{
	char file[PY_APPID_MAX];

	module_file(c, spec, strcspn(spec, ":"), file);
	return put(ret, tool, spec, file);
}

/* ---- gunicorn, uvicorn ------------------------------------------------------------------ */

/* A process that has set its title has no other arguments. */
static bool gunicorn_title(const struct py_command *c, char ret[PY_APPID_MAX])
{
	const char *title = arg(c, 0), *begin, *end;
	char spec[PY_APPID_MAX];

	if (strncmp(title, "gunicorn: master [", 18) != 0 &&
	    strncmp(title, "gunicorn: worker [", 18) != 0)
		return false;
	for (unsigned i = 1; i < c->n; i++)
		if (*c->args[i])
			return false;
	begin = title + 18;
	end = strrchr(begin, ']');
	if (!end || end == begin)
		return false;
	snprintf(spec, sizeof spec, "%.*s", (int)(end - begin), begin);
	return put_module(c, "gunicorn", spec, ret);
}

static bool is_tool(const struct py_command *c, const char *name)
{
	return strcmp(base_name(arg(c, 0)), name) == 0 || strcmp(base_name(arg(c, 1)), name) == 0;
}

/* "module:app", unless it is an option's value. */
static bool server(const struct py_command *c, const char *tool, const char *switch_name,
		   char ret[PY_APPID_MAX])
{
	if (!is_tool(c, tool))
		return false;
	for (unsigned i = 1; i < c->n; i++) {
		const char *before = c->args[i - 1];

		if (strchr(c->args[i], ':') && (*before != '-' || strcmp(before, switch_name) == 0))
			return put_module(c, tool, c->args[i], ret);
	}
	return put(ret, tool, "unknown app name", "");
}

/* ---- uWSGI --------------------------------------------------------------------------------- */

/* The value of "--name value", "--name=value", "-n value" or "-nvalue"; NULL: not
 * given. */
static const char *value_of(const struct py_command *c, const char *name)
{
	size_t n = strlen(name);

	for (unsigned i = 1; i < c->n; i++) {
		if (strncmp(c->args[i], name, n) != 0)
			continue;
		if (!c->args[i][n] && i + 1 < c->n)
			return c->args[i + 1];
		if (c->args[i][n] == '=' && name[1] == '-')
			return c->args[i] + n + 1;
		if (c->args[i][n] && name[1] != '-')
			return c->args[i] + n;
	}
	return NULL;
}

static const char *find_ini(const struct py_command *c)
{
	static const char *const names[] = {"--ini", "--ini-paste", "--ini-paste-logged"};
	const char *found = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < 3; i++) {
		const char *value = value_of(c, names[i]);

		if (value)
			return value;
	}
	for (unsigned i = 1; i < c->n; i++)
		if (ends_with(c->args[i], ".ini")) {
			found = c->args[i];
			n++;
		}
	return n == 1 ? found : NULL;
}

static const char *skip_blank(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

/* "module = ..." of the section [uwsgi]. */
static bool ini_module(const char *text, char ret[PY_APPID_MAX])
{
	bool is_inside = false;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *s = skip_blank(line);
		size_t n;

		if (*s == '[')
			is_inside = strncmp(s, "[uwsgi]", 7) == 0;
		if (!is_inside || strncmp(s, "module", 6) != 0)
			continue;
		s = skip_blank(s + 6);
		if (*s != '=' && *s != ':')
			continue;
		s = skip_blank(s + 1);
		n = strcspn(s, "\r\n");
		while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
			n--;
		snprintf(ret, PY_APPID_MAX, "%.*s", (int)(n < 400 ? n : 400), s);
		return n > 0;
	}
	return false;
}

static bool uwsgi(const struct py_command *c, char ret[PY_APPID_MAX])
{
	const char *module, *ini;
	char path[PY_APPID_MAX], text[INI_MAX], found[PY_APPID_MAX];

	if (strcmp(base_name(arg(c, 0)), "uwsgi") != 0)
		return false;
	module = value_of(c, "-w");
	if (!module)
		module = value_of(c, "--wsgi-file");
	if (module)
		return put_module(c, "uwsgi", module, ret);
	ini = find_ini(c);
	if (!ini)
		return put(ret, "uwsgi", "ini file / wsgi module not found", "");
	join(c, ini, path);
	if (c->read_file && c->read_file(c->ctx, path, text, sizeof text) >= 0 &&
	    ini_module(text, found)) {
		char file[PY_APPID_MAX];

		module_file(c, found, strcspn(found, ":"), file);
		return put(ret, "uwsgi", ini, file);
	}
	return put(ret, "uwsgi", ini, "");
}

/* ---- Celery, PySpark, plain programs ------------------------------------------------------------
 */

static const char *module_of(const struct py_command *c)
{
	if (!is_python(arg(c, 0)) || strcmp(arg(c, 1), "-m") != 0 || c->n < 3)
		return NULL;
	return c->args[2];
}

static const char *either(const struct py_command *c, const char *one, const char *other)
{
	const char *value = value_of(c, one);

	return value ? value : value_of(c, other);
}

static bool celery(const struct py_command *c, char ret[PY_APPID_MAX])
{
	const char *module = module_of(c), *value;

	if (!is_tool(c, "celery") && !(module && strcmp(module, "celery") == 0))
		return false;
	value = either(c, "-A", "--app");
	if (value)
		return put_module(c, "celery", value, ret);
	value = either(c, "-Q", "--queues");
	return value && put(ret, "celery queue", value, c->cwd);
}

static bool program(const struct py_command *c, char ret[PY_APPID_MAX])
{
	const char *module = module_of(c);
	char what[PY_APPID_MAX], file[PY_APPID_MAX];

	if (module && strcmp(module, "pyspark.daemon") == 0) {
		snprintf(ret, PY_APPID_MAX, "pyspark");
		return true;
	}
	if (module) {
		snprintf(what, sizeof what, "-m %.900s", module);
		return put(ret, "python", what, "");
	}
	if (!is_python(arg(c, 0)) || !ends_with(arg(c, 1), ".py"))
		return false;
	join(c, c->args[1], file);
	return put(ret, "python", c->args[1], file);
}

bool gpc_py_appid(const struct py_command *c, char ret[PY_APPID_MAX])
{
	const char *module = module_of(c);
	bool is_celery = is_tool(c, "celery") || (module && strcmp(module, "celery") == 0);

	if (gunicorn_title(c, ret) || server(c, "gunicorn", "", ret) ||
	    server(c, "uvicorn", "--factory", ret) || uwsgi(c, ret) || celery(c, ret))
		return true;
	return !is_celery && program(c, ret);
}
