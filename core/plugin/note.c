/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/module.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_SEGMENTS   128 /* a shared object has about ten */
#define MAX_NOTE_BYTES (64 * 1024)
#define DESC_BYTES     8 /* of struct gpc_note, behind the name */

/* Our own ELF header, placed by the linker: what a plugin must look like to be
 * loadable here, without a list of architectures. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct image {
	int fd;
	uint64_t size;
	ElfW(Ehdr) head;
};

static gpc_status cut_short(struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CORRUPT, "the file is cut short: install it again");
}

/* True when [at, at + n) lies in the file. */
static bool is_inside(const struct image *im, uint64_t at, uint64_t n)
{
	return at <= im->size && n <= im->size - at;
}

static gpc_status read_at(const struct image *im, uint64_t at, void *buf, size_t n,
			  struct gpc_err *err)
{
	char *to = buf;

	if (!is_inside(im, at, n))
		return cut_short(err);
	while (n) {
		ssize_t got = pread(im->fd, to, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gpc_err_sys(err, "it cannot be read");
		if (got == 0)
			return cut_short(err);
		to += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return GPC_OK;
}

/* The part that is the same for all classes; a text shorter than it is no
 * plugin that was cut off. */
static gpc_status check_ident(const struct image *im, struct gpc_err *err)
{
	unsigned char id[EI_NIDENT] = {0};

	if (im->size >= SELFMAG)
		gpc_try(read_at(im, 0, id, SELFMAG, err));
	if (memcmp(id, ELFMAG, SELFMAG) != 0)
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "it is no ELF file: remove it from the plugin folder");
	gpc_try(read_at(im, 0, id, sizeof id, err));
	if (id[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS])
		return gpc_err_set(err, GPC_E_UNSUPPORTED,
				   "it is a %s-bit file and this core is a %s-bit program: install "
				   "the build for this core",
				   id[EI_CLASS] == ELFCLASS32 ? "32" : "64",
				   sizeof(void *) == 8 ? "64" : "32");
	return GPC_OK;
}

static gpc_status check_head(const ElfW(Ehdr) * head, struct gpc_err *err)
{
	if (head->e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] ||
	    head->e_machine != __ehdr_start.e_machine)
		return gpc_err_set(
			err, GPC_E_UNSUPPORTED,
			"it was built for another processor (ELF machine %u, this one is "
			"%u): install the build for this machine",
			head->e_machine, __ehdr_start.e_machine);
	if (head->e_type != ET_DYN)
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "it is no shared object: link it with -shared");
	if (head->e_phentsize != sizeof(ElfW(Phdr)) || head->e_phnum == 0 ||
	    head->e_phnum > MAX_SEGMENTS)
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "its ELF program headers are damaged: install it again");
	return GPC_OK;
}

static gpc_status open_image(int fd, struct image *ret, struct gpc_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gpc_err_sys(err, "it cannot be read");
	if (!S_ISREG(st.st_mode))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "it is no regular file: remove it from the plugin folder");
	*ret = (struct image){.fd = fd, .size = (uint64_t)st.st_size};
	gpc_try(check_ident(ret, err));
	gpc_try(read_at(ret, 0, &ret->head, sizeof ret->head, err));
	gpc_try(check_head(&ret->head, err));
	/* Linkers put the section headers last, so this notices most truncations. */
	if (!is_inside(ret, ret->head.e_shoff, (uint64_t)ret->head.e_shnum * ret->head.e_shentsize))
		return cut_short(err);
	return GPC_OK;
}

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static bool is_ours(const ElfW(Nhdr) * head, const char *name)
{
	return head->n_namesz == 4 && head->n_type == GPC_NOTE_TYPE && memcmp(name, "gpc", 4) == 0;
}

/* Looks for our note among those of one segment. */
static bool find_note(const char *bytes, size_t n, size_t align, struct gpc_note *ret)
{
	for (uint64_t at = 0; at + sizeof(ElfW(Nhdr)) <= n;) {
		ElfW(Nhdr) head;
		uint64_t name = at + sizeof head, desc;

		memcpy(&head, bytes + at, sizeof head);
		desc = round_up(name + head.n_namesz, align);
		if (desc > n || head.n_descsz > n - desc)
			return false;
		if (is_ours(&head, bytes + name) && head.n_descsz >= DESC_BYTES) {
			memcpy(ret, bytes + at, offsetof(struct gpc_note, abi_major));
			memcpy(&ret->abi_major, bytes + desc, DESC_BYTES);
			return true;
		}
		at = round_up(desc + head.n_descsz, align);
	}
	return false;
}

static gpc_status read_notes(const struct image *im, const ElfW(Phdr) * seg, struct gpc_note *ret,
			     struct gpc_err *err)
{
	autofree char *bytes = NULL;

	if (seg->p_filesz > MAX_NOTE_BYTES)
		return GPC_OK;
	bytes = malloc(seg->p_filesz + 1);
	if (!bytes)
		return gpc_err_nomem(err);
	gpc_try(read_at(im, seg->p_offset, bytes, seg->p_filesz, err));
	find_note(bytes, seg->p_filesz, seg->p_align == 8 ? 8 : 4, ret);
	return GPC_OK;
}

gpc_status gpc_note_read(int fd, struct gpc_note *ret, struct gpc_err *err)
{
	ElfW(Phdr) segs[MAX_SEGMENTS];
	struct gpc_note note = {0};
	struct image im;

	gpc_try(open_image(fd, &im, err));
	gpc_try(read_at(&im, im.head.e_phoff, segs, im.head.e_phnum * sizeof *segs, err));
	for (unsigned i = 0; i < im.head.e_phnum; i++) {
		/* The loader would map beyond the end and die of SIGBUS. */
		if (segs[i].p_type == PT_LOAD &&
		    !is_inside(&im, segs[i].p_offset, segs[i].p_filesz))
			return cut_short(err);
		if (segs[i].p_type == PT_NOTE && !note.type)
			gpc_try(read_notes(&im, &segs[i], &note, err));
	}
	if (!note.type)
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "it is no gpc plugin, it has no gpc note: remove it from the "
				   "plugin folder, or declare it with GPC_MODULE()");
	*ret = note;
	return GPC_OK;
}

gpc_status gpc_note_check_against(const struct gpc_note *note, unsigned major, unsigned minor,
				  struct gpc_err *err)
{
	bool fits = note->abi_major == major;

	if (major == 0) /* nothing is promised before 1.0 */
		fits = fits && note->abi_minor == minor;
	else
		fits = fits && (note->abi_minor <= minor || note->needs_minor <= minor);
	if (fits)
		return GPC_OK;
	if (note->abi_major > major || (note->abi_major == major && note->abi_minor > minor))
		return gpc_err_set(
			err, GPC_E_UNSUPPORTED,
			"it was built for plugin ABI %u.%u and needs %u.%u, this core has "
			"%u.%u: install a newer gprofiler-core, or an older build of the "
			"plugin",
			note->abi_major, note->abi_minor, note->abi_major,
			major ? note->needs_minor : note->abi_minor, major, minor);
	return gpc_err_set(err, GPC_E_UNSUPPORTED,
			   "it was built for plugin ABI %u.%u, this core has %u.%u: rebuild it "
			   "against the present SDK, or install a newer build of it",
			   note->abi_major, note->abi_minor, major, minor);
}

gpc_status gpc_note_check(const struct gpc_note *note, struct gpc_err *err)
{
	return gpc_note_check_against(note, GPC_ABI_MAJOR, GPC_ABI_MINOR, err);
}
