// SPDX-License-Identifier: MIT
/* The container: tar archive, hash, header. In LNC 2 the archive has both programs. */
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nb_private.h"

#define NB_TAR_BLOCK	512
/* What a plain copy takes in the archive. */
#define NB_TRANSFER_TEXT	256

/* An archive, and the number of the subgraph that is written to it. */
struct nb_tar {
	struct archive *archive;
	unsigned int graph;
};

static int nb_add_entry(struct nb_program *nb, const struct nb_tar *tar,
			const char *name, const void *data, size_t size)
{
	struct archive_entry *entry = archive_entry_new();
	char path[512];
	int ret = 0;

	if (!entry)
		return nb_fail(nb, "out of memory");
	snprintf(path, sizeof(path), "sg%02u/%s", tar->graph, name);
	archive_entry_set_pathname(entry, path);
	archive_entry_set_size(entry, size);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	/* A fixed time: equal programs give equal bytes. */
	archive_entry_set_mtime(entry, 0, 0);
	if (archive_write_header(tar->archive, entry) != ARCHIVE_OK ||
	    archive_write_data(tar->archive, data, size) != (la_ssize_t)size)
		ret = nb_fail(nb, "%s: %s", path,
			      archive_error_string(tar->archive));
	archive_entry_free(entry);
	return ret;
}

static int nb_add_text(struct nb_program *nb, const struct nb_tar *tar,
		       const char *name, char *text)
{
	int ret;

	if (!text)
		return nb_fail(nb, "out of memory");
	ret = nb_add_entry(nb, tar, name, text, strlen(text));
	free(text);
	return ret;
}

static int nb_add_engine(struct nb_program *nb, const struct nb_tar *tar,
			 enum neuron_engine e)
{
	const struct nb_stream *stream = &nb->stream[e];
	char name[32];

	if (!stream->count)
		return 0;
	snprintf(name, sizeof(name), "%s.json", neff_engine_name(e));
	if (nb_add_text(nb, tar, name, nb_engine_json(nb, e)))
		return -1;
	snprintf(name, sizeof(name), "%s.bin", neff_engine_name(e));
	return nb_add_entry(nb, tar, name, stream->inst,
			    stream->count * sizeof(*stream->inst));
}

static int nb_add_all(struct nb_program *nb, const struct nb_tar *tar)
{
	unsigned int e;
	size_t i;

	if (nb_add_text(nb, tar, "def.json", nb_def_json(nb)))
		return -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (nb_add_engine(nb, tar, e))
			return -1;
	if (nb_has_lines(nb) &&
	    nb_add_text(nb, tar, NB_DEBUG_FILE, nb_debug_json(nb)))
		return -1;
	for (i = 0; i < nb->nr_vars; i++)
		if (nb->var[i].type == NB_VAR_FILE &&
		    nb_add_entry(nb, tar, nb->var[i].name, nb->var[i].data,
				 nb->var[i].size))
			return -1;
	return 0;
}

/**
 * struct nb_sink - where the archive goes
 * @file: a file; NULL: memory
 * @error: errno of a write to it that has failed, or 0
 * @data, @room: that memory, behind room for the header
 * @expected: how much it will be, about
 * @size: bytes of the archive
 * @hash: of them
 */
struct nb_sink {
	FILE *file;
	int error;
	uint8_t *data;
	size_t room;
	size_t expected;
	size_t size;
	EVP_MD_CTX *hash;
};

static int nb_sink_room(struct nb_sink *sink, size_t size)
{
	size_t want = sizeof(struct neff_header) + sink->size + size;
	size_t room = sink->room ? sink->room : sink->expected;
	void *data;

	while (room < want)
		room *= 2;
	if (room == sink->room)
		return 0;
	data = realloc(sink->data, room);
	if (!data)
		return -1;
	sink->data = data;
	sink->room = room;
	return 0;
}

/* Of the file: what a call has failed with. */
static int nb_sink_failed(struct nb_sink *sink)
{
	sink->error = errno ? errno : EIO;
	return -1;
}

static int nb_sink_file(struct nb_sink *sink, const void *bytes, size_t size)
{
	errno = 0;
	return fwrite(bytes, 1, size, sink->file) == size ? 0 : nb_sink_failed(sink);
}

static la_ssize_t nb_sink_write(struct archive *archive, void *context,
				const void *bytes, size_t size)
{
	struct nb_sink *sink = context;

	if (sink->file ? nb_sink_file(sink, bytes, size) : nb_sink_room(sink, size)) {
		archive_set_error(archive, errno ? errno : ENOMEM, "%s",
				  strerror(errno ? errno : ENOMEM));
		return -1;
	}
	if (!sink->file)
		memcpy(sink->data + sizeof(struct neff_header) + sink->size, bytes, size);
	sink->size += size;
	if (!EVP_DigestUpdate(sink->hash, bytes, size)) {
		archive_set_error(archive, EIO, "SHA-256 failed");
		return -1;
	}
	return (la_ssize_t)size;
}

static int nb_add_graphs(struct nb_program *nb, struct archive *archive)
{
	struct nb_tar tar = { archive, 0 };

	if (nb_add_all(nb, &tar))
		return -1;
	tar.graph = 1;
	return nb->second ? nb_add_all(nb->second, &tar) : 0;
}

static int nb_write_tar(struct nb_program *nb, struct nb_sink *sink)
{
	struct archive *tar = archive_write_new();
	int ret = -1;

	if (!tar)
		return nb_fail(nb, "out of memory");
	archive_write_set_format_ustar(tar);
	/* Nothing is gathered: instructions go straight to where they belong. */
	archive_write_set_bytes_per_block(tar, 0);
	archive_write_set_bytes_in_last_block(tar, NB_TAR_BLOCK);
	if (archive_write_open(tar, sink, NULL, nb_sink_write, NULL) != ARCHIVE_OK)
		nb_fail(nb, "archive: %s", archive_error_string(tar));
	else
		ret = nb_add_graphs(nb, tar);
	if (archive_write_close(tar) != ARCHIVE_OK && !ret)
		ret = nb_fail(nb, "archive: %s", archive_error_string(tar));
	archive_write_free(tar);
	return ret;
}

static int nb_header(struct nb_program *nb, struct neff_header *header,
		     const struct nb_sink *sink)
{
	uint32_t lnc = nb->second ? 2 : 1;
	unsigned int len;

	memset(header, 0, sizeof(*header));
	header->pkg_version = htole64(NEFF_PKG_SHA256);
	header->header_size = htole64(sizeof(*header));
	header->data_size = htole64(sink->size);
	header->version_major = htole64(NEFF_VERSION_MAJOR);
	header->version_minor = htole64(NEFF_VERSION_MINOR);
	strcpy((char *)header->build_version, NEFF_BUILD_MARK " builder 1");
	header->num_tpb = htole32(lnc);
	header->requested_tpb = htole32(lnc);
	header->tpb_per_node[0] = lnc;
	header->lnc_size = htole32(lnc);
	strncpy(header->name, nb->name, sizeof(header->name) - 1);
	if (!EVP_DigestFinal_ex(sink->hash, header->hash, &len))
		return nb_fail(nb, "SHA-256 failed");
	/* Unique as far as the contents are. */
	memcpy(header->uuid, header->hash, sizeof(header->uuid));
	return 0;
}

static bool nb_is_io(const struct nb_var *var)
{
	return var->type == NB_VAR_INPUT || var->type == NB_VAR_OUTPUT;
}

/* An input or output of both programs is one tensor. */
static int nb_check_shared(struct nb_program *nb)
{
	size_t i;

	for (i = 0; i < nb->nr_vars; i++) {
		const struct nb_var *var = &nb->var[i], *other;
		int id = nb_find_var(nb->second, var->name);

		if (!id || !nb_is_io(var))
			continue;
		other = &nb->second->var[id - 1];
		if (nb_is_io(other) &&
		    (other->type != var->type || other->dtype != var->dtype ||
		     other->ndim != var->ndim ||
		     memcmp(other->shape, var->shape, sizeof(var->shape))))
			return nb_fail(nb,
				       "\"%.64s\" of both cores is one tensor, but type, dtype or shape differ",
				       var->name);
	}
	return 0;
}

static int nb_finish_second(struct nb_program *nb)
{
	unsigned int e, count = 0;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		count += nb->second->stream[e].count;
	if (!count)
		nb_halt(nb->second, NEURON_ENGINE_SYNC);
	return nb_check_shared(nb);
}

/* The archive into the sink, and its header. */
static int nb_fill(struct nb_program *nb, struct nb_sink *sink, struct neff_header *header)
{
	int ret = -1;

	if (nb->second && (nb_sync(nb->second) || nb_finish_second(nb)))
		return -1;
	if (nb_sync(nb) || nb_error(nb) || nb_check_collectives(nb))
		return -1;
	/* In LNC 2 the cores may post to each other. */
	if (!nb->second && nb_check_cycle(nb))
		return -1;
	sink->hash = EVP_MD_CTX_new();
	if (!sink->hash || !EVP_DigestInit_ex(sink->hash, EVP_sha256(), NULL))
		nb_fail(nb, "SHA-256 failed");
	else if (!nb_write_tar(nb, sink))
		ret = nb_header(nb, header, sink);
	EVP_MD_CTX_free(sink->hash);
	return ret;
}

/* Bytes of the archive, or somewhat less: so that it grows at most once or twice. */
static size_t nb_expected_size(const struct nb_program *nb)
{
	size_t size = 65536, i;

	for (i = 0; i < NEURON_NR_ENGINES; i++)
		size += nb->stream[i].count * sizeof(struct neuron_inst) +
			nb->stream[i].nr_dma * NB_TRANSFER_TEXT;
	for (i = 0; i < nb->nr_vars; i++)
		if (nb->var[i].type == NB_VAR_FILE)
			size += nb->var[i].size;
	return nb->second ? size + nb_expected_size(nb->second) : size;
}

int nb_pack(struct nb_program *nb, void **data, size_t *size)
{
	struct nb_sink sink = { .expected = nb_expected_size(nb) };
	struct neff_header header;

	if (nb_fill(nb, &sink, &header)) {
		free(sink.data);
		return -1;
	}
	memcpy(sink.data, &header, sizeof(header));
	*data = sink.data;
	*size = sizeof(header) + sink.size;
	return 0;
}

/* Only a regular file may be replaced: a rename would destroy a device node. */
static int nb_check_target(struct nb_program *nb, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return nb_fail(nb, "%s: not a regular file", path);
	return 0;
}

/* The header comes last: it has the hash of what is behind it. */
static int nb_write_file(struct nb_program *nb, struct nb_sink *sink, const char *path)
{
	struct neff_header header = { 0 };

	if (nb_sink_file(sink, &header, sizeof(header)))
		return nb_fail(nb, "%s: %s", path, strerror(sink->error));
	if (nb_fill(nb, sink, &header))
		return -1;
	if (fseek(sink->file, 0, SEEK_SET))
		nb_sink_failed(sink);
	else if (!nb_sink_file(sink, &header, sizeof(header)))
		return 0;
	return nb_fail(nb, "%s: %s", path, strerror(sink->error));
}

int nb_write_fd(struct nb_program *nb, int fd)
{
	struct nb_sink sink = { 0 };
	int copy = dup(fd), ret;

	if (copy < 0)
		return errno;
	sink.file = fdopen(copy, "wb");
	if (!sink.file) {
		ret = errno;
		close(copy);
		return ret;
	}
	ret = nb_write_file(nb, &sink, "NEFF");
	if (fclose(sink.file) && !sink.error)
		sink.error = errno;
	return sink.error ? sink.error : ret;
}

int nb_write(struct nb_program *nb, const char *path)
{
	struct nb_sink sink = { 0 };
	char temp[4096];
	int ret;

	if (nb_check_target(nb, path))
		return -1;
	snprintf(temp, sizeof(temp), "%s.%d", path, getpid());
	sink.file = fopen(temp, "wb");
	if (!sink.file)
		return nb_fail(nb, "%s: %s", temp, strerror(errno));
	ret = nb_write_file(nb, &sink, temp);
	if (fclose(sink.file) && !ret)
		ret = nb_fail(nb, "%s: %s", temp, strerror(errno));
	if (!ret && rename(temp, path))
		ret = nb_fail(nb, "%s: %s", path, strerror(errno));
	if (ret)
		unlink(temp);
	return ret;
}
