/* SPDX-License-Identifier: Apache-2.0 */
#include "source/rawfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct gpc_rawfile {
	FILE *file;
};

gpc_status gpc_rawfile_new(const char *path, struct gpc_rawfile **ret, struct gpc_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct gpc_rawfile *f;

	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	f = calloc(1, sizeof *f);
	if (f)
		f->file = fdopen(fd, "w");
	if (!f || !f->file) {
		free(f);
		close(fd);
		return gpc_err_nomem(err);
	}
	*ret = f;
	return GPC_OK;
}

void gpc_rawfile_free(struct gpc_rawfile *f)
{
	if (!f)
		return;
	fclose(f->file);
	free(f);
}

void gpc_rawfile_put(struct gpc_rawfile *f, const void *record, size_t n, uint32_t ring,
		     const struct gpc_perf_format *format)
{
	struct {
		uint32_t size, ring;
		uint64_t sample_type;
		uint32_t sample_id_all, reserved;
	} head = {(uint32_t)n, ring, format->sample_type, format->sample_id_all, 0};

	fwrite(&head, sizeof head, 1, f->file);
	fwrite(record, n, 1, f->file);
}
