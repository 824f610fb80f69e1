/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves are machine code written at run time and named in a perf map, as
 * the process itself sees its number and /tmp. x86-64 only. */
#include <string.h>
#include <sys/mman.h>

#include "middle.h"

/* Two copies of it, at two addresses, are the leaves. */
static const unsigned char code[] = {
	0x55,                   /* push rbp */
	0x48, 0x89, 0xe5,       /* mov rbp, rsp */
	0x48, 0x0f, 0xaf, 0xc7, /* again: imul rax, rdi */
	0x48, 0x01, 0xf8,       /* add rax, rdi */
	0x48, 0xff, 0xcf,       /* dec rdi */
	0x75, 0xf4,             /* jnz again */
	0x5d,                   /* pop rbp */
	0xc3,                   /* ret */
};

static int write_map(const unsigned char *at, size_t light)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		return 0;
	fprintf(f, "%llx %zx jit::heavy<int> [tier 2]\n", (unsigned long long)(uintptr_t)at,
		sizeof code);
	fprintf(f, "%llx %zx jit::light<int>\n", (unsigned long long)(uintptr_t)(at + light),
		sizeof code);
	return fclose(f) == 0;
}

int main(int argc, char **argv)
{
	struct truth t = {0};
	unsigned char *at = (unsigned char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof code);
	memcpy(at + sizeof code, code, sizeof code);
	if (mprotect(at, 8192, PROT_READ | PROT_EXEC) != 0)
		return 1;
	t.heavy = (truth_leaf)(uintptr_t)at;
	t.light = (truth_leaf)(uintptr_t)(at + sizeof code);
	truth_begin(&t, atof(argv[1]), argc > 2);
	if (!write_map(at, sizeof code))
		return 1;
	while (!truth_is_over(&t))
		middle(&t);
	return truth_report(&t);
}
