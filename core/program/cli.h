/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: runs sessions, or tells of plugins. */
#ifndef GPC_PROGRAM_CLI_H
#define GPC_PROGRAM_CLI_H

/* The exit status: 0, 1 for a failure, 2 for a usage error. Values of secrets
 * in argv are overwritten. */
int gpc_cli(int argc, char **argv, char *const *envp);

#endif
