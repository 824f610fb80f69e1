/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code made at run time that uses the frame pointer for something else, and says
 * in a jitdump file how it is unwound: main;run;jitted::NAME;work;middle;heavy or light.
 * Loaded, then moved, then replaced by code with another frame. x86-64 only.
 * Usage: jitframes SECONDS wait FOLDER */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "leaves.h"
#include "middle.h"

#define MAGIC     0x4a695444
#define PAGE      4096
#define SIZE_AT   5 /* of the frame, in the code: twice, and in the CFI */
#define SIZE_END  24
#define CODE_SIZE 28
#define ROUNDED   32

static unsigned char code[CODE_SIZE] = {
	0x53,                         /* push rbx */
	0x55,                         /* push rbp */
	0x48, 0x83, 0xec, 0x48,       /* 2: sub rsp, 0x48 */
	0xbd, 0x01, 0x00, 0x00, 0x00, /* 6: mov ebp, 1: no frame pointer, and no 0 either */
	0x31, 0xdb,                   /* 11: xor ebx, ebx */
	0xff, 0xd7,                   /* 13: call rdi */
	0x48, 0x01, 0xd8,             /* 15: add rax, rbx */
	0x0f, 0x1f, 0x00,             /* 18: nop */
	0x48, 0x83, 0xc4, 0x48,       /* 21: add rsp, 0x48 */
	0x5d,                         /* 25: pop rbp */
	0x5b,                         /* 26: pop rbx */
	0xc3,                         /* 27: ret */
};

/* .eh_frame behind the code as V8 writes it, then .eh_frame_hdr. */
#define CIE                                        \
	"\x14\0\0\0\0\0\0\0\1zR\0\1\x78\x10\1\x1b" \
	"\x0c\7\x08" /* CFA is rsp + 8 */          \
	"\x90\1\0\0" /* the return address at CFA - 8 */
#define FDE                                                                                     \
	"\x28\0\0\0\x1c\0\0\0\0\0\0\0\x1c\0\0\0\0" /* of 28 bytes; where is set below */        \
	"\x41\x0e\x10\x83\2"                       /* 1: rbx at CFA - 16 */                     \
	"\x41\x0e\x18\x86\3"                       /* 2: rbp at CFA - 24 */                     \
	"\x44\x0e\0"                               /* 6: 24 and the size, which is set below */ \
	"\x53\x0e\x18"                             /* 25 */                                     \
	"\x41\x0e\x10\xc6"                         /* 26 */                                     \
	"\x41\x0e\x08\xc3"                         /* 27 */                                     \
	"\0\0\0"
static unsigned char frames[] = CIE FDE "\0\0\0\0"
					"\1\x1b\3\x3b\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0";
#define HEADER   20
#define FDE_PC   32 /* places in frames */
#define FDE_SIZE 53

static struct truth t = {.heavy = HEAVY, .light = LIGHT};
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
	put64(truth_clock(CLOCK_MONOTONIC));
}

static void put_frames(void)
{
	begin(4, 24 + sizeof frames);
	put64(sizeof frames);
	put64(HEADER);
	put64(sizeof frames);
	put(frames, sizeof frames);
}

static void put_lines(const unsigned char *at)
{
	static const char file[] = "frames.jit";

	begin(2, 16 + 16 + sizeof file);
	put64((uint64_t)(uintptr_t)at);
	put64(1);
	put64((uint64_t)(uintptr_t)at);
	put32(7);
	put32(0);
	put(file, sizeof file);
}

static void put_load(const unsigned char *at, uint64_t index, const char *name)
{
	put_lines(at);
	put_frames();
	begin(0, 40 + strlen(name) + 1 + sizeof code);
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64((uint64_t)(uintptr_t)at);
	put64((uint64_t)(uintptr_t)at);
	put64(sizeof code);
	put64(index);
	put(name, strlen(name) + 1);
	put(code, sizeof code);
	fflush(dump);
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
	fflush(dump);
}

static void set_frame(unsigned char size)
{
	int distance = -(ROUNDED + FDE_PC);

	code[SIZE_AT] = code[SIZE_END] = size;
	frames[FDE_SIZE] = (unsigned char)(24 + size);
	memcpy(frames + FDE_PC, &distance, sizeof distance);
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
	put64(truth_clock(CLOCK_MONOTONIC));
	put64(0);
	fflush(dump);
	return 1;
}

NOINLINE static uint64_t work(void)
{
	middle(&t);
	return t.sum + 1;
}

NOINLINE static void run(const unsigned char *at, uint64_t until_ns)
{
	uint64_t (*volatile fn)(uint64_t(*)(void)) = (uint64_t(*)(uint64_t(*)(void)))(uintptr_t)at;

	while (t.heavy_ns + t.light_ns < until_ns)
		t.sum += fn(work);
}

int main(int argc, char **argv)
{
	unsigned char *at =
		(unsigned char *)mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || argc < 4)
		return 1;
	truth_begin(&t, atof(argv[1]), 1);
	if (!open_dump(argv[3]))
		return 1;
	set_frame(0x48);
	memcpy(at, code, sizeof code);
	put_load(at, 1, "jitted::first");
	run(at, t.until_ns / 3);

	memcpy(at + PAGE, code, sizeof code);
	put_move(at, at + PAGE, 1);
	run(at + PAGE, t.until_ns * 2 / 3);

	set_frame(0x28);
	memcpy(at, code, sizeof code);
	put_load(at, 2, "jitted::second");
	run(at, t.until_ns);
	return truth_report(&t);
}
