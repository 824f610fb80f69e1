/* SPDX-License-Identifier: Apache-2.0 */
#include "vm.h"

#include "lock.h"

bool gpc_java_vm_init(struct vm *vm)
{
	gpc_java_lock_init(&vm->continuations.lock);
	gpc_java_flows_init(&vm->flows);
	return gpc_java_places_init(&vm->places) & gpc_java_methods_init(&vm->methods) &
	       gpc_java_threads_init(&vm->threads);
}

void gpc_java_vm_deinit(struct vm *vm)
{
	gpc_java_places_deinit(&vm->places);
	gpc_java_methods_deinit(&vm->methods);
	gpc_java_threads_deinit(&vm->threads);
	gpc_java_flows_deinit(&vm->flows);
	pthread_mutex_destroy(&vm->continuations.lock);
}
