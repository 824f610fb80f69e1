/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <elf.h>
#include <fcntl.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "source/frames.h"
#include "source/regs.h"
#include "unwound.h"

#define MAX    512
#define LOADED 256

/* Of libunwind's library, in no header of it. */
#define search_table UNW_OBJ(dwarf_search_unwind_table)
int search_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
		 int need_unwind_info, void *arg);

/* A file as a process has it. */
struct loaded {
	const uint8_t *bytes;
	size_t n;
	uint64_t bias;
	uint32_t image;
};

struct oracle {
	struct unwound *u;
	const struct kept *k;
	struct gpc_unwind_regs regs;
	struct loaded loaded[LOADED];
	size_t n;
};

static const Elf64_Phdr *segment(const struct loaded *l, unsigned i)
{
	const Elf64_Ehdr *h = (const void *)l->bytes;

	return i < h->e_phnum ? (const Elf64_Phdr *)(const void *)(l->bytes + h->e_phoff) + i
			      : NULL;
}

static bool map_file(struct oracle *o, const struct gpc_area *a, struct loaded *ret)
{
	autoclose int fd = -1;
	struct stat st;

	if (gpc_images_file(o->u->images, a->image, &fd, NULL) < 0 || fstat(fd, &st) < 0)
		return false;
	ret->n = (size_t)st.st_size;
	ret->bytes = mmap(NULL, ret->n, PROT_READ, MAP_PRIVATE, fd, 0);
	return ret->bytes != MAP_FAILED;
}

static struct loaded *load(struct oracle *o, uint64_t ip)
{
	const struct gpc_area *a = gpc_space_find(o->k->space, ip);
	const Elf64_Phdr *p;
	struct loaded *l;
	uint64_t bias = 0;

	if (!a || !a->image || o->n == LOADED)
		return NULL;
	l = &o->loaded[o->n];
	if (!map_file(o, a, l))
		return NULL;
	for (unsigned i = 0; (p = segment(l, i)); i++)
		if (p->p_type == PT_LOAD && (p->p_offset & ~UINT64_C(4095)) <= a->offset &&
		    a->offset < p->p_offset + p->p_filesz)
			bias = a->start - (p->p_vaddr + a->offset - p->p_offset);
	for (size_t i = 0; i < o->n; i++)
		if (o->loaded[i].image == a->image && o->loaded[i].bias == bias) {
			munmap((void *)(uintptr_t)l->bytes, l->n);
			return &o->loaded[i];
		}
	l->bias = bias;
	l->image = a->image;
	o->n++;
	return l;
}

static bool read_file(const struct oracle *o, uint64_t addr, uint64_t *ret)
{
	const Elf64_Phdr *p;

	for (size_t k = 0; k < o->n; k++)
		for (unsigned i = 0; (p = segment(&o->loaded[k], i)); i++) {
			uint64_t at = addr - o->loaded[k].bias - p->p_vaddr;

			if (p->p_type != PT_LOAD || at >= p->p_filesz || p->p_filesz - at < 8)
				continue;
			memcpy(ret, o->loaded[k].bytes + p->p_offset + at, 8);
			return true;
		}
	return false;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int is_write,
		      void *arg)
{
	struct oracle *o = arg;
	const struct gpc_perf_sample *s = &o->k->sample;
	uint64_t sp = o->regs.r[7], value;

	(void)as;
	if (is_write)
		return -UNW_EINVAL;
	if (addr >= sp && s->stack_bytes >= 8 && addr - sp <= s->stack_bytes - 8) {
		memcpy(val, s->stack + (addr - sp), 8);
		return 0;
	}
	if (!read_file(o, addr, &value))
		return -UNW_EINVAL;
	*val = value;
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val, int is_write,
		      void *arg)
{
	struct oracle *o = arg;

	(void)as;
	if (is_write || reg < 0 || reg > UNW_X86_64_RIP)
		return -UNW_EBADREG;
	*val = reg == UNW_X86_64_RIP ? o->regs.pc : o->regs.r[reg];
	return 0;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	struct oracle *o = arg;
	struct loaded *l = load(o, ip);
	unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	const Elf64_Phdr *p;
	uint32_t count;

	for (unsigned i = 0; l && (p = segment(l, i)); i++) {
		const uint8_t *head = l->bytes + p->p_offset;

		if (p->p_type != PT_GNU_EH_FRAME || head[1] != 0x1b || head[2] != 3 ||
		    head[3] != 0x3b)
			continue;
		memcpy(&count, head + 8, 4);
		di.start_ip = 0;
		di.end_ip = UINT64_MAX;
		di.u.rti.segbase = l->bias + p->p_vaddr;
		di.u.rti.table_data = di.u.rti.segbase + 12;
		di.u.rti.table_len = count * 8 / sizeof(unw_word_t);
		return search_table(as, ip, &di, pi, need, arg);
	}
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static int no_list(unw_addr_space_t as, unw_word_t *ret, void *arg)
{
	(void)as;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

static int no_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val, int is_write,
		    void *arg)
{
	(void)as;
	(void)reg;
	(void)val;
	(void)is_write;
	(void)arg;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	(void)as;
	(void)c;
	(void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t ip, char *buf, size_t n, unw_word_t *off,
		   void *arg)
{
	(void)as;
	(void)ip;
	(void)buf;
	(void)n;
	(void)off;
	(void)arg;
	return -UNW_ENOINFO;
}

static uint32_t walk(unw_addr_space_t as, struct oracle *o, uint64_t *pcs)
{
	unw_cursor_t cursor;
	unw_word_t ip;
	uint32_t n = 0;

	if (unw_init_remote(&cursor, as, o) < 0)
		return 0;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0 || !ip)
			break;
		pcs[n++] = ip;
	} while (n < MAX && unw_step(&cursor) > 0);
	return n;
}

static bool is_in_files(const struct kept *k, const uint64_t *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct gpc_area *a = gpc_space_find(k->space, frames[i]);

		if (!a || a->kind != GPC_AREA_FILE)
			return false;
	}
	return true;
}

struct score {
	uint64_t samples, frames, same, whole, deeper, shallower;
};

/* Return addresses here, places within calls there; a signal's are not moved. */
static void score(const struct gpc_pulled *mine, const uint64_t *theirs, uint32_t n,
		  struct score *s)
{
	uint32_t mine_n = mine->n - (mine->frames[mine->n - 1] == GPC_RAW_CUT);
	uint32_t both = mine_n < n ? mine_n : n, same = 0;

	for (uint32_t i = 0; i < both; i++)
		same += mine->frames[i] + 1 == theirs[i] || mine->frames[i] == theirs[i];
	s->samples++;
	s->frames += both;
	s->same += same;
	s->whole += same == mine_n && mine_n == n;
	s->deeper += mine_n > n;
	s->shallower += mine_n < n;
}

void oracle_compare(struct unwound *u)
{
	static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
					    .put_unwind_info = put_unwind_info,
					    .get_dyn_info_list_addr = no_list,
					    .access_mem = access_mem,
					    .access_reg = access_reg,
					    .access_fpreg = no_fpreg,
					    .resume = no_resume,
					    .get_proc_name = no_name};
	static struct oracle o;
	static struct gpc_pulled mine;
	unw_addr_space_t as = unw_create_addr_space(&accessors, 0);
	struct score s = {0};
	uint64_t pcs[MAX], ns = 0;

	o.u = u;
	unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
	for (size_t i = 0; i < u->kept.n; i++) {
		uint64_t begin;
		uint32_t n;

		o.k = &u->kept.at[i];
		gpc_regs_unwind(o.k->sample.regs, &o.regs);
		if (unwound_unwind(u, o.k, &mine) != GPC_NATIVE_DONE ||
		    !is_in_files(o.k, mine.frames,
				 mine.n - (mine.frames[mine.n - 1] == GPC_RAW_CUT)))
			continue;
		begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		n = walk(as, &o, pcs);
		ns += gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		score(&mine, pcs, n, &s);
	}
	unw_destroy_addr_space(as);
	printf("oracle_samples %llu\noracle_frames %llu\noracle_same %llu\noracle_whole %llu\n"
	       "oracle_mine_deeper %llu\noracle_mine_shallower %llu\noracle_frame_ns %.1f\n",
	       (unsigned long long)s.samples, (unsigned long long)s.frames,
	       (unsigned long long)s.same, (unsigned long long)s.whole,
	       (unsigned long long)s.deeper, (unsigned long long)s.shallower,
	       (double)ns / (double)(s.frames ? s.frames : 1));
}
