/* SPDX-License-Identifier: Apache-2.0 */
/* The Python collector on recorded processes whose memory is other than it was.
 * The first byte chooses the image; then come changes of ten bytes: which read
 * (two bytes), where in it (two), and six bytes that are put there. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/python/py_stacks.h"

#define IMAGES  32
#define CHANGE  10
#define WRITTEN 6
#define READS   2000000 /* in one look at a process: what does more does not end */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct changes {
	const uint8_t *data;
	size_t n, reads;
};

static void corrupt(void *ctx, uint8_t *buf, uint64_t n)
{
	struct changes *c = ctx;

	if (++c->reads > READS)
		abort();
	for (size_t i = 0; i < c->n; i++) {
		const uint8_t *change = c->data + i * CHANGE;
		uint16_t read, at;

		memcpy(&read, change, sizeof read);
		memcpy(&at, change + 2, sizeof at);
		/* Each change is met again: caches are to be checked, too. */
		if (c->reads % 4096 != read % 4096)
			continue;
		at = (uint16_t)(at % n);
		memcpy(buf + at, change + 4, n - at < WRITTEN ? n - at : WRITTEN);
	}
}

static struct gpc_mem_image *images[IMAGES];
static unsigned n_images;

static void find_images(void)
{
	DIR *dir = opendir(PY_IMAGES);
	struct dirent *e;

	while (dir && (e = readdir(dir)) && n_images < IMAGES) {
		char path[512];

		snprintf(path, sizeof path, "%s/%s", PY_IMAGES, e->d_name);
		if (strstr(path, ".img") &&
		    gpc_mem_image_load(path, 64u << 20, &images[n_images], NULL) == GPC_OK)
			n_images++;
	}
	if (!n_images)
		abort();
	closedir(dir);
}

static void look(struct py_host *host)
{
	struct py_stacks stacks;

	if (py_stacks_open(&stacks, host)) {
		for (unsigned i = 0; i < 2; i++) {
			free(py_stacks_text(&stacks));
			host->now_ns += UINT64_C(1000000000);
		}
	}
	py_stacks_close(&stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct changes c = {.data = data + 1, .n = size ? (size - 1) / CHANGE : 0};
	struct py_host host;

	if (!n_images)
		find_images();
	if (!size)
		return 0;
	py_host_use(&host, images[data[0] % n_images]);
	host.corrupt = corrupt;
	host.corrupt_ctx = &c;
	look(&host);
	host.image = NULL; /* it is used again */
	py_host_close(&host);
	return 0;
}
