/* SPDX-License-Identifier: Apache-2.0 */
/* Where a hostile interpreter's code jumps. The input is the process's memory: the
 * section with the search table, code and descriptions of frames all over it. */
#include <elf.h>
#include <stdlib.h>

#include "../../plugins/python/loop.h"
#include "../unit/python/py_fake.h"

#define READS 5000 /* what does more does not end */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct py_fake f;
	struct py_loop l;

	if (size < 2)
		return 0;
	py_fake_init(&f);
	f.target.machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	f.places[0] = (struct py_fake_place){"_PyEval_EvalFrameDefault",
					     PY_FAKE_BASE + 16 * (uint64_t)data[1], 64 * data[0]};
	f.places[1] = (struct py_fake_place){".eh_frame_hdr", PY_FAKE_BASE, size - 2};
	memcpy(f.bytes, data + 2, size - 2 < sizeof f.bytes ? size - 2 : sizeof f.bytes);
	gpc_py_loop_find(&f.memory, NULL, PY_VERSION(3, 14), &l);
	if (f.reads > READS || l.n > PY_LOOP_MAX)
		abort();
	return 0;
}
