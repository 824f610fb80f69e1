/* SPDX-License-Identifier: Apache-2.0 */
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define BSS_MAX (8u << 20)
#define BLOCK   65536
#define OVERLAP 64

static bool is_digit(const char *s, size_t n, size_t i)
{
	return i < n && isdigit((unsigned char)s[i]);
}

static size_t number(const char *s, size_t n, size_t i, unsigned *ret)
{
	size_t from = i;

	*ret = 0;
	for (; is_digit(s, n, i) && i - from < 3; i++)
		*ret = *ret * 10 + (unsigned)(s[i] - '0');
	return i - from;
}

/* "3.8.18", "3.13.0rc2", "2.7.18+" and what else Py_GetVersion begins with. */
bool gpc_py_version_parse(const char *s, size_t n, struct py_version *ret)
{
	unsigned part[3];
	size_t i = 0, end;

	for (unsigned k = 0; k < 3; k++) {
		size_t got = number(s, n, i, &part[k]);

		i += got;
		if (!got || (k < 2 && (i >= n || s[i++] != '.')))
			return false;
	}
	for (end = i; end < n && end - i < 12 && (isalnum((unsigned char)s[end]) || s[end] == '+');)
		end++;
	/* "version (build, date) [compiler]": nothing else looks so. */
	if (end + 2 >= n || s[end] != ' ' || s[end + 1] != '(' || part[0] < 2 || part[0] > 3 ||
	    part[1] > 99)
		return false;
	ret->major = (uint8_t)part[0];
	ret->minor = (uint8_t)part[1];
	snprintf(ret->text, sizeof ret->text, "%.*s", (int)end, s);
	return true;
}

/* PY_VERSION_HEX of patchlevel.h, exported from 3.11 on. */
static bool from_symbol(const struct py_memory *m, const char *glob, struct py_version *ret)
{
	static const char *const levels[16] = {[0xA] = "a", [0xB] = "b", [0xC] = "rc"};
	const char *level;
	uint64_t at;
	uint32_t hex;

	if (m->host->find_symbol(m->host, m->target, glob, "Py_Version", &at) < 0 ||
	    !gpc_py_read(m, at, &hex, sizeof hex) || hex >> 24 != 3)
		return false;
	ret->major = (uint8_t)(hex >> 24);
	ret->minor = (uint8_t)(hex >> 16);
	level = levels[hex >> 4 & 15];
	if (level)
		snprintf(ret->text, sizeof ret->text, "3.%u.%u%s%u", hex >> 16 & 255,
			 hex >> 8 & 255, level, hex & 15);
	else
		snprintf(ret->text, sizeof ret->text, "3.%u.%u", hex >> 16 & 255, hex >> 8 & 255);
	return true;
}

/* What Py_GetVersion returns is a variable of Python/getversion.c. */
static bool scan(const struct py_memory *m, uint64_t at, uint64_t bytes, struct py_version *ret)
{
	char *block = malloc(BLOCK);
	bool is_found = false;

	for (uint64_t done = 0; block && !is_found && done < bytes; done += BLOCK - OVERLAP) {
		size_t n = bytes - done < BLOCK ? (size_t)(bytes - done) : BLOCK;

		if (!gpc_py_read(m, at + done, block, n))
			break;
		for (size_t i = 0; i + 8 < n && !is_found; i++)
			is_found = (block[i] == '2' || block[i] == '3') && block[i + 1] == '.' &&
				   gpc_py_version_parse(block + i, n - i, ret);
	}
	free(block);
	return is_found;
}

static bool from_memory(const struct py_memory *m, const char *glob, struct py_version *ret)
{
	static const char *const sections[] = {".bss", ".data"};
	const struct gpc_elf_api *elf = m->host->extension(m->host, "gpc.elf/1");
	uint64_t at, bytes;

	for (unsigned i = 0; elf && i < 2; i++)
		if (elf->section(m->host, m->target, glob, sections[i], &at, &bytes) == GPC_OK &&
		    bytes <= BSS_MAX && scan(m, at, bytes, ret))
			return true;
	return false;
}

/* /usr/bin/python3.9, libpython2.7.so.1.0 */
static bool from_name(const char *path, struct py_version *ret)
{
	const char *name = strrchr(path, '/');
	unsigned major, minor;

	name = strstr(name ? name : path, "python");
	if (!name || sscanf(name, "python%1u.%2u", &major, &minor) != 2)
		return false;
	*ret = (struct py_version){.major = (uint8_t)major, .minor = (uint8_t)minor};
	return true;
}

bool gpc_py_version_find(const struct py_memory *m, const char *glob, const char *path,
			 struct py_version *ret)
{
	return from_symbol(m, glob, ret) || from_memory(m, glob, ret) || from_name(path, ret);
}
