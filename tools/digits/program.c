// SPDX-License-Identifier: MIT
/* The classifier, made of kernels. */
#include <string.h>

#include "neuron_kernels.h"
#include "program.h"

#define FP32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

/* The oldest: what fits there runs on all. */
#define GENERATION	2

/* Weights are constants. */
struct digits_weights {
	struct nk_tensor w1;
	struct nk_tensor b1;	/* a column */
	struct nk_tensor w2;
	struct nk_tensor b2;	/* a row */
};

static struct digits_weights digits_constants(struct nb_program *nb, const struct mlp *model)
{
	int w1 = nb_file(nb, "w1", model->w1, sizeof(model->w1));
	int b1 = nb_file(nb, "b1", model->b1, sizeof(model->b1));
	int w2 = nb_file(nb, "w2", model->w2, sizeof(model->w2));
	int b2 = nb_file(nb, "b2", model->b2, sizeof(model->b2));

	return (struct digits_weights){
		.w1 = nk_tensor(w1, BF16, MLP_INPUTS, MLP_HIDDEN),
		.b1 = nk_tensor(b1, FP32, MLP_HIDDEN, 1),
		.w2 = nk_tensor(w2, BF16, MLP_HIDDEN, MLP_OUTPUTS),
		.b2 = nk_tensor(b2, FP32, 1, MLP_OUTPUTS),
	};
}

static struct nk_tensor digits_input(struct nb_program *nb, const char *name,
				     enum neuron_dtype dtype, uint32_t rows, uint32_t cols)
{
	const uint32_t shape[] = { rows, cols };

	return nk_tensor(nb_input(nb, name, dtype, 2, shape), dtype, rows, cols);
}

static struct nk_tensor digits_output(struct nb_program *nb, const char *name, uint32_t rows,
				      uint32_t cols)
{
	const uint32_t shape[] = { rows, cols };

	return nk_tensor(nb_output(nb, name, FP32, 2, shape), FP32, rows, cols);
}

static struct nk_tensor digits_tmp(struct nb_program *nb, const char *name,
				   enum neuron_dtype dtype, uint32_t rows, uint32_t cols)
{
	const uint64_t size = dtype == FP32 ? 4 : 2;

	return nk_tensor(nb_tmp(nb, name, rows * cols * size), dtype, rows, cols);
}

/*
 * Hidden units are rows and images columns, as the array takes them: neither layer needs a
 * transposition.
 */
static void digits_layers(struct nk *nk, const struct digits_weights *model, struct nk_tensor x,
			  struct nk_tensor logits)
{
	struct nk_tensor sums = digits_tmp(nk->nb, "sums", FP32, MLP_HIDDEN, DIGITS_BATCH);
	struct nk_tensor hidden = digits_tmp(nk->nb, "hidden", BF16, MLP_HIDDEN, DIGITS_BATCH);

	nk_gemm(nk, sums, model->w1, x, NK_A_TRANSPOSED);
	nk_binary(nk, NEURON_ALU_ADD, sums, sums, model->b1);
	nk_activation(nk, NEURON_ACT_RELU, hidden, sums, 1.0f, 0.0f);
	nk_gemm(nk, logits, hidden, model->w2, NK_A_TRANSPOSED);
	nk_binary(nk, NEURON_ALU_ADD, logits, logits, model->b2);
}

/* Each image marks the classes with its largest logit; products with the labels count them. */
static void digits_count(struct nk *nk, struct nk_tensor labels, struct nk_tensor logits,
			 struct nk_tensor confusion)
{
	struct nk_tensor most = digits_tmp(nk->nb, "most", FP32, DIGITS_BATCH, 1);
	struct nk_tensor marks = digits_tmp(nk->nb, "marks", FP32, DIGITS_BATCH, MLP_OUTPUTS);

	nk_reduce(nk, NEURON_ALU_MAX, most, logits);
	nk_binary(nk, NEURON_ALU_IS_EQ, marks, logits, most);
	nk_gemm(nk, confusion, labels, marks, NK_A_TRANSPOSED);
}

struct nb_program *digits_program(const struct mlp *model)
{
	struct nb_program *nb = nb_new("digits-mlp");
	struct nk_tensor x, labels, logits, confusion;
	struct digits_weights weights;
	struct nk nk;

	if (!nb)
		return NULL;
	nb_generation(nb, GENERATION);
	nk_begin(&nk, nb);
	weights = digits_constants(nb, model);
	x = digits_input(nb, "x", BF16, MLP_INPUTS, DIGITS_BATCH);
	labels = digits_input(nb, "labels", FP32, DIGITS_BATCH, MLP_OUTPUTS);
	logits = digits_output(nb, "logits", DIGITS_BATCH, MLP_OUTPUTS);
	confusion = digits_output(nb, "confusion", MLP_OUTPUTS, MLP_OUTPUTS);
	digits_layers(&nk, &weights, x, logits);
	digits_count(&nk, labels, logits, confusion);
	nb_schedule(nb, NULL);
	return nb;
}
