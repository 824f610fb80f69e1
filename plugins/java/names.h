/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of Java frames, of the parts as class files have them. */
#ifndef GPC_JAVA_NAMES_H
#define GPC_JAVA_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define GPC_JAVA_NAME_MAX 4096

struct java_name {
	const char *class_name; /* "java/util/ArrayList" */
	const char *method, *signature;
	uint32_t modifiers; /* ACC_ of class files; shown when has_modifiers */
	bool has_modifiers;
	uint32_t line; /* 0: not shown */
};

/* "java/util/ArrayList.get(I)Ljava/lang/Object|": ';' separates frames. Cut at
 * room - 1. Returns its length. */
uint32_t gpc_java_name(const struct java_name *name, char *ret, uint32_t room);

/* Cuts off what differs from run to run: numbers and addresses of lambdas, hidden
 * classes and lambda forms. In place. */
void gpc_java_name_stabilize(char *class_name);

#endif
