/* SPDX-License-Identifier: MIT */
/* What programs print. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

/*
 * At the beginning of main(): when the process ends well, although not all of standard output could
 * be written, because a disk is full for instance, it says so in one line and its exit status is 1.
 * What ends with another exit status has complained already. Also of --help.
 */
void output_check_at_exit(void);

#endif /* TOOLS_OUTPUT_H */
