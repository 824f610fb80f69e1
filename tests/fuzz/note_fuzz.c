/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a plugin file: its note is found or the file is refused. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "plugin/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("note", MFD_CLOEXEC);
	struct gpc_note note;
	struct gpc_err err = {0};

	if (fd < 0 || gpc_write_all(fd, bytes, n, NULL) < 0)
		abort();
	if (gpc_note_read(fd, &note, &err) == GPC_OK) {
		if (note.type != GPC_NOTE_TYPE || note.descsz < 8)
			abort();
		gpc_note_check(&note, &err);
	} else if (!err.text[0]) {
		abort(); /* refused without a reason */
	}
	close(fd);
	return 0;
}
