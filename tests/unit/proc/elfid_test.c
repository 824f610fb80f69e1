/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of files, made in turns, against those of sha1sum. */
#include "proc/elfid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "proc/target.h"

#define BYTES ((size_t)48 << 20)

struct file {
	char path[64];
	uint8_t *at;
};

/* A program without notes, and much in it. */
static void map_file(struct file *f, const char *name, uint32_t seed)
{
	Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof head,
			   .e_ehsize = sizeof head,
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1};
	Elf64_Phdr load = {.p_type = PT_LOAD,
			   .p_flags = PF_R | PF_X,
			   .p_filesz = BYTES,
			   .p_memsz = BYTES,
			   .p_align = 4096};
	int fd;

	snprintf(f->path, sizeof f->path, "/tmp/gpc-%s-%d", name, (int)getpid());
	fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && ftruncate(fd, (off_t)BYTES) == 0);
	f->at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(f->at != MAP_FAILED);
	close(fd);
	memcpy(f->at, &head, sizeof head);
	memcpy(f->at + sizeof head, &load, sizeof load);
	for (size_t i = 4096; i < BYTES; i += 512)
		memcpy(f->at + i, &(uint32_t){seed * (uint32_t)i}, 4);
}

static void drop_file(struct file *f)
{
	munmap(f->at, BYTES);
	unlink(f->path);
}

static void sum_of(const char *path, char ret[GPC_ELFID_MAX])
{
	char command[100], sum[41] = "";
	FILE *from;

	snprintf(command, sizeof command, "sha1sum %s", path);
	from = popen(command, "r");
	assert_non_null(from);
	assert_int_equal(fread(sum, 1, 40, from), 40);
	pclose(from);
	snprintf(ret, GPC_ELFID_MAX, "sha1:%s", sum);
}

static void in_turns(void **state)
{
	struct gpc_target_id id = {.pid = getpid(), .id = 1};
	struct gpc_elfids *e = gpc_elfids_new();
	struct gpc_target_view *view;
	struct file a, b;
	char text[GPC_ELFID_MAX] = "", want[GPC_ELFID_MAX];
	unsigned turns = 0;
	gpc_status st;

	(void)state;
	map_file(&a, "elfid-a", 3);
	map_file(&b, "elfid-b", 5);
	assert_int_equal(gpc_target_read(&id, &view, NULL), GPC_OK);
	do {
		st = gpc_elfids_of(e, &view->target, "gpc-elfid-a-*", text, NULL);
		assert_true(st == GPC_OK || st == GPC_E_RETRY);
		/* The other one has to wait. */
		if (st == GPC_E_RETRY)
			assert_int_equal(gpc_elfids_of(e, &view->target, "gpc-elfid-b-*", text,
						       NULL),
					 GPC_E_RETRY);
		turns++;
	} while (st == GPC_E_RETRY);
	assert_true(turns > 2);
	sum_of(a.path, want);
	assert_string_equal(text, want);
	assert_int_equal(gpc_elfids_of(e, &view->target, "gpc-elfid-a-*", text, NULL), GPC_OK);
	while ((st = gpc_elfids_of(e, &view->target, "gpc-elfid-b-*", text, NULL)) == GPC_E_RETRY)
		turns++;
	assert_int_equal(st, GPC_OK);
	sum_of(b.path, want);
	assert_string_equal(text, want);
	gpc_target_put(view);
	gpc_elfids_free(e);
	drop_file(&a);
	drop_file(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_turns)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
