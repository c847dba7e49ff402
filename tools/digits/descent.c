// SPDX-License-Identifier: MIT
#include "descent.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer.h"

_Static_assert(FLT_EVAL_METHOD == 0, "needs arithmetic without excess precision");

/* Terms that the array adds up at a time. */
#define TERMS	128

/**
 * struct pass - numbers of a batch
 * @hidden, @hidden_error: [128, count]
 * @probability, @error: [count, 10]
 * @logits: [count, 10]
 */
struct pass {
	const struct digits_batch *batch;
	float *hidden;
	float *hidden_error;
	float *logits;
	float *probability;
	float *error;
};

/* An operand: element (row or column, term) is at [i * step + term * term_step]. */
struct operand {
	const float *at;
	size_t step;
	size_t term_step;
};

static float chain(const float *a, size_t a_step, const float *b, size_t b_step, size_t terms)
{
	float sum = 0.0f;
	size_t k;

	for (k = 0; k < terms; k++)
		sum = fmaf(a[k * a_step], b[k * b_step], sum);
	return sum;
}

static float dot(const float *a, size_t a_step, const float *b, size_t b_step, size_t terms)
{
	float sum = chain(a, a_step, b, b_step, terms < TERMS ? terms : TERMS);
	size_t k;

	for (k = TERMS; k < terms; k += TERMS)
		sum += chain(a + k * a_step, a_step, b + k * b_step, b_step,
			     terms - k < TERMS ? terms - k : TERMS);
	return sum;
}

static void multiply(float *c, size_t rows, size_t cols, struct operand a, struct operand b,
		     size_t terms)
{
	size_t i, j;

	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++)
			c[i * cols + j] = dot(a.at + i * a.step, a.term_step, b.at + j * b.step,
					      b.term_step, terms);
}

/* Of the rows of a matrix with @cols columns: the columns are terms. And the other way round. */
static struct operand rows_of(const float *at, size_t cols)
{
	return (struct operand){ at, cols, 1 };
}

static struct operand columns_of(const float *at, size_t cols)
{
	return (struct operand){ at, 1, cols };
}

/* --- A batch --- */

void digits_batch_fill(const struct digits_set *set, const size_t *image, size_t count, float *x,
		       float *labels)
{
	size_t i, k;

	memset(labels, 0, count * MLP_OUTPUTS * sizeof(*labels));
	for (i = 0; i < count; i++) {
		for (k = 0; k < MLP_INPUTS; k++)
			x[k * count + i] = digits_pixel_value(set->pixels[image[i]][k]);
		labels[i * MLP_OUTPUTS + set->labels[image[i]]] = 1.0f;
	}
}

static int begin_pass(struct pass *pass, const struct digits_batch *batch)
{
	const size_t count = batch->count;

	*pass = (struct pass){ .batch = batch };
	pass->hidden = calloc(count * (2 * MLP_HIDDEN + 3 * MLP_OUTPUTS), sizeof(float));
	if (!pass->hidden)
		return -ENOMEM;
	pass->hidden_error = pass->hidden + count * MLP_HIDDEN;
	pass->logits = pass->hidden_error + count * MLP_HIDDEN;
	pass->probability = pass->logits + count * MLP_OUTPUTS;
	pass->error = pass->probability + count * MLP_OUTPUTS;
	return 0;
}

static float largest(const float logits[MLP_OUTPUTS])
{
	float most = logits[0];
	int n;

	for (n = 1; n < MLP_OUTPUTS; n++)
		most = logits[n] > most ? logits[n] : most;
	return most;
}

static void softmax(const float logits[MLP_OUTPUTS], float probability[MLP_OUTPUTS])
{
	float minus_most = -largest(logits), sum;
	int n;

	for (n = 0; n < MLP_OUTPUTS; n++)
		probability[n] = (float)exp((double)(logits[n] + minus_most));
	sum = probability[0];
	for (n = 1; n < MLP_OUTPUTS; n++)
		sum += probability[n];
	sum = 1.0f / sum;
	for (n = 0; n < MLP_OUTPUTS; n++)
		probability[n] *= sum;
}

static void forward(const float *state, struct pass *pass)
{
	const size_t count = pass->batch->count;
	size_t i, m;
	float sum;

	multiply(pass->hidden, MLP_HIDDEN, count, columns_of(state + STEP_W1, MLP_HIDDEN),
		 columns_of(pass->batch->x, count), MLP_INPUTS);
	for (m = 0; m < MLP_HIDDEN; m++)
		for (i = 0; i < count; i++) {
			sum = pass->hidden[m * count + i] + state[STEP_B1 + m];
			pass->hidden[m * count + i] = sum > 0.0f ? sum : 0.0f;
		}
	multiply(pass->logits, count, MLP_OUTPUTS, columns_of(pass->hidden, count),
		 columns_of(state + STEP_W2, MLP_OUTPUTS), MLP_HIDDEN);
	for (i = 0; i < count; i++) {
		for (m = 0; m < MLP_OUTPUTS; m++)
			pass->logits[i * MLP_OUTPUTS + m] += state[STEP_B2 + m];
		softmax(pass->logits + i * MLP_OUTPUTS, pass->probability + i * MLP_OUTPUTS);
	}
}

static unsigned int label_of(const struct pass *pass, size_t image)
{
	const float *labels = pass->batch->labels + image * MLP_OUTPUTS;
	unsigned int n = 0;

	while (n < MLP_OUTPUTS - 1 && labels[n] == 0.0f)
		n++;
	return n;
}

/* The sum of the logarithms is a product with ones. */
static float loss_of(const struct pass *pass, size_t all)
{
	const size_t count = pass->batch->count;
	float sum = 0.0f, part = 0.0f, p;
	size_t i;

	for (i = 0; i < count; i++) {
		p = pass->probability[i * MLP_OUTPUTS + label_of(pass, i)];
		part = fmaf(1.0f, (float)log((double)p), part);
		if ((i + 1) % TERMS && i + 1 < count)
			continue;
		sum = i < TERMS ? part : sum + part;
		part = 0.0f;
	}
	return sum * (-1.0f / (float)all) + 0.0f;
}

/* --- A step --- */

static void output_error(struct pass *pass, size_t all)
{
	const size_t values = pass->batch->count * MLP_OUTPUTS;
	size_t i;

	for (i = 0; i < values; i++)
		pass->error[i] = (pass->probability[i] - pass->batch->labels[i]) *
				 (1.0f / (float)all) + 0.0f;
}

static void hidden_error(const float *state, struct pass *pass, float *b1)
{
	const size_t count = pass->batch->count;
	float *error = pass->hidden_error;
	size_t i, m;

	multiply(error, MLP_HIDDEN, count, rows_of(state + STEP_W2, MLP_OUTPUTS),
		 rows_of(pass->error, MLP_OUTPUTS), MLP_OUTPUTS);
	for (m = 0; m < MLP_HIDDEN; m++, error += count) {
		for (i = 0; i < count; i++)
			error[i] *= pass->hidden[m * count + i] > 0.0f ? 1.0f : 0.0f;
		b1[m] = error[0];
		for (i = 1; i < count; i++)
			b1[m] += error[i];
	}
}

int digits_descent_gradient(const float state[STEP_STATE], const struct digits_batch *batch,
			    size_t all, float gradient[STEP_SUM])
{
	const size_t count = batch->count;
	const float one = 1.0f;
	struct pass pass;
	int ret;

	ret = begin_pass(&pass, batch);
	if (ret)
		return ret;
	memset(gradient, 0, STEP_SUM * sizeof(*gradient));
	forward(state, &pass);
	gradient[STEP_LOSS] = loss_of(&pass, all);
	output_error(&pass, all);
	multiply(gradient + STEP_W2, MLP_HIDDEN, MLP_OUTPUTS, rows_of(pass.hidden, count),
		 columns_of(pass.error, MLP_OUTPUTS), count);
	multiply(gradient + STEP_B2, 1, MLP_OUTPUTS, (struct operand){ &one, 0, 0 },
		 columns_of(pass.error, MLP_OUTPUTS), count);
	hidden_error(state, &pass, gradient + STEP_B1);
	multiply(gradient + STEP_W1, MLP_INPUTS, MLP_HIDDEN, rows_of(batch->x, count),
		 rows_of(pass.hidden_error, count), count);
	free(pass.hidden);
	return 0;
}

void digits_descent_update(float state[STEP_STATE], const float sum[STEP_SUM])
{
	float *w = state, *m = state + STEP_M, *v = state + STEP_V, *power = state + STEP_POWER;
	float rate, square;
	size_t i;

	power[0] *= STEP_BETA1;
	power[1] *= STEP_BETA2;
	rate = sqrtf(1.0f - power[1]) * (1.0f / (1.0f - power[0])) * -STEP_RATE;
	for (i = 0; i < STEP_VALUES; i++) {
		square = sum[i] * sum[i];
		m[i] = m[i] * STEP_BETA1 + sum[i] * (1.0f - STEP_BETA1);
		v[i] = v[i] * STEP_BETA2 + square * (1.0f - STEP_BETA2);
		w[i] += m[i] * rate * (1.0f / (sqrtf(v[i]) + STEP_EPSILON));
	}
}

void digits_descent_begin(float state[STEP_STATE])
{
	memset(state, 0, STEP_STATE * sizeof(*state));
	digits_first_weights(state + STEP_W1, state + STEP_W2);
	state[STEP_POWER] = 1.0f;
	state[STEP_POWER + 1] = 1.0f;
}

int digits_descent_step(float state[STEP_STATE], const struct digits_batch *batch,
			unsigned int ranks, digits_sum_fn *sum, void *arg, float *loss)
{
	float *parts = malloc((ranks + 1) * STEP_SUM * sizeof(*parts)), *total;
	const float **part = calloc(ranks, sizeof(*part));
	unsigned int i;
	int ret = -ENOMEM;

	if (!parts || !part)
		goto out;
	for (i = 0; i < ranks; i++) {
		part[i] = parts + (size_t)i * STEP_SUM;
		ret = digits_descent_gradient(state, &batch[i], ranks * batch->count,
					      parts + (size_t)i * STEP_SUM);
		if (ret)
			goto out;
	}
	total = ranks > 1 ? parts + (size_t)ranks * STEP_SUM : parts;
	if (ranks > 1 && sum(arg, ranks, part, total)) {
		ret = -EIO;
		goto out;
	}
	digits_descent_update(state, total);
	*loss = total[STEP_LOSS];
out:
	free(part);
	free(parts);
	return ret;
}

int digits_descent_score(const float state[STEP_STATE], const struct digits_batch *batch,
			 float score[2])
{
	const float *logits;
	struct pass pass;
	size_t i;
	int ret;

	ret = begin_pass(&pass, batch);
	if (ret)
		return ret;
	forward(state, &pass);
	score[0] = loss_of(&pass, batch->count);
	score[1] = 0.0f;
	for (i = 0; i < batch->count; i++) {
		logits = pass.logits + i * MLP_OUTPUTS;
		score[1] += logits[label_of(&pass, i)] == largest(logits) ? 1.0f : 0.0f;
	}
	free(pass.hidden);
	return 0;
}
