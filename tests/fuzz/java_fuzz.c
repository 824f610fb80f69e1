/* SPDX-License-Identifier: Apache-2.0 */
/* The Java collector over a JVM's memory of which bytes were changed. The input:
 * where the thread is, then what to change, four bytes each: where (three), what. */
#include <stddef.h>
#include <stdint.h>

#include "../unit/java/fake_vm.h"

#define HEAD 8

static uint32_t number(const uint8_t *at, int n)
{
	uint32_t v = 0;

	for (int i = 0; i < n; i++)
		v |= (uint32_t)at[i] << (8 * i);
	return v;
}

static void change(struct fake_jvm *j, const uint8_t *data, size_t n)
{
	for (; n >= 4; data += 4, n -= 4)
		j->bytes[number(data, 3) % FAKE_BYTES] = data[3];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fake_vm *v = fake_vm_new(fake_jvm_new());
	struct fake_cont cont;
	struct fake_jvm *j;

	if (!v)
		return 0;
	j = v->jvm;
	if (n < HEAD) {
		fake_vm_free(v);
		return 0;
	}
	/* A virtual thread, in heaps of all kinds. */
	if (data[6] & 16)
		fake_cont_make(j, &cont);
	/* Half of the inputs begin after the tables were read. */
	if (data[6] & 1)
		fake_vm_attach(v);
	change(j, data + HEAD, n - HEAD);
	if (data[6] & 1 || fake_vm_attach(v) == GPC_OK) {
		v->flags = data[6] & 2 ? GPC_PULL_EXACT : 0;
		v->copy_bytes = data[6] & 4 ? 256 : 0;
		v->options.line_numbers = data[6] >> 3 & 1;
		v->vm.heap.has_short_oops = !(data[6] & 32);
		v->vm.heap.has_klass_in_mark = data[6] & 64;
		v->vm.heap.is_coloured = data[6] & 128;
		v->room = 2 + data[7] % (FAKE_FRAMES - 2);
		for (int i = 0; i < 2; i++)
			fake_vm_walk(v, j->leaf_pc + (int16_t)number(data, 2),
				     j->leaf_sp + (int16_t)number(data + 2, 2),
				     number(data + 4, 2)
					     ? j->interp_fp + (int16_t)number(data + 4, 2)
					     : j->leaf_fp);
		for (int i = 0; i < 2; i++)
			gpc_java_thread_left(&v->vm.threads, &v->vm.mem, &v->vm.layout, FAKE_TID,
					     j->leaf_sp);
	}
	fake_vm_free(v);
	return 0;
}
