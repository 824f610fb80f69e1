/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's attach mechanism, versions 1 and 2 (OpenJDK
 * src/hotspot/os/linux/attachListener_linux.cpp, os/posix/attachListener_posix.cpp;
 * src/jdk.attach/linux/classes/sun/tools/attach/VirtualMachineImpl.java): only with
 * --java-allow-attach. One command is sent, "properties": what `java -version` prints is
 * in system properties, which lie in the Java heap. Nothing waits: ready() is called when
 * there is something to do. */
#ifndef GPC_JAVA_ATTACH_H
#define GPC_JAVA_ATTACH_H

#include "properties.h"
#include "vm.h"

enum attach_state {
	ATTACH_NONE,
	ATTACH_WAITING, /* for the JVM to make its socket */
	ATTACH_VERSION, /* for the answer to "getversion" */
	ATTACH_ANSWER,  /* for that to "properties" */
	ATTACH_DONE,    /* properties are there */
	ATTACH_FAILED   /* why says why */
};

struct java_attach {
	enum attach_state state;
	int32_t fd; /* of the connection; -1 */
	uint32_t protocol;
	uint64_t until_ns;
	uint64_t token; /* of its timer; token + 1: of its descriptor */
	uint32_t n_head;
	char head[16]; /* the answer's first line: a status */
	bool has_head;
	struct java_properties properties;
	char why[128];
};

void gpc_java_attach_init(struct java_attach *a, uint64_t token);
/* [worker] */
void gpc_java_attach_begin(struct java_attach *a, const struct vm *vm, uint64_t longest_ns);
/* The timer, the descriptor: goes on. */
void gpc_java_attach_ready(struct java_attach *a, const struct vm *vm);
/* Leaves nothing behind. */
void gpc_java_attach_end(struct java_attach *a, const struct vm *vm);

/* The bytes of a request, as the protocol's version wants them. 0: no room. */
uint32_t gpc_java_attach_request(uint32_t protocol, const char *command, char *ret, uint32_t room);

#endif
