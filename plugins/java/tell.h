/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the core what a JVM is (gpc.about/1): its application, its metadata. */
#ifndef GPC_JAVA_TELL_H
#define GPC_JAVA_TELL_H

#include "vm.h"

/* [worker] False: the JVM has not read its command line yet; to be called again. Some
 * never do, such as those that a program has made: is_last tells what there is. */
bool gpc_java_tell(const struct vm *vm, bool is_last);

/* The value of a key in a file of Java properties ("key=value" lines). */
bool gpc_java_property(const char *text, const char *key, char *ret, uint32_t room);

#endif
