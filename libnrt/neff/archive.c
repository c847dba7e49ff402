// SPDX-License-Identifier: MIT
/*
 * The archive of a NEFF: files of the subgraphs, in memory.
 */
#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "neff/neff.h"

#define MAX_FILES	70000
/* Memory grows with the bytes that are really there, never by what a header says. */
#define GROW_BYTES	(64 * 1024)
#define INST_ALIGN	_Alignof(struct neuron_inst)

/* The archive as the caller has it, and how many bytes it may unpack to. */
struct span {
	const uint8_t *data;
	size_t size;
	uint64_t limit;
};

const char *neff_subgraph_path(const char *path, unsigned int *graph)
{
	while (!strncmp(path, "./", 2))
		path += 2;
	if (path[0] != 's' || path[1] != 'g' || !isdigit((unsigned char)path[2]) ||
	    !isdigit((unsigned char)path[3]) || path[4] != '/')
		return NULL;
	*graph = (unsigned int)((path[2] - '0') * 10 + path[3] - '0');
	return path[5] ? path + 5 : NULL;
}

static NRT_STATUS grow_file(struct neff_file *file, size_t *room, size_t needed,
			    struct nrt_error *error)
{
	size_t want = *room ? *room : GROW_BYTES;
	void *data;

	if (needed <= *room)
		return NRT_SUCCESS;
	while (want < needed)
		want *= 2;
	data = realloc(file->data, want);
	if (!data)
		return nrt_error_memory(error);
	file->data = data;
	*room = want;
	return NRT_SUCCESS;
}

static NRT_STATUS append(struct neff_file *file, size_t *room, const void *block, size_t size,
			 struct nrt_error *error)
{
	if (grow_file(file, room, file->size + size, error))
		return error->status;
	if (size)
		memcpy(file->data + file->size, block, size);
	file->size += size;
	return NRT_SUCCESS;
}

/*
 * Without compression the blocks are in the caller's memory, one behind the other: then that
 * is the file. Instructions want their alignment.
 */
static bool borrow(struct neff_file *file, const struct span *from, const void *block,
		   size_t size)
{
	const uint8_t *at = block;

	if (at < from->data || at >= from->data + from->size)
		return false;
	if (!file->data && !((uintptr_t)at % INST_ALIGN)) {
		file->data = (uint8_t *)at;
		file->borrowed = true;
	}
	if (!file->borrowed || at != file->data + file->size)
		return false;
	file->size += size;
	return true;
}

/* The file goes on elsewhere. */
static NRT_STATUS make_own(struct neff_file *file, size_t *room, struct nrt_error *error)
{
	const uint8_t *borrowed = file->data;
	size_t size = file->size;

	file->data = NULL;
	file->size = 0;
	file->borrowed = false;
	return append(file, room, borrowed, size, error);
}

static NRT_STATUS read_contents(struct archive *archive, const struct span *from,
				struct neff_file *file, uint64_t *left, struct nrt_error *error)
{
	size_t room = 0;

	for (;;) {
		const void *block;
		la_int64_t offset;
		size_t size;
		int ret = archive_read_data_block(archive, &block, &size, &offset);

		if (ret == ARCHIVE_EOF)
			return NRT_SUCCESS;
		if (ret != ARCHIVE_OK)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: archive: %s: %s; copy or build the file again",
					     file->name, archive_error_string(archive));
		if (offset < 0 || (uint64_t)offset != file->size)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: archive: %s: sparse files are not supported; pack it without tar's --sparse",
					     file->name);
		if (size > *left)
			return nrt_error_set(error, NRT_RESOURCE,
					     "NEFF: archive: %s: with it the files have more than %llu bytes, the most to unpack; make large constants inputs",
					     file->name, (unsigned long long)from->limit);
		*left -= size;
		if (borrow(file, from, block, size))
			continue;
		if (file->borrowed && make_own(file, &room, error))
			return error->status;
		if (append(file, &room, block, size, error))
			return error->status;
	}
}

/* A new empty file, or NULL. */
static struct neff_file *add_file(struct neff *neff, unsigned int graph, const char *name,
				  struct nrt_error *error)
{
	struct neff_file *files;

	if (neff->nr_files == MAX_FILES) {
		nrt_error_set(error, NRT_INVALID,
			      "NEFF: archive: more than %u files; neuron-packager lint tells which ones nothing names",
			      MAX_FILES);
		return NULL;
	}
	/* Powers of two, so that adding stays cheap. */
	if (!(neff->nr_files & (neff->nr_files - 1))) {
		size_t room = neff->nr_files ? neff->nr_files * 2 : 1;

		files = reallocarray(neff->files, room, sizeof(*files));
		if (!files) {
			nrt_error_memory(error);
			return NULL;
		}
		neff->files = files;
	}
	files = &neff->files[neff->nr_files];
	memset(files, 0, sizeof(*files));
	files->graph = graph;
	files->name = neff_copy_name(name, "archive: file", error);
	if (!files->name)
		return NULL;
	neff->nr_files++;
	return files;
}

static NRT_STATUS read_entry(struct neff *neff, struct archive *archive,
			     const struct span *from, struct archive_entry *entry,
			     uint64_t *left, struct nrt_error *error)
{
	const char *path = archive_entry_pathname(entry);
	struct neff_file *file;
	unsigned int graph;
	const char *name;

	if (!path || archive_entry_filetype(entry) != AE_IFREG)
		return NRT_SUCCESS;
	name = neff_subgraph_path(path, &graph);
	if (!name)
		return NRT_SUCCESS;
	if (archive_entry_hardlink(entry))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: archive: %.200s is a link; pack the file itself", path);
	if (graph >= neff->nr_graphs)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: archive: %.200s belongs to subgraph %u, but a model for LNC %u has %u; remove it%s",
				     path, graph, neff->lnc, neff->nr_graphs,
				     graph < NEFF_MAX_GRAPHS ?
				     ", or make lnc_size and num_tpb 2" : "");
	file = add_file(neff, graph, name, error);
	if (!file)
		return error->status;
	return read_contents(archive, from, file, left, error);
}

static NRT_STATUS read_entries(struct neff *neff, struct archive *archive,
			       const struct span *from, struct nrt_error *error)
{
	uint64_t left = from->limit;

	for (;;) {
		struct archive_entry *entry;
		int ret = archive_read_next_header(archive, &entry);

		if (ret == ARCHIVE_EOF)
			return NRT_SUCCESS;
		if (ret != ARCHIVE_OK)
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: archive: %s; copy or build the file again",
					     archive_error_string(archive) ?: "damaged");
		if (read_entry(neff, archive, from, entry, &left, error))
			return error->status;
	}
}

static int compare_files(const void *a, const void *b)
{
	const struct neff_file *x = a;
	const struct neff_file *y = b;

	if (x->graph != y->graph)
		return x->graph < y->graph ? -1 : 1;
	return strcmp(x->name, y->name);
}

static NRT_STATUS sort_files(struct neff *neff, struct nrt_error *error)
{
	size_t i;

	if (neff->nr_files)
		qsort(neff->files, neff->nr_files, sizeof(*neff->files), compare_files);
	for (i = 1; i < neff->nr_files; i++)
		if (!compare_files(&neff->files[i - 1], &neff->files[i]))
			return nrt_error_set(error, NRT_INVALID,
					     "NEFF: archive: sg%02u/%s is there twice; pack it once",
					     neff->files[i].graph, neff->files[i].name);
	return NRT_SUCCESS;
}

NRT_STATUS neff_read_archive(struct neff *neff, const void *data, size_t size,
			     uint64_t unpacked_bytes, struct nrt_error *error)
{
	const struct span from = { data, size, unpacked_bytes };
	struct archive *archive = archive_read_new();
	NRT_STATUS status;

	if (!archive)
		return nrt_error_memory(error);
	if (archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
	    archive_read_open_memory(archive, data, size) != ARCHIVE_OK)
		status = nrt_error_set(error, NRT_INVALID,
				       "NEFF: archive: %s; copy or build the file again",
				       archive_error_string(archive) ?: "cannot be opened");
	else
		status = read_entries(neff, archive, &from, error);
	archive_read_free(archive);
	return status ? status : sort_files(neff, error);
}

const struct neff_file *neff_find_file(const struct neff_graph *graph, const char *name)
{
	struct neff_file key = { .name = (char *)name, .graph = graph->index };
	const struct neff *neff = graph->neff;

	if (!neff->nr_files)
		return NULL;
	return bsearch(&key, neff->files, neff->nr_files, sizeof(key), compare_files);
}
