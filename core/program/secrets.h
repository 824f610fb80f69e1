/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets on the command line: taken out where others can see them, which is
 * our log and, since the arguments of a process are public, ps. */
#ifndef GPC_PROGRAM_SECRETS_H
#define GPC_PROGRAM_SECRETS_H

/* argv ends with NULL. Overwrites the values in place. To be called when the options are read. */
void gpc_secrets_mask(char **argv);
/* The arguments as one would type them; new, NULL: no memory. */
char *gpc_secrets_command_line(char *const *argv);

#endif
