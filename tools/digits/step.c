// SPDX-License-Identifier: MIT
/* The device programs of training, made of kernels. */
#include <stdlib.h>

#include "neuron_kernels.h"
#include "step.h"

#define FP32	NEURON_DTYPE_FP32

/* The oldest: what fits there runs on all. */
#define GENERATION	2

/**
 * struct step - a program under work
 * @images: of the rank
 * @x, @labels: inputs
 * @state: the variable
 * @hidden: [128, images], behind the rectifier
 * @logits, @probability: [images, 10]
 * @ones: [images, 1]
 */
struct step {
	struct nk nk;
	uint32_t images;
	struct nk_tensor x;
	struct nk_tensor labels;
	int state;
	struct nk_tensor hidden;
	struct nk_tensor logits;
	struct nk_tensor probability;
	struct nk_tensor ones;
};

/* --- Tensors --- */

/* @rows x @cols numbers from number @first of a variable on. */
static struct nk_tensor part(int var, uint32_t first, uint32_t rows, uint32_t cols)
{
	struct nk_tensor t = nk_tensor(var, FP32, rows, cols);

	t.offset = first * sizeof(float);
	return t;
}

static struct nk_tensor scratch(struct step *s, const char *name, uint32_t rows, uint32_t cols)
{
	int var = nb_tmp(s->nk.nb, name, (uint64_t)rows * cols * sizeof(float));

	return nk_tensor(var, FP32, rows, cols);
}

static struct nk_tensor output(struct step *s, const char *name, uint32_t cols)
{
	return nk_tensor(nb_output(s->nk.nb, name, FP32, 1, &cols), FP32, 1, cols);
}

static struct nk_tensor ones(struct step *s)
{
	float *values = malloc(s->images * sizeof(*values));
	uint32_t i;
	int var;

	if (!values) {
		nb_set_error(s->nk.nb, "out of memory");
		return (struct nk_tensor){ 0 };
	}
	for (i = 0; i < s->images; i++)
		values[i] = 1.0f;
	var = nb_file(s->nk.nb, "ones", values, s->images * sizeof(*values));
	free(values);
	return nk_tensor(var, FP32, s->images, 1);
}

/* --- Both programs --- */

static struct nb_program *begin(struct step *s, const char *name, uint32_t images)
{
	const uint32_t x[] = { MLP_INPUTS, images }, labels[] = { images, MLP_OUTPUTS };
	const uint32_t state[] = { STEP_STATE };
	struct nb_program *nb = nb_new(name);

	if (!nb)
		return NULL;
	nb_generation(nb, GENERATION);
	nk_begin(&s->nk, nb);
	s->images = images;
	s->state = nb_input(nb, "state", FP32, 1, state);
	s->x = nk_tensor(nb_input(nb, "x", FP32, 2, x), FP32, MLP_INPUTS, images);
	s->labels = nk_tensor(nb_input(nb, "labels", FP32, 2, labels), FP32, images, MLP_OUTPUTS);
	s->hidden = scratch(s, "hidden", MLP_HIDDEN, images);
	s->logits = scratch(s, "logits", images, MLP_OUTPUTS);
	s->probability = scratch(s, "probability", images, MLP_OUTPUTS);
	s->ones = ones(s);
	return nb;
}

/* Hidden units are rows and images columns, as the array takes them. */
static void forward(struct step *s)
{
	struct nk_tensor w1 = part(s->state, STEP_W1, MLP_INPUTS, MLP_HIDDEN);
	struct nk_tensor b1 = part(s->state, STEP_B1, MLP_HIDDEN, 1);
	struct nk_tensor w2 = part(s->state, STEP_W2, MLP_HIDDEN, MLP_OUTPUTS);
	struct nk_tensor b2 = part(s->state, STEP_B2, 1, MLP_OUTPUTS);

	nk_gemm(&s->nk, s->hidden, w1, s->x, NK_A_TRANSPOSED);
	nk_binary(&s->nk, NEURON_ALU_ADD, s->hidden, s->hidden, b1);
	nk_activation(&s->nk, NEURON_ACT_RELU, s->hidden, s->hidden, 1.0f, 0.0f);
	nk_gemm(&s->nk, s->logits, s->hidden, w2, NK_A_TRANSPOSED);
	nk_binary(&s->nk, NEURON_ALU_ADD, s->logits, s->logits, b2);
	nk_softmax(&s->nk, s->probability, s->logits);
}

/* @loss [1, 1] = the sum of the logarithms of the labels' probabilities, divided by minus @all. */
static void find_loss(struct step *s, struct nk_tensor loss, uint32_t all)
{
	struct nk_tensor of_label = scratch(s, "of_label", s->images, MLP_OUTPUTS);
	struct nk_tensor logarithm = scratch(s, "logarithm", s->images, 1);

	nk_binary(&s->nk, NEURON_ALU_MULTIPLY, of_label, s->probability, s->labels);
	nk_reduce(&s->nk, NEURON_ALU_ADD, logarithm, of_label);
	nk_activation(&s->nk, NEURON_ACT_LOG, logarithm, logarithm, 1.0f, 0.0f);
	nk_gemm(&s->nk, loss, s->ones, logarithm, NK_A_TRANSPOSED);
	nk_activation(&s->nk, NEURON_ACT_IDENTITY, loss, loss, -1.0f / (float)all, 0.0f);
}

/* --- A step --- */

/* Behind the parameters @gradient has numbers that nobody computes, and all are added up. */
static void fill_rest(struct step *s, int gradient)
{
	static const float zeros[STEP_VALUES - STEP_PARAMETERS];
	int from = nb_file(s->nk.nb, "zeros", zeros, sizeof(zeros));

	nb_dma(s->nk.nb, s->nk.out,
	       nb_linear(gradient, STEP_PARAMETERS * sizeof(float), sizeof(zeros)),
	       nb_linear(from, 0, sizeof(zeros)), -1);
}

/* From the outputs back to the inputs; @all images share the loss. */
static void backward(struct step *s, int gradient, uint32_t all)
{
	struct nk_tensor w2 = part(s->state, STEP_W2, MLP_HIDDEN, MLP_OUTPUTS);
	struct nk_tensor error = scratch(s, "error", s->images, MLP_OUTPUTS);
	struct nk_tensor hidden_error = scratch(s, "hidden_error", MLP_HIDDEN, s->images);
	struct nk_tensor active = scratch(s, "active", MLP_HIDDEN, s->images);

	nk_binary(&s->nk, NEURON_ALU_SUBTRACT, error, s->probability, s->labels);
	nk_activation(&s->nk, NEURON_ACT_IDENTITY, error, error, 1.0f / (float)all, 0.0f);
	nk_gemm(&s->nk, part(gradient, STEP_W2, MLP_HIDDEN, MLP_OUTPUTS), s->hidden, error, 0);
	nk_gemm(&s->nk, part(gradient, STEP_B2, 1, MLP_OUTPUTS), s->ones, error, NK_A_TRANSPOSED);

	nk_gemm(&s->nk, hidden_error, w2, error, NK_B_TRANSPOSED);
	nk_activation(&s->nk, NEURON_ACT_SIGN, active, s->hidden, 1.0f, 0.0f);
	nk_binary(&s->nk, NEURON_ALU_MULTIPLY, hidden_error, hidden_error, active);
	nk_gemm(&s->nk, part(gradient, STEP_W1, MLP_INPUTS, MLP_HIDDEN), s->x, hidden_error,
		NK_B_TRANSPOSED);
	nk_reduce(&s->nk, NEURON_ALU_ADD, part(gradient, STEP_B1, MLP_HIDDEN, 1), hidden_error);
}

static struct nk_adam_state adam_state(int var)
{
	return (struct nk_adam_state){
		.w = part(var, 0, STEP_ROWS, STEP_COLS),
		.m = part(var, STEP_M, STEP_ROWS, STEP_COLS),
		.v = part(var, STEP_V, STEP_ROWS, STEP_COLS),
		.power = part(var, STEP_POWER, 1, 2),
	};
}

static void update(struct step *s, int next, int sum)
{
	const struct nk_adam adam = { STEP_RATE, STEP_BETA1, STEP_BETA2, STEP_EPSILON };
	struct nk_adam_state from = adam_state(s->state), to = adam_state(next);

	nk_adam(&s->nk, &to, &from, part(sum, 0, STEP_ROWS, STEP_COLS), &adam);
}

struct nb_program *digits_step_program(unsigned int ranks, unsigned int images)
{
	struct nk_tensor gradient, sum, next, loss;
	struct step s = { 0 };
	struct nb_program *nb = begin(&s, "digits-step", images);

	if (!nb)
		return NULL;
	next = output(&s, "next", STEP_STATE);
	loss = output(&s, "loss", 1);
	gradient = scratch(&s, "gradient", 1, STEP_SUM);
	sum = scratch(&s, "sum", 1, STEP_SUM);
	forward(&s);
	find_loss(&s, part(gradient.var, STEP_LOSS, 1, 1), ranks * images);
	backward(&s, gradient.var, ranks * images);
	fill_rest(&s, gradient.var);
	nk_collective(&s.nk, "all_reduce", NEURON_ALU_ADD, sum, gradient, ranks);
	update(&s, next.var, sum.var);
	nb_dma(nb, s.nk.out, nb_linear(loss.var, 0, sizeof(float)),
	       nb_linear(sum.var, STEP_LOSS * sizeof(float), sizeof(float)), -1);
	nb_schedule(nb, NULL);
	return nb;
}

/* --- A score --- */

/* Each image marks the classes with its largest logit; those that are its label count. */
static void count_correct(struct step *s, struct nk_tensor correct)
{
	struct nk_tensor most = scratch(s, "most", s->images, 1);
	struct nk_tensor marks = scratch(s, "marks", s->images, MLP_OUTPUTS);
	struct nk_tensor hits = scratch(s, "hits", s->images, 1);

	nk_reduce(&s->nk, NEURON_ALU_MAX, most, s->logits);
	nk_binary(&s->nk, NEURON_ALU_IS_EQ, marks, s->logits, most);
	nk_binary(&s->nk, NEURON_ALU_MULTIPLY, marks, marks, s->labels);
	nk_reduce(&s->nk, NEURON_ALU_ADD, hits, marks);
	nk_gemm(&s->nk, correct, s->ones, hits, NK_A_TRANSPOSED);
}

struct nb_program *digits_score_program(unsigned int images)
{
	struct nk_tensor score;
	struct step s = { 0 };
	struct nb_program *nb = begin(&s, "digits-score", images);

	if (!nb)
		return NULL;
	score = output(&s, "score", 2);
	forward(&s);
	find_loss(&s, part(score.var, 0, 1, 1), images);
	count_correct(&s, part(score.var, 1, 1, 1));
	nb_schedule(nb, NULL);
	return nb;
}
