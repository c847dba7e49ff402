// SPDX-License-Identifier: MIT
/*
 * Each emitter of the builder: the instruction is what the assembler makes of the line beside it,
 * or the program has the error that stands there.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_rig.h"
#include "chip/isa/trn_isa.h"

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))
/* Between the parts of a long line. */
#define AND		", "
#define THEN		" "
#define VECTOR		NEURON_ENGINE_VECTOR
#define SCALAR		NEURON_ENGINE_SCALAR
#define GPSIMD		NEURON_ENGINE_GPSIMD
#define TENSOR		NEURON_ENGINE_TENSOR
#define SYNC		NEURON_ENGINE_SYNC
#define RESET_REDUCE	NEURON_REDUCE_RESET_REDUCE

#define F(at, n)	nb_tile(0, 32, at, NEURON_DTYPE_FP32, n)
#define B(at, n)	nb_tile(0, 32, at, NEURON_DTYPE_BF16, n)
#define T(at, type, n)	nb_tile(0, 32, at, NEURON_DTYPE_##type, n)
#define P(at, n)	nb_psum_tile(0, 32, at, NEURON_DTYPE_FP32, n)
#define ALU(name)	NEURON_ALU_##name
#define WITH(...)	(&(const struct nb_with){ __VA_ARGS__ })
#define NUM(x)		nb_number(x)
#define NONE		nb_none()
#define COL(tile)	nb_column(tile)
#define AFFINE(o, m, ...) (&(const struct nb_affine){ .offset = o, .multiplier = m, \
						      .step = { __VA_ARGS__ } })
#define MX(d, s, r)	(&(const struct nb_mx){ .data = d, .scales = s, .row = r })

/* What the next emission must be, the last instruction of the stream. */
static void is_line(struct nb_program *nb, enum neuron_engine e, const char *line)
{
	const char *error = nb_error(nb);
	struct nb_program *other;
	struct neuron_inst want, got;
	char source[1024], text[TRN_ISA_TEXT_MAX];

	if (error)
		fail_msg("%s: %s", line, error);
	snprintf(source, sizeof(source), ".tmp a 64\n.queue q data %s 3\n.engine %s\n%s\nhalt\n",
		 trn_isa_engine_name(e), trn_isa_engine_name(e), line);
	other = as_good(source);
	want = *nb_inst(other, e, 0);
	got = *nb_inst(nb, e, nb_here(nb, e) - 1);
	nb_free(other);
	want.debug = got.debug;
	if (!memcmp(&want, &got, sizeof(want)))
		return;
	trn_isa_format(text, sizeof(text), &got);
	fail_msg("%s\ninstead of\n%s", text, line);
}

/* One emission in a program of its own. */
#define EMITS(engine, line, call) do {					\
		struct nb_program *nb = nb_new("one");			\
									\
		call;							\
		is_line(nb, engine, line);				\
		nb_free(nb);						\
	} while (0)

static void has_error(struct nb_program *nb, const char *text)
{
	void *data;
	size_t size;

	assert_int_equal(nb_pack(nb, &data, &size), -1);
	if (strcmp(nb_error(nb), text))
		fail_msg("%s\ninstead of\n%s", nb_error(nb), text);
}

#define REFUSES(call, text) do {					\
		struct nb_program *nb = nb_new("one");			\
									\
		call;							\
		has_error(nb, text);					\
		nb_free(nb);						\
	} while (0)

static void vector_engine(void **state)
{
	static const uint8_t mask[NEURON_INST_MASK] = { 1, 0, 255 };
	struct neuron_ap places = T(0x200, UINT32, 8);

	(void)state;
	EMITS(VECTOR, "tensor_tensor.max sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 64 : 8 bf16]" AND
	      "psum[0:32, 0 : 8 fp32]",
	      nb_tensor_tensor(nb, VECTOR, ALU(MAX), F(0, 8), B(64, 8), P(0, 8)));
	EMITS(VECTOR, "tensor_scalar.multiply.add sbuf[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 0 : 8 fp32], 2, 1",
	      nb_tensor_scalar(nb, VECTOR, F(0, 8), F(0, 8), ALU(MULTIPLY), 2, ALU(ADD), 1));
	EMITS(VECTOR, "tensor_scalar.abs sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 0 : 8 fp32]",
	      nb_tensor_scalar(nb, VECTOR, F(0, 8), F(0, 8), ALU(ABS), 2, ALU(BYPASS), 1));
	EMITS(VECTOR, "tensor_scalar.shift_left sbuf[0:32, 0 : 8 int32]" AND
	      "sbuf[0:32, 0 : 8 int32], 3",
	      nb_tensor_scalar(nb, VECTOR, T(0, INT32, 8), T(0, INT32, 8), ALU(SHIFT_LEFT), 3,
			       ALU(BYPASS), 0));
	EMITS(VECTOR, "tensor_scalar.subtract.max sbuf[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 128 : 1 fp32], sbuf[0:32, 132 : 1 fp32] rev0",
	      nb_tensor_scalar_any(nb, VECTOR, F(0, 8), F(0, 8), ALU(SUBTRACT), COL(F(128, 1)),
				   ALU(MAX), COL(F(132, 1)), WITH(.reverse0 = true)));
	EMITS(VECTOR, "tensor_scalar.add sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 128 : 1 fp32]",
	      nb_tensor_column(nb, VECTOR, ALU(ADD), F(0, 8), F(0, 8), F(128, 1)));
	EMITS(VECTOR, "acc_read sbuf[0:32, 128 : 1 fp32] neg",
	      nb_tensor_scalar_reduce(nb, F(0, 8), F(0, 8), ALU(ADD), NUM(1), ALU(MAX), F(128, 1),
				      true));
	EMITS(VECTOR, "tensor_scalar.add sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 0 : 8 fp32], 1" THEN
	      "reduce max load_reduce 0.5",
	      nb_tensor_scalar_any(nb, VECTOR, F(0, 8), F(0, 8), ALU(ADD), NUM(1), ALU(BYPASS),
				   NONE,
				   WITH(.reduce_op = ALU(MAX), .reduce_start = 0.5f,
					.reduce = NEURON_REDUCE_LOAD_REDUCE)));
	EMITS(VECTOR, "tensor_cumulative.multiply sbuf[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 32 : 8 fp32], 0.5 reduce add reset_reduce",
	      nb_tensor_scalar_cumulative(nb, F(0, 8), F(32, 8), ALU(MULTIPLY), NUM(0.5f),
					  WITH(.reduce_op = ALU(ADD), .reduce = RESET_REDUCE)));
	EMITS(VECTOR, "scalar_tensor_tensor.multiply.subtract sbuf[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 0 : 8 bf16], sbuf[0:32, 128 : 1 bf16], psum[0:32, 0 : 8 fp32] rev1",
	      nb_scalar_tensor_tensor(nb, F(0, 8), B(0, 8), ALU(MULTIPLY), COL(B(128, 1)),
				      ALU(SUBTRACT), P(0, 8), WITH(.reverse1 = true)));
	EMITS(VECTOR, "tensor_scan.multiply.add sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 32 : 8 fp32]" AND
	      "sbuf[0:32, 64 : 8 fp32], 1",
	      nb_tensor_tensor_scan(nb, F(0, 8), F(32, 8), F(64, 8), NUM(1), ALU(MULTIPLY),
				    ALU(ADD), NULL));
	EMITS(VECTOR, "tensor_reduce.min sbuf[0:32, 0 : 1 fp32], sbuf[0:32, 64 : 2*4 fp32], 2 neg",
	      nb_tensor_reduce(nb, VECTOR, ALU(MIN), F(0, 1), nb_dim(F(64, 4), 1, 2, 4), 2,
			       WITH(.negate = true)));
	EMITS(VECTOR, "tensor_reduce.add sbuf[0:32, 0 : 1 fp32], sbuf[0:32, 64 : 4 fp32], 1",
	      nb_reduce(nb, VECTOR, ALU(ADD), F(0, 1), F(64, 4)));
	EMITS(VECTOR, "copy sbuf[0:32, 0 : 8 bf16], psum[0:32, 0 : 8 fp32]",
	      nb_tensor_copy(nb, VECTOR, B(0, 8), P(0, 8)));
	EMITS(GPSIMD, "copy sbuf[0:32, 0 : 8 int64], sbuf[0:32, 64 : 8 int64]",
	      nb_copy(nb, GPSIMD, T(0, INT64, 8), T(64, INT64, 8)));
	EMITS(VECTOR, "copy_predicated sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 32 : 8 fp32]" AND
	      "sbuf[0:32, 64 : 8 uint8] rev0",
	      nb_tensor_copy_predicated(nb, F(0, 8), F(32, 8), T(64, UINT8, 8),
					WITH(.reverse0 = true)));
	EMITS(VECTOR, "copy_predicated sbuf[0:32, 0 : 8 int16], -3, sbuf[0:32, 64 : 8 uint8]",
	      nb_fill_predicated(nb, T(0, INT16, 8), -3, T(64, UINT8, 8), NULL));
	EMITS(VECTOR, "memset sbuf[0:32, 0 : 8 bf16], 1.5", nb_memset(nb, VECTOR, B(0, 8), 1.5));
	EMITS(GPSIMD, "memset sbuf[0:32, 0 : 8 int32], -7",
	      nb_memset(nb, GPSIMD, T(0, INT32, 8), -7));
	EMITS(VECTOR, "reciprocal sbuf[0:32, 0 : 8 fp32], psum[0:32, 0 : 8 fp32]",
	      nb_reciprocal(nb, F(0, 8), P(0, 8)));
	EMITS(VECTOR, "exponential sbuf[0:32, 0 : 8 bf16], psum[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 128 : 1 fp32] reduce add reset_reduce",
	      nb_exponential(nb, B(0, 8), P(0, 8), COL(F(128, 1)),
			     WITH(.reduce_op = ALU(ADD), .reduce = RESET_REDUCE)));
	EMITS(VECTOR, "bn_stats sbuf[0:32, 0 : 6 fp32], sbuf[0:32, 64 : 9 bf16]",
	      nb_bn_stats(nb, F(0, 6), B(64, 9)));
	EMITS(VECTOR, "bn_aggr sbuf[0:32, 0 : 2 fp32], sbuf[0:32, 64 : 12 fp32]",
	      nb_bn_aggr(nb, F(0, 2), F(64, 12)));
	EMITS(VECTOR, "range_select.is_ge.is_lt sbuf[0:32, 0 : 8 fp32], psum[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 128 : 1 fp32], 7, -5 reduce max reset_reduce",
	      nb_range_select(nb, F(0, 8), P(0, 8), ALU(IS_GE), COL(F(128, 1)), ALU(IS_LT), NUM(7),
			      -5, WITH(.reduce_op = ALU(MAX), .reduce = RESET_REDUCE)));
	EMITS(VECTOR, "select_reduce sbuf[0:32, 0 : 8 bf16], sbuf[0:32, 32 : 8 bf16], -1" AND
	      "sbuf[0:32, 64 : 8 uint8]",
	      nb_select_reduce(nb, B(0, 8), B(32, 8), NUM(-1), T(64, UINT8, 8), NULL));
	EMITS(VECTOR, "max8 sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 64 : 10 bf16]",
	      nb_max8(nb, F(0, 8), B(64, 10)));
	EMITS(VECTOR, "find_index8 sbuf[0:32, 0 : 8 uint32], sbuf[0:32, 64 : 10 bf16]" AND
	      "sbuf[0:32, 32 : 8 fp32]",
	      nb_nc_find_index8(nb, T(0, UINT32, 8), B(64, 10), F(32, 8)));
	EMITS(VECTOR, "match_replace8 sbuf[0:32, 0 : 10 fp32], sbuf[0:32, 64 : 10 fp32]" AND
	      "sbuf[0:32, 128 : 8 fp32], -1, sbuf[0:32, 0x200 : 8 uint32]",
	      nb_nc_match_replace8(nb, F(0, 10), F(64, 10), F(128, 8), -1, &places));
	EMITS(VECTOR, "match_replace8 sbuf[0:32, 0 : 10 fp32], sbuf[0:32, 64 : 10 fp32]" AND
	      "sbuf[0:32, 128 : 8 fp32], -1",
	      nb_nc_match_replace8(nb, F(0, 10), F(64, 10), F(128, 8), -1, NULL));
	EMITS(VECTOR, "stream_shuffle sbuf[0:32, 0 : 8 fp32], sbuf[0:32, 0 : 8 fp32]" AND
	      "(1, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
	      nb_nc_stream_shuffle(nb, F(0, 8), F(0, 8), mask));
	EMITS(VECTOR, "transpose sbuf[0:32, 0 : 32 bf16], sbuf[0:32, 64 : 32 bf16]",
	      nb_nc_transpose(nb, VECTOR, B(0, 32), B(64, 32), B(0, 32)));
	EMITS(VECTOR, "quantize_mx sbuf[0:32, 0 : 2 fp8_e5_x4], sbuf[0:32, 64 : 8 bf16]" AND
	      "sbuf[0:32, 128 : 2 uint8], 12",
	      nb_quantize_mx(nb, T(0, FP8_E5_X4, 2), B(64, 8), T(128, UINT8, 2), 12));
	EMITS(VECTOR, "acc_load sbuf[0:32, 128 : 1 fp32]", nb_acc_load(nb, VECTOR, F(128, 1)));
}

static void random_numbers(void **state)
{
	(void)state;
	EMITS(GPSIMD, "rng sbuf[0:32, 0 : 8 uint16]", nb_rng(nb, GPSIMD, T(0, UINT16, 8)));
	EMITS(VECTOR, "rand2 sbuf[0:32, 0 : 8 fp32], -1, sbuf[0:32, 128 : 1 fp32]",
	      nb_rand2(nb, F(0, 8), NUM(-1), COL(F(128, 1))));
	EMITS(VECTOR, "dropout sbuf[0:32, 0 : 8 bf16], sbuf[0:32, 0 : 8 bf16], 0.25",
	      nb_dropout(nb, B(0, 8), B(0, 8), NUM(0.25f)));
	EMITS(VECTOR, "set_rng_seed sbuf[0:1, 0 : 1 uint32]",
	      nb_set_rng_seed(nb, nb_tile(0, 1, 0, NEURON_DTYPE_UINT32, 1)));
	EMITS(GPSIMD, "rand_set_state sbuf[0:32, 0 : 6 uint32]",
	      nb_rand_set_state(nb, GPSIMD, T(0, UINT32, 6)));
	EMITS(VECTOR, "rand_get_state sbuf[0:32, 0 : 24 uint32]",
	      nb_rand_get_state(nb, VECTOR, T(0, UINT32, 24)));
}

static void scalar_engine(void **state)
{
	(void)state;
	EMITS(SCALAR, "activate.gelu sbuf[0:32, 0 : 8 bf16], psum[0:32, 0 : 8 fp32], 2" AND
	      "sbuf[0:32, 128 : 1 fp32]",
	      nb_activate(nb, NEURON_ACT_GELU, B(0, 8), P(0, 8), 2, F(128, 1)));
	EMITS(SCALAR, "activate.prelu sbuf[0:32, 0 : 8 bf16], psum[0:32, 0 : 8 fp32]" AND
	      "sbuf[0:32, 128 : 1 fp32], 1, 0.25 reduce add reduce",
	      nb_activation(nb, NEURON_ACT_PRELU, B(0, 8), P(0, 8), COL(F(128, 1)), NUM(1), 0.25f,
			    WITH(.reduce_op = ALU(ADD), .reduce = NEURON_REDUCE_REDUCE)));
	EMITS(SCALAR, "acc_read sbuf[0:32, 128 : 1 fp32]",
	      nb_activation_reduce(nb, NEURON_ACT_EXP, B(0, 8), P(0, 8), NUM(1), NUM(0), ALU(ADD),
				   F(128, 1)));
	EMITS(SCALAR, "activate2.prelu.multiply.add sbuf[0:32, 0 : 8 fp32]" AND
	      "psum[0:32, 0 : 8 fp32], sbuf[0:32, 128 : 1 fp32], 0.5, 0.25 rev1 reduce max reset_reduce",
	      nb_activate2(nb, NEURON_ACT_PRELU, F(0, 8), P(0, 8), ALU(MULTIPLY), COL(F(128, 1)),
			   ALU(ADD), NUM(0.5f), NUM(0.25f),
			   WITH(.reverse1 = true, .reduce_op = ALU(MAX), .reduce = RESET_REDUCE)));
	EMITS(SCALAR, "activate2.relu sbuf[0:32, 0 : 8 fp32], psum[0:32, 0 : 8 fp32]",
	      nb_activate2(nb, NEURON_ACT_RELU, F(0, 8), P(0, 8), ALU(BYPASS), NONE,
			   ALU(BYPASS), NONE, NONE, NULL));
}

static void gpsimd(void **state)
{
	(void)state;
	EMITS(GPSIMD, "iota sbuf[0:32, 0 : 8 int32], (4, -3, 2, 1), -5, 1000",
	      nb_iota(nb, T(0, INT32, 8), AFFINE(-5, 1000, 1, 2, -3, 4)));
	EMITS(GPSIMD, "affine_select.is_ge sbuf[0:32, 0 : 8 bf16], sbuf[0:32, 64 : 8 fp32]" AND
	      "(0, 0, 0, -1), 0, 1, -0.5",
	      nb_affine_select(nb, B(0, 8), F(64, 8), AFFINE(0, 1, -1), ALU(IS_GE), -0.5f));
	EMITS(GPSIMD, "partition_reduce.average sbuf[0:1, 0 : 8 fp32], sbuf[0:32, 64 : 8 bf16]",
	      nb_tensor_partition_reduce(nb, ALU(AVERAGE), nb_tile(0, 1, 0, NEURON_DTYPE_FP32, 8),
					 B(64, 8)));
	EMITS(GPSIMD, "local_gather sbuf[0:32, 0 : 32 fp32], sbuf[0:32, 0x200 : 64 fp32]" AND
	      "sbuf[0:32, 0x400 : 1 uint16], 2, 0",
	      nb_local_gather(nb, F(0, 32), F(0x200, 64), T(0x400, UINT16, 1), 2, 0));
	EMITS(GPSIMD, "gather sbuf[0:32, 0 : 8 bf16], sbuf[0:32, 64 : 9 bf16]" AND
	      "sbuf[0:32, 128 : 8 uint32]",
	      nb_nc_n_gather(nb, B(0, 8), B(64, 9), T(128, UINT32, 8)));
	EMITS(GPSIMD, "nonzero_with_count sbuf[0:32, 0 : 9 int32], sbuf[0:32, 64 : 8 fp32], 3, -1",
	      nb_nonzero_with_count(nb, T(0, INT32, 9), F(64, 8), 3, -1));
	EMITS(GPSIMD, "topk sbuf[0:32, 0 : 8 bf16], sbuf[0:32, 32 : 8 uint32]" AND
	      "sbuf[0:32, 128 : 3 bf16], 42",
	      nb_topk(nb, B(0, 8), T(32, UINT32, 8), B(128, 3), 42));
	EMITS(GPSIMD, "sequence_bounds sbuf[0:1, 0 : 16 int32], sbuf[0:1, 64 : 8 int32]",
	      nb_sequence_bounds(nb, nb_tile(0, 1, 0, NEURON_DTYPE_INT32, 16),
				 nb_tile(0, 1, 64, NEURON_DTYPE_INT32, 8)));
}

static void tensor_engine(void **state)
{
	const struct neuron_array part = { .row = 32, .rows = 32, .col = 64, .cols = 64 };
	const struct neuron_written written = { .lines = 8, .first = 2, .count = 4 };
	struct neuron_ap out = nb_psum_tile(0, 8, 0, NEURON_DTYPE_FP32, 10);

	(void)state;
	EMITS(TENSOR, "load_stationary sbuf[0:32, 0 : 8 bf16]", nb_load_stationary(nb, B(0, 8)));
	EMITS(TENSOR, "load_stationary sbuf[0:32, 0 : 8 bf16] array[32:64, 64:128] one_zero",
	      nb_load_stationary_with(nb, B(0, 8), WITH(.part = true, .array = part,
							.one_zero = true)));
	EMITS(TENSOR, "matmul psum[0:8, 0 : 10 fp32], sbuf[0:32, 0 : 10 bf16] acc",
	      nb_matmul(nb, out, B(0, 10), true));
	EMITS(TENSOR, "matmul psum[0:8, 0 : 10 fp32], sbuf[0:32, 0 : 10 bf16] written[0:8, 2:6]",
	      nb_matmul_with(nb, out, B(0, 10), WITH(.partly = true, .written = written)));
	EMITS(TENSOR, "matmul psum[0:8, 0 : 10 fp32], sbuf[0:32, 0 : 2*10 fp8_e5] double_row",
	      nb_nc_matmul(nb, out, nb_dim(T(0, FP8_E4, 8), 1, 2, 8),
			   nb_dim(T(0, FP8_E5, 10), 1, 2, 10), true, WITH(.double_row = true)));
	EMITS(TENSOR, "load_sparse sbuf[0:32, 0 : 16 bf16], sbuf[0:32, 64 : 4 uint16]",
	      nb_load_sparse(nb, B(0, 16), T(64, UINT16, 4), NULL));
	EMITS(TENSOR, "matmul_sparse psum[0:8, 0 : 10 fp32], sbuf[0:32, 0 : 3*10 bf16], 3",
	      nb_matmul_sparse(nb, out, nb_dim(B(0, 10), 1, 3, 10), 3, NULL));
	EMITS(TENSOR, "load_mx sbuf[0:32, 0 : 8 fp8_e5_x4], sbuf[0:32, 64 : 8 e8m0], 12",
	      nb_load_mx(nb, MX(T(0, FP8_E5_X4, 8), T(64, E8M0, 8), 12), NULL));
	EMITS(TENSOR, "matmul_mx psum[0:8, 0 : 10 fp32], sbuf[0:32, 0 : 10 fp4_e2_x4]" AND
	      "sbuf[0:32, 64 : 10 uint8], 0",
	      nb_nc_matmul_mx(nb, out, MX(T(0, FP8_E5_X4, 8), T(64, E8M0, 8), 12),
			      MX(T(0, FP4_E2_X4, 10), T(64, UINT8, 10), 0), NULL));
	EMITS(TENSOR, "matmul psum[0:8, 0 : 32 bf16], sbuf[0:32, 128 : 32 bf16] transpose",
	      nb_nc_transpose(nb, TENSOR, nb_psum_tile(0, 8, 0, NEURON_DTYPE_BF16, 32), B(0, 8),
			      B(128, 32)));
	EMITS(TENSOR, "load_stationary sbuf[0:32, 0 : 8 bf16] transpose", {
		nb_nc_transpose(nb, TENSOR, nb_psum_tile(0, 8, 0, NEURON_DTYPE_BF16, 32), B(0, 8),
				B(128, 32));
		nb_raw(nb, TENSOR, nb_inst(nb, TENSOR, 0));
	});
}

static void sequencer(void **state)
{
	(void)state;
	EMITS(SYNC, "nop", nb_nop(nb, SYNC));
	EMITS(SYNC, "halt", nb_halt(nb, SYNC));
	EMITS(SYNC, "notify 0x10", nb_notify(nb, SYNC, 16));
	EMITS(SYNC, "reg_set r2, -4", {
		nb_register_alloc(nb, SYNC);
		nb_reg_set(nb, SYNC, nb_register_alloc(nb, SYNC), -4);
	});
	EMITS(SYNC, "reg_alu.add r1, r2, 0", nb_register_move(nb, SYNC, 1, 2));
	EMITS(SYNC, "reg_rank r1", nb_reg_rank(nb, SYNC, 1));
	EMITS(SYNC, "reg_alu.shift_left r1, r2, r3",
	      nb_reg_alu_reg(nb, SYNC, ALU(SHIFT_LEFT), 1, 2, 3));
	EMITS(SYNC, "reg_load r1, a:0x10+r2", nb_reg_load(nb, SYNC, 1, nb_tmp(nb, "a", 64), 16, 2));
	EMITS(SYNC, "reg_store a:0x10, r1",
	      nb_reg_store(nb, SYNC, nb_tmp(nb, "a", 64), 16, 0, 1));
	EMITS(SYNC, "branch 7", nb_branch(nb, SYNC, 7));
	EMITS(SYNC, "branch.is_lt r1, 100, 7", nb_branch_if(nb, SYNC, ALU(IS_LT), 1, 100, 7));
	EMITS(SYNC, "branch.is_ne r1, r2, 7", nb_branch_if_reg(nb, SYNC, ALU(IS_NE), 1, 2, 7));
	EMITS(SYNC, "loop r1, 7", nb_loop(nb, SYNC, 1, 7));
	EMITS(SYNC, "event_set e5", nb_event_set(nb, SYNC, 5));
	EMITS(SYNC, "event_clear e5", nb_event_clear(nb, SYNC, 5));
	EMITS(SYNC, "event_wait e5 clear", nb_event_wait(nb, SYNC, 5, true));
	EMITS(SYNC, "sem_range_clear s16, s31", nb_sem_range_clear(nb, SYNC, 16, 31));
	EMITS(VECTOR, "set_rounding 1, 42", nb_set_rounding(nb, VECTOR, true, 42));
	EMITS(VECTOR, "set_fp8_bias -2, 0, -3", nb_set_fp8_bias(nb, VECTOR, -2, 0, -3));
	EMITS(VECTOR, "nop take s4 >= 1",
	      nb_core_barrier(nb, VECTOR, nb_sibling_sem(nb, "other", 4, 1), 4, 1));
}

/* Each kind of rule once, with its text; what is refused is compared with the chip elsewhere. */
static void refusals(void **state)
{
	struct neuron_ap far = F(0, 8);

	(void)state;
	REFUSES({ nb_source(nb, "kernel.c", 12); nb_copy(nb, GPSIMD, F(0, 8), P(0, 8)); },
		"kernel.c:12: copy on the gpsimd engine: src lies in PSUM, to which GpSimd has no path");
	REFUSES(nb_acc_read(nb, GPSIMD, F(0, 1), NULL),
		"acc_read on the gpsimd engine: this engine has no such instruction; use vector scalar");
	REFUSES(nb_reduce(nb, GPSIMD, ALU(ADD), F(0, 1), F(64, 4)),
		"tensor_reduce on the gpsimd engine: this engine has no such instruction; use vector");
	REFUSES({ nb_generation(nb, 3); nb_rand2(nb, F(0, 8), NUM(0), NUM(1)); },
		"rand2 on the vector engine: it begins with NeuronCore-v4 there, the program is for v3");
	REFUSES({ nb_generation(nb, 2); nb_rng(nb, GPSIMD, T(0, UINT8, 8)); },
		"rng on the gpsimd engine: it begins with NeuronCore-v3 there, the program is for v2");
	REFUSES({ nb_generation(nb, 3); nb_copy(nb, VECTOR, T(0, FP8_E4FN, 8), F(0, 8)); },
		"copy on the vector engine: dst is fp8_e4fn, which NeuronCore-v3 does not have");
	REFUSES(nb_generation(nb, 5),
		"there is no generation 5 of NeuronCores: 2 to 4");
	REFUSES(nb_rng(nb, VECTOR, F(0, 8)),
		"rng on the vector engine: dst is fp32; it can be int8 uint8 int16 uint16 int32 uint32");
	REFUSES(nb_copy(nb, VECTOR, F(0, 8), T(64, INT64, 8)),
		"copy on the vector engine: int64 to fp32: this type does not convert");
	REFUSES(nb_tensor_tensor(nb, VECTOR, ALU(ADD), F(0, 8), F(0, 8), F(0, 9)),
		"tensor_tensor on the vector engine: src1 has 9 elements of a partition, dst 8");
	REFUSES(nb_tensor_tensor(nb, VECTOR, ALU(ADD), F(0, 8), P(0, 8), P(0, 8)),
		"tensor_tensor on the vector engine: both sources lie in PSUM");
	REFUSES(nb_tensor_tensor(nb, VECTOR, ALU(POWER), F(0, 8), F(0, 8), F(0, 8)),
		"tensor_tensor on the vector engine: only GpSimd has power");
	REFUSES(nb_tensor_tensor(nb, VECTOR, ALU(DIVIDE), F(0, 8), F(0, 8), F(0, 8)),
		"tensor_tensor on the vector engine: hardware does not divide; use reciprocal and multiply");
	REFUSES(nb_memset(nb, VECTOR, F(262140, 8), 0),
		"memset on the vector engine: dst has bytes 262140 to 262171 of a partition, which has 262144");
	REFUSES({ nb_generation(nb, 2); nb_memset(nb, VECTOR, F(196608, 1), 0); },
		"memset on the vector engine: dst has bytes 196608 to 196611 of a partition, which has 196608");
	far.offset_reg = 64;
	REFUSES(nb_memset(nb, VECTOR, far, 0),
		"memset on the vector engine: a tile names a register above r63");
	REFUSES(nb_reg_set(nb, SYNC, 64, 0),
		"reg_set on the sync engine: a register is above r63, or named where the instruction has none");
	REFUSES(nb_memset(nb, VECTOR, nb_tile(16, 16, 0, NEURON_DTYPE_FP32, 1), 0),
		"memset on the vector engine: dst begins in partition 16; up to 32 partitions begin in 0, 32, 64 or 96, up to 64 in 0 or 64, more in 0");
	REFUSES(nb_tensor_scalar_any(nb, VECTOR, F(0, 8), F(0, 8), ALU(ADD), NUM(1), ALU(ADD),
				     COL(F(128, 2)), NULL),
		"tensor_scalar: a column is one element of each of the destination's partitions, without a register or an index");
	REFUSES({ far = F(0, 8); nb_nc_match_replace8(nb, F(0, 8), F(0, 8), F(0, 8), 0, &far); },
		"match_replace8: the places are 8 uint32 side by side in each of the destination's partitions");
	REFUSES(nb_nc_matmul(nb, nb_psum_tile(0, 8, 0, NEURON_DTYPE_FP32, 8), B(0, 8), F(64, 8),
			     false, NULL),
		"matmul: fp32 and tf32 go with fp32 and tf32 only");
	REFUSES(nb_nc_matmul(nb, P(0, 8), B(0, 8), B(64, 8), false, NULL),
		"matmul: the result has as many partitions as the stationary operand has columns");
	REFUSES({ nb_generation(nb, 3); nb_matmul(nb, P(0, 513), B(0, 513), false); },
		"matmul on the tensor engine: dst has 513 elements of a partition; at most 512 are possible");
	REFUSES(nb_set_fp8_bias(nb, VECTOR, 64, 0, 0),
		"set_fp8_bias on the vector engine: the bias is 64; -64 to 63 are possible");
	REFUSES(nb_reg_load(nb, SYNC, 1, 3, 0, 0),
		"reg_load: a register load or store names no variable");
}

/* There are 63, of each engine. */
static void registers_end(void **state)
{
	struct nb_program *nb = nb_new("one");
	int i;

	(void)state;
	for (i = 1; i < NEURON_NR_REGS; i++)
		assert_int_equal(nb_register_alloc(nb, SYNC), i);
	assert_int_equal(nb_register_alloc(nb, VECTOR), 1);
	assert_int_equal(nb_register_alloc(nb, SYNC), -1);
	has_error(nb, "more than 63 registers of an engine");
	nb_free(nb);
}

/* --- the table of the manual --- */

/* What the function's row should say of engines and the first NeuronCore. */
static void check_row(const char *name, const char *mnemonics, const char *engines,
		      const char *first)
{
	static const char letters[] = "TVSG";
	char list[16] = "", copy[128];
	unsigned int e, generation = 2;
	const struct trn_isa *isa;
	char *word, *rest;

	snprintf(copy, sizeof(copy), "%s", mnemonics);
	for (word = strtok_r(copy, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
		isa = trn_isa_find(word, strlen(word));
		if (!isa)
			fail_msg("%s: no instruction \"%s\"", name, word);
		if (isa->generation > generation)
			generation = isa->generation;
		if (*list)
			continue;
		/* The two that only the chip has there. */
		for (e = 0; e < 4; e++)
			if ((isa->engines & NEURON_BIT(e)) &&
			    (e != GPSIMD || (isa->opcode != NEURON_OP_ACTIVATE &&
					     isa->opcode != NEURON_OP_TENSOR_REDUCE)))
				sprintf(list + strlen(list), "%s%c", *list ? " " : "", letters[e]);
		if (isa->engines & NEURON_BIT(SYNC))
			strcpy(list, "all");
	}
	/* Two instructions of two engines, and an engine for two instructions. */
	if (!strcmp(name, "nb_nc_transpose"))
		strcpy(list, "V T");
	if (!strcmp(name, "nb_tensor_scalar_reduce"))
		strcpy(list, "V");
	snprintf(copy, sizeof(copy), "v%u", generation);
	if (strcmp(list, engines) || strcmp(copy, first))
		fail_msg("%s: the manual says %s from %s on, the instruction table %s from %s on",
			 name, engines, first, list, copy);
}

/* Columns of a row of the table, cut at those of its first line. */
static void cut_row(const char *line, const char *rule, char cell[5][64])
{
	size_t begin = 0, end, i, n, length = strcspn(line, "\n");

	for (i = 0; i < 5; i++, begin = end + 1) {
		end = begin + strcspn(rule + begin, "\n ");
		n = begin < length ? (end < length ? end : length) - begin : 0;
		while (n && line[begin + n - 1] == ' ')
			n--;
		snprintf(cell[i], 64, "%.*s", (int)n, line + begin);
	}
}

static unsigned int count_of(const char *text, const char *word)
{
	unsigned int count = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		count++;
	return count;
}

/* Each function of the headers that returns an instruction has a row, and each row is right. */
static void manual_has_each_function(void **state)
{
	static const char *const headers[] = {
		"nb_gpsimd.h", "nb_sequencer.h", "nb_tensor.h", "nb_transfer.h", "nb_vector.h",
	};
	unsigned int rows = 0, declared = 0, i;
	char *manual, *header, *rule, *line, word[96], cell[5][64];
	size_t size;

	(void)state;
	manual = as_read_file("BUILDER_MANUAL", "builder.rst", &size);
	rule = strstr(manual, "\nfunction ");
	assert_non_null(rule);
	rule = strchr(rule + 1, '\n') + 1;
	for (line = strchr(rule, '\n') + 1; *line == 'n'; line = strchr(line, '\n') + 1) {
		cut_row(line, rule, cell);
		check_row(cell[0], cell[2], cell[3], cell[4]);
		rows++;
	}
	for (i = 0; i < LENGTH(headers); i++) {
		header = as_read_file("BUILDER_HEADERS", headers[i], &size);
		declared += count_of(header, "struct neuron_inst *nb_");
		for (line = strstr(header, "struct neuron_inst *nb_"); line;
		     line = strstr(line + 1, "struct neuron_inst *nb_")) {
			snprintf(word, sizeof(word), "\n%.*s ",
				 (int)strcspn(strstr(line, "nb_"), "("), strstr(line, "nb_"));
			if (!strstr(rule, word))
				fail_msg("the manual has no row of %s", word + 1);
		}
		free(header);
	}
	assert_int_equal(rows, declared);
	free(manual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manual_has_each_function),
		cmocka_unit_test(vector_engine),
		cmocka_unit_test(random_numbers),
		cmocka_unit_test(scalar_engine),
		cmocka_unit_test(gpsimd),
		cmocka_unit_test(tensor_engine),
		cmocka_unit_test(sequencer),
		cmocka_unit_test(refusals),
		cmocka_unit_test(registers_end),
	};

	return cmocka_run_group_tests_name("builder_inst", tests, NULL, NULL);
}
