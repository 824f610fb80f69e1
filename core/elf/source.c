/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What there is of n bytes at offset. */
static size_t read_some(const struct gpc_elf_source *source, uint64_t offset, void *buf, size_t n)
{
	size_t done = 0;

	if (offset >= source->size)
		return 0;
	if (n > source->size - offset)
		n = (size_t)(source->size - offset);
	if (source->fd < 0) {
		memcpy(buf, source->bytes + offset, n);
		return n;
	}
	while (done < n) {
		ssize_t got =
			pread(source->fd, (char *)buf + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

gpc_status gpc_elf_source_fd(int fd, struct gpc_elf_source *ret, struct gpc_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gpc_err_sys(err, "stat");
	if (!S_ISREG(st.st_mode))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "not a regular file");
	*ret = (struct gpc_elf_source){.fd = fd, .size = (uint64_t)st.st_size};
	return GPC_OK;
}

struct gpc_elf_source gpc_elf_source_memory(const void *bytes, size_t n)
{
	return (struct gpc_elf_source){.fd = -1, .bytes = bytes, .size = n};
}

bool gpc_elf_read(const struct gpc_elf_source *source, uint64_t offset, void *buf, size_t n)
{
	return read_some(source, offset, buf, n) == n;
}

size_t gpc_elf_read_array(const struct gpc_elf_source *source, uint64_t offset, void *buf,
			  size_t size, size_t count)
{
	return read_some(source, offset, buf, size * count) / size;
}

void gpc_elf_clamp(const struct gpc_elf_source *source, struct gpc_elf_range *range)
{
	if (range->offset > source->size)
		range->offset = source->size;
	if (range->size > source->size - range->offset)
		range->size = source->size - range->offset;
}

char *gpc_elf_string(const struct gpc_elf_source *source, const struct gpc_elf_range *strings,
		     uint64_t at)
{
	autofree char *text = NULL;

	if (at >= strings->size)
		return NULL;
	for (size_t room = 256;; room *= 4) {
		size_t want = room < strings->size - at ? room : (size_t)(strings->size - at);
		char *grown = realloc(text, want + 1);
		size_t got;

		if (!grown)
			return NULL;
		text = grown;
		got = read_some(source, strings->offset + at, text, want);
		text[got] = '\0';
		if (strlen(text) < want || want < room || room >= GPC_ELF_NAME_MAX)
			break;
	}
	return take(text);
}

bool gpc_elf_window_is(struct gpc_elf_window *window, const struct gpc_elf_range *strings,
		       uint64_t at, const char *text, size_t n)
{
	uint64_t offset = strings->offset + at;

	if (at > strings->size || n > strings->size - at || n > sizeof window->bytes)
		return false;
	if (offset < window->offset || offset + n > window->offset + window->n) {
		window->offset = offset;
		window->n = read_some(window->source, offset, window->bytes, sizeof window->bytes);
	}
	return n <= window->n && !memcmp(window->bytes + (offset - window->offset), text, n);
}
