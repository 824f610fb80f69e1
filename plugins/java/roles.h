/* SPDX-License-Identifier: Apache-2.0 */
/* What the JVM's own threads are for, by the names that it gives them (OpenJDK
 * gc/shared/workerThread.cpp, compiler/compileBroker.cpp, runtime/vmThread.cpp and the
 * collectors' own). */
#ifndef GPC_JAVA_ROLES_H
#define GPC_JAVA_ROLES_H

/* "[GC thread]"; NULL: a thread of the application, or one of no known role. name: as
 * the kernel has it, cut at 15 letters. */
const char *gpc_java_role(const char *name);

#endif
