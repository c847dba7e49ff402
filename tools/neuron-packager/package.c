// SPDX-License-Identifier: MIT
/* A NEFF in memory: taken apart, changed, written. */
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <errno.h>
#include <openssl/evp.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "neff/json.h"
#include "packager.h"

#define TAR_BLOCK	512
#define GROW_BYTES	65536

static int fail_memory(struct nrt_error *error)
{
	nrt_error_memory(error);
	return -1;
}

static const char *skip_dots(const char *path)
{
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	return path;
}

/* Stays in the folder that it is unpacked to, and can stand in a line. */
static bool path_is_good(const char *path)
{
	const char *part = path, *c;
	size_t length;

	if (!*path || strlen(path) > PACKAGE_MAX_PATH)
		return false;
	for (c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '\\')
			return false;
	for (;;) {
		length = strcspn(part, "/");
		if (!length || (length == 1 && *part == '.') ||
		    (length == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		if (!part[length])
			return true;
		part += length + 1;
	}
}

static int compare_paths(const void *a, const void *b)
{
	const struct package_member *x = a, *y = b;

	return strcmp(x->path, y->path);
}

struct package_member *package_find(const struct package *package, const char *path)
{
	const struct package_member key = { .path = (char *)path };
	struct package_member **found = tfind(&key, &package->by_path, compare_paths);

	return found ? *found : NULL;
}

/* Room for one more, in powers of two. */
static int grow(struct package *package, struct nrt_error *error)
{
	size_t count = package->nr_members;
	struct package_member **member;

	if (count & (count - 1))
		return 0;
	member = reallocarray(package->member, count ? count * 2 : 1, sizeof(*member));
	if (!member)
		return fail_memory(error);
	package->member = member;
	return 0;
}

static int check_path(const struct package *package, const char *path, struct nrt_error *error)
{
	char text[80];

	printable(text, sizeof(text), path);
	if (!path_is_good(path))
		nrt_error_set(error, NRT_INVALID,
			      "archive: \"%s\" is not a path inside of the archive", text);
	else if (package_find(package, path))
		nrt_error_set(error, NRT_INVALID, "archive: %.200s is there already", path);
	else
		return 0;
	return -1;
}

static struct package_member *new_member(const char *path, uint8_t *data, size_t size)
{
	struct package_member *member = calloc(1, sizeof(*member));

	if (!member)
		return NULL;
	*member = (struct package_member){ .path = strdup(path), .data = data, .size = size };
	if (member->path)
		return member;
	free(member);
	return NULL;
}

int package_add(struct package *package, const char *path, uint8_t *data, size_t size,
		struct nrt_error *error)
{
	struct package_member *member;

	path = skip_dots(path);
	if (check_path(package, path, error))
		return -1;
	if (package->nr_members == PACKAGE_MAX_MEMBERS) {
		nrt_error_set(error, NRT_INVALID, "archive: more than %d files",
			      PACKAGE_MAX_MEMBERS);
		return -1;
	}
	if (grow(package, error))
		return -1;
	member = new_member(path, data, size);
	if (member && tsearch(member, &package->by_path, compare_paths)) {
		package->member[package->nr_members++] = member;
		return 0;
	}
	if (member)
		free(member->path);
	free(member);
	return fail_memory(error);
}

static void free_member(struct package_member *member)
{
	free(member->path);
	free(member->data);
	free(member);
}

void package_remove(struct package *package, struct package_member *member)
{
	size_t i = 0;

	while (package->member[i] != member)
		i++;
	tdelete(member, &package->by_path, compare_paths);
	free_member(member);
	package->nr_members--;
	memmove(&package->member[i], &package->member[i + 1],
		(package->nr_members - i) * sizeof(*package->member));
}

int package_rename(struct package *package, struct package_member *member, const char *path,
		   struct nrt_error *error)
{
	char *copy;

	path = skip_dots(path);
	if (check_path(package, path, error))
		return -1;
	copy = strdup(path);
	if (!copy)
		return fail_memory(error);
	tdelete(member, &package->by_path, compare_paths);
	free(member->path);
	member->path = copy;
	/* In the memory that tdelete() has just given back. */
	return tsearch(member, &package->by_path, compare_paths) ? 0 : fail_memory(error);
}

/* The members are freed one by one. */
static void keep_member(void *member)
{
	(void)member;
}

void package_free(struct package *package)
{
	size_t i;

	tdestroy(package->by_path, keep_member);
	for (i = 0; i < package->nr_members; i++)
		free_member(package->member[i]);
	free(package->member);
	memset(package, 0, sizeof(*package));
}

/* Memory grows with the bytes that are really there, never by what a header says. */
static int read_data(struct archive *archive, const char *path, uint64_t *left, uint8_t **data,
		     size_t *size, struct nrt_error *error)
{
	size_t room = 0;
	uint8_t *grown;
	la_ssize_t n;

	for (;;) {
		if (*size == room) {
			room = room ? room * 2 : GROW_BYTES;
			grown = realloc(*data, room);
			if (!grown)
				return fail_memory(error);
			*data = grown;
		}
		n = archive_read_data(archive, *data + *size, room - *size);
		if (n < 0) {
			nrt_error_set(error, NRT_INVALID, "archive: %.200s: %s", path,
				      archive_error_string(archive));
			return -1;
		}
		if (!n)
			return 0;
		if ((uint64_t)n > *left) {
			nrt_error_set(error, NRT_RESOURCE,
				      "archive: %.200s: unpacks to more than the limit; --spare=MIB raises it",
				      path);
			return -1;
		}
		*left -= (uint64_t)n;
		*size += (size_t)n;
	}
}

static int read_entry(struct archive *archive, struct archive_entry *entry, uint64_t *left,
		      struct package *package, struct nrt_error *error)
{
	const char *path = archive_entry_pathname(entry);
	uint8_t *data = NULL;
	size_t size = 0;
	char text[80];

	if (archive_entry_filetype(entry) == AE_IFDIR)
		return 0;
	printable(text, sizeof(text), path ?: "");
	if (!path || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry)) {
		nrt_error_set(error, NRT_INVALID, "archive: \"%s\" is not a regular file", text);
		return -1;
	}
	if (read_data(archive, text, left, &data, &size, error) ||
	    package_add(package, path, data, size, error)) {
		free(data);
		return -1;
	}
	return 0;
}

static int read_entries(struct archive *archive, uint64_t left, struct package *package,
			struct nrt_error *error)
{
	struct archive_entry *entry;
	int ret;

	for (;;) {
		ret = archive_read_next_header(archive, &entry);
		if (ret == ARCHIVE_EOF)
			return 0;
		if (ret != ARCHIVE_OK) {
			nrt_error_set(error, NRT_INVALID, "archive: %s",
				      archive_error_string(archive) ?: "damaged");
			return -1;
		}
		if (read_entry(archive, entry, &left, package, error))
			return -1;
	}
}

int package_read_archive(const void *bytes, size_t size, uint64_t spare, struct package *package,
			 struct nrt_error *error)
{
	struct archive *archive = archive_read_new();
	int ret = -1;

	if (!archive)
		return fail_memory(error);
	if (archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
	    archive_read_open_memory(archive, bytes, size) != ARCHIVE_OK)
		nrt_error_set(error, NRT_INVALID, "archive: %s",
			      archive_error_string(archive) ?: "cannot be opened");
	else
		ret = read_entries(archive, size + spare, package, error);
	package->gzip = archive_filter_code(archive, 0) == ARCHIVE_FILTER_GZIP;
	archive_read_free(archive);
	if (ret)
		package_free(package);
	return ret;
}

static int check_header(const struct neff_header *header, size_t size, struct nrt_error *error)
{
	uint64_t data_size = le64toh(header->data_size);

	if (le64toh(header->header_size) != sizeof(*header)) {
		nrt_error_set(error, NRT_INVALID,
			      "header: its size is %llu instead of %zu: not a NEFF file; give one that neuron-as or the builder library made",
			      (unsigned long long)le64toh(header->header_size), sizeof(*header));
		return -1;
	}
	if (data_size > size - sizeof(*header)) {
		nrt_error_set(error, NRT_INVALID,
			      "truncated: %zu bytes after the header instead of %llu; copy or build the file again",
			      size - sizeof(*header), (unsigned long long)data_size);
		return -1;
	}
	return 0;
}

bool package_hash_matches(const void *bytes)
{
	uint8_t hash[EVP_MAX_MD_SIZE];
	struct neff_header header;
	unsigned int length = 0;
	bool md5;

	memcpy(&header, bytes, sizeof(header));
	md5 = le64toh(header.pkg_version) == NEFF_PKG_MD5;
	return EVP_Digest((const uint8_t *)bytes + sizeof(header), le64toh(header.data_size),
			  hash, &length, md5 ? EVP_md5() : EVP_sha256(), NULL) &&
	       length <= sizeof(header.hash) && !memcmp(hash, header.hash, length);
}

int package_read(const void *bytes, size_t size, uint64_t spare, struct package *package,
		 struct nrt_error *error)
{
	struct neff_header header;

	memset(package, 0, sizeof(*package));
	if (size < sizeof(header)) {
		nrt_error_set(error, NRT_INVALID,
			      "truncated: %zu bytes are less than a header of %zu; copy or build the file again",
			      size, sizeof(header));
		return -1;
	}
	memcpy(&header, bytes, sizeof(header));
	if (check_header(&header, size, error) ||
	    package_read_archive((const uint8_t *)bytes + sizeof(header),
				 le64toh(header.data_size), spare, package, error))
		return -1;
	package->header = header;
	package->hash_matches = package_hash_matches(bytes);
	return 0;
}

bool package_is_ours(const struct package *package)
{
	return !strncmp((const char *)package->header.build_version, NEFF_BUILD_MARK,
			strlen(NEFF_BUILD_MARK));
}

/* The encoding of the instructions is named. */
static bool is_for_our_chip(const struct package *package)
{
	const struct package_member *def = package_find(package, "sg00/def.json");
	struct json_object *root, *isa;
	struct nrt_error ignored;
	bool ours;

	root = def ? package_json(def, &ignored) : NULL;
	ours = json_object_is_type(root, json_type_object) &&
	       json_object_object_get_ex(root, "isa", &isa) &&
	       json_object_is_type(isa, json_type_string) &&
	       !strcmp(json_object_get_string(isa), NEFF_ISA);
	json_object_put(root);
	return ours;
}

void package_default_header(struct package *package, const char *name)
{
	/* sg01/ is there: for a pair of cores. */
	const unsigned int lnc = package_find(package, "sg01/def.json") ? 2 : 1;
	struct neff_header *header = &package->header;

	memset(header, 0, sizeof(*header));
	header->pkg_version = htole64(NEFF_PKG_SHA256);
	header->header_size = htole64(sizeof(*header));
	header->version_major = htole64(NEFF_VERSION_MAJOR);
	header->version_minor = htole64(NEFF_VERSION_MINOR);
	if (is_for_our_chip(package))
		strcpy((char *)header->build_version, NEFF_BUILD_MARK " builder 1");
	header->num_tpb = htole32(lnc);
	header->requested_tpb = htole32(lnc);
	header->tpb_per_node[0] = (uint8_t)lnc;
	header->lnc_size = htole32(lnc);
	strncpy(header->name, name, sizeof(header->name) - 1);
}

/* A file that is written; @hash is over the archive. */
struct output {
	FILE *file;
	EVP_MD_CTX *hash;
	uint64_t size;
};

static la_ssize_t write_bytes(struct archive *archive, void *context, const void *bytes,
			      size_t size)
{
	struct output *out = context;

	if (fwrite(bytes, 1, size, out->file) != size ||
	    !EVP_DigestUpdate(out->hash, bytes, size)) {
		archive_set_error(archive, errno, "%s", strerror(errno));
		return -1;
	}
	out->size += size;
	return (la_ssize_t)size;
}

static int write_member(struct archive *tar, const struct package_member *member)
{
	struct archive_entry *entry = archive_entry_new();
	int ret = -1;

	if (!entry)
		return -1;
	archive_entry_set_pathname(entry, member->path);
	archive_entry_set_size(entry, (la_int64_t)member->size);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	/* A fixed time: equal files give equal bytes. */
	archive_entry_set_mtime(entry, 0, 0);
	if (archive_write_header(tar, entry) == ARCHIVE_OK &&
	    archive_write_data(tar, member->data, member->size) == (la_ssize_t)member->size)
		ret = 0;
	archive_entry_free(entry);
	return ret;
}

static int write_archive(const struct package *package, struct output *out,
			 struct nrt_error *error)
{
	struct archive *tar = archive_write_new();
	size_t i;
	int ret = 0;

	if (!tar)
		return fail_memory(error);
	archive_write_set_format_ustar(tar);
	if (package->gzip) {
		archive_write_add_filter_gzip(tar);
		/* No time in the compressed file either. */
		archive_write_set_filter_option(tar, "gzip", "timestamp", NULL);
	}
	archive_write_set_bytes_in_last_block(tar, package->gzip ? 1 : TAR_BLOCK);
	if (archive_write_open(tar, out, NULL, write_bytes, NULL) != ARCHIVE_OK)
		ret = -1;
	for (i = 0; i < package->nr_members && !ret; i++)
		ret = write_member(tar, package->member[i]);
	if (archive_write_close(tar) != ARCHIVE_OK)
		ret = -1;
	if (ret)
		nrt_error_set(error, NRT_FAILURE, "archive: %s",
			      archive_error_string(tar) ?: "out of memory");
	archive_write_free(tar);
	return ret;
}

static int write_file(struct package *package, struct output *out, struct nrt_error *error)
{
	struct neff_header *header = &package->header;
	bool md5 = le64toh(header->pkg_version) == NEFF_PKG_MD5;
	unsigned int length;

	if (!EVP_DigestInit_ex(out->hash, md5 ? EVP_md5() : EVP_sha256(), NULL)) {
		nrt_error_set(error, NRT_FAILURE, "libcrypto has no %s", md5 ? "MD5" : "SHA-256");
		return -1;
	}
	header->header_size = htole64(sizeof(*header));
	if (fwrite(header, 1, sizeof(*header), out->file) != sizeof(*header))
		goto err;
	if (write_archive(package, out, error))
		return -1;
	memset(header->hash, 0, sizeof(header->hash));
	EVP_DigestFinal_ex(out->hash, header->hash, &length);
	memcpy(header->uuid, header->hash, sizeof(header->uuid));
	header->data_size = htole64(out->size);
	if (!fseek(out->file, 0, SEEK_SET) &&
	    fwrite(header, 1, sizeof(*header), out->file) == sizeof(*header))
		return 0;
err:
	nrt_error_set(error, NRT_FAILURE, "%s", strerror(errno));
	return -1;
}

int package_write(struct package *package, const char *path, struct nrt_error *error)
{
	struct output out = { .hash = EVP_MD_CTX_new() };
	char temp[4096];
	struct stat st;
	int ret = -1;

	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		nrt_error_set(error, NRT_INVALID, "%s: not a regular file", path);
		goto out;
	}
	snprintf(temp, sizeof(temp), "%s.%d", path, getpid());
	out.file = out.hash ? fopen(temp, "wb") : NULL;
	if (!out.file) {
		nrt_error_set(error, NRT_FAILURE, "%s: %s", temp, strerror(errno));
		goto out;
	}
	ret = write_file(package, &out, error);
	if ((fclose(out.file) || (!ret && rename(temp, path))) && !ret) {
		nrt_error_set(error, NRT_FAILURE, "%s: %s", path, strerror(errno));
		ret = -1;
	}
	if (ret)
		unlink(temp);
out:
	EVP_MD_CTX_free(out.hash);
	return ret;
}

struct json_object *package_json(const struct package_member *member, struct nrt_error *error)
{
	const struct neff_file file = {
		.name = member->path, .data = member->data, .size = member->size,
	};
	struct json_object *root;

	return neff_json_parse(&file, &root, error) ? NULL : root;
}

int package_set_text(struct package_member *member, const char *text, struct nrt_error *error)
{
	char *copy = text ? strdup(text) : NULL;

	if (!copy)
		return fail_memory(error);
	free(member->data);
	member->data = (uint8_t *)copy;
	member->size = strlen(copy);
	return 0;
}
