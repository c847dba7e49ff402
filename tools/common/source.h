/* SPDX-License-Identifier: MIT */
/*
 * The source files that a program was made from. Their names come from a NEFF, which may be from
 * anybody, and what is read may be given away: so a name does not lead to just any file.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <stddef.h>

/**
 * struct source_folders - where sources may lie
 * @path: folders, the first one first
 * @nr: how many; 0: the current folder
 */
struct source_folders {
	const char **path;
	size_t nr;
};

/* One folder more, whose name stays the caller's. 0, or -1: out of memory. */
int source_add_folder(struct source_folders *folders, const char *path);
void source_free_folders(struct source_folders *folders);

/*
 * The text of the source @name, to be freed; it has a zero byte behind its *@size. It is looked for
 * in each folder, first by all of the name, then by its last part. It must be a regular file of at
 * most 16 MiB that really lies below one of the folders, behind all links, and neither it nor a
 * folder on the way there from that one is hidden: a name that begins with a dot.
 *
 * Return: the text; NULL: there is no such file.
 */
char *source_read(const struct source_folders *folders, const char *name, size_t *size);

/* The same of the file @path wherever it lies, to show it to nobody but the user. */
char *source_read_file(const char *path, size_t *size);

#endif /* TOOLS_SOURCE_H */
