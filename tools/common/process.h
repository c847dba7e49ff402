/* SPDX-License-Identifier: MIT */
/* Facts about processes and the machine from /proc and /sys, and the limits of this one. */
#ifndef TOOLS_PROCESS_H
#define TOOLS_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* Command line with spaces, or the name in brackets; "" when it is gone. */
void process_command(uint32_t pid, char *out, size_t size);

/* First line of @path without its newline; @otherwise when it cannot be read. */
void read_line(const char *path, const char *otherwise, char *out, size_t size);

/*
 * Let this process open as many files as the system lets it: a rank in a thread needs a handful for
 * its buffers and grants, and there may be hundreds of ranks.
 */
void process_raise_files(void);

#endif /* TOOLS_PROCESS_H */
