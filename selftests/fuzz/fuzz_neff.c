// SPDX-License-Identifier: MIT
/*
 * Fuzz target: the NEFF reader, the ring builder and the image patcher.
 *
 * The first byte of the input chooses what the rest is: a NEFF as it is (even), or the parts
 * of one (odd), which are packed behind a valid header so that the fuzzer gets past the
 * archive: def.json, sync.json and sync.bin, separated by a byte 0xff, which no JSON text has.
 */
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "program/dma_build.h"

#define MAX_PART	(64 * 1024)
#define PACKED_ROOM	(4 * MAX_PART + 64 * 1024)
#define MAX_DESCS	4096

static void use(const struct neff_graph *graph)
{
	const struct dma_windows windows = { .constants = 65003, .semaphores = 65004 };
	struct dma_program program;
	struct nrt_error error;
	unsigned int e;

	if (dma_program_build(graph, &windows, MAX_DESCS, &program, &error))
		return;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		struct neuron_inst *image;

		if (!graph->image_count[e])
			continue;
		image = calloc(graph->image_count[e], sizeof(*image));
		if (image)
			dma_patch_image(graph, &program, (enum neuron_engine)e, image, &error);
		free(image);
	}
	dma_program_free(&program);
}

static void read_neff(const uint8_t *data, size_t size)
{
	struct neff_limits limits = { .unpacked_bytes = 1 << 22 };
	struct nrt_error error;
	struct neff *neff;
	unsigned int i;

	if (neff_read(data, size, &limits, &neff, &error))
		return;
	for (i = 0; i < neff->nr_graphs; i++)
		use(&neff->graphs[i]);
	neff_free(neff);
}

static void add_part(struct archive *tar, const char *path, const uint8_t *data, size_t size)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, path);
	archive_entry_set_size(entry, (la_int64_t)size);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_write_header(tar, entry);
	archive_write_data(tar, data, size);
	archive_entry_free(entry);
}

static void add_parts(struct archive *tar, const uint8_t *data, size_t size)
{
	static const char *const paths[] = {
		"sg00/def.json", "sg00/sync.json", "sg00/sync.bin",
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		const uint8_t *end = i < 2 && size ? memchr(data, 0xff, size) : NULL;
		size_t part = end ? (size_t)(end - data) : size;

		add_part(tar, paths[i], data, part < MAX_PART ? part : MAX_PART);
		if (!end)
			return;
		data += part + 1;
		size -= part + 1;
	}
}

static void read_parts(const uint8_t *data, size_t size)
{
	struct neff_header *header = calloc(1, sizeof(*header) + PACKED_ROOM);
	struct archive *tar = archive_write_new();
	size_t used = 0;

	if (!header || !tar)
		abort();
	archive_write_set_format_ustar(tar);
	archive_write_open_memory(tar, header + 1, PACKED_ROOM, &used);
	add_parts(tar, data, size);
	archive_write_close(tar);
	archive_write_free(tar);
	header->pkg_version = htole64(NEFF_PKG_SHA256);
	header->header_size = htole64(sizeof(*header));
	header->data_size = htole64(used);
	header->version_major = htole64(NEFF_VERSION_MAJOR);
	header->num_tpb = htole32(1);
	header->lnc_size = htole32(1);
	strcpy((char *)header->build_version, NEFF_BUILD_MARK);
	read_neff((const uint8_t *)header, sizeof(*header) + used);
	free(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		read_parts(data + 1, size - 1);
	else
		read_neff(data + 1, size - 1);
	return 0;
}
