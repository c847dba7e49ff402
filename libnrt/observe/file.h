/* SPDX-License-Identifier: MIT */
/*
 * Files that observers write.
 */
#ifndef LIBNRT_OBSERVE_FILE_H
#define LIBNRT_OBSERVE_FILE_H

#include <stdio.h>

#include "base/error.h"

/* Make or empty a file, for nrt_file_close(). NRT_FAILURE: that is not possible. */
NRT_STATUS nrt_file_open(const char *path, FILE **file, struct nrt_error *error);

/* NRT_FAILURE: what was written is not in the file. */
NRT_STATUS nrt_file_close(FILE *file, const char *path, struct nrt_error *error);

/* A path for free(), or NULL with @error: of memory, for it may be long and a stack small. */
char *nrt_file_path(struct nrt_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Make a folder, and those that it is in, if they are not there. */
NRT_STATUS nrt_file_folder(const char *path, struct nrt_error *error);

#endif /* LIBNRT_OBSERVE_FILE_H */
