/* SPDX-License-Identifier: Apache-2.0 */
/* python-record PID [TEXT IMAGE]: prints the stacks of all threads of a Python
 * process; with IMAGE, writes a memory image of just what was read for that,
 * with the lines of TEXT before what was asked of symbols. By hand:
 * tests/python_matrix/record.py makes the images of tests/unit/python/images. */
#include <stdio.h>
#include <stdlib.h>

#include "py_stacks.h"

static int record(struct py_host *host, char **argv, int argc)
{
	struct py_stacks stacks;
	bool is_open = py_stacks_open(&stacks, host);
	char *text;
	int status = 0;

	if (is_open) {
		text = py_stacks_text(&stacks);
		printf("Python %s in %s\n%s", stacks.target.runtime.version,
		       stacks.target.runtime.path, text);
		free(text);
	} else {
		fprintf(stderr, "%s\n", host->report);
		status = 1;
	}
	if (is_open && argc == 4 && !py_host_write(host, argv[2], argv[3])) {
		fprintf(stderr, "%s cannot be written\n", argv[3]);
		status = 1;
	}
	py_stacks_close(&stacks);
	return status;
}

int main(int argc, char **argv)
{
	struct py_host host;
	int status = 1;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: python-record PID [TEXT IMAGE]\n");
		return 2;
	}
	if (py_host_open(&host, atoi(argv[1])))
		status = record(&host, argv, argc);
	else
		fprintf(stderr, "process %s cannot be looked at\n", argv[1]);
	py_host_close(&host);
	return status;
}
