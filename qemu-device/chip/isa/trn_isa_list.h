/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The opcodes, and for each the function trn_exec_NAME() that carries it out. The table
 * of functions (trn_exec.c) is made from this list; trn_isa_table.c does not compile when
 * a row has no entry here, or an entry has no row.
 */
#ifndef TRN_ISA_LIST_H
#define TRN_ISA_LIST_H

#define TRN_ISA_LIST(X)							\
	X(HALT, seq)							\
	X(NOP, seq)							\
	X(NOTIFY, seq)							\
	X(DMA_TRIGGER, seq)						\
	X(DMA_GENERATE, seq)						\
	X(EVENT_SET, seq)						\
	X(EVENT_CLEAR, seq)						\
	X(EVENT_WAIT, seq)						\
	X(REG_SET, seq)							\
	X(REG_RANK, seq)						\
	X(REG_ALU, seq)							\
	X(BRANCH, seq)							\
	X(LOOP, seq)							\
	X(REG_LOAD, seq)						\
	X(REG_STORE, seq)						\
	X(SET_ROUNDING, set_rounding)					\
	X(SET_FP8_BIAS, set_fp8_bias)					\
	X(SEM_RANGE_CLEAR, seq)						\
	X(LOAD_STATIONARY, load_stationary)				\
	X(MATMUL, matmul)						\
	X(LOAD_SPARSE, load_sparse)					\
	X(MATMUL_SPARSE, matmul_sparse)					\
	X(LOAD_MX, load_mx)						\
	X(MATMUL_MX, matmul_mx)						\
	X(TENSOR_TENSOR, tensor_tensor)					\
	X(TENSOR_SCALAR, tensor_scalar)					\
	X(TENSOR_REDUCE, tensor_reduce)					\
	X(COPY, copy)							\
	X(MEMSET, memset)						\
	X(ACC_READ, acc_read)						\
	X(ACC_LOAD, acc_load)						\
	X(SCALAR_TENSOR_TENSOR, scalar_tensor_tensor)			\
	X(TENSOR_SCAN, tensor_scan)					\
	X(TENSOR_CUMULATIVE, tensor_cumulative)				\
	X(COPY_PREDICATED, copy_predicated)				\
	X(RECIPROCAL, reciprocal)					\
	X(BN_STATS, bn_stats)						\
	X(BN_AGGR, bn_aggr)						\
	X(RANGE_SELECT, range_select)					\
	X(SELECT_REDUCE, select_reduce)					\
	X(MAX8, max8)							\
	X(FIND_INDEX8, find_index8)					\
	X(MATCH_REPLACE8, match_replace8)				\
	X(STREAM_SHUFFLE, stream_shuffle)				\
	X(TRANSPOSE, transpose)						\
	X(SET_RNG_SEED, set_rng_seed)					\
	X(RNG, rng)							\
	X(DROPOUT, dropout)						\
	X(RAND_SET_STATE, rand_set_state)				\
	X(RAND_GET_STATE, rand_get_state)				\
	X(RAND2, rand2)							\
	X(EXPONENTIAL, exponential)					\
	X(QUANTIZE_MX, quantize_mx)					\
	X(ACTIVATE, activate)						\
	X(ACTIVATE2, activate2)						\
	X(IOTA, iota)							\
	X(AFFINE_SELECT, affine_select)					\
	X(PARTITION_REDUCE, partition_reduce)				\
	X(LOCAL_GATHER, local_gather)					\
	X(GATHER, gather)						\
	X(NONZERO_WITH_COUNT, nonzero_with_count)			\
	X(TOPK, topk)							\
	X(SEQUENCE_BOUNDS, sequence_bounds)

#endif /* TRN_ISA_LIST_H */
