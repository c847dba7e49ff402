// SPDX-License-Identifier: MIT
/* The header of a NEFF as JSON. */
#include <endian.h>
#include <json-c/json.h>
#include <string.h>

#include "packager.h"

void printable(char *out, size_t room, const char *text)
{
	size_t i;

	for (i = 0; i + 1 < room && text[i]; i++)
		out[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '.' : text[i];
	out[i] = '\0';
}

static struct json_object *hex_json(const uint8_t *bytes, size_t size)
{
	char text[2 * NEFF_HASH_LEN + 1];
	size_t i;

	for (i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return json_object_new_string(text);
}

static struct json_object *text_json(const void *text, size_t room)
{
	char clean[NEFF_NAME_LEN + 1], copy[NEFF_NAME_LEN + 1] = "";

	memcpy(copy, text, room);
	printable(clean, sizeof(clean), copy);
	return json_object_new_string(clean);
}

static struct json_object *cores_json(const struct neff_header *header)
{
	struct json_object *list = json_object_new_array();
	size_t i, count = NEFF_MAX_NODES;

	while (count && !header->tpb_per_node[count - 1])
		count--;
	for (i = 0; i < count; i++)
		json_object_array_add(list, json_object_new_int(header->tpb_per_node[i]));
	return list;
}

struct json_object *header_json(const struct neff_header *header)
{
	struct json_object *root = json_object_new_object();
	bool md5 = le64toh(header->pkg_version) == NEFF_PKG_MD5;

	json_object_object_add(root, "name", text_json(header->name, sizeof(header->name)));
	json_object_object_add(root, "build_version",
			       text_json(header->build_version, sizeof(header->build_version)));
	json_object_object_add(root, "package_version",
			       json_object_new_uint64(le64toh(header->pkg_version)));
	json_object_object_add(root, "header_size",
			       json_object_new_uint64(le64toh(header->header_size)));
	json_object_object_add(root, "data_size",
			       json_object_new_uint64(le64toh(header->data_size)));
	json_object_object_add(root, "version_major",
			       json_object_new_uint64(le64toh(header->version_major)));
	json_object_object_add(root, "version_minor",
			       json_object_new_uint64(le64toh(header->version_minor)));
	json_object_object_add(root, "num_tpb", json_object_new_int64(le32toh(header->num_tpb)));
	json_object_object_add(root, "requested_tpb",
			       json_object_new_int64(le32toh(header->requested_tpb)));
	json_object_object_add(root, "tpb_per_node", cores_json(header));
	json_object_object_add(root, "lnc_size", json_object_new_int64(le32toh(header->lnc_size)));
	json_object_object_add(root, "feature_bits",
			       json_object_new_uint64(le64toh(header->feature_bits)));
	json_object_object_add(root, "hash", hex_json(header->hash, md5 ? 16 : NEFF_HASH_LEN));
	json_object_object_add(root, "uuid", hex_json(header->uuid, NEFF_UUID_LEN));
	return root;
}

static int wrong(struct nrt_error *error, const char *key, const char *what)
{
	nrt_error_set(error, NRT_INVALID, "header: \"%.64s\" must be %s", key, what);
	return -1;
}

static int set_text(void *out, size_t room, const char *key, struct json_object *value,
		    struct nrt_error *error)
{
	const char *text = json_object_get_string(value);

	if (!json_object_is_type(value, json_type_string) || strlen(text) >= room ||
	    strlen(text) != (size_t)json_object_get_string_len(value))
		return wrong(error, key, "a string that fits into the header");
	memset(out, 0, room);
	memcpy(out, text, strlen(text));
	return 0;
}

static int set_cores(struct neff_header *header, struct json_object *value,
		     struct nrt_error *error)
{
	size_t i, count;

	if (!json_object_is_type(value, json_type_array) ||
	    json_object_array_length(value) > NEFF_MAX_NODES)
		return wrong(error, "tpb_per_node", "a list of at most 64 numbers");
	count = json_object_array_length(value);
	memset(header->tpb_per_node, 0, sizeof(header->tpb_per_node));
	for (i = 0; i < count; i++) {
		struct json_object *number = json_object_array_get_idx(value, i);
		int64_t cores = json_object_get_int64(number);

		if (!json_object_is_type(number, json_type_int) || cores < 0 || cores > UINT8_MAX)
			return wrong(error, "tpb_per_node", "a list of numbers up to 255");
		header->tpb_per_node[i] = (uint8_t)cores;
	}
	return 0;
}

/* Numbers of the header, by key. */
static int set_number(struct neff_header *header, const char *key, uint64_t value)
{
	struct {
		const char *key;
		__le64 *wide;
		__le32 *narrow;
	} fields[] = {
		{ "package_version", &header->pkg_version, NULL },
		{ "version_major", &header->version_major, NULL },
		{ "version_minor", &header->version_minor, NULL },
		{ "feature_bits", &header->feature_bits, NULL },
		{ "num_tpb", NULL, &header->num_tpb },
		{ "requested_tpb", NULL, &header->requested_tpb },
		{ "lnc_size", NULL, &header->lnc_size },
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(key, fields[i].key))
			continue;
		if (fields[i].wide)
			*fields[i].wide = htole64(value);
		else if (value <= UINT32_MAX)
			*fields[i].narrow = htole32((uint32_t)value);
		else
			return -1;
		return 0;
	}
	return -1;
}

int header_set(struct neff_header *header, const char *key, struct json_object *value,
	       struct nrt_error *error)
{
	if (!strcmp(key, "name"))
		return set_text(header->name, sizeof(header->name), key, value, error);
	if (!strcmp(key, "build_version"))
		return set_text(header->build_version, sizeof(header->build_version), key, value,
				error);
	if (!strcmp(key, "tpb_per_node"))
		return set_cores(header, value, error);
	/* These follow from the contents. */
	if (!strcmp(key, "hash") || !strcmp(key, "uuid") || !strcmp(key, "header_size") ||
	    !strcmp(key, "data_size"))
		return 0;
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0 ||
	    set_number(header, key, json_object_get_uint64(value))) {
		nrt_error_set(error, NRT_INVALID,
			      "header: there is no number \"%.64s\" that can be set, or the value does not fit",
			      key);
		return -1;
	}
	return 0;
}
