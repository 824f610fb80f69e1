/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's view of a fake JVM, and answers as texts. */
#ifndef GPC_TESTS_FAKE_VM_H
#define GPC_TESTS_FAKE_VM_H

#include "fake_jvm.h"
#include "walk.h"

#define FAKE_FRAMES 64
#define FAKE_TEXTS  256

struct fake_vm {
	struct fake_jvm *jvm; /* owned */
	struct vm vm;
	struct vm *walked; /* its own, or another's */
	struct options options;
	struct gpc_writer writer;
	struct gpc_step_state state; /* after the walk */
	/* of the sample */
	uint32_t copy_bytes, flags, room;
	bool is_copy_old, is_return;
	uint8_t copy[1024];
	/* the answer: function_suffix */
	uint32_t n;
	const char *frames[FAKE_FRAMES];
	char file[64];
	uint32_t n_texts, n_made;
	char texts[FAKE_TEXTS][96]; /* strings, then frames */
};

/* Takes jvm. NULL: no memory. */
struct fake_vm *fake_vm_new(struct fake_jvm *jvm);
void fake_vm_free(struct fake_vm *v);
gpc_status fake_vm_attach(struct fake_vm *v);
gpc_status fake_vm_walk(struct fake_vm *v, uint64_t pc, uint64_t sp, uint64_t fp);

#endif
