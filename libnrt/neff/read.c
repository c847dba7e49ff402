// SPDX-License-Identifier: MIT
/*
 * The header of a NEFF, and the order in which the rest is read.
 */
#include <endian.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "neff/neff.h"

char *neff_copy_name(const char *name, const char *where, struct nrt_error *error)
{
	size_t length = strlen(name);
	char *copy;
	size_t i;

	if (!length || length > NEFF_MAX_VAR_NAME) {
		nrt_error_set(error, NRT_INVALID, "NEFF: %s: a name must have 1 to %d characters",
			      where, NEFF_MAX_VAR_NAME);
		return NULL;
	}
	/* Names go into log lines. */
	for (i = 0; i < length; i++) {
		if ((unsigned char)name[i] >= ' ' && name[i] != 0x7f)
			continue;
		nrt_error_set(error, NRT_INVALID, "NEFF: %s: a name has a control character",
			      where);
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
	uint64_t unknown = features & ~NEFF_FEATURES_KNOWN;

	if (major != NEFF_VERSION_MAJOR)
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "NEFF: format version %llu.%llu; only %d.x is supported",
				     (unsigned long long)major,
				     (unsigned long long)le64toh(header->version_minor),
				     NEFF_VERSION_MAJOR);
	if (unknown)
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "NEFF: needs unknown features (bits 0x%llx)",
				     (unsigned long long)unknown);
	if (!(features & NEFF_FEATURE_EMU_ISA))
		return nrt_error_set(error, NRT_UNSUPPORTED_NEFF_VERSION,
				     "NEFF: made for real hardware (feature bit 63 is clear); build it with neuron-as or the builder library");
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
				     "NEFF: header size %llu instead of %zu: not a NEFF file",
				     (unsigned long long)header_size, sizeof(*header));
	if (pkg != NEFF_PKG_MD5 && pkg != NEFF_PKG_SHA256)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: package version %llu instead of 1 or 2: not a NEFF file",
				     (unsigned long long)pkg);
	if (check_versions(header, error))
		return error->status;
	if (data_size > size - sizeof(*header))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: truncated: %zu bytes after the header instead of %llu",
				     size - sizeof(*header), (unsigned long long)data_size);
	if (le32toh(header->num_tpb) != 1 || le32toh(header->lnc_size) != 1)
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: built for %u cores of logical size %u; only one core of size 1 is supported",
				     le32toh(header->num_tpb), le32toh(header->lnc_size));
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
				     "NEFF: the %s hash does not match the contents: the file is damaged",
				     md5 ? "MD5" : "SHA-256");
	return NRT_SUCCESS;
}

static NRT_STATUS read_all(struct neff *neff, const struct neff_header *header,
			   const void *data, const struct neff_limits *limits,
			   struct nrt_error *error)
{
	size_t data_size = le64toh(header->data_size);

	copy_model_name(neff, header->name);
	neff->features = le64toh(header->feature_bits);
	if (limits->validate_hash && check_hash(header, data, data_size, error))
		return error->status;
	if (neff_read_archive(neff, data, data_size, limits, error))
		return error->status;
	return neff_read_def(neff, error);
}

NRT_STATUS neff_read(const void *bytes, size_t size, const struct neff_limits *limits,
		     struct neff **out, struct nrt_error *error)
{
	const uint8_t *data = (const uint8_t *)bytes + sizeof(struct neff_header);
	struct neff_header header;
	struct neff *neff;

	if (size < sizeof(header))
		return nrt_error_set(error, NRT_INVALID,
				     "NEFF: truncated: %zu bytes are less than a header of %zu",
				     size, sizeof(header));
	/* The bytes may lie anywhere; the copy is aligned. */
	memcpy(&header, bytes, sizeof(header));
	neff = calloc(1, sizeof(*neff));
	if (!neff)
		return nrt_error_memory(error);
	if (check_header(&header, size, error) ||
	    read_all(neff, &header, data, limits, error)) {
		neff_free(neff);
		return error->status;
	}
	*out = neff;
	return NRT_SUCCESS;
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
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		neff->image[i] = NULL;
	for (i = 0; i < neff->nr_vars; i++)
		neff->vars[i].data = NULL;
}

void neff_free(struct neff *neff)
{
	size_t i;

	if (!neff)
		return;
	neff_drop_files(neff);
	for (i = 0; i < neff->nr_vars; i++)
		free(neff->vars[i].name);
	for (i = 0; i < neff->nr_sets; i++)
		free(neff->sets[i].name);
	free(neff->vars);
	free(neff->sets);
	free(neff->descs);
	free(neff);
}
