/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/appid.h"

static const char *ini; /* what the one file that there is holds */

static int read_file(void *ctx, const char *path, char *ret, size_t size)
{
	(void)ctx;
	if (!ini || strcmp(path, "/srv/my.ini") != 0)
		return -1;
	return snprintf(ret, size, "%s", ini);
}

/* line: arguments with a blank between them. */
static const char *appid(const char *line)
{
	static char text[PY_APPID_MAX];
	struct py_command c = {.cwd = "/srv", .read_file = read_file};
	char args[512];
	size_t n = strlen(line) + 1;

	memcpy(args, line, n);
	for (size_t i = 0; i < n; i++)
		if (args[i] == ' ')
			args[i] = '\0';
	gpc_py_command_split(args, (uint32_t)n, &c);
	return gpc_py_appid(&c, text) ? text : NULL;
}

static const char *titled(const char *title, size_t n)
{
	static char text[PY_APPID_MAX];
	struct py_command c = {.cwd = "/srv"};

	gpc_py_command_split(title, (uint32_t)n, &c);
	return gpc_py_appid(&c, text) ? text : NULL;
}

#define IS(line, want) assert_string_equal(appid(line), want)
#define NONE(line)     assert_null(appid(line))

static void gunicorn(void **state)
{
	static const char master[] = "gunicorn: master [shop.wsgi:app]\0\0\0";
	static const char other[] = "gunicorn: worker [shop:app]\0x";

	(void)state;
	assert_string_equal(titled(master, sizeof master), "gunicorn: shop.wsgi:app "
							   "(/srv/shop/wsgi.py)");
	assert_null(titled(other, sizeof other));
	IS("gunicorn shop.wsgi:app", "gunicorn: shop.wsgi:app (/srv/shop/wsgi.py)");
	IS("/usr/bin/python3 /usr/bin/gunicorn -b 0.0.0.0:80 --workers 3 /opt/shop:app",
	   "gunicorn: /opt/shop:app (/opt/shop.py)");
	IS("gunicorn -c conf", "gunicorn: unknown app name");
}

static void uvicorn(void **state)
{
	(void)state;
	IS("python3 /bin/uvicorn --factory a.b:make", "uvicorn: a.b:make (/srv/a/b.py)");
	IS("uvicorn --host ::1 a:app", "uvicorn: a:app (/srv/a.py)");
}

static void uwsgi_modules(void **state)
{
	(void)state;
	ini = NULL;
	IS("uwsgi --http :80 -w my.wsgi", "uwsgi: my.wsgi (/srv/my/wsgi.py)");
	IS("uwsgi --wsgi-file app.py", "uwsgi: app.py (/srv/app.py)");
	IS("uwsgi --wsgi-file=/x/app.py", "uwsgi: /x/app.py (/x/app.py)");
	IS("uwsgi --http :80", "uwsgi: ini file / wsgi module not found");
}

static void uwsgi_inis(void **state)
{
	(void)state;
	ini = "[other]\nmodule = no\n[uwsgi]\n# x\nmodule = shop.wsgi:application \n";
	IS("uwsgi --ini my.ini", "uwsgi: my.ini (/srv/shop/wsgi.py)");
	IS("uwsgi --ini-paste=my.ini", "uwsgi: my.ini (/srv/shop/wsgi.py)");
	IS("uwsgi my.ini", "uwsgi: my.ini (/srv/shop/wsgi.py)");
	IS("uwsgi a.ini my.ini", "uwsgi: ini file / wsgi module not found");
	IS("uwsgi a.ini --ini=my.ini", "uwsgi: my.ini (/srv/shop/wsgi.py)");
	ini = "module = shop\n";
	IS("uwsgi my.ini", "uwsgi: my.ini");
	ini = NULL;
	IS("uwsgi my.ini", "uwsgi: my.ini");
}

static void celery(void **state)
{
	(void)state;
	IS("celery -A app1 worker", "celery: app1 (/srv/app1.py)");
	IS("python3 -m celery -Aapp1", "celery: app1 (/srv/app1.py)");
	IS("python /bin/celery --app=x.y", "celery: x.y (/srv/x/y.py)");
	IS("celery worker -Q one,two", "celery queue: one,two (/srv)");
	IS("celery worker -Qone", "celery queue: one (/srv)");
	IS("celery worker --queues=one", "celery queue: one (/srv)");
	NONE("celery worker");
	NONE("python -m celery worker");
}

static void programs(void **state)
{
	(void)state;
	IS("python -m pyspark.daemon", "pyspark");
	IS("/usr/bin/python3.8 -m http.server 80", "python: -m http.server");
	IS("python2.7 tool/x.py a", "python: tool/x.py (/srv/tool/x.py)");
	IS("python2 /x.py", "python: /x.py (/x.py)");
	NONE("python3 -c x");
	NONE("python3.x /x.py");
	NONE("pythonic /x.py");
	NONE("python4 /x.py");
	NONE("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gunicorn),      cmocka_unit_test(uvicorn),
		cmocka_unit_test(uwsgi_modules), cmocka_unit_test(uwsgi_inis),
		cmocka_unit_test(celery),        cmocka_unit_test(programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
