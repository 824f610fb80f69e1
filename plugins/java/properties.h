/* SPDX-License-Identifier: Apache-2.0 */
/* Java's system properties as the attach mechanism tells them: a file of properties
 * (java.util.Properties.store). Only those that a version's text is made of are kept. */
#ifndef GPC_JAVA_PROPERTIES_H
#define GPC_JAVA_PROPERTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum java_property {
	PROP_VERSION,
	PROP_DATE,
	PROP_RUNTIME_NAME,
	PROP_RUNTIME_VERSION,
	PROP_VENDOR_VERSION,
	PROP_VM_NAME,
	PROP_VM_VERSION,
	PROP_VM_INFO,
	PROP_DEBUG_LEVEL,
	PROPS
};

struct java_properties {
	uint32_t n_line; /* what came of a line so far; longer ones are left out */
	bool is_long;
	char line[512];
	char value[PROPS][160];
};

void gpc_java_properties_begin(struct java_properties *p);
void gpc_java_properties_take(struct java_properties *p, const char *bytes, size_t n);
void gpc_java_properties_end(struct java_properties *p);
/* What java -version prints, without the last line's end. False: too little is known. */
bool gpc_java_version_text(const struct java_properties *p, char *ret, uint32_t room);

#endif
