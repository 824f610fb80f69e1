/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "program/cli.h"

int main(int argc, char **argv)
{
	return gpc_cli(argc, argv, environ);
}
