/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code made at run time, described in a jitdump file: first under one name,
 * then moved, then with more code beside it. x86-64 only. The format:
 * Linux, tools/perf/Documentation/jitdump-specification.txt. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x4a695444
#define PAGE  4096

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

static FILE *dump;

static void put(const void *at, size_t n)
{
	if (fwrite(at, 1, n, dump) != n)
		exit(1);
}

static void put32(uint32_t v)
{
	put(&v, sizeof v);
}

static void put64(uint64_t v)
{
	put(&v, sizeof v);
}

static void begin(uint32_t id, size_t size)
{
	put32(id);
	put32((uint32_t)(16 + size));
	put64((uint64_t)clock());
}

static void put_load(const unsigned char *at, uint64_t index, const char *name)
{
	begin(0, 40 + strlen(name) + 1 + sizeof code);
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64((uint64_t)(uintptr_t)at);
	put64((uint64_t)(uintptr_t)at);
	put64(sizeof code);
	put64(index);
	put(name, strlen(name) + 1);
	put(code, sizeof code);
}

static void put_move(const unsigned char *from, const unsigned char *to, uint64_t index)
{
	begin(1, 48);
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64((uint64_t)(uintptr_t)to);
	put64((uint64_t)(uintptr_t)from);
	put64((uint64_t)(uintptr_t)to);
	put64(sizeof code);
	put64(index);
}

static void put_lines(const unsigned char *at, const char *file)
{
	size_t entry = 16 + strlen(file) + 1;

	begin(2, 16 + 2 * entry);
	put64((uint64_t)(uintptr_t)at);
	put64(2);
	for (int i = 0; i < 2; i++) {
		put64((uint64_t)(uintptr_t)at + (i ? 4 : 0));
		put32(i ? 70 : 69);
		put32(0);
		put(file, strlen(file) + 1);
	}
}

static void run(const unsigned char *at, double seconds)
{
	uint64_t (*volatile fn)(uint64_t) = (uint64_t(*)(uint64_t))(uintptr_t)at;
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	while (clock() < end)
		fn(300000);
}

static int open_dump(const char *folder)
{
	char path[256];

	snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
	dump = fopen(path, "w+");
	/* The mapping is what tells others of the file. */
	if (!dump ||
	    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return 0;
	put32(MAGIC);
	put32(1);
	put32(40);
	put32(62); /* EM_X86_64 */
	put32(0);
	put32((uint32_t)getpid());
	put64((uint64_t)clock());
	put64(0);
	return 1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) / 3 : 1;
	unsigned char *at =
		(unsigned char *)mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || argc < 2 || !open_dump(argv[1]))
		return 1;
	memcpy(at, code, sizeof code);
	put_lines(at, "script.jit");
	put_load(at, 1, "jitted::first");
	fflush(dump);
	run(at, seconds);

	memcpy(at + PAGE, code, sizeof code);
	put_move(at, at + PAGE, 1);
	fflush(dump);
	run(at + PAGE, seconds);

	memcpy(at + 64, code, sizeof code);
	put_load(at + 64, 2, "jitted::second");
	fflush(dump);
	run(at + 64, seconds);
	begin(3, 0);
	fflush(dump);
	usleep(200000);
	return 0;
}
