// SPDX-License-Identifier: MIT
/*
 * NEFFs of the public compiler. The encoding of their instructions is not public, so they cannot
 * run here; the line that refuses one says what it is.
 */
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "neff/neff.h"

/* Subgraphs beyond these are counted, but not told apart. */
#define MAX_SUBGRAPHS	100
/* Files that are looked at. */
#define MAX_FILES	70000

/* A line that grows; what does not fit is left out. */
struct line {
	char text[240];
	size_t used;
};

/**
 * struct contents - what an archive shows without a look into its files
 * @engines: names of the files that describe engines, each once
 * @subgraph: by number: it has files
 */
struct contents {
	struct line engines;
	bool subgraph[MAX_SUBGRAPHS];
};

static void add_word(struct line *line, const char *word, size_t length)
{
	const char *comma = line->used ? ", " : "";
	size_t i;

	if (line->used + length + 3 > sizeof(line->text))
		return;
	line->used += (size_t)sprintf(line->text + line->used, "%s", comma);
	for (i = 0; i < length; i++)
		line->text[line->used++] = (unsigned char)word[i] < ' ' || word[i] == 0x7f ? '.' :
					   word[i];
	line->text[line->used] = '\0';
}

static bool has_word(const struct line *line, const char *word, size_t length)
{
	const char *at = line->text;

	while (at) {
		if (!strncmp(at, word, length) && (!at[length] || at[length] == ','))
			return true;
		at = strstr(at, ", ");
		if (at)
			at += 2;
	}
	return false;
}

/* An engine is described by a .json of the subgraph's folder; def.json is the whole. */
static void look_at(struct contents *contents, const char *path)
{
	unsigned int graph;
	const char *name = neff_subgraph_path(path, &graph);
	size_t length;

	if (!name)
		return;
	contents->subgraph[graph] = true;
	length = strlen(name);
	if (length <= 5 || strcmp(name + length - 5, ".json") || strchr(name, '/') ||
	    !strcmp(name, "def.json"))
		return;
	length -= 5;
	if (!has_word(&contents->engines, name, length))
		add_word(&contents->engines, name, length);
}

/* To come to the next name the contents of this file are unpacked: not beyond the limit. */
static bool may_go_on(struct archive *archive, struct archive_entry *entry, uint64_t limit)
{
	la_int64_t unpacked = archive_filter_bytes(archive, 0);
	la_int64_t size = archive_entry_size(entry);

	return unpacked >= 0 && size >= 0 && (uint64_t)unpacked <= limit &&
	       (uint64_t)size <= limit - (uint64_t)unpacked;
}

static void read_names(const void *data, size_t size, uint64_t limit, struct contents *contents)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	unsigned int count = 0;

	if (!archive)
		return;
	if (archive_read_support_format_tar(archive) == ARCHIVE_OK &&
	    archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
	    archive_read_open_memory(archive, data, size) == ARCHIVE_OK) {
		while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
			const char *path = archive_entry_pathname(entry);

			if (path)
				look_at(contents, path);
			if (++count == MAX_FILES || !may_go_on(archive, entry, limit))
				break;
		}
	}
	archive_read_free(archive);
}

/* "3, 17"; which feature a bit stands for is not public. */
static void name_features(uint64_t features, struct line *line)
{
	unsigned int bit;
	char number[8];

	for (bit = 0; bit < 64; bit++)
		if (features >> bit & 1)
			add_word(line, number, (size_t)sprintf(number, "%u", bit));
}

static void copy_text(const uint8_t *from, size_t room, struct line *line)
{
	add_word(line, (const char *)from, strnlen((const char *)from, room));
}

NRT_STATUS neff_refuse_foreign(const struct neff_header *header, const void *data, size_t size,
			       uint64_t unpacked_bytes, struct nrt_error *error)
{
	struct line compiler = { "", 0 }, features = { "", 0 };
	struct contents contents = { 0 };
	unsigned int graphs = 0, i;

	copy_text(header->build_version, sizeof(header->build_version), &compiler);
	name_features(le64toh(header->feature_bits), &features);
	read_names(data, size, unpacked_bytes, &contents);
	for (i = 0; i < MAX_SUBGRAPHS; i++)
		graphs += contents.subgraph[i];
	return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
			     "NEFF: made for real hardware by compiler \"%s\" (format %llu.%llu, LNC %u, feature bits: %s; subgraphs: %u; engines: %s), and the encoding of its instructions is not public; build the model with neuron-as or the builder library",
			     compiler.used ? compiler.text : "unknown",
			     (unsigned long long)le64toh(header->version_major),
			     (unsigned long long)le64toh(header->version_minor),
			     le32toh(header->lnc_size), features.used ? features.text : "none",
			     graphs, contents.engines.used ? contents.engines.text : "none");
}
