/* SPDX-License-Identifier: Apache-2.0 */
/* A real JVM's memory, recorded, then walked when the JVM is no more: as it was, and
 * with bytes changed at random. GPC_TEST_JAVA names another java, GPC_TEST_JAVA_ROOT the
 * root that it lies in, GPC_TEST_JAVA_ROUNDS how often bytes are changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <sys/mount.h>
#include <time.h>

#include <cmocka.h>

#include "../proc/child.h"
#include "about.h"
#include "base/cleanup.h"
#include "fake_vm.h"
#include "proc/mem_image.h"
#include "proc/modules.h"
#include "proc/target.h"

#define IMAGE_MAX (UINT64_C(512) << 20)
#define SYMBOLS   64
#define ROUNDS    300

struct world {
	struct gpc_mem_image *image;
	struct gpc_target_view *view; /* of the JVM that was; for its files */
	struct gpc_host host;
	uint64_t random, changed;
	bool is_compiled;
	uint32_t rate; /* one word in so many is changed; 0: none */
	/* Symbols, looked up while it lived. */
	uint32_t n_symbols;
	struct known_symbol {
		char name[64];
		uint64_t at;
	} symbols[SYMBOLS];
};

/* ---- the JVM ------------------------------------------------------------------------ */

/* Classes are at /mnt there. In a mount namespace of its own: nothing stays. */
static bool enter(const char *root)
{
	char path[512];

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	snprintf(path, sizeof path, "%s/proc", root);
	if (mount("proc", path, "proc", 0, NULL) < 0)
		return false;
	snprintf(path, sizeof path, "%s/mnt", root);
	return mount(JAVA_CLASSES, path, NULL, MS_BIND, NULL) == 0 && chroot(root) == 0 &&
	       chdir("/") == 0;
}

/* 0: it did not come up. */
static pid_t start_jvm(const char *java, bool is_compiled)
{
	const char *root = getenv("GPC_TEST_JAVA_ROOT");
	char *argv[] = {(char *)java,
			"-Xmx16m",
			"-XX:ReservedCodeCacheSize=8m",
			is_compiled ? "-Xcomp" : "-Xint",
			"-XX:CompileCommand=quiet",
			"-XX:CompileCommand=compileonly,Parked.*",
			"-XX:+UseSerialGC",
			"-cp",
			root ? "/mnt" : JAVA_CLASSES,
			"Parked",
			NULL};
	char line[80] = "";
	int fds[2];
	pid_t pid;
	FILE *from;

	if (pipe(fds) < 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		if (root && !enter(root))
			_exit(126);
		execv(java, argv);
		_exit(127);
	}
	close(fds[1]);
	from = fdopen(fds[0], "r");
	while (fgets(line, sizeof line, from) && strcmp(line, "ready\n") != 0)
		;
	fclose(from);
	usleep(200000); /* until it sleeps */
	return strcmp(line, "ready\n") == 0 ? pid : 0;
}

static gpc_status record(struct world *w, pid_t pid)
{
	struct gpc_target_id id = {.pid = pid, .id = 7};
	char path[] = "/tmp/gpc-java-XXXXXX", file[80];
	struct gpc_capture_facts facts;
	struct gpc_mem *mem = NULL;
	struct gpc_err err;
	gpc_status st;

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof file, "%s/image", path);
	st = gpc_target_read(&id, &w->view, &err);
	if (st == GPC_OK)
		st = gpc_mem_new(4, NULL, &mem, &err);
	if (st == GPC_OK) {
		struct gpc_capture c = {.target = &w->view->target,
					.mem = mem,
					.max_bytes = IMAGE_MAX};

		st = gpc_mem_image_capture(&c, file, &facts, &err);
	}
	if (st == GPC_OK)
		st = gpc_mem_image_load(file, IMAGE_MAX, &w->image, &err);
	if (st < 0)
		print_message("%s\n", err.text);
	gpc_mem_free(mem);
	unlink(file);
	rmdir(path);
	return st;
}

/* ---- the host ------------------------------------------------------------------------- */

static uint64_t next_random(struct world *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void spoil(struct world *w, uint8_t *bytes, uint64_t n)
{
	for (uint64_t at = 0; w->rate && at < n; at += 8)
		if (next_random(w) % w->rate == 0) {
			bytes[at + next_random(w) % (n - at < 8 ? n - at : 8)] ^=
				(uint8_t)(1u << next_random(w) % 8);
			w->changed++;
		}
}

static int64_t read_mem(const struct gpc_host *h, const struct gpc_target *t, uint64_t addr,
			void *buf, uint64_t len)
{
	struct world *w = h->impl;
	int64_t n = gpc_mem_image_read(w->image, addr, buf, len);

	(void)t;
	if (n > 0)
		spoil(w, buf, (uint64_t)n);
	return n;
}

static gpc_status find_symbol(const struct gpc_host *h, const struct gpc_target *t,
			      const char *glob, const char *symbol, uint64_t *addr)
{
	struct gpc_module_file m;
	struct gpc_place place;
	autoclose int fd = -1;
	struct world *w = h->impl;

	(void)t;
	for (uint32_t i = 0; i < w->n_symbols; i++)
		if (strcmp(w->symbols[i].name, symbol) == 0) {
			*addr = w->symbols[i].at;
			return GPC_OK;
		}
	gpc_try(gpc_module_open(&w->view->target, glob, &m, NULL));
	fd = m.fd;
	gpc_try(gpc_module_symbol(&m, symbol, &place, NULL));
	*addr = place.start;
	if (w->n_symbols < SYMBOLS) {
		struct known_symbol *s = &w->symbols[w->n_symbols++];

		snprintf(s->name, sizeof s->name, "%s", symbol);
		s->at = *addr;
	}
	return GPC_OK;
}

static uint64_t now_ns(const struct gpc_host *h)
{
	(void)h;
	return 1;
}

static struct fake_vm *new_vm(struct world *w)
{
	struct fake_vm *v = fake_vm_new(calloc(1, sizeof(struct fake_jvm)));

	assert_non_null(v);
	v->vm.mem = (struct jmem){&w->host, gpc_mem_image_target(w->image)};
	return v;
}

/* ---- tests -------------------------------------------------------------------------------- */

static int set_up(void **state, bool is_compiled)
{
	const char *java = getenv("GPC_TEST_JAVA");
	struct world *w = calloc(1, sizeof *w);
	struct fake_vm *v;
	gpc_status st;
	pid_t pid;

	assert_non_null(w);
	*state = w;
	w->random = 88172645463325252u;
	w->is_compiled = is_compiled;
	w->host = (struct gpc_host){.struct_size = sizeof w->host,
				    .impl = w,
				    .read_mem = read_mem,
				    .find_symbol = find_symbol,
				    .now_ns = now_ns};
	pid = start_jvm(java ? java : JAVA_PROGRAM, is_compiled);
	if (!pid)
		return -1;
	st = record(w, pid);
	v = st < 0 ? NULL : new_vm(w);
	if (v)
		st = fake_vm_attach(v);
	child_end(pid);
	if (v)
		fake_vm_free(v);
	return st < 0 ? -1 : 0;
}

static int set_up_interpreted(void **state)
{
	return set_up(state, false);
}

static int set_up_compiled(void **state)
{
	return set_up(state, true);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_mem_image_free(w->image);
	gpc_target_put(w->view);
	free(w);
	return 0;
}

/* From where the thread left Java. */
static gpc_status walk_thread(struct fake_vm *v, const struct gpc_mem_image_thread *th)
{
	struct gpc_step_state state = {.pc = th->pc, .sp = th->sp};
	struct java_anchor left =
		gpc_java_thread_left(&v->vm.threads, &v->vm.mem, &v->vm.layout, th->ns_tid, th->sp);

	gpc_java_go_on(&v->vm, left, &state);
	if (!state.next_sp)
		return GPC_E_GONE;
	v->is_return = true;
	return fake_vm_walk(v, state.next_pc, state.next_sp, state.next_fp);
}

/* A method's frame, of one of these kinds. */
static void frame_is(const struct fake_vm *v, uint32_t i, const char *name, const char *kinds)
{
	const char *frame = i < v->n ? v->frames[i] : "";
	size_t n = strlen(name);

	if (strncmp(frame, name, n) != 0 || frame[n] != '_' || !frame[n + 1] ||
	    !strchr(kinds, frame[n + 1]) || frame[n + 2])
		fail_msg("frame %u is %s, not %s_[%s]", i, frame, name, kinds);
}

static void test_as_recorded(void **state)
{
	struct world *w = *state;
	struct fake_vm *v = new_vm(w);
	/* The innermost ones go back to the interpreter: classes were not loaded yet. */
	const char *kinds = w->is_compiled ? "j1i0" : "0";
	unsigned found = 0, with_java = 0, compiled = 0;

	assert_int_equal(fake_vm_attach(v), GPC_OK);
	assert_true(v->vm.layout.major >= 8);
	assert_true(v->vm.layout.major < 21 || v->vm.heap.is_known);
	assert_true(v->vm.flags.has_short_oops && !v->vm.flags.has_no_attach);
	for (uint32_t i = 0; i < gpc_mem_image_threads(w->image); i++) {
		uint32_t at = 0;

		if (walk_thread(v, gpc_mem_image_thread(w->image, i)) < 0)
			continue;
		with_java++;
		while (at < v->n && strncmp(v->frames[at], "Parked.", 7) != 0)
			at++;
		if (at == v->n)
			continue;
		found++;
		assert_true(strncmp(v->frames[at - 1], "java/lang/Thread.sleep", 22) == 0);
		for (uint32_t k = 0; k < 6; k++) {
			frame_is(v, at + k, "Parked.down(I)V", kinds);
			compiled += strchr(v->frames[at + k], '0') == NULL;
		}
		frame_is(v, at + 6, "Parked.main([Ljava/lang/String|)V", kinds);
		assert_string_equal(at + 7 < v->n ? v->frames[at + 7] : "", "call_stub");
		assert_int_equal(v->n, at + 8);
	}
	assert_int_equal(found, 1);
	assert_true(w->is_compiled ? compiled >= 3 : compiled == 0);
	assert_true(with_java >= 2); /* Reference Handler, Finalizer, ... */
	fake_vm_free(v);
}

static void test_about(void **state)
{
	struct world *w = *state;
	struct fake_vm *v = new_vm(w);
	const char *words[] = {"default"};
	struct gpc_list wanted = {.at = words, .n = 1};
	struct java_about about;
	char appid[64], wanted_text[160];
	bool is_8;
	char *flags;

	assert_int_equal(fake_vm_attach(v), GPC_OK);
	gpc_java_about_read(&v->vm.mem, &v->vm.layout, &about);
	assert_non_null(strstr(about.version, "64-Bit Server VM"));
	assert_string_equal(about.command, "Parked");
	assert_true(gpc_java_about_appid(&about, appid, sizeof appid));
	assert_string_equal(appid, "java: Parked");
	flags = gpc_java_flags_json(&v->vm.mem, &v->vm.layout, &wanted);
	assert_non_null(flags);
	/* 8 does not say where a value came from, and has no size_t. */
	is_8 = v->vm.layout.major == 8;
	snprintf(wanted_text, sizeof wanted_text,
		 "{\"name\": \"UseSerialGC\", \"type\": \"bool\", \"value\": \"true\", \"origin\": "
		 "\"%s\", \"kind\": [\"product\"]}",
		 is_8 ? "non-default" : "command line");
	assert_non_null(strstr(flags, wanted_text));
	snprintf(wanted_text, sizeof wanted_text,
		 "\"MaxHeapSize\", \"type\": \"%s\", \"value\": \"16777216\"",
		 is_8 ? "uintx" : "size_t");
	assert_non_null(strstr(flags, wanted_text));
	assert_null(strstr(flags, "\"default\""));
	free(flags);
	words[0] = "none";
	assert_null(gpc_java_flags_json(&v->vm.mem, &v->vm.layout, &wanted));
	words[0] = "UseG1GC";
	flags = gpc_java_flags_json(&v->vm.mem, &v->vm.layout, &wanted);
	assert_string_equal(flags,
			    "[{\"name\": \"UseG1GC\", \"type\": \"bool\", \"value\": \"false\", "
			    "\"origin\": \"default\", \"kind\": [\"product\"]}]");
	free(flags);
	fake_vm_free(v);
}

/* No crash, no endless walk; ASan and UBSan look on. */
static void test_changed_at_random(void **state)
{
	struct world *w = *state;
	const char *rounds = getenv("GPC_TEST_JAVA_ROUNDS");
	int n = rounds ? atoi(rounds) : ROUNDS;
	uint64_t walks = 0;

	for (int round = 0; round < n; round++) {
		struct fake_vm *v = new_vm(w);

		w->rate = 0;
		assert_int_equal(fake_vm_attach(v), GPC_OK);
		w->rate = 8u << round % 8;
		for (uint32_t i = 0; i < gpc_mem_image_threads(w->image); i++)
			walks += walk_thread(v, gpc_mem_image_thread(w->image, i)) == GPC_OK;
		fake_vm_free(v);
	}
	/* The tables themselves. */
	for (int round = 0; round < n / 30; round++) {
		struct fake_vm *v = new_vm(w);

		w->rate = 1000u << round % 10;
		if (fake_vm_attach(v) == GPC_OK)
			for (uint32_t i = 0; i < gpc_mem_image_threads(w->image); i++)
				walk_thread(v, gpc_mem_image_thread(w->image, i));
		fake_vm_free(v);
	}
	w->rate = 0;
	assert_true(w->changed > 1000);
	assert_true(walks > 10); /* not all hit what matters */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_recorded),
		cmocka_unit_test(test_about),
		cmocka_unit_test(test_changed_at_random),
	};

	return cmocka_run_group_tests_name("interpreted", tests, set_up_interpreted, tear_down) +
	       cmocka_run_group_tests_name("compiled", tests, set_up_compiled, tear_down);
}
