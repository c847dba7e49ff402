// SPDX-License-Identifier: MIT
#include "mlp.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "le.h"

#define MLP_MAGIC	"NMLP"
#define MLP_VERSION	1

#define FNV_OFFSET	0xcbf29ce484222325ull
#define FNV_PRIME	0x100000001b3ull

static uint64_t fnv1a(const uint8_t *data, size_t length)
{
	uint64_t hash = FNV_OFFSET;
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ data[i]) * FNV_PRIME;
	return hash;
}

static uint8_t *put_bf16(uint8_t *out, const uint16_t *values, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++, out += 2)
		le16_put(out, values[i]);
	return out;
}

static uint8_t *put_fp32(uint8_t *out, const float *values, size_t count)
{
	uint32_t bits;
	size_t i;

	for (i = 0; i < count; i++, out += 4) {
		memcpy(&bits, &values[i], sizeof(bits));
		le32_put(out, bits);
	}
	return out;
}

/* The readers return NULL when they meet an infinity or a NaN. */
static const uint8_t *get_bf16(const uint8_t *in, uint16_t *values, size_t count)
{
	size_t i;

	for (i = 0; in && i < count; i++, in += 2) {
		values[i] = le16_get(in);
		if ((values[i] & 0x7f80u) == 0x7f80u)
			return NULL;
	}
	return in;
}

static const uint8_t *get_fp32(const uint8_t *in, float *values, size_t count)
{
	uint32_t bits;
	size_t i;

	for (i = 0; in && i < count; i++, in += 4) {
		bits = le32_get(in);
		if ((bits & 0x7f800000u) == 0x7f800000u)
			return NULL;
		memcpy(&values[i], &bits, sizeof(bits));
	}
	return in;
}

static void put_payload(const struct mlp *model, uint8_t *out)
{
	out = put_bf16(out, model->w1[0], MLP_INPUTS * MLP_HIDDEN);
	out = put_fp32(out, model->b1, MLP_HIDDEN);
	out = put_bf16(out, model->w2[0], MLP_HIDDEN * MLP_OUTPUTS);
	put_fp32(out, model->b2, MLP_OUTPUTS);
}

static bool get_payload(struct mlp *model, const uint8_t *in)
{
	in = get_bf16(in, model->w1[0], MLP_INPUTS * MLP_HIDDEN);
	in = get_fp32(in, model->b1, MLP_HIDDEN);
	in = get_bf16(in, model->w2[0], MLP_HIDDEN * MLP_OUTPUTS);
	return get_fp32(in, model->b2, MLP_OUTPUTS);
}

uint64_t mlp_hash(const struct mlp *model)
{
	uint8_t payload[MLP_PAYLOAD_BYTES];

	put_payload(model, payload);
	return fnv1a(payload, sizeof(payload));
}

void mlp_encode(const struct mlp *model, uint8_t out[MLP_FILE_BYTES])
{
	put_payload(model, out + MLP_HEADER_BYTES);
	memcpy(out, MLP_MAGIC, 4);
	le32_put(out + 4, MLP_VERSION);
	le32_put(out + 8, MLP_INPUTS);
	le32_put(out + 12, MLP_HIDDEN);
	le32_put(out + 16, MLP_OUTPUTS);
	le32_put(out + 20, 0);
	le64_put(out + 24, fnv1a(out + MLP_HEADER_BYTES, MLP_PAYLOAD_BYTES));
}

static int check_header(const uint8_t *data, size_t length, const char *name,
			struct digits_error *error)
{
	if (length < MLP_HEADER_BYTES || memcmp(data, MLP_MAGIC, 4))
		return digits_error_set(error, EINVAL, "%s: not a weights file (wrong magic)",
					name);
	if (le32_get(data + 4) != MLP_VERSION)
		return digits_error_set(error, EINVAL,
					"%s: weights file version %u, only %d is known", name,
					le32_get(data + 4), MLP_VERSION);
	if (le32_get(data + 8) != MLP_INPUTS || le32_get(data + 12) != MLP_HIDDEN ||
	    le32_get(data + 16) != MLP_OUTPUTS || le32_get(data + 20))
		return digits_error_set(error, EINVAL, "%s: a %u-%u-%u network instead of %d-%d-%d",
					name, le32_get(data + 8), le32_get(data + 12),
					le32_get(data + 16), MLP_INPUTS, MLP_HIDDEN, MLP_OUTPUTS);
	if (length != MLP_FILE_BYTES)
		return digits_error_set(error, EINVAL, "%s: %zu bytes instead of %d", name,
					length, MLP_FILE_BYTES);
	if (le64_get(data + 24) != fnv1a(data + MLP_HEADER_BYTES, MLP_PAYLOAD_BYTES))
		return digits_error_set(error, EINVAL,
					"%s: wrong checksum, make it again with digits-train",
					name);
	return 0;
}

int mlp_decode(struct mlp *model, const uint8_t *data, size_t length, const char *name,
	       struct digits_error *error)
{
	int ret = check_header(data, length, name, error);

	if (ret)
		return ret;
	if (!get_payload(model, data + MLP_HEADER_BYTES))
		return digits_error_set(error, EINVAL, "%s: a weight is not a finite number",
					name);
	return 0;
}

int mlp_load(struct mlp *model, const char *path, struct digits_error *error)
{
	uint8_t *data;
	size_t length;
	int ret;

	ret = digits_file_read(path, MLP_FILE_BYTES, &data, &length, error);
	if (ret)
		return ret;

	ret = mlp_decode(model, data, length, path, error);
	free(data);
	return ret;
}

int mlp_save(const struct mlp *model, const char *path, struct digits_error *error)
{
	uint8_t data[MLP_FILE_BYTES];

	mlp_encode(model, data);
	return digits_file_write(path, data, sizeof(data), error);
}
