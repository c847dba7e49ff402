// SPDX-License-Identifier: MIT
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Wider intermediates would round differently; the build also forbids contraction. */
_Static_assert(FLT_EVAL_METHOD == 0, "needs fp32 arithmetic without excess precision");

/* Scale of the activation instruction that applies the bias and the ReLU. */
#define RELU_SCALE	1.0f

static void layer1(const struct mlp *model, const uint16_t x[MLP_INPUTS],
		   uint16_t hidden[MLP_HIDDEN])
{
	float acc, scaled, t;
	int k, m;

	for (m = 0; m < MLP_HIDDEN; m++) {
		acc = 0.0f;
		for (k = 0; k < MLP_INPUTS; k++)
			acc = fmaf(bf16_to_float(model->w1[k][m]), bf16_to_float(x[k]), acc);
		scaled = acc * RELU_SCALE;
		t = scaled + model->b1[m];
		hidden[m] = bf16_from_float(t > 0.0f ? t : 0.0f);
	}
}

static void layer2(const struct mlp *model, const uint16_t hidden[MLP_HIDDEN],
		   float logits[MLP_OUTPUTS])
{
	float acc;
	int k, n;

	for (n = 0; n < MLP_OUTPUTS; n++) {
		acc = 0.0f;
		for (k = 0; k < MLP_HIDDEN; k++)
			acc = fmaf(bf16_to_float(hidden[k]), bf16_to_float(model->w2[k][n]), acc);
		logits[n] = acc + model->b2[n];
	}
}

void digits_ref_logits(const struct mlp *model, const uint16_t (*x)[MLP_INPUTS], size_t count,
		       float (*logits)[MLP_OUTPUTS])
{
	uint16_t hidden[MLP_HIDDEN];
	size_t i;

	for (i = 0; i < count; i++) {
		layer1(model, x[i], hidden);
		layer2(model, hidden, logits[i]);
	}
}

static float largest(const float logits[MLP_OUTPUTS])
{
	float max = logits[0];
	int n;

	for (n = 1; n < MLP_OUTPUTS; n++) {
		if (logits[n] > max)
			max = logits[n];
	}
	return max;
}

void digits_ref_confusion(const float (*logits)[MLP_OUTPUTS], const uint8_t *labels,
			  size_t count, float confusion[MLP_OUTPUTS][MLP_OUTPUTS])
{
	float max;
	size_t i;
	int n;

	for (i = 0; i < count; i++) {
		max = largest(logits[i]);
		for (n = 0; n < MLP_OUTPUTS; n++) {
			if (logits[i][n] == max)
				confusion[labels[i]][n] += 1.0f;
		}
	}
}

static bool is_correct(const float logits[MLP_OUTPUTS], uint8_t label)
{
	int n;

	for (n = 0; n < MLP_OUTPUTS; n++) {
		if (n != label && !(logits[label] > logits[n]))
			return false;
	}
	return true;
}

size_t digits_ref_correct(const float (*logits)[MLP_OUTPUTS], const uint8_t *labels,
			  size_t count)
{
	size_t correct = 0;
	size_t i;

	for (i = 0; i < count; i++)
		correct += is_correct(logits[i], labels[i]);
	return correct;
}
