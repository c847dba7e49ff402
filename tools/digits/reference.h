/* SPDX-License-Identifier: MIT */
/*
 * What the device must compute for the digits network, bit for bit.
 *
 * Layer 1, per image and hidden unit m (bf16 operands widened to fp32):
 *	acc = +0; for k = 0..63 ascending: acc = fma(w1[k][m], x[k], acc)
 *	t = acc * 1.0f + b1[m], the product and the sum each rounded to fp32
 *	h[m] = t > 0 ? t : +0, rounded to bf16 (nearest even)
 * Layer 2, per image and class n:
 *	acc = +0; for k = 0..127 ascending: acc = fma(h[k], w2[k][n], acc)
 *	logit[n] = acc + b2[n], rounded to fp32
 * Prediction: every class whose logit equals the largest of the image's ten, so a tie marks
 * more than one.
 *
 * One matmul covers each layer and overwrites PSUM, hence no further add after the chain.
 */
#ifndef DIGITS_REFERENCE_H
#define DIGITS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "mlp.h"

/* Logits of @count images, x[i] as digits_image_bf16() makes it. Thread safe. */
void digits_ref_logits(const struct mlp *model, const uint16_t (*x)[MLP_INPUTS], size_t count,
		       float (*logits)[MLP_OUTPUTS]);

/*
 * Adds @count images to @confusion[label][predicted class]; the caller zeroes it first. Counts
 * are exact up to 2^24 per cell. With a tie one image counts in several columns.
 */
void digits_ref_confusion(const float (*logits)[MLP_OUTPUTS], const uint8_t *labels,
			  size_t count, float confusion[MLP_OUTPUTS][MLP_OUTPUTS]);

/* Number of images whose label's logit is larger than all others: a tie is not correct. */
size_t digits_ref_correct(const float (*logits)[MLP_OUTPUTS], const uint8_t *labels,
			  size_t count);

#endif /* DIGITS_REFERENCE_H */
