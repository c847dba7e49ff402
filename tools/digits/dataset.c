// SPDX-License-Identifier: MIT
#include "dataset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "le.h"

#define DIGITS_MAGIC		"NDIG"
#define DIGITS_VERSION		1
#define DIGITS_MAX_FILE		(DIGITS_HEADER_BYTES + \
				 (size_t)DIGITS_MAX_IMAGES * DIGITS_RECORD_BYTES)

static int check_header(const uint8_t *data, size_t length, const char *name,
			struct digits_error *error)
{
	size_t expected;
	uint32_t count;

	if (length < DIGITS_HEADER_BYTES)
		return digits_error_set(error, EINVAL,
					"%s: %zu bytes, too short for a digits header", name,
					length);
	if (memcmp(data, DIGITS_MAGIC, 4))
		return digits_error_set(error, EINVAL, "%s: not a digits file (wrong magic)",
					name);
	if (le32_get(data + 4) != DIGITS_VERSION)
		return digits_error_set(error, EINVAL,
					"%s: digits file version %u, only %d is known", name,
					le32_get(data + 4), DIGITS_VERSION);
	if (le32_get(data + 12) != DIGITS_PIXELS)
		return digits_error_set(error, EINVAL, "%s: %u pixels per image instead of %d",
					name, le32_get(data + 12), DIGITS_PIXELS);

	count = le32_get(data + 8);
	if (!count || count > DIGITS_MAX_IMAGES)
		return digits_error_set(error, EINVAL, "%s: %u images, must be 1 to %d", name,
					count, DIGITS_MAX_IMAGES);

	expected = DIGITS_HEADER_BYTES + (size_t)count * DIGITS_RECORD_BYTES;
	if (length != expected)
		return digits_error_set(error, EINVAL,
					"%s: %s, %zu bytes where %u images take %zu", name,
					length < expected ? "truncated" : "trailing bytes",
					length, count, expected);
	return 0;
}

static int check_record(const uint8_t *record, size_t index, const char *name,
			struct digits_error *error)
{
	int i;

	if (record[0] >= DIGITS_CLASSES)
		return digits_error_set(error, EINVAL, "%s: image %zu has label %u, must be 0 to 9",
					name, index, record[0]);

	for (i = 0; i < DIGITS_PIXELS; i++) {
		if (record[1 + i] > DIGITS_PIXEL_MAX)
			return digits_error_set(error, EINVAL,
						"%s: image %zu pixel %d is %u, must be 0 to %d",
						name, index, i, record[1 + i], DIGITS_PIXEL_MAX);
	}
	return 0;
}

int digits_set_parse(struct digits_set *set, const uint8_t *data, size_t length,
		     const char *name, struct digits_error *error)
{
	const uint8_t *record = data + DIGITS_HEADER_BYTES;
	size_t count, i;
	int ret;

	memset(set, 0, sizeof(*set));
	ret = check_header(data, length, name, error);
	if (ret)
		return ret;

	count = le32_get(data + 8);
	set->labels = malloc(count);
	set->pixels = malloc(count * sizeof(*set->pixels));
	if (!set->labels || !set->pixels) {
		ret = digits_error_set(error, ENOMEM, "%s: no memory for %zu images", name, count);
		goto err_free;
	}

	for (i = 0; i < count; i++, record += DIGITS_RECORD_BYTES) {
		ret = check_record(record, i, name, error);
		if (ret)
			goto err_free;
		set->labels[i] = record[0];
		memcpy(set->pixels[i], record + 1, DIGITS_PIXELS);
	}
	set->count = count;
	return 0;

err_free:
	digits_set_free(set);
	return ret;
}

int digits_set_load(struct digits_set *set, const char *path, struct digits_error *error)
{
	uint8_t *data;
	size_t length;
	int ret;

	memset(set, 0, sizeof(*set));
	ret = digits_file_read(path, DIGITS_MAX_FILE, &data, &length, error);
	if (ret)
		return ret;

	ret = digits_set_parse(set, data, length, path, error);
	free(data);
	return ret;
}

void digits_set_free(struct digits_set *set)
{
	free(set->labels);
	free(set->pixels);
	memset(set, 0, sizeof(*set));
}

void digits_image_bf16(const struct digits_set *set, size_t index, uint16_t out[DIGITS_PIXELS])
{
	int i;

	for (i = 0; i < DIGITS_PIXELS; i++)
		out[i] = bf16_from_float(digits_pixel_value(set->pixels[index][i]));
}
