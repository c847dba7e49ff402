// SPDX-License-Identifier: MIT
/*
 * The header of a NEFF, and the order in which the rest is read.
 */
#include <endian.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff/neff.h"

char *neff_copy_name(const char *name, const char *where, struct nrt_error *error)
{
	size_t length = strlen(name);
	char *copy;
	size_t i;

	if (!length || length > NEFF_MAX_VAR_NAME) {
		nrt_error_set(error, NRT_INVALID,
			      "NEFF: %s: name \"%.32s\" has %zu bytes, not 1 to %d", where, name,
			      length, NEFF_MAX_VAR_NAME);
		return NULL;
	}
	/* Names go into log lines. */
	for (i = 0; i < length; i++) {
		if ((unsigned char)name[i] >= ' ' && name[i] != 0x7f)
			continue;
		nrt_error_set(error, NRT_INVALID,
			      "NEFF: %s: name \"%.64s\" has a control character, 0x%02x, at byte %zu",
			      where, name, (unsigned char)name[i], i);
		return NULL;
	}
	copy = strdup(name);
	if (!copy)
		nrt_error_memory(error);
	return copy;
}

/* The model's name; characters that would spoil a log line become dots. */
static void copy_model_name(struct neff *neff, const char *name)
{
	size_t i;

	for (i = 0; i < NEFF_NAME_LEN - 1 && name[i]; i++)
		neff->name[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '.' : name[i];
}

static NRT_STATUS check_versions(const struct neff_header *header, struct nrt_error *error)
{
	uint64_t major = le64toh(header->version_major);
	uint64_t features = le64toh(header->feature_bits);

	if (major != NEFF_VERSION_MAJOR)
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "NEFF: format version %llu.%llu; only %d.x is supported: build the file again",
				     (unsigned long long)major,
				     (unsigned long long)le64toh(header->version_minor),
				     NEFF_VERSION_MAJOR);
	if (features)
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "NEFF: needs unknown features (bits 0x%llx of feature_bits, which must be 0); build the model with neuron-as or the builder library",
				     (unsigned long long)features);
	return NRT_SUCCESS;
}

/* A model runs on one logical core; each subgraph on a physical one of it. */
static NRT_STATUS check_cores(const struct neff_header *header, struct nrt_error *error)
{
	uint32_t lnc = le32toh(header->lnc_size);
	uint32_t cores = le32toh(header->num_tpb);
	uint32_t wanted = le32toh(header->requested_tpb);
	uint32_t sum = 0;
	size_t i;

	if (!lnc || lnc > NEFF_MAX_GRAPHS)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: lnc_size is %u; a logical core has 1 or %d physical cores",
				     lnc, NEFF_MAX_GRAPHS);
	if (cores != lnc)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: num_tpb is %u, but lnc_size %u: a model runs on one logical core, so both must be equal",
				     cores, lnc);
	if (wanted && wanted != cores)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: requested_tpb_count is %u, but num_tpb %u: it must be the same, or 0",
				     wanted, cores);
	for (i = 0; i < NEFF_MAX_NODES; i++)
		sum += header->tpb_per_node[i];
	if (sum && sum != cores)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: tpb_per_node adds up to %u cores, but num_tpb is %u: both must be equal, or tpb_per_node all 0",
				     sum, cores);
	return NRT_SUCCESS;
}

static NRT_STATUS check_header(const struct neff_header *header, size_t size,
			       struct nrt_error *error)
{
	uint64_t header_size = le64toh(header->header_size);
	uint64_t data_size = le64toh(header->data_size);
	uint64_t pkg = le64toh(header->pkg_version);

	if (header_size != sizeof(*header))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: header size %llu instead of %zu: not a NEFF file; give one that neuron-as or the builder library made",
				     (unsigned long long)header_size, sizeof(*header));
	if (pkg != NEFF_PKG_MD5 && pkg != NEFF_PKG_SHA256)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: package version %llu instead of 1 or 2: not a NEFF file; give one that neuron-as or the builder library made",
				     (unsigned long long)pkg);
	if (data_size > size - sizeof(*header))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: truncated: %zu bytes after the header instead of %llu; copy or build the file again",
				     size - sizeof(*header), (unsigned long long)data_size);
	return NRT_SUCCESS;
}

static NRT_STATUS check_hash(const struct neff_header *header, const void *data,
			     size_t data_size, struct nrt_error *error)
{
	bool md5 = le64toh(header->pkg_version) == NEFF_PKG_MD5;
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned int length = 0;

	if (!EVP_Digest(data, data_size, hash, &length, md5 ? EVP_md5() : EVP_sha256(),
			NULL))
		return nrt_error_set(error, NRT_FAILURE,
				     "NEFF: libcrypto cannot compute the %s hash",
				     md5 ? "MD5" : "SHA-256");
	if (length > NEFF_HASH_LEN || memcmp(hash, header->hash, length))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: the %s hash does not match the contents: the file is damaged; copy or build it again",
				     md5 ? "MD5" : "SHA-256");
	return NRT_SUCCESS;
}

static bool is_same_tensor(const struct neff_var *a, const struct neff_var *b)
{
	return a->type == b->type && a->dtype == b->dtype && a->ndim == b->ndim &&
	       !memcmp(a->shape, b->shape, sizeof(a->shape));
}

/* Inputs and outputs are bound by name, so one name is one tensor. */
static NRT_STATUS number_io(struct neff *neff, struct neff_var *var, bool first,
			    struct nrt_error *error)
{
	const struct neff_var *other = NULL;

	if (!first)
		other = neff_find_var(&neff->graphs[0], var->name);
	if (!other || !neff_var_is_io(other)) {
		var->io = neff->nr_ios;
		neff->ios[neff->nr_ios++] = var;
		return NRT_SUCCESS;
	}
	if (!is_same_tensor(var, other))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: variable \"%s\" of sg00 and of sg01 is one tensor, but they differ in type, dtype or shape: make them equal, or rename one",
				     var->name);
	var->io = other->io;
	return NRT_SUCCESS;
}

static NRT_STATUS number_ios(struct neff *neff, struct nrt_error *error)
{
	size_t i, all = 0;
	unsigned int g;

	for (g = 0; g < neff->nr_graphs; g++)
		all += neff->graphs[g].nr_vars;
	neff->ios = calloc(all + 1, sizeof(*neff->ios));
	if (!neff->ios)
		return nrt_error_memory(error);
	for (g = 0; g < neff->nr_graphs; g++) {
		struct neff_graph *graph = &neff->graphs[g];

		for (i = 0; i < graph->nr_vars; i++)
			if (neff_var_is_io(&graph->vars[i]) &&
			    number_io(neff, &graph->vars[i], !g, error))
				return error->status;
	}
	return NRT_SUCCESS;
}

static bool is_ours(const struct neff_header *header)
{
	return !strncmp((const char *)header->build_version, NEFF_BUILD_MARK,
			strlen(NEFF_BUILD_MARK));
}

static bool has_peers(const struct neff_graph *graph)
{
	size_t i;

	for (i = 0; i < graph->nr_vars; i++)
		if (graph->vars[i].type == NEFF_VAR_PEER ||
		    graph->vars[i].type == NEFF_VAR_PEER_SEM)
			return true;
	return false;
}

static NRT_STATUS read_graphs(struct neff *neff, struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < neff->nr_graphs; i++) {
		if (neff_read_def(&neff->graphs[i], error))
			return error->status;
		neff->peers = neff->peers || has_peers(&neff->graphs[i]);
	}
	return number_ios(neff, error);
}

static NRT_STATUS read_all(struct neff *neff, const struct neff_header *header,
			   const void *data, const struct neff_limits *limits,
			   struct nrt_error *error)
{
	const uint64_t unpacked = limits->unpacked_bytes ?: NEFF_MAX_UNPACKED;
	size_t data_size = le64toh(header->data_size);
	unsigned int i;

	if (!is_ours(header))
		return neff_refuse_foreign(header, data, data_size, unpacked, error);
	if (check_versions(header, error) || check_cores(header, error))
		return error->status;
	copy_model_name(neff, header->name);
	memcpy(neff->hash, header->hash, sizeof(neff->hash));
	neff->lnc = le32toh(header->lnc_size);
	neff->nr_graphs = neff->lnc;
	for (i = 0; i < neff->nr_graphs; i++) {
		neff->graphs[i].neff = neff;
		neff->graphs[i].index = i;
		neff->graphs[i].scratch_page = limits->scratch_page;
	}
	if (limits->validate_hash && check_hash(header, data, data_size, error))
		return error->status;
	if (neff_read_archive(neff, data, data_size, unpacked, error))
		return error->status;
	return read_graphs(neff, error);
}

/* It is one line, whatever the file has in its texts. */
static void make_printable(struct nrt_error *error)
{
	char *at;

	for (at = error->text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '.';
}

NRT_STATUS neff_read(const void *bytes, size_t size, const struct neff_limits *limits,
		     struct neff **out, struct nrt_error *error)
{
	const uint8_t *data = (const uint8_t *)bytes + sizeof(struct neff_header);
	struct neff_header header;
	struct neff *neff;

	if (size < sizeof(header))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: truncated: %zu bytes are less than a header of %zu; copy or build the file again",
				     size, sizeof(header));
	/* The bytes may lie anywhere; the copy is aligned. */
	memcpy(&header, bytes, sizeof(header));
	neff = calloc(1, sizeof(*neff));
	if (!neff)
		return nrt_error_memory(error);
	if (check_header(&header, size, error) ||
	    read_all(neff, &header, data, limits, error)) {
		make_printable(error);
		neff_free(neff);
		return error->status;
	}
	*out = neff;
	return NRT_SUCCESS;
}

const char *neff_why(const struct nrt_error *error)
{
	const size_t prefix = strlen("NEFF: ");

	return strncmp(error->text, "NEFF: ", prefix) ? error->text : error->text + prefix;
}

void neff_hash_text(const struct neff *neff, char text[2 * NEFF_HASH_LEN + 1])
{
	size_t i;

	for (i = 0; i < NEFF_HASH_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", neff->hash[i]);
}

static void drop_contents(struct neff_graph *graph)
{
	size_t i;

	for (i = 0; i < NEURON_NR_ENGINES; i++)
		graph->image[i] = NULL;
	for (i = 0; i < graph->nr_vars; i++) {
		free(graph->vars[i].table);
		graph->vars[i].table = NULL;
		graph->vars[i].data = NULL;
	}
}

void neff_drop_files(struct neff *neff)
{
	size_t i;

	for (i = 0; i < neff->nr_files; i++) {
		free(neff->files[i].name);
		if (!neff->files[i].borrowed)
			free(neff->files[i].data);
	}
	free(neff->files);
	neff->files = NULL;
	neff->nr_files = 0;
	for (i = 0; i < neff->nr_graphs; i++)
		drop_contents(&neff->graphs[i]);
}

static void free_graph(struct neff_graph *graph)
{
	size_t i;

	for (i = 0; i < graph->nr_vars; i++) {
		free(graph->vars[i].refs);
		free(graph->vars[i].name);
		free(graph->vars[i].print);
	}
	for (i = 0; i < graph->nr_sets; i++)
		free(graph->sets[i].name);
	neff_free_debug(graph);
	neff_free_collectives(graph);
	free(graph->vars);
	free(graph->by_name);
	free(graph->sets);
	for (i = 0; i < graph->nr_descs; i++)
		free(graph->descs[i].op);
	free(graph->descs);
}

void neff_free(struct neff *neff)
{
	size_t i;

	if (!neff)
		return;
	neff_drop_files(neff);
	for (i = 0; i < neff->nr_graphs; i++)
		free_graph(&neff->graphs[i]);
	free(neff->ios);
	free(neff);
}
