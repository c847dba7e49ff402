// SPDX-License-Identifier: MIT
/*
 * Kernels against double precision, over many shapes, on all generations, with memory checks. An
 * error is measured against the sum of the magnitudes that make a result; the tolerances are in
 * Documentation/tools/kernels.rst.
 */
#include "nk_rig.h"

#include <math.h>
#include <stdlib.h>

#define TRANSPOSED_A	NK_A_TRANSPOSED
#define TRANSPOSED_B	NK_B_TRANSPOSED

static struct nk_rig rigs[NK_RIGS];

static int begin_rigs(void **state)
{
	(void)state;
	nk_rigs_init(rigs, false);
	return 0;
}

static int end_rigs(void **state)
{
	(void)state;
	nk_rigs_destroy(rigs);
	return 0;
}

static void run(struct nk_rig *rig)
{
	nk_rig_run(rig, &(struct nb_schedule_options){ 0 });
}

/* What rounding to the type may change. */
static double rounding(enum neuron_dtype dtype, double value)
{
	switch (dtype) {
	case NEURON_DTYPE_FP32:
		return fabs(value) * 0x1p-24;
	case NEURON_DTYPE_FP16:
		return fmax(fabs(value) * 0x1p-11, 0x1p-25);
	default:
		return fabs(value) * 0x1p-8;
	}
}

static void expect_near(double got, double wanted, double slack, const char *what, size_t at)
{
	if (!(fabs(got - wanted) <= slack))
		fail_msg("%s, element %zu: %.9g instead of %.9g, allowed are %.3g", what, at, got,
			 wanted, slack);
}

/* --- Products --- */

struct product {
	enum neuron_dtype dtype;
	enum neuron_dtype to;
	uint32_t m, n, k;
	unsigned int flags;
	unsigned int from;	/* generation */
};

static const struct product products[] = {
	{ NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 1, 1, 1, 0, 2 },
	{ NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 5, 3, 7, TRANSPOSED_A, 2 },
	{ NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, 130, 600, 200, 0, 2 },
	{ NEURON_DTYPE_FP32, NEURON_DTYPE_BF16, 33, 65, 129, TRANSPOSED_B, 2 },
	{ NEURON_DTYPE_BF16, NEURON_DTYPE_BF16, 128, 512, 128, TRANSPOSED_A, 2 },
	{ NEURON_DTYPE_BF16, NEURON_DTYPE_FP32, 257, 1030, 300, TRANSPOSED_A, 2 },
	{ NEURON_DTYPE_BF16, NEURON_DTYPE_BF16, 64, 40, 2500, 0, 2 },
	{ NEURON_DTYPE_BF16, NEURON_DTYPE_FP32, 200, 100, 4200, TRANSPOSED_A | TRANSPOSED_B, 2 },
	{ NEURON_DTYPE_FP16, NEURON_DTYPE_FP16, 100, 100, 100, TRANSPOSED_A | TRANSPOSED_B, 2 },
	{ NEURON_DTYPE_FP8_E4, NEURON_DTYPE_FP32, 70, 90, 150, TRANSPOSED_A, 3 },
	{ NEURON_DTYPE_FP8_E5, NEURON_DTYPE_BF16, 70, 90, 150, 0, 3 },
	{ NEURON_DTYPE_FP8_E4FN, NEURON_DTYPE_FP32, 130, 20, 40, TRANSPOSED_B, 4 },
};

static double element(const struct nk_rig *rig, unsigned int i, bool turn, uint32_t row,
		      uint32_t col)
{
	return rig->value[i][turn ? (size_t)col * rig->tensor[i].cols + row :
				    (size_t)row * rig->tensor[i].cols + col];
}

/* Operands are exact in fp32: what is left is one rounding for each term, and the result's. */
static void check_product(const struct nk_rig *rig, const struct product *p)
{
	double sum, size, product;
	uint32_t m, n, k;

	for (m = 0; m < p->m; m++)
		for (n = 0; n < p->n; n++) {
			sum = 0;
			size = 0;
			for (k = 0; k < p->k; k++) {
				product = element(rig, 0, p->flags & TRANSPOSED_A, m, k) *
					  element(rig, 1, p->flags & TRANSPOSED_B, k, n);
				sum += product;
				size += fabs(product);
			}
			expect_near(rig->value[2][(size_t)m * p->n + n], sum,
				    size * 0x1p-22 * sqrt(p->k) + rounding(p->to, sum),
				    "gemm", (size_t)m * p->n + n);
		}
}

static void one_product(struct nk_rig *rig, const struct product *p)
{
	bool ta = p->flags & TRANSPOSED_A, tb = p->flags & TRANSPOSED_B;

	nk_rig_begin(rig);
	nk_rig_input(rig, p->dtype, ta ? p->k : p->m, ta ? p->m : p->k, 2.0);
	nk_rig_input(rig, p->dtype, tb ? p->n : p->k, tb ? p->k : p->n, 2.0);
	nk_rig_output(rig, p->to, p->m, p->n);
	nk_gemm(&rig->nk, rig->tensor[2], rig->tensor[0], rig->tensor[1], p->flags);
	run(rig);
	check_product(rig, p);
}

static void products_are_near(void **state)
{
	unsigned int g, i;

	(void)state;
	for (g = 0; g < NK_RIGS; g++)
		for (i = 0; i < sizeof(products) / sizeof(products[0]); i++)
			if (rigs[g].rig.chip[0]->gen->generation >= products[i].from)
				one_product(&rigs[g], &products[i]);
}

/* --- Rows --- */

struct shape {
	enum neuron_dtype dtype;
	uint32_t rows, cols;
};

static const struct shape shapes[] = {
	{ NEURON_DTYPE_FP32, 1, 1 },	{ NEURON_DTYPE_FP32, 3, 17 },
	{ NEURON_DTYPE_BF16, 128, 64 },	{ NEURON_DTYPE_FP32, 130, 1000 },
	{ NEURON_DTYPE_FP16, 5, 4096 },	{ NEURON_DTYPE_FP32, 2, 4097 },
	{ NEURON_DTYPE_BF16, 2, 9000 },
};

#define SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

static void check_softmax(const struct nk_rig *rig, const struct shape *s)
{
	const double *x = rig->value[0], *y = rig->value[1];
	double most, sum, wanted;
	uint32_t r, c;

	for (r = 0; r < s->rows; r++, x += s->cols, y += s->cols) {
		most = x[0];
		sum = 0;
		for (c = 1; c < s->cols; c++)
			most = fmax(most, x[c]);
		for (c = 0; c < s->cols; c++)
			sum += exp(x[c] - most);
		for (c = 0; c < s->cols; c++) {
			wanted = exp(x[c] - most) / sum;
			expect_near(y[c], wanted, wanted * 1e-5 + rounding(s->dtype, wanted),
				    "softmax", c);
		}
	}
}

static void softmax_is_near(void **state)
{
	unsigned int g, i;

	(void)state;
	for (g = 0; g < NK_RIGS; g++)
		for (i = 0; i < SHAPES; i++) {
			nk_rig_begin(&rigs[g]);
			nk_rig_input(&rigs[g], shapes[i].dtype, shapes[i].rows, shapes[i].cols,
				     6.0);
			nk_rig_output(&rigs[g], shapes[i].dtype, shapes[i].rows, shapes[i].cols);
			nk_softmax(&rigs[g].nk, rigs[g].tensor[1], rigs[g].tensor[0]);
			run(&rigs[g]);
			check_softmax(&rigs[g], &shapes[i]);
		}
}

#define EPSILON	1e-3

static void check_norm(const struct nk_rig *rig, const struct shape *s, bool layer)
{
	const double *x = rig->value[0], *y = rig->value[1], *gamma = rig->value[2];
	const double *beta = rig->value[3];
	double mean, square, wanted, size;
	uint32_t r, c;

	for (r = 0; r < s->rows; r++, x += s->cols, y += s->cols) {
		mean = 0;
		square = 0;
		for (c = 0; layer && c < s->cols; c++)
			mean += x[c] / s->cols;
		for (c = 0; c < s->cols; c++)
			square += (x[c] - mean) * (x[c] - mean) / s->cols;
		for (c = 0; c < s->cols; c++) {
			wanted = (x[c] - mean) / sqrt(square + EPSILON) * gamma[c];
			size = (fabs(x[c]) + fabs(mean)) / sqrt(square + EPSILON) *
			       fabs(gamma[c]);
			if (layer) {
				wanted += beta[c];
				size += fabs(beta[c]);
			}
			expect_near(y[c], wanted,
				    size * 1e-5 + rounding(s->dtype, wanted), "norm", c);
		}
	}
}

static void one_norm(struct nk_rig *rig, const struct shape *s, bool layer)
{
	const struct nk_tensor *t = rig->tensor;

	nk_rig_begin(rig);
	nk_rig_input(rig, s->dtype, s->rows, s->cols, 3.0);
	nk_rig_output(rig, s->dtype, s->rows, s->cols);
	nk_rig_input(rig, s->dtype, 1, s->cols, 2.0);
	nk_rig_input(rig, NEURON_DTYPE_FP32, 1, s->cols, 2.0);
	if (layer)
		nk_layernorm(&rig->nk, t[1], t[0], &t[2], &t[3], EPSILON);
	else
		nk_rmsnorm(&rig->nk, t[1], t[0], &t[2], EPSILON);
	run(rig);
	check_norm(rig, s, layer);
}

static void norms_are_near(void **state)
{
	unsigned int g, i;

	(void)state;
	for (g = 0; g < NK_RIGS; g++)
		for (i = 0; i < SHAPES; i++) {
			one_norm(&rigs[g], &shapes[i], true);
			one_norm(&rigs[g], &shapes[i], false);
		}
}

/* --- Elements --- */

static void one_map(struct nk_rig *rig, const struct shape *s)
{
	const struct nk_tensor *t = rig->tensor;
	uint32_t r, c;
	double sum, size, wanted;
	size_t at;

	nk_rig_begin(rig);
	nk_rig_input(rig, s->dtype, s->rows, s->cols, 3.0);
	nk_rig_input(rig, s->dtype, 1, s->cols, 3.0);
	nk_rig_output(rig, NEURON_DTYPE_FP32, s->rows, s->cols);
	nk_rig_output(rig, s->dtype, s->rows, s->cols);
	nk_rig_output(rig, NEURON_DTYPE_FP32, s->rows, 1);
	nk_rig_output(rig, s->dtype, s->cols, s->rows);
	nk_rig_input(rig, s->dtype, s->rows, 1, 3.0);
	nk_rig_output(rig, s->dtype, s->rows, s->cols);
	nk_activation(&rig->nk, NEURON_ACT_TANH, t[2], t[0], 0.5f, 0.25f);
	nk_binary(&rig->nk, NEURON_ALU_MULTIPLY, t[3], t[0], t[1]);
	nk_reduce(&rig->nk, NEURON_ALU_ADD, t[4], t[0]);
	nk_transpose(&rig->nk, t[5], t[0]);
	nk_binary(&rig->nk, NEURON_ALU_SUBTRACT, t[7], t[0], t[6]);
	run(rig);
	for (r = 0; r < s->rows; r++) {
		sum = 0;
		size = 0;
		for (c = 0; c < s->cols; c++) {
			at = (size_t)r * s->cols + c;
			sum += rig->value[0][at];
			size += fabs(rig->value[0][at]);
			expect_near(rig->value[2][at], tanh(rig->value[0][at] * 0.5 + 0.25), 2e-6,
				    "activation", at);
			wanted = rig->value[0][at] * rig->value[1][c];
			expect_near(rig->value[3][at], wanted,
				    rounding(s->dtype, wanted) * 1.0001, "binary", at);
			wanted = rig->value[0][at] - rig->value[6][r];
			expect_near(rig->value[7][at], wanted,
				    rounding(s->dtype, wanted) * 1.0001, "binary, a column", at);
			expect_near(rig->value[5][(size_t)c * s->rows + r], rig->value[0][at], 0,
				    "transpose", at);
		}
		expect_near(rig->value[4][r], sum, size * 0x1p-23 * sqrt(s->cols), "reduce", r);
	}
}

static void maps_are_near(void **state)
{
	unsigned int g, i;

	(void)state;
	for (g = 0; g < NK_RIGS; g++)
		for (i = 0; i < SHAPES; i++)
			one_map(&rigs[g], &shapes[i]);
}

/* --- Adam --- */

#define ADAM_ROWS	130u
#define ADAM_COLS	2100u

/* Tensors 0 to 3 are a state, 4 is the gradient, 5 to 8 the state behind it: all to the bit. */
static void check_adam(const struct nk_rig *rig, const struct nk_adam *how)
{
	float power1 = (float)rig->value[3][0] * how->beta1;
	float power2 = (float)rig->value[3][1] * how->beta2;
	float rate = sqrtf(1.0f - power2) * (1.0f / (1.0f - power1)) * -how->rate;
	float w, m, v, g;
	size_t i;

	assert_true(rig->value[8][0] == (double)power1 && rig->value[8][1] == (double)power2);
	for (i = 0; i < (size_t)ADAM_ROWS * ADAM_COLS; i++) {
		g = (float)rig->value[4][i];
		m = (float)rig->value[1][i] * how->beta1 + g * (1.0f - how->beta1);
		v = (float)rig->value[2][i] * how->beta2 + g * g * (1.0f - how->beta2);
		w = (float)rig->value[0][i] + m * rate * (1.0f / (sqrtf(v) + how->epsilon));
		expect_near(rig->value[6][i], (double)m, 0, "adam, m", i);
		expect_near(rig->value[7][i], (double)v, 0, "adam, v", i);
		expect_near(rig->value[5][i], (double)w, 0, "adam, w", i);
	}
}

static void one_adam(struct nk_rig *rig)
{
	const struct nk_adam how = { 0.01f, 0.9f, 0.999f, 1e-8f };
	const struct nk_tensor *t = rig->tensor;
	struct nk_adam_state from, to;
	unsigned int i;
	size_t at;

	nk_rig_begin(rig);
	for (i = 0; i < 3; i++)
		nk_rig_input(rig, NEURON_DTYPE_FP32, ADAM_ROWS, ADAM_COLS, 1.0);
	nk_rig_input(rig, NEURON_DTYPE_FP32, 1, 2, 1.0);
	nk_rig_input(rig, NEURON_DTYPE_FP32, ADAM_ROWS, ADAM_COLS, 1.0);
	for (i = 0; i < 3; i++)
		nk_rig_output(rig, NEURON_DTYPE_FP32, ADAM_ROWS, ADAM_COLS);
	nk_rig_output(rig, NEURON_DTYPE_FP32, 1, 2);
	for (at = 0; at < (size_t)ADAM_ROWS * ADAM_COLS; at++)
		rig->value[2][at] = fabs(rig->value[2][at]);
	rig->value[3][0] = 0.75;
	rig->value[3][1] = 0.875;
	from = (struct nk_adam_state){ t[0], t[1], t[2], t[3] };
	to = (struct nk_adam_state){ t[5], t[6], t[7], t[8] };
	nk_adam(&rig->nk, &to, &from, t[4], &how);
	run(rig);
	check_adam(rig, &how);
}

static void adam_is_exact(void **state)
{
	unsigned int g;

	(void)state;
	for (g = 0; g < NK_RIGS; g++)
		one_adam(&rigs[g]);
}

/* --- Mistakes --- */

static void expect_error(struct nk_rig *rig, int result, const char *text)
{
	assert_int_equal(result, -1);
	assert_string_equal(nb_error(rig->nb), text);
	nk_rig_begin(rig);
	nk_rig_input(rig, NEURON_DTYPE_FP32, 4, 6, 1.0);
	nk_rig_input(rig, NEURON_DTYPE_BF16, 6, 5, 1.0);
	nk_rig_output(rig, NEURON_DTYPE_FP32, 4, 5);
}

static void mistakes_have_one_line(void **state)
{
	struct nk_rig *rig = &rigs[1];
	struct nk_tensor *t = rig->tensor;
	struct nk *nk = &rig->nk;

	(void)state;
	nk_rig_begin(rig);
	expect_error(rig, nk_softmax(nk, t[0], (struct nk_tensor){ .var = 77 }),
		     "softmax: Y names no variable");
	expect_error(rig, nk_gemm(nk, t[2], t[0], t[1], 0),
		     "gemm: A and B have different types");
	expect_error(rig, nk_gemm(nk, t[2], t[0], t[2], 0), "gemm: A has 6 terms and B has 4");
	t[1] = (struct nk_tensor){ t[1].var, 0, NEURON_DTYPE_BF16, 3, 1, 0 };
	expect_error(rig, nk_binary(nk, NEURON_ALU_ADD, t[2], t[2], t[1]),
		     "binary: B has 3 rows and Y has 4");
	t[1] = (struct nk_tensor){ t[1].var, 0, NEURON_DTYPE_BF16, 1, 3, 0 };
	expect_error(rig, nk_binary(nk, NEURON_ALU_ADD, t[2], t[2], t[1]),
		     "binary: B has 3 columns and Y has 5");
	expect_error(rig, nk_softmax(nk, t[2], t[0]), "softmax: Y is 4 x 5, but X is 4 x 6");
	expect_error(rig, nk_collective(nk, "scan", NEURON_ALU_ADD, t[2], t[2], 2),
		     "collective: there is no \"scan\"");
	expect_error(rig, nk_collective(nk, "all_reduce", NEURON_ALU_ADD, t[2], t[0], 2),
		     "all_reduce: Y has 20 elements and X 24, of 2 ranks");
	expect_error(rig, nk_collective(nk, "all_reduce", NEURON_ALU_MULTIPLY, t[2], t[2], 2),
		     "all_reduce: the reduction must be add, min or max");
	expect_error(rig, nk_collective(nk, "all_gather", NEURON_ALU_BYPASS, t[2], t[1], 2),
		     "all_gather: Y and X have different types");
	expect_error(rig, nk_collective(nk, "all_reduce", NEURON_ALU_ADD, t[2], t[2], 0),
		     "all_reduce: 0 ranks; allowed are 1 to 256");
	t[2].rows = 3;
	expect_error(rig, nk_collective(nk, "all_reduce", NEURON_ALU_ADD, t[2], t[2], 2),
		     "all_reduce: Y is not the whole of its variable");
	expect_error(rig, nk_adam(nk, &(struct nk_adam_state){ t[2], t[2], t[2], t[2] },
				  &(struct nk_adam_state){ t[2], t[2], t[2], t[2] }, t[0],
				  &(struct nk_adam){ 0 }),
		     "adam: w is 4 x 5 instead of 4 x 6");
	t[0].cols = 7;
	expect_error(rig, nk_reduce(nk, NEURON_ALU_ADD, t[2], t[0]),
		     "reduce: X ends at byte 112 of a variable of 96");
	t[0].dtype = NEURON_DTYPE_INT32;
	expect_error(rig, nk_transpose(nk, t[2], t[0]),
		     "transpose: X has type 8, but kernels take float types");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_near),
		cmocka_unit_test(softmax_is_near),
		cmocka_unit_test(norms_are_near),
		cmocka_unit_test(maps_are_near),
		cmocka_unit_test(adam_is_exact),
		cmocka_unit_test(mistakes_have_one_line),
	};

	return cmocka_run_group_tests(tests, begin_rigs, end_rigs);
}
