/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/meta.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/machine.h"

struct where {
	int root_fd, proc_fd;
	bool is_own_root;
};

static void drop(json_t **json)
{
	json_decref(*json);
}

#define autojson autocall(drop)

/* Files may hold any bytes: what is no UTF-8 loses its foreign characters. */
static json_t *text(const char *s)
{
	json_t *json = json_string(s);
	autofree char *copy = json ? NULL : strdup(s);

	if (json || !copy)
		return json;
	for (char *at = copy; *at; at++)
		if (*at & 0x80)
			*at = '?';
	return json_string(copy);
}

static bool put(json_t *to, const char *key, const char *value)
{
	return json_object_set_new(to, key, text(value)) == 0;
}

static bool put_number(json_t *to, const char *key, uint64_t value)
{
	return json_object_set_new(to, key, json_integer((json_int_t)value)) == 0;
}

static bool put_copy(json_t *to, const char *key, const json_t *value)
{
	return json_object_set_new(to, key, value ? json_deep_copy(value) : json_object()) == 0;
}

static bool put_agent(json_t *to, const struct gpc_meta_input *in)
{
	const char *mode = "standalone_executable", *deployment = "instances";
	char spawned[32];

	if (in->in_k8s)
		mode = deployment = "k8s";
	else if (in->in_container) {
		mode = "container";
		deployment = "containers";
	}
	gpc_meta_time(in->spawn_unix_ns, spawned);
	return put(to, "cloud_provider", "unknown") &&
	       put(to, "agent_version", in->agent_version) && put(to, "spawn_time", spawned) &&
	       put(to, "python_version", "") && put(to, "run_mode", mode) &&
	       put(to, "deployment_type", deployment);
}

static bool put_machine(json_t *to, const struct gpc_machine *m, const struct utsname *uts)
{
	struct sysinfo info = {0};
	uint64_t mb;

	sysinfo(&info);
	mb = ((uint64_t)info.totalram * info.mem_unit + 512 * 1024) / (1024 * 1024);
	return put(to, "kernel_release", uts->release) && put(to, "kernel_version", uts->version) &&
	       put(to, "system_name", uts->sysname) && put(to, "hypervisor", m->hypervisor) &&
	       put_number(to, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)) &&
	       put(to, "cpu_model_name", m->cpu_model) &&
	       put(to, "cpu_arch_codename", m->cpu_codename) &&
	       put(to, "cpu_flags", m->cpu_flags) && put_number(to, "memory_capacity_mb", mb);
}

static bool put_system(json_t *to, const struct gpc_machine *m, const struct gpc_machine_net *net,
		       const struct utsname *uts)
{
	return put(to, "hostname", net->hostname) && put(to, "system", uts->sysname) &&
	       put(to, "os_name", m->os_name) && put(to, "os_release", m->os_release) &&
	       put(to, "os_codename", m->os_codename) && put(to, "libc_type", m->libc_type) &&
	       put(to, "libc_version", m->libc_version) && put(to, "hardware_type", uts->machine) &&
	       put_number(to, "pid", (uint64_t)getpid()) && put(to, "mac_address", net->mac) &&
	       put(to, "private_ip", net->ip) &&
	       put_number(to, "spawn_uptime_ms", gpc_clock_ns(CLOCK_BOOTTIME) / GPC_MS_NS);
}

static bool put_big_data(json_t *to, const struct gpc_machine *m)
{
	json_t *data = json_object();
	bool ok = !m->data_provider[0] || (put(data, "provider", m->data_provider) &&
					   put(data, "provider_version", m->data_version));

	return json_object_set_new(to, "big_data", data) == 0 && ok;
}

/* A token has no place in a profile, whoever forgot to take it out. */
static bool put_arguments(json_t *to, const json_t *arguments)
{
	bool ok = put_copy(to, "run_arguments", arguments);
	json_t *copy = json_object_get(to, "run_arguments");

	json_object_del(copy, "server_token");
	json_object_del(copy, "func");
	return ok;
}

static void find_host(const struct gpc_meta_input *in, struct where *ret)
{
	ret->proc_fd = in->proc_fd >= 0 ? fcntl(in->proc_fd, F_DUPFD_CLOEXEC, 0)
					: open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret->root_fd = in->root_fd >= 0 ? fcntl(in->root_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (ret->root_fd < 0 && gpc_machine_is_foreign(ret->proc_fd, "mnt"))
		ret->root_fd = openat(ret->proc_fd, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret->is_own_root = ret->root_fd < 0;
	if (ret->is_own_root)
		ret->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void where_deinit(struct where *w)
{
	if (w->root_fd >= 0)
		close(w->root_fd);
	if (w->proc_fd >= 0)
		close(w->proc_fd);
}

gpc_status gpc_meta_new(const struct gpc_meta_input *in, json_t **ret, struct gpc_err *err)
{
	autocall(where_deinit) struct where host = {-1, -1, true};
	autofree struct gpc_machine *machine = malloc(sizeof *machine);
	autojson json_t *meta = json_object();
	struct gpc_machine_net net;
	struct utsname uts;

	if (!machine || !meta)
		return gpc_err_nomem(err);
	if (uname(&uts) < 0)
		return gpc_err_sys(err, "uname");
	find_host(in, &host);
	gpc_machine_read(host.root_fd, host.proc_fd, host.is_own_root, machine);
	gpc_machine_net_read(host.proc_fd, &net);
	if (!put_agent(meta, in) || !put_machine(meta, machine, &uts) ||
	    !put_system(meta, machine, &net, &uts) || !put_arguments(meta, in->run_arguments) ||
	    !put_big_data(meta, machine) || !put_copy(meta, "external_metadata", in->external))
		return gpc_err_nomem(err);
	*ret = take(meta);
	return GPC_OK;
}

gpc_status gpc_meta_session(const json_t *meta, int64_t now_unix_ns, const char *profiling_mode,
			    const struct gpc_sampling *sampling, json_t **ret, struct gpc_err *err)
{
	autojson json_t *copy = json_copy((json_t *)(uintptr_t)meta);
	char now[32];

	gpc_meta_time(now_unix_ns, now);
	if (!copy || !put(copy, "current_time", now) ||
	    !put(copy, "profiling_mode", profiling_mode) || !gpc_meta_put_sampling(copy, sampling))
		return gpc_err_nomem(err);
	*ret = take(copy);
	return GPC_OK;
}

bool gpc_meta_put_sampling(json_t *to, const struct gpc_sampling *sampling)
{
	const char *mode = sampling->is_period ? "period" : "frequency";
	const char *rate = sampling->is_period ? "sampling_period" : "sampling_frequency";

	return put(to, "sampling_event", sampling->event) && put(to, "sampling_mode", mode) &&
	       put_number(to, rate, sampling->rate) &&
	       (!sampling->precise || put(to, "precise_modifier", sampling->precise));
}

void gpc_meta_time(int64_t unix_ns, char ret[32])
{
	time_t seconds = unix_ns / (int64_t)GPC_SECOND_NS;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(ret, 32, "%Y-%m-%dT%H:%M:%S", &tm);
}
