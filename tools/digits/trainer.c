// SPDX-License-Identifier: MIT
/*
 * Mini-batch gradient descent with momentum on softmax cross entropy. The learning rate
 * falls linearly to zero over the run.
 */
#include "trainer.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "needs arithmetic without excess precision");

#define BATCH		32
#define LEARNING_RATE	0.08f
#define MOMENTUM	0.9f
#define WEIGHT_DECAY	1e-4f

/* Uniform He initialisation, sqrt(6 / inputs of the layer). */
#define W1_LIMIT	0.30618622f
#define W2_LIMIT	0.21650635f

#define SEED		0x6469676974730001ull

/* Streams of random numbers; an epoch shuffles with STREAM_SHUFFLE + epoch. */
enum stream {
	STREAM_W1,
	STREAM_W2,
	STREAM_SHUFFLE,
};

struct params {
	float w1[MLP_INPUTS][MLP_HIDDEN];
	float b1[MLP_HIDDEN];
	float w2[MLP_HIDDEN][MLP_OUTPUTS];
	float b2[MLP_OUTPUTS];
};

struct trainer {
	struct params value;
	struct params velocity;
	struct params gradient;
	const struct digits_set *set;
	size_t *order;		/* indices of the training images, shuffled each epoch */
	size_t count;
};

/* What one image's forward pass leaves for its backward pass. */
struct pass {
	float x[MLP_INPUTS];
	float hidden[MLP_HIDDEN];
	float probability[MLP_OUTPUTS];
};

/* The finaliser of splitmix64 over a number that names one draw. */
static uint64_t random_bits(uint64_t stream, uint64_t index)
{
	uint64_t z = SEED + (stream << 32) * 0x9e3779b97f4a7c15ull +
		     index * 0xd1342543de82ef95ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static void fill_uniform(float *values, size_t count, enum stream stream, float limit)
{
	float unit;
	size_t i;

	for (i = 0; i < count; i++) {
		/* 24 bits in [-1, 1): exact in fp32. */
		unit = (float)(random_bits(stream, i) >> 40) / 8388608.0f - 1.0f;
		values[i] = unit * limit;
	}
}

void digits_first_weights(float *w1, float *w2)
{
	fill_uniform(w1, MLP_INPUTS * MLP_HIDDEN, STREAM_W1, W1_LIMIT);
	fill_uniform(w2, MLP_HIDDEN * MLP_OUTPUTS, STREAM_W2, W2_LIMIT);
}

void digits_shuffle(size_t *order, size_t count, unsigned int epoch)
{
	size_t i, j, swap;

	for (i = count - 1; i > 0; i--) {
		j = random_bits(STREAM_SHUFFLE + (uint64_t)epoch, i) % (i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
}

/*
 * exp(x) for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, and the Taylor series of exp(r).
 * The error is a few units in the last place, and the same everywhere.
 */
static double exp_nonpositive(double x)
{
	const double ln2_high = 6.93147180369123816490e-01;
	const double ln2_low = 1.90821492927058770002e-10;
	double r, scale, sum = 1.0;
	uint64_t bits;
	int n, i;

	if (x < -700.0)
		return 0.0;

	n = (int)(x * 1.44269504088896338700 - 0.5);
	r = (x - n * ln2_high) - n * ln2_low;
	for (i = 14; i > 0; i--)
		sum = 1.0 + r / i * sum;

	bits = (uint64_t)(1023 + n) << 52;
	memcpy(&scale, &bits, sizeof(scale));
	return sum * scale;
}

static void softmax(const float logits[MLP_OUTPUTS], float probability[MLP_OUTPUTS])
{
	double e[MLP_OUTPUTS], sum = 0.0;
	float max = logits[0];
	int n;

	for (n = 1; n < MLP_OUTPUTS; n++) {
		if (logits[n] > max)
			max = logits[n];
	}
	for (n = 0; n < MLP_OUTPUTS; n++) {
		e[n] = exp_nonpositive((double)logits[n] - (double)max);
		sum += e[n];
	}
	for (n = 0; n < MLP_OUTPUTS; n++)
		probability[n] = (float)(e[n] / sum);
}

static void forward(const struct params *p, const uint8_t pixels[DIGITS_PIXELS],
		    struct pass *pass)
{
	float logits[MLP_OUTPUTS];
	int k, m, n;

	memcpy(pass->hidden, p->b1, sizeof(pass->hidden));
	for (k = 0; k < MLP_INPUTS; k++) {
		pass->x[k] = digits_pixel_value(pixels[k]);
		for (m = 0; m < MLP_HIDDEN; m++)
			pass->hidden[m] += p->w1[k][m] * pass->x[k];
	}

	memcpy(logits, p->b2, sizeof(logits));
	for (m = 0; m < MLP_HIDDEN; m++) {
		pass->hidden[m] = pass->hidden[m] > 0.0f ? pass->hidden[m] : 0.0f;
		for (n = 0; n < MLP_OUTPUTS; n++)
			logits[n] += p->w2[m][n] * pass->hidden[m];
	}
	softmax(logits, pass->probability);
}

static void backward(const struct params *p, const struct pass *pass, uint8_t label,
		     struct params *gradient)
{
	float error[MLP_OUTPUTS], hidden_error[MLP_HIDDEN];
	int k, m, n;

	for (n = 0; n < MLP_OUTPUTS; n++) {
		error[n] = pass->probability[n] - (n == label ? 1.0f : 0.0f);
		gradient->b2[n] += error[n];
	}

	for (m = 0; m < MLP_HIDDEN; m++) {
		hidden_error[m] = 0.0f;
		if (!(pass->hidden[m] > 0.0f))
			continue;
		for (n = 0; n < MLP_OUTPUTS; n++) {
			gradient->w2[m][n] += pass->hidden[m] * error[n];
			hidden_error[m] += p->w2[m][n] * error[n];
		}
		gradient->b1[m] += hidden_error[m];
	}

	for (k = 0; k < MLP_INPUTS; k++) {
		for (m = 0; m < MLP_HIDDEN; m++)
			gradient->w1[k][m] += pass->x[k] * hidden_error[m];
	}
}

static void step(float *value, float *velocity, const float *gradient, size_t count,
		 float rate, float decay, float batch)
{
	size_t i;

	for (i = 0; i < count; i++) {
		velocity[i] = velocity[i] * MOMENTUM -
			      rate * (gradient[i] / batch + decay * value[i]);
		value[i] += velocity[i];
	}
}

static void update(struct trainer *t, size_t batch, float rate)
{
	float n = (float)batch;

	step(t->value.w1[0], t->velocity.w1[0], t->gradient.w1[0], MLP_INPUTS * MLP_HIDDEN,
	     rate, WEIGHT_DECAY, n);
	step(t->value.b1, t->velocity.b1, t->gradient.b1, MLP_HIDDEN, rate, 0.0f, n);
	step(t->value.w2[0], t->velocity.w2[0], t->gradient.w2[0], MLP_HIDDEN * MLP_OUTPUTS,
	     rate, WEIGHT_DECAY, n);
	step(t->value.b2, t->velocity.b2, t->gradient.b2, MLP_OUTPUTS, rate, 0.0f, n);
}

static int best_class(const float probability[MLP_OUTPUTS])
{
	int n, best = 0;

	for (n = 1; n < MLP_OUTPUTS; n++) {
		if (probability[n] > probability[best])
			best = n;
	}
	return best;
}

static void train_batch(struct trainer *t, size_t first, size_t batch, float rate,
			struct digits_epoch *result)
{
	struct pass pass;
	uint8_t label;
	size_t i, image;

	memset(&t->gradient, 0, sizeof(t->gradient));
	for (i = first; i < first + batch; i++) {
		image = t->order[i];
		label = t->set->labels[image];
		forward(&t->value, t->set->pixels[image], &pass);
		backward(&t->value, &pass, label, &t->gradient);
		result->correct += best_class(pass.probability) == label;
		result->confidence += (double)pass.probability[label];
	}
	update(t, batch, rate);
}

static void train_epoch(struct trainer *t, struct digits_epoch *result)
{
	float left = (float)(result->epochs - result->epoch + 1) / (float)result->epochs;
	size_t first, batch;

	digits_shuffle(t->order, t->count, result->epoch);
	for (first = 0; first < t->count; first += batch) {
		batch = t->count - first < BATCH ? t->count - first : BATCH;
		train_batch(t, first, batch, LEARNING_RATE * left, result);
	}
	result->confidence /= (double)t->count;
}

static void round_weights(const struct params *p, struct mlp *model)
{
	int k, m, n;

	for (k = 0; k < MLP_INPUTS; k++) {
		for (m = 0; m < MLP_HIDDEN; m++)
			model->w1[k][m] = bf16_from_float(p->w1[k][m]);
	}
	for (m = 0; m < MLP_HIDDEN; m++) {
		for (n = 0; n < MLP_OUTPUTS; n++)
			model->w2[m][n] = bf16_from_float(p->w2[m][n]);
	}
	memcpy(model->b1, p->b1, sizeof(model->b1));
	memcpy(model->b2, p->b2, sizeof(model->b2));
}

static struct trainer *trainer_new(const struct digits_set *set)
{
	struct trainer *t = calloc(1, sizeof(*t));
	size_t i;

	if (!t)
		return NULL;

	t->order = calloc(set->count, sizeof(*t->order));
	if (!t->order) {
		free(t);
		return NULL;
	}

	t->set = set;
	for (i = 0; i < set->count; i++) {
		if (!digits_held_out(i))
			t->order[t->count++] = i;
	}
	digits_first_weights(t->value.w1[0], t->value.w2[0]);
	return t;
}

static void trainer_free(struct trainer *t)
{
	free(t->order);
	free(t);
}

int digits_train(const struct digits_set *set, unsigned int epochs, digits_epoch_fn progress,
		 void *arg, struct mlp *model, struct digits_error *error)
{
	struct digits_epoch result;
	struct trainer *t;
	unsigned int epoch;

	if (!epochs || !set->count)
		return digits_error_set(error, EINVAL,
					"training needs at least one epoch and one image");

	t = trainer_new(set);
	if (!t)
		return digits_error_set(error, ENOMEM, "no memory to train");

	for (epoch = 1; epoch <= epochs; epoch++) {
		result = (struct digits_epoch) {
			.epoch = epoch, .epochs = epochs, .count = t->count,
		};
		train_epoch(t, &result);
		if (progress)
			progress(&result, arg);
	}

	round_weights(&t->value, model);
	trainer_free(t);
	return 0;
}
