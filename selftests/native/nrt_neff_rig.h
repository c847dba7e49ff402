/* SPDX-License-Identifier: MIT */
/*
 * NEFFs from text: an archive of files that a test writes down, behind a valid header.
 */
#ifndef SELFTESTS_NRT_NEFF_RIG_H
#define SELFTESTS_NRT_NEFF_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "neff/neff.h"

/* A file of the archive; the last of a list has no path. */
struct rig_file {
	const char *path;
	const void *data;
	size_t size;
};

/* A NEFF for free(); @gzip: the archive is compressed. */
uint8_t *rig_pack(const struct rig_file *files, int gzip, size_t *size);

/* Read, with generous limits. */
NRT_STATUS rig_read(const void *data, size_t size, struct neff **neff, struct nrt_error *error);

/* @text with " for ', for free(). */
char *rig_json(const char *text);

/*
 * Read a NEFF whose def.json is @def and whose sync.json is @descs (or NULL), both with ' for ";
 * sync.bin is one halt, c.bin and bad.npy have 8 bytes.
 */
NRT_STATUS rig_read_text(const char *def, const char *descs, struct neff **neff,
			 struct nrt_error *error);

/* The same with a file d.json, which is @debug. */
NRT_STATUS rig_read_debug(const char *def, const char *descs, const char *debug,
			  struct neff **neff, struct nrt_error *error);

/*
 * Case @i of a table was read with @status: it was refused with one line, which has @word, with '
 * for ".
 */
void rig_refused(size_t i, NRT_STATUS status, const struct nrt_error *error, const char *word);

#endif /* SELFTESTS_NRT_NEFF_RIG_H */
