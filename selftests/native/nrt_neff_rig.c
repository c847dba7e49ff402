// SPDX-License-Identifier: MIT
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nrt_neff_rig.h"

#define ARCHIVE_ROOM	(1 << 20)

static void die(const char *what)
{
	fprintf(stderr, "nrt_neff_rig: %s\n", what);
	abort();
}

static void add_file(struct archive *tar, const struct rig_file *file)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, file->path);
	archive_entry_set_size(entry, (la_int64_t)file->size);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	if (archive_write_header(tar, entry) != ARCHIVE_OK ||
	    archive_write_data(tar, file->data, file->size) != (la_ssize_t)file->size)
		die(archive_error_string(tar));
	archive_entry_free(entry);
}

uint8_t *rig_pack(const struct rig_file *files, int gzip, size_t *size)
{
	struct neff_header *header = calloc(1, sizeof(*header) + ARCHIVE_ROOM);
	struct archive *tar = archive_write_new();
	unsigned int length;
	size_t used = 0;

	archive_write_set_format_ustar(tar);
	if (gzip)
		archive_write_add_filter_gzip(tar);
	archive_write_set_bytes_in_last_block(tar, 1);
	if (archive_write_open_memory(tar, header + 1, ARCHIVE_ROOM, &used) != ARCHIVE_OK)
		die(archive_error_string(tar));
	for (; files->path; files++)
		add_file(tar, files);
	if (archive_write_close(tar) != ARCHIVE_OK)
		die(archive_error_string(tar));
	archive_write_free(tar);

	header->pkg_version = htole64(NEFF_PKG_SHA256);
	header->header_size = htole64(sizeof(*header));
	header->data_size = htole64(used);
	header->version_major = htole64(NEFF_VERSION_MAJOR);
	header->num_tpb = htole32(1);
	header->lnc_size = htole32(1);
	strcpy((char *)header->build_version, NEFF_BUILD_MARK " rig");
	strcpy(header->name, "rig");
	if (!EVP_Digest(header + 1, used, header->hash, &length, EVP_sha256(), NULL))
		die("SHA-256");
	*size = sizeof(*header) + used;
	return (uint8_t *)header;
}

NRT_STATUS rig_read(const void *data, size_t size, struct neff **neff, struct nrt_error *error)
{
	struct neff_limits limits = { .unpacked_bytes = 1 << 24, .validate_hash = true };

	return neff_read(data, size, &limits, neff, error);
}

char *rig_json(const char *text)
{
	char *copy = strdup(text ?: ""), *at;

	for (at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

NRT_STATUS rig_read_text(const char *def_text, const char *descs_text, struct neff **neff,
			 struct nrt_error *error)
{
	return rig_read_debug(def_text, descs_text, NULL, neff, error);
}

NRT_STATUS rig_read_debug(const char *def_text, const char *descs_text, const char *debug_text,
			  struct neff **neff, struct nrt_error *error)
{
	char *def = rig_json(def_text), *descs = rig_json(descs_text);
	char *debug = rig_json(debug_text);
	struct neuron_inst halt = { .opcode = NEURON_OP_HALT };
	struct rig_file files[] = {
		{ "sg00/def.json", def, strlen(def) },
		{ "sg00/sync.bin", &halt, sizeof(halt) },
		{ "sg00/c.bin", "abcdefgh", 8 },
		{ "sg00/d.json", debug, strlen(debug) },
		{ "sg00/bad.npy", "abcdefgh", 8 },
		{ descs_text ? "sg00/sync.json" : NULL, descs, strlen(descs) },
		{ NULL, NULL, 0 },
	};
	/* Must stay as long as *@neff may be looked at: until the next call. */
	static uint8_t *data;
	NRT_STATUS status;
	size_t size;

	free(data);
	data = rig_pack(files, 0, &size);
	status = rig_read(data, size, neff, error);
	free(def);
	free(descs);
	free(debug);
	return status;
}

void rig_refused(size_t i, NRT_STATUS status, const struct nrt_error *error, const char *word)
{
	char *text = rig_json(word);

	if (status != NRT_INVALID)
		fail_msg("case %zu: status %d", i, status);
	if (!strstr(error->text, text))
		fail_msg("case %zu: \"%s\" is not in: %s", i, text, error->text);
	if (strchr(error->text, '\n'))
		fail_msg("case %zu: more than a line", i);
	free(text);
}
