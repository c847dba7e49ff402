/* SPDX-License-Identifier: MIT */
/*
 * The digits network: 64 inputs, 128 ReLU units, 10 logits; bf16 weights, fp32 biases.
 */
#ifndef DIGITS_MLP_H
#define DIGITS_MLP_H

#include <stddef.h>
#include <stdint.h>

#include "bf16.h"
#include "dataset.h"

#define MLP_INPUTS	DIGITS_PIXELS
#define MLP_HIDDEN	128
#define MLP_OUTPUTS	DIGITS_CLASSES

/* Arrays are row-major as declared: w1[k][m] joins input k to hidden unit m. */
struct mlp {
	uint16_t w1[MLP_INPUTS][MLP_HIDDEN];	/* bf16 */
	float b1[MLP_HIDDEN];
	uint16_t w2[MLP_HIDDEN][MLP_OUTPUTS];	/* bf16 */
	float b2[MLP_OUTPUTS];
};

/*
 * The weights file, little-endian:
 *
 *   offset  size    field
 *   0       4       magic "NMLP"
 *   4       4       version, 1
 *   8       4       inputs, 64
 *   12      4       hidden units, 128
 *   16      4       outputs, 10
 *   20      4       reserved, 0
 *   24      8       64-bit FNV-1a of everything from offset 32 on
 *   32      16384   w1
 *   16416   512     b1
 *   16928   2560    w2
 *   19488   40      b2
 */
#define MLP_HEADER_BYTES	32
#define MLP_PAYLOAD_BYTES	(MLP_INPUTS * MLP_HIDDEN * 2 + MLP_HIDDEN * 4 + \
				 MLP_HIDDEN * MLP_OUTPUTS * 2 + MLP_OUTPUTS * 4)
#define MLP_FILE_BYTES		(MLP_HEADER_BYTES + MLP_PAYLOAD_BYTES)

/* The checksum that the weights file carries: equal models have equal hashes. */
uint64_t mlp_hash(const struct mlp *model);

/* Writes the file image of @model. */
void mlp_encode(const struct mlp *model, uint8_t out[MLP_FILE_BYTES]);

/*
 * Reads a file image; @name stands for it in errors. Returns 0, or -EINVAL with @error set
 * for a wrong length, header or checksum and for values that are not finite.
 */
int mlp_decode(struct mlp *model, const uint8_t *data, size_t length, const char *name,
	       struct digits_error *error);

/* Both return 0 or a negative errno with @error set. */
int mlp_load(struct mlp *model, const char *path, struct digits_error *error);
int mlp_save(const struct mlp *model, const char *path, struct digits_error *error);

#endif /* DIGITS_MLP_H */
