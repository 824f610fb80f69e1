/* SPDX-License-Identifier: Apache-2.0 */
/* What a JVM is, read from its memory: version, command line, flags. */
#ifndef GPC_JAVA_ABOUT_H
#define GPC_JAVA_ABOUT_H

#include "layout.h"
#include "options.h"

#define GPC_JAVA_TEXT_MAX 4096

struct java_about {
	char version[512];  /* "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 ..." */
	char command[2048]; /* main class or jar, and its arguments */
};

/* [worker] "" for what cannot be read, or is not there yet. */
void gpc_java_about_read(const struct jmem *m, const struct layout *l, struct java_about *ret);
/* "java: Main". False: not known. */
bool gpc_java_about_appid(const struct java_about *about, char *ret, uint32_t room);

/* The flags that are wanted, by name, as a JSON list of {name, type, value, origin,
 * kind}; the caller frees it. NULL: none are wanted, or no memory. */
char *gpc_java_flags_json(const struct jmem *m, const struct layout *l,
			  const struct gpc_list *wanted);
/* Where a flag's value is; 0: there is no such flag. */
uint64_t gpc_java_flag_address(const struct jmem *m, const struct layout *l, const char *name);

/* Flags that tell how to read a JVM, and what it may be asked. */
struct java_flags {
	bool has_short_oops, has_short_klasses, has_klass_in_mark;
	bool has_zgc, is_generational;
	bool has_no_attach;
	char error_file[512]; /* -XX:ErrorFile; "" not given */
};
/* [worker] What the JVM has not keeps its default. */
void gpc_java_flags_read(const struct jmem *m, const struct layout *l, struct java_flags *ret);

#endif
