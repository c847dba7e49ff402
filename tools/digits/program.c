// SPDX-License-Identifier: MIT
/* The classifier as five engine streams. */
#include <string.h>

#include "program.h"

#define TENSOR	NEURON_ENGINE_TENSOR
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define SYNC	NEURON_ENGINE_SYNC
#define FP32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

#define PIXELS	64
#define HIDDEN	128
#define CLASSES	10

/* Bytes of a partition of SBUF, by what lies there. */
enum {
	SB_W1 = 0,				/* [64][128] bf16 */
	SB_B1 = SB_W1 + HIDDEN * 2,		/* [128][1] fp32 */
	SB_W2 = SB_B1 + 4,			/* [128][10] bf16 */
	SB_B2 = SB_W2 + CLASSES * 2,		/* [128][10] fp32, rows alike */
	SB_X = 1024,				/* [64][BATCH] bf16 */
	SB_LABELS = SB_X + DIGITS_BATCH * 2,	/* TILES x [128][10] fp32 */
	SB_H = SB_LABELS + DIGITS_TILES * 64,	/* 2 x [128][128] bf16 */
	SB_LOGITS = SB_H + 2 * DIGITS_TILE * 2,	/* TILES x [128][10] fp32 */
	SB_MAX = SB_LOGITS + DIGITS_TILES * 64,	/* [128][1] fp32 */
	SB_HOT = SB_MAX + 64,			/* TILES x [128][10] fp32 */
	SB_COUNTS = SB_HOT + DIGITS_TILES * 64,	/* [10][10] fp32 */
};

/* Byte offsets in a partition of PSUM: a bank of 2 KiB each. */
enum {
	PS_H = 0,				/* 2 banks: [128][128] */
	PS_LOGITS = 2 * 2048,			/* 2 banks: [128][10] */
	PS_COUNTS = 4 * 2048,			/* [10][10] */
};

struct digits_sems {
	int weights;	/* 4: all weights are in SBUF */
	int x;		/* 1: the images are in SBUF */
	int labels;	/* tiles of labels in SBUF */
	int hidden;	/* tiles whose hidden layer is in PSUM */
	int relu;	/* tiles whose hidden layer is in SBUF */
	int logits;	/* tiles whose logits are in PSUM */
	int hot;	/* tiles whose logits and predictions are in SBUF */
	int counted;	/* tiles added to the confusion matrix */
	int counts;	/* 1: the confusion matrix is in SBUF */
};

static void digits_make_sems(struct nb_program *nb, struct digits_sems *s)
{
	s->weights = nb_sem(nb, false);
	s->x = nb_sem(nb, false);
	s->labels = nb_sem(nb, false);
	s->hidden = nb_sem(nb, false);
	s->relu = nb_sem(nb, false);
	s->logits = nb_sem(nb, false);
	s->hot = nb_sem(nb, false);
	s->counted = nb_sem(nb, false);
	s->counts = nb_sem(nb, false);
}

static void digits_load_weights(struct nb_program *nb, int queue,
				const struct mlp *model, int sem)
{
	float b2[HIDDEN][CLASSES];
	int w1, b1, w2, bias2;
	unsigned int i;

	for (i = 0; i < HIDDEN; i++)
		memcpy(b2[i], model->b2, sizeof(b2[i]));
	w1 = nb_file(nb, "w1", model->w1, sizeof(model->w1));
	b1 = nb_file(nb, "b1", model->b1, sizeof(model->b1));
	w2 = nb_file(nb, "w2", model->w2, sizeof(model->w2));
	bias2 = nb_file(nb, "b2", b2, sizeof(b2));
	nb_dma(nb, queue, nb_sbuf_tile(nb, 0, PIXELS, SB_W1, HIDDEN * 2),
	       nb_linear(w1, 0, sizeof(model->w1)), sem);
	nb_dma(nb, queue, nb_sbuf_tile(nb, 0, HIDDEN, SB_B1, 4),
	       nb_linear(b1, 0, sizeof(model->b1)), sem);
	nb_dma(nb, queue, nb_sbuf_tile(nb, 0, HIDDEN, SB_W2, CLASSES * 2),
	       nb_linear(w2, 0, sizeof(model->w2)), sem);
	nb_dma(nb, queue, nb_sbuf_tile(nb, 0, HIDDEN, SB_B2, CLASSES * 4),
	       nb_linear(bias2, 0, sizeof(b2)), sem);
}

static void digits_load_inputs(struct nb_program *nb, int queue,
			       const struct digits_sems *s)
{
	const uint32_t x_shape[] = { PIXELS, DIGITS_BATCH };
	const uint32_t label_shape[] = { DIGITS_BATCH, CLASSES };
	const uint32_t tile_bytes = DIGITS_TILE * CLASSES * 4;
	int x = nb_input(nb, "x", BF16, 2, x_shape);
	int labels = nb_input(nb, "labels", FP32, 2, label_shape);
	unsigned int t;

	nb_dma(nb, queue, nb_sbuf_tile(nb, 0, PIXELS, SB_X, DIGITS_BATCH * 2),
	       nb_linear(x, 0, PIXELS * DIGITS_BATCH * 2), s->x);
	for (t = 0; t < DIGITS_TILES; t++)
		nb_dma(nb, queue,
		       nb_sbuf_tile(nb, 0, DIGITS_TILE, SB_LABELS + t * 64,
				    CLASSES * 4),
		       nb_linear(labels, t * tile_bytes, tile_bytes),
		       s->labels);
}

static void digits_store_outputs(struct nb_program *nb, int queue,
				 const struct digits_sems *s)
{
	const uint32_t logit_shape[] = { DIGITS_BATCH, CLASSES };
	const uint32_t count_shape[] = { CLASSES, CLASSES };
	const uint32_t tile_bytes = DIGITS_TILE * CLASSES * 4;
	int logits = nb_output(nb, "logits", FP32, 2, logit_shape);
	int counts = nb_output(nb, "confusion", FP32, 2, count_shape);
	unsigned int t;

	for (t = 0; t < DIGITS_TILES; t++)
		nb_wait(nb_dma(nb, queue,
			       nb_linear(logits, t * tile_bytes, tile_bytes),
			       nb_sbuf_tile(nb, 0, DIGITS_TILE,
					    SB_LOGITS + t * 64, CLASSES * 4),
			       -1),
			s->hot, t + 1);
	nb_wait(nb_dma(nb, queue, nb_linear(counts, 0, CLASSES * CLASSES * 4),
		       nb_sbuf_tile(nb, 0, CLASSES, SB_COUNTS, CLASSES * 4),
		       -1),
		s->counts, 1);
}

static void digits_tensor_tile(struct nb_program *nb,
			       const struct digits_sems *s, unsigned int t)
{
	const unsigned int odd = t & 1;

	/* Hidden layer: [hidden][image], so that the bias is a column. */
	nb_load_stationary(nb, nb_tile(0, PIXELS, SB_W1, BF16, HIDDEN));
	nb_post(nb_matmul(nb, nb_psum_tile(0, HIDDEN, PS_H + odd * 2048, FP32,
					   DIGITS_TILE),
			  nb_tile(0, PIXELS, SB_X + t * DIGITS_TILE * 2, BF16,
				  DIGITS_TILE), false),
		s->hidden, 1);
	/* Logits: [image][class]. */
	nb_wait(nb_load_stationary(nb, nb_tile(0, HIDDEN,
					       SB_H + odd * DIGITS_TILE * 2,
					       BF16, DIGITS_TILE)),
		s->relu, t + 1);
	nb_post(nb_matmul(nb, nb_psum_tile(0, DIGITS_TILE,
					   PS_LOGITS + odd * 2048, FP32,
					   CLASSES),
			  nb_tile(0, HIDDEN, SB_W2, BF16, CLASSES), false),
		s->logits, 1);
	/* Confusion: labels^T predictions, summed over the tiles in PSUM. */
	nb_wait(nb_nop(nb, TENSOR), s->labels, t + 1);
	nb_wait(nb_load_stationary(nb, nb_tile(0, DIGITS_TILE,
					       SB_LABELS + t * 64, FP32,
					       CLASSES)),
		s->hot, t + 1);
	nb_post(nb_matmul(nb, nb_psum_tile(0, CLASSES, PS_COUNTS, FP32,
					   CLASSES),
			  nb_tile(0, DIGITS_TILE, SB_HOT + t * 64, FP32,
				  CLASSES), t > 0),
		s->counted, 1);
}

static void digits_scalar_tile(struct nb_program *nb,
			       const struct digits_sems *s, unsigned int t)
{
	const unsigned int odd = t & 1;

	nb_post(nb_wait(nb_activate(nb, NEURON_ACT_RELU,
				    nb_tile(0, HIDDEN,
					    SB_H + odd * DIGITS_TILE * 2, BF16,
					    DIGITS_TILE),
				    nb_psum_tile(0, HIDDEN, PS_H + odd * 2048,
						 FP32, DIGITS_TILE),
				    1.0f, nb_tile(0, HIDDEN, SB_B1, FP32, 1)),
			s->hidden, t + 1),
		s->relu, 1);
}

static void digits_vector_tile(struct nb_program *nb,
			       const struct digits_sems *s, unsigned int t)
{
	const unsigned int odd = t & 1;
	struct neuron_ap logits = nb_tile(0, DIGITS_TILE, SB_LOGITS + t * 64,
					  FP32, CLASSES);
	struct neuron_ap max = nb_tile(0, DIGITS_TILE, SB_MAX, FP32, 1);

	nb_wait(nb_tensor_tensor(nb, VECTOR, NEURON_ALU_ADD, logits,
				 nb_psum_tile(0, DIGITS_TILE,
					      PS_LOGITS + odd * 2048, FP32,
					      CLASSES),
				 nb_tile(0, DIGITS_TILE, SB_B2, FP32, CLASSES)),
		s->logits, t + 1);
	nb_reduce(nb, VECTOR, NEURON_ALU_MAX, max, logits);
	nb_post(nb_tensor_column(nb, VECTOR, NEURON_ALU_IS_EQ,
				 nb_tile(0, DIGITS_TILE, SB_HOT + t * 64, FP32,
					 CLASSES), logits, max),
		s->hot, 1);
}

struct nb_program *digits_program(const struct mlp *model)
{
	struct nb_program *nb = nb_new("digits-mlp");
	struct digits_sems s;
	unsigned int t;
	int in, out;

	if (!nb)
		return NULL;
	digits_make_sems(nb, &s);
	in = nb_queue(nb, "q_in", "in", SYNC, 1);
	out = nb_queue(nb, "q_out", "out", SYNC, 1);
	digits_load_weights(nb, in, model, s.weights);
	digits_load_inputs(nb, in, &s);
	digits_store_outputs(nb, out, &s);

	nb_wait(nb_nop(nb, TENSOR), s.weights, 4);
	nb_wait(nb_nop(nb, TENSOR), s.x, 1);
	for (t = 0; t < DIGITS_TILES; t++) {
		digits_tensor_tile(nb, &s, t);
		digits_scalar_tile(nb, &s, t);
		digits_vector_tile(nb, &s, t);
	}
	nb_post(nb_wait(nb_copy(nb, VECTOR,
				nb_tile(0, CLASSES, SB_COUNTS, FP32, CLASSES),
				nb_psum_tile(0, CLASSES, PS_COUNTS, FP32,
					     CLASSES)),
			s.counted, DIGITS_TILES),
		s.counts, 1);
	nb_halt(nb, TENSOR);
	nb_halt(nb, VECTOR);
	nb_halt(nb, SCALAR);
	nb_halt(nb, SYNC);
	return nb;
}
