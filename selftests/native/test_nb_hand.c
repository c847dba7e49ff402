// SPDX-License-Identifier: MIT
/*
 * Programs of the builder against the same ones synchronised by hand (hand_gemm.c, hand_rows.c),
 * in device time, on all generations:
 *
 *	waits	the order by hand, with the waits of nb_auto()
 *	order	a kernel of tools/kernels with nb_auto() and nb_schedule()
 *
 * Both may take 3 % longer. Device times are the same on each host, so this is exact. All three
 * give the same bits, without a race on chips that check.
 */
#include <stdlib.h>
#include <string.h>

#include "hand.h"
#include "nk_rig.h"
#include "rounds.h"

#define LIMIT	1.03
#define EPSILON	0.001f

enum kind {
	GEMM,
	SOFTMAX,
	LAYERNORM,
	GELU,
	ADD,
};

/**
 * struct shape - a kernel
 * @rows, @cols, @terms: of the result; @terms of a product
 * @dtype, @to: of the operands of a product and of its result; all others are fp32
 * @thorough: only with NEURON_TEST_THOROUGH=1
 * @early: of a product by hand, what is best on each generation (struct hand_gemm)
 */
struct shape {
	const char *name;
	enum kind kind;
	uint32_t rows, cols, terms;
	enum neuron_dtype dtype, to;
	bool thorough;
	uint32_t early[3];
};

#define BF16	NEURON_DTYPE_BF16
#define FP16	NEURON_DTYPE_FP16
#define FP32	NEURON_DTYPE_FP32
#define ROWS	FP32, FP32

static const struct shape shapes[] = {
	{ "gemm 256x512x256", GEMM, 256, 512, 256, BF16, FP32, false, { 2, 2, 2 } },
	{ "gemm 512x512x512", GEMM, 512, 512, 512, BF16, BF16, false, { 4, 4, 4 } },
	{ "gemm 512x1024x256", GEMM, 512, 1024, 256, FP16, FP16, false, { 2, 2, 2 } },
	{ "softmax 640x768", SOFTMAX, 640, 768, 0, ROWS, false, { 0 } },
	{ "layernorm 512x512", LAYERNORM, 512, 512, 0, ROWS, false, { 0 } },
	{ "gelu 512x512", GELU, 512, 512, 0, ROWS, false, { 0 } },
	{ "add 512x512", ADD, 512, 512, 0, ROWS, false, { 0 } },
	{ "gemm 1024x1024x512", GEMM, 1024, 1024, 512, BF16, FP32, true, { 4, 3, 4 } },
	{ "gemm 1024x1024x1024", GEMM, 1024, 1024, 1024, BF16, BF16, true, { 4, 4, 4 } },
	{ "softmax 512x512", SOFTMAX, 512, 512, 0, ROWS, true, { 0 } },
	{ "softmax 2048x2048", SOFTMAX, 2048, 2048, 0, ROWS, true, { 0 } },
	{ "layernorm 1024x2048", LAYERNORM, 1024, 2048, 0, ROWS, true, { 0 } },
	{ "gelu 2048x2048", GELU, 2048, 2048, 0, ROWS, true, { 0 } },
	{ "add 2048x2048", ADD, 2048, 2048, 0, ROWS, true, { 0 } },
};

static struct nk_rig rigs[NK_RIGS];

static int begin_rigs(void **state)
{
	(void)state;
	nk_rigs_init(rigs, true);
	return 0;
}

static int end_rigs(void **state)
{
	(void)state;
	nk_rigs_destroy(rigs);
	return 0;
}

/* Tensor 0 is the result. */
static void tensors(struct nk_rig *rig, const struct shape *s)
{
	bool norm = s->kind == LAYERNORM;

	nk_rig_output(rig, s->to, s->rows, s->cols);
	if (s->kind == GEMM) {
		nk_rig_input(rig, s->dtype, s->terms, s->rows, 1.0);
		nk_rig_input(rig, s->dtype, s->terms, s->cols, 1.0);
		return;
	}
	nk_rig_input(rig, s->dtype, s->rows, s->cols, 3.0);
	nk_rig_input(rig, s->dtype, norm ? 1 : s->rows, s->cols, 2.0);
	nk_rig_input(rig, s->dtype, 1, s->cols, 2.0);
}

/* --- The programs --- */

static void program_by_hand(struct nk_rig *rig, const struct shape *s, bool alone)
{
	const uint32_t early = s->early[rig->rig.chip[0]->gen->generation - 2];
	const struct nk_tensor *t = rig->tensor;
	const struct hand_gemm gemm = { s->rows, s->cols, s->terms, early, s->dtype, s->to,
					t[0].var, t[1].var, t[2].var };
	const struct hand_rows rows = { s->rows, s->cols, t[0].var, t[1].var, t[2].var,
					t[3].var };
	struct hand hand;

	hand_begin(&hand, rig->nb, alone);
	switch (s->kind) {
	case GEMM:
		hand_gemm(&hand, &gemm);
		break;
	case SOFTMAX:
		hand_softmax(&hand, &rows);
		break;
	case LAYERNORM:
		hand_layernorm(&hand, &rows, EPSILON);
		break;
	case GELU:
		hand_gelu(&hand, &rows);
		break;
	case ADD:
		hand_add(&hand, &rows);
		break;
	}
	assert_true(hand.next <= HAND_SBUF);
}

static void program_of_kernel(struct nk_rig *rig, const struct shape *s)
{
	const struct nk_tensor *t = rig->tensor;
	struct nk *nk = &rig->nk;

	switch (s->kind) {
	case GEMM:
		nk_gemm(nk, t[0], t[1], t[2], NK_A_TRANSPOSED);
		break;
	case SOFTMAX:
		nk_softmax(nk, t[0], t[1]);
		break;
	case LAYERNORM:
		nk_layernorm(nk, t[0], t[1], &t[2], &t[3], EPSILON);
		break;
	case GELU:
		nk_activation(nk, NEURON_ACT_GELU, t[0], t[1], 1.0f, 0.0f);
		break;
	case ADD:
		nk_binary(nk, NEURON_ALU_ADD, t[0], t[1], t[2]);
		break;
	}
}

/* --- The comparison --- */

/* The result, for the caller to free. */
static double *result(const struct nk_rig *rig, const struct shape *s)
{
	size_t bytes = (size_t)s->rows * s->cols * sizeof(double);
	double *copy = malloc(bytes);

	assert_non_null(copy);
	memcpy(copy, rig->value[0], bytes);
	return copy;
}

static void expect_result(const struct nk_rig *rig, const struct shape *s, const double *wanted,
			  const char *what)
{
	if (memcmp(rig->value[0], wanted, (size_t)s->rows * s->cols * sizeof(double)))
		fail_msg("%s, %s: other bits than by hand", s->name, what);
}

static void expect_time(const struct nk_rig *rig, const struct shape *s, uint64_t hand_ns,
			const char *what)
{
	double ratio = (double)rig->elapsed_ns / hand_ns;
	unsigned int generation = rig->rig.chip[0]->gen->generation;

	print_message("# v%u %-20s %s %8llu ns, by hand %8llu: %.4f\n", generation, s->name, what,
		      (unsigned long long)rig->elapsed_ns, (unsigned long long)hand_ns, ratio);
	if (ratio > LIMIT)
		fail_msg("v%u, %s, %s: %.4f times as long as by hand, allowed are %.2f", generation,
			 s->name, what, ratio, LIMIT);
}

static void try_shape(struct nk_rig *rig, const struct shape *s)
{
	uint64_t hand_ns;
	double *wanted;

	nk_rig_begin_by_hand(rig);
	tensors(rig, s);
	program_by_hand(rig, s, true);
	nk_rig_run(rig, NULL);
	hand_ns = rig->elapsed_ns;
	wanted = result(rig, s);

	nk_rig_begin_by_hand(rig);
	tensors(rig, s);
	program_by_hand(rig, s, false);
	nk_rig_run(rig, NULL);
	expect_result(rig, s, wanted, "waits");
	expect_time(rig, s, hand_ns, "waits");

	nk_rig_begin(rig);
	tensors(rig, s);
	program_of_kernel(rig, s);
	nk_rig_run(rig, &(struct nb_schedule_options){ 0 });
	expect_result(rig, s, wanted, "order");
	expect_time(rig, s, hand_ns, "order");
	free(wanted);
}

static void builder_is_as_fast_as_hands(void **state)
{
	unsigned int g, i;

	(void)state;
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (g = 0; g < NK_RIGS && (rounds_thorough() || !shapes[i].thorough); g++)
			try_shape(&rigs[g], &shapes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builder_is_as_fast_as_hands),
	};

	return cmocka_run_group_tests(tests, begin_rigs, end_rigs);
}
