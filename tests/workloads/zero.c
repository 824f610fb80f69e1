/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /dev/zero: nearly all of its time is the kernel's. */
#include <fcntl.h>

#include "truth.h"

uint64_t pull(int fd, char *buffer, size_t size);

NOINLINE uint64_t pull(int fd, char *buffer, size_t size)
{
	ssize_t got = read(fd, buffer, size);

	return got > 0 ? (uint64_t)got : 0;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	struct truth t = {0};
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 1;
	truth_begin(&t, atof(argv[1]), argc > 2);
	while (truth_clock(CLOCK_THREAD_CPUTIME_ID) < t.until_ns)
		t.sum += pull(fd, buffer, sizeof buffer);
	return truth_report(&t);
}
