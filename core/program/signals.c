/* SPDX-License-Identifier: Apache-2.0 */
#include "program/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

gpc_status gpc_signals_open(const int *more, int *ret, struct gpc_err *err)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	for (; more && *more; more++)
		sigaddset(&set, *more);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return gpc_err_sys(err, "signalfd");
	*ret = fd;
	return GPC_OK;
}

int gpc_signals_next(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
		return 0;
	return (int)info.ssi_signo;
}
