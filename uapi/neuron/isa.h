/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Instruction encoding of the NeuronCore sequencers.
 *
 * Every instruction is 128 bytes. Fields that an instruction does not use are
 * zero; a non-zero unused field is an operand error. The semantics follow the
 * public nki.isa documentation; the encoding is defined by this project, and
 * Documentation/hardware/isa.rst is its manual.
 */
#ifndef NEURON_ISA_H
#define NEURON_ISA_H

#include "job.h"

#define NEURON_NR_REGS		64	/* 32 bit, per sequencer; r0 reads as 0 */

/*
 * Element types. Up to 0xf the values of the public nrt_dtype_t; the rest are
 * this project's. E8M0 is the scale of a group of a microscaling (MX) tile,
 * and the X4 types hold four neighbouring elements of one: 4, 4 and 2 bytes.
 */
enum neuron_dtype {
	NEURON_DTYPE_INVALID	= 0x0,
	NEURON_DTYPE_UINT64	= 0x1,
	NEURON_DTYPE_INT8	= 0x2,
	NEURON_DTYPE_UINT8	= 0x3,
	NEURON_DTYPE_INT16	= 0x4,
	NEURON_DTYPE_UINT16	= 0x5,
	NEURON_DTYPE_BF16	= 0x6,
	NEURON_DTYPE_FP16	= 0x7,
	NEURON_DTYPE_INT32	= 0x8,
	NEURON_DTYPE_UINT32	= 0x9,
	NEURON_DTYPE_FP32	= 0xa,
	NEURON_DTYPE_FP32R	= 0xb,
	NEURON_DTYPE_INT64	= 0xc,
	NEURON_DTYPE_FP8_E3	= 0xd,
	NEURON_DTYPE_FP8_E4	= 0xe,
	NEURON_DTYPE_FP8_E5	= 0xf,
	NEURON_DTYPE_TF32	= 0x10,	/* upper bits of 4 bytes */
	NEURON_DTYPE_FP8_E4FN	= 0x11,
	NEURON_DTYPE_FP8_E5_X4	= 0x12,
	NEURON_DTYPE_FP8_E4FN_X4 = 0x13,
	NEURON_DTYPE_FP4_E2_X4	= 0x14,
	NEURON_DTYPE_E8M0	= 0x15,
	NEURON_NR_DTYPES
};

/**
 * struct neuron_ap - access pattern: a tile in SBUF or PSUM (24 bytes)
 * @addr: NEURON_AP_*: memory, first partition, byte offset in the partition
 * @num: elements of each free dimension, [0] innermost; unused ones 1
 * @step: distance in elements between neighbours of that dimension
 * @partitions: 1 to 128
 * @dtype: enum neuron_dtype
 * @offset_reg: register added (signed, bytes) to the byte offset; 0: none
 * @index: 0, or NEURON_AP_INDEX
 *
 * The same free pattern applies to each partition. First partition: any of 0,
 * 32, 64, 96 for up to 32 partitions, 0 or 64 for up to 64, else 0.
 * Every element must lie inside the partition and be aligned to its size.
 *
 * With INDEX (NeuronCore-v4) there are @num[0] elements in one dimension, the other
 * @num 1, and an index says where they lie: uint16 in SBUF, in elements from @addr.
 * neuron_ap_index() is its place, NEURON_AP_* as @addr, held by @step[0] and [1]; the
 * other @step are 0. Each group of 16 partitions, for the tensor engine 32, has an
 * index of its own: element i of the group that begins at partition p of the tile is
 * in partition p + i % 16 of the index, its element i / 16.
 */
struct neuron_ap {
	__le32 addr;
	__le16 num[4];
	__le16 step[4];
	__u8 partitions;
	__u8 dtype;
	__u8 offset_reg;
	__u8 index;
};

NEURON_ASSERT_SIZE(struct neuron_ap, 24);

#define NEURON_AP_INDEX		1

static inline __u32 neuron_ap_index(const struct neuron_ap *ap)
{
	return ap->step[0] | (__u32)ap->step[1] << 16;
}

#define NEURON_AP_PSUM		NEURON_BIT(31)
#define NEURON_AP_PARTITION	NEURON_MASK(30, 24)
#define NEURON_AP_OFFSET	NEURON_MASK(23, 0)

/*
 * neuron_inst.sync: a wait before the instruction and a post after it. The
 * wait is for the semaphore (signed) to be at least, or equal to, wait_value;
 * TAKE then subtracts wait_value in the same step. The post adds, subtracts or
 * sets post_value.
 */
#define NEURON_SYNC_WAIT	NEURON_MASK(1, 0)
#define NEURON_SYNC_WAIT_NONE	0
#define NEURON_SYNC_WAIT_GE	1
#define NEURON_SYNC_WAIT_EQ	2
#define NEURON_SYNC_TAKE	NEURON_BIT(2)
#define NEURON_SYNC_POST	NEURON_MASK(5, 4)
#define NEURON_SYNC_POST_NONE	0
#define NEURON_SYNC_POST_ADD	1
#define NEURON_SYNC_POST_SUB	2
#define NEURON_SYNC_POST_SET	3

/*
 * neuron_inst.reduce: what becomes of the accumulators of the vector or the scalar
 * engine, one fp32 number for each partition, in an instruction whose op2 is not
 * bypass. They are combined by op2 with each element of the result line, in
 * ascending order, before it is rounded to the type of the destination. The start is
 * the neutral element of op2. ACC_READ fetches them, ACC_LOAD sets them.
 */
enum neuron_reduce {
	NEURON_REDUCE_IDLE	= 0,	/* left as they are */
	NEURON_REDUCE_RESET	= 1,	/* set to the start; nothing is combined */
	NEURON_REDUCE_REDUCE	= 2,	/* go on with what they hold */
	NEURON_REDUCE_RESET_REDUCE = 3,	/* from the start */
	NEURON_REDUCE_LOAD_REDUCE = 4,	/* from the fp32 bits in addr, 63:32 */
	NEURON_NR_REDUCES
};

/**
 * struct neuron_inst - one instruction (128 bytes)
 * @opcode: enum neuron_opcode
 * @op0: enum neuron_alu or enum neuron_act, by opcode
 * @op1: enum neuron_alu, by opcode
 * @flags: bits 7:0 of NEURON_INST_*, by opcode
 * @sync: NEURON_SYNC_*
 * @reduce: enum neuron_reduce; zero when op2 is bypass
 * @wait_sem: semaphore 0..255 of this core
 * @wait_value: signed
 * @post_sem: semaphore 0..255 of this core
 * @mode: bits 23:8 of NEURON_INST_*, by opcode
 * @post_value: signed
 * @dst: destination tile
 * @src0: first source tile
 * @src1: second source tile, or [P,1] operand column
 * @imm0: immediate (fp32 bits or integer), by opcode
 * @imm1: immediate, by opcode
 * @reg: register numbers, by opcode
 * @addr: 64-bit address or branch target, by opcode; or two more immediates, the
 *	third in bits 31:0 and the fourth in bits 63:32
 * @debug: free for the assembler (source line); the chip only reports it
 * @col0: [P,1] column in place of imm0, with COL0: NEURON_AP_* as in struct neuron_ap,
 *	of as many partitions as the destination has
 * @col1: the same in place of imm1, with COL1
 * @op2: enum neuron_alu: how the accumulators are combined
 * @col_dtype: enum neuron_dtype of col0 and col1, by opcode; 0: fp32, which is not
 *	written as NEURON_DTYPE_FP32
 * @reserved: zero
 */
struct neuron_inst {
	__u8 opcode;
	__u8 op0;
	__u8 op1;
	__u8 flags;
	__u8 sync;
	__u8 reduce;
	__le16 wait_sem;
	__le32 wait_value;
	__le16 post_sem;
	__le16 mode;
	__le32 post_value;
	struct neuron_ap dst;
	struct neuron_ap src0;
	struct neuron_ap src1;
	__le32 imm0;
	__le32 imm1;
	__u8 reg[4];
	__le64 addr;
	__le32 debug;
	__le32 col0;
	__le32 col1;
	__u8 op2;
	__u8 col_dtype[2];
	__u8 reserved;
};

NEURON_ASSERT_SIZE(struct neuron_inst, NEURON_INST_SIZE);

/* STREAM_SHUFFLE has bytes where others have src1, imm0 and imm1. */
#define NEURON_INST_MASK	32

/**
 * struct neuron_array - a part of the tensor engine's array
 * @row: first row (contraction), a multiple of @rows
 * @rows: 32, 64 or 128
 * @col: first column, a multiple of @cols
 * @cols: 32, 64 or 128
 *
 * neuron_inst.imm0 with ARRAY: row, rows, col and cols, a byte each, from bit 0.
 */
struct neuron_array {
	__u8 row;
	__u8 rows;
	__u8 col;
	__u8 cols;
};

static inline struct neuron_array neuron_array_get(__u32 imm)
{
	struct neuron_array array = {
		.row = (__u8)imm,
		.rows = (__u8)(imm >> 8),
		.col = (__u8)(imm >> 16),
		.cols = (__u8)(imm >> 24),
	};

	return array;
}

static inline __u32 neuron_array_put(struct neuron_array array)
{
	return array.row | (__u32)array.rows << 8 | (__u32)array.col << 16 |
	       (__u32)array.cols << 24;
}

/**
 * struct neuron_written - the part of a product's destination that has sums already
 * @line: first partition, counted in the tile
 * @lines: partitions, at least 1
 * @first: first element of each, in the order of the tile
 * @count: elements, at least 1
 *
 * neuron_inst.addr with WRITTEN: line, lines, first and count, 16 bits each, from bit 0.
 */
struct neuron_written {
	__u16 line;
	__u16 lines;
	__u16 first;
	__u16 count;
};

static inline struct neuron_written neuron_written_get(__u64 addr)
{
	struct neuron_written written = {
		.line = (__u16)addr,
		.lines = (__u16)(addr >> 16),
		.first = (__u16)(addr >> 32),
		.count = (__u16)(addr >> 48),
	};

	return written;
}

static inline __u64 neuron_written_put(struct neuron_written written)
{
	return written.line | (__u64)written.lines << 16 | (__u64)written.first << 32 |
	       (__u64)written.count << 48;
}

/*
 * Opcodes. 0 is illegal, so that zeroed memory is not a program.
 *
 * Sequencer (every engine):
 *  HALT		stop; the engine's part of the job is done
 *  NOP			only the wait and the post of @sync
 *  NOTIFY		append {imm0, engine, pc, time} to the job's stream
 *  DMA_TRIGGER		add imm0 descriptors to the M2S and imm1 to the S2M tail
 *			of job queue reg[0] | reg[1] << 8 (queue table index); with
 *			QUEUES of reg[2] queues, at least 1, from that one on. With
 *			LANDED each queue makes the post when it has moved all that it
 *			has been given so far; waits while it has no room for that
 *  DMA_GENERATE	give that queue the packet that the struct neuron_udma_dge
 *			(dma_op.h) at window address addr, a multiple of 64, makes;
 *			registers reg[2] and reg[3] (unsigned; r0: none) are added to
 *			its sources and its destinations, inside their windows. Waits
 *			while the queue has no room. With LENGTH (from NeuronCore-v3 on)
 *			register imm0 is the number of elements of dimension imm1, 0 to
 *			3, in place of the block's; 0: nothing moves. With LANDED the
 *			post is made when the packet's bytes have landed
 *  EVENT_SET		event imm0 of this core = 1
 *  EVENT_CLEAR		event imm0 = 0
 *  EVENT_WAIT		until event imm0 is 1; with CLEAR clear it in the same step
 *  REG_SET		reg[0] = imm0
 *  REG_RANK		reg[0] = the rank in the job block
 *  REG_ALU		reg[0] = reg[1] op0 (IMM ? imm0 : reg[2]), integer:
 *			add, subtract, multiply, bitwise and/or/xor, shifts, min, max
 *  BRANCH		if (reg[0] op0 (IMM ? imm0 : reg[1])) pc = addr (instruction
 *			index); op0 a signed comparison, or bypass: always
 *  LOOP		reg[0] -= 1 (wraps); if reg[0] != 0 then pc = addr
 *  REG_LOAD		reg[0] = 32 bits at window address addr + reg[1] (unsigned)
 *  REG_STORE		32 bits at window address addr + reg[1] = reg[0]
 *  SET_ROUNDING	imm0 0: conversions round to nearest; 1: at random, seed imm1
 *  SET_FP8_BIAS	added to the exponent bias of fp8_e3 (imm0, signed), _e4 (imm1)
 *			and _e5 (low half of addr)
 *  SEM_RANGE_CLEAR	semaphores imm0 to imm1 of this core, both included, = 0
 *
 * Tensor engine (ARRAY: in a part of the array, struct neuron_array in imm0):
 *  LOAD_STATIONARY	array = src0 [K partitions, M <= 128 elements] (SBUF); with
 *			DOUBLE_ROW [K, 2, M]
 *  MATMUL		dst [M, N] (PSUM, fp32 or bf16) = or += (ACCUMULATE)
 *			stationary^T src0 [K, N] (SBUF), with DOUBLE_ROW [K, 2, N]. Each
 *			output is one chain of fused multiply-adds in ascending order
 *			of the terms from +0, then one add into PSUM when ACCUMULATE is
 *			set. With WRITTEN (struct neuron_written in addr) the elements
 *			of that part are added to, the others replaced. With
 *			TRANSPOSE, in both instructions, the stationary
 *			operand's bits, transposed
 *  LOAD_SPARSE		array = src0 [K, M], of each group of terms four, with the tags
 *			src1 [K, M / 4] that say which
 *  MATMUL_SPARSE	as MATMUL, src0 [K, imm1, N]
 *  LOAD_MX		array = src0 [K, M] of packed elements, with the scales src1, which
 *			are in the 4 partitions from imm1 on of each 32
 *  MATMUL_MX		as MATMUL, src0 and src1 as for LOAD_MX
 *
 * Vector, GpSimd (and scalar where said in the table of the manual):
 *  TENSOR_TENSOR	dst = src0 op0 src1; on GpSimd, when all three are int32 or all
 *			are uint32, exact integers
 *  TENSOR_SCALAR	dst = (src0 op0 s0) op1 s1; s0 = imm0, or with SRC1_COLUMN
 *			src1 [P,1]; s1 = imm1, or with COL1 col1; REVERSE0/1 swap
 *			the operands; op1 may be bypass. An operator of one operand
 *			has no scalar
 *  TENSOR_REDUCE	dst [P, outer] = reduction by op0 of the innermost
 *			imm0 free dimensions of src0, ascending; NEGATE the result
 *  COPY		dst = src0 with a cast; same type: bit exact
 *  SCALAR_TENSOR_TENSOR dst = (src0 op0 s0) op1 src1; s0 = imm0, or with COL0 col0;
 *			REVERSE0/1
 *  TENSOR_SCAN		dst[i] = r[i] = (src0[i] op0 r[i-1]) op1 src1[i] from s0;
 *			REVERSE0/1
 *  TENSOR_CUMULATIVE	dst[i] = acc = (src0[i] op0 s0) op2 acc; REVERSE0
 *  COPY_PREDICATED	dst = src0 or, with IMM, imm0 as in MEMSET, where src1 is
 *			true; REVERSE0: where it is false
 *  RECIPROCAL		dst = 1 / src0
 *  BN_STATS		dst [P,6] = count, mean and count * variance of the elements of
 *			src0 with even, then of those with odd numbers
 *  BN_AGGR		dst [P,2] = mean and variance from such triples in src0
 *  RANGE_SELECT	dst = src0 where index op0 s0 and index op1 s1, else -FLT_MAX;
 *			index from the low half of addr (signed) on
 *  SELECT_REDUCE	dst = src0 where src1 is true, else s0; REVERSE0: inverted
 *  MAX8		dst [P,8] = the largest of src0, descending
 *  FIND_INDEX8		dst [P,8] = where the values of src1 [P,8] are in src0
 *  MATCH_REPLACE8	dst = src0 with imm0 in place of the values of src1 [P,8];
 *			with COL1 where they were to 8 uint32 at col1
 *  STREAM_SHUFFLE	partition i of dst = partition mask[i % 32] of the same 32 of
 *			src0; 255: left as it is
 *  TRANSPOSE		dst [F,P] = src0 [P,F], at most 32 by 32
 *  EXPONENTIAL		dst = exp(src0 - s0)
 *  QUANTIZE_MX		dst (packed) and src1 (scales, written) = src0; imm0: first of
 *			the four partitions in each 32 that take scales
 *  SET_RNG_SEED	seed the generators by src0 [1,1], 32 bits
 *  RNG			dst = random bits
 *  DROPOUT		dst = src0, but 0 with probability s0
 *  RAND_SET_STATE	the generators' states = src0
 *  RAND_GET_STATE	dst = the generators' states
 *  RAND2		dst = random numbers from s0 to s1
 *  ACC_READ		dst [P,1] = the engine's accumulators; NEGATE: times -1
 *  ACC_LOAD		the engine's accumulators = src0 [P,1]
 *  MEMSET		dst = imm0 (fp32 bits; integer types: integer)
 *
 * Scalar engine:
 *  ACTIVATE		dst = op0(src0 * scale + bias): scale = imm0 (fp32),
 *			or with COL0 col0; bias = imm1 (fp32) or with SRC1_COLUMN
 *			src1 [P,1]; multiply and add round separately
 *  ACTIVATE2		dst = f((src0 op0 s0) op1 s1), f enum neuron_act in reg[0]; s0
 *			and s1 as imm0 or col0, imm1 or col1; REVERSE0/1; either
 *			operator may be bypass; the function's parameter is addr 31:0
 *			or, with SRC1_COLUMN, src1 [P,1]
 *
 * GpSimd. i0 to i3 count the elements of dst, p its partitions from 0; steps are
 * four signed 32-bit numbers where src1 is, the innermost first:
 *  IOTA		dst = imm0 + p * imm1 + i0 * step0 + ... + i3 * step3
 *  AFFINE_SELECT	dst = (that op0 0) ? src0 : addr 31:0 (fp32)
 *  PARTITION_REDUCE	dst [1, F] = reduction by op0 over the partitions of src0
 *  LOCAL_GATHER	in each 16 partitions: imm0 elements of src0 from each of the
 *			imm1 (0: all) uint16 indices in src1, partition by partition
 *  GATHER		dst[i] = src0[src1[i]], src1 of uint32, in each partition
 *  NONZERO_WITH_COUNT	in partitions 0, 16, ... of dst and src0: the places of what
 *			is not 0, plus imm0; the rest imm1; last their number
 *  TOPK		in each 16 partitions: the largest of the imm0 numbers in src0
 *			to dst, where they were to src1 (a second destination)
 *  SEQUENCE_BOUNDS	dst [1, 2 n] = begin, then end of the run of equal elements
 *			of src0 [1, n] that each one is in
 *
 * Arithmetic is fp32 with casts at both ends (round to nearest even where
 * SET_ROUNDING does not say otherwise, saturating for integers); bitwise
 * operators need integer types of one size.
 */
enum neuron_opcode {
	NEURON_OP_ILLEGAL		= 0x00,
	NEURON_OP_HALT			= 0x01,
	NEURON_OP_NOP			= 0x02,
	NEURON_OP_NOTIFY		= 0x03,
	NEURON_OP_DMA_TRIGGER		= 0x04,
	NEURON_OP_DMA_GENERATE		= 0x05,
	NEURON_OP_EVENT_SET		= 0x06,
	NEURON_OP_EVENT_CLEAR		= 0x07,
	NEURON_OP_REG_SET		= 0x08,
	NEURON_OP_REG_ALU		= 0x09,
	NEURON_OP_BRANCH		= 0x0a,
	NEURON_OP_LOOP			= 0x0b,
	NEURON_OP_REG_LOAD		= 0x0c,
	NEURON_OP_REG_STORE		= 0x0d,
	NEURON_OP_EVENT_WAIT		= 0x0e,
	NEURON_OP_SET_ROUNDING		= 0x0f,
	NEURON_OP_LOAD_STATIONARY	= 0x10,
	NEURON_OP_MATMUL		= 0x11,
	NEURON_OP_LOAD_SPARSE		= 0x12,
	NEURON_OP_MATMUL_SPARSE		= 0x13,
	NEURON_OP_LOAD_MX		= 0x14,
	NEURON_OP_MATMUL_MX		= 0x15,
	NEURON_OP_SEM_RANGE_CLEAR	= 0x17,
	NEURON_OP_SET_FP8_BIAS		= 0x18,
	NEURON_OP_REG_RANK		= 0x19,
	NEURON_OP_TENSOR_TENSOR		= 0x20,
	NEURON_OP_TENSOR_SCALAR		= 0x21,
	NEURON_OP_TENSOR_REDUCE		= 0x22,
	NEURON_OP_COPY			= 0x23,
	NEURON_OP_MEMSET		= 0x24,
	NEURON_OP_ACC_READ		= 0x25,
	NEURON_OP_ACC_LOAD		= 0x26,
	NEURON_OP_SCALAR_TENSOR_TENSOR	= 0x27,
	NEURON_OP_TENSOR_SCAN		= 0x28,
	NEURON_OP_TENSOR_CUMULATIVE	= 0x29,
	NEURON_OP_COPY_PREDICATED	= 0x2a,
	NEURON_OP_RECIPROCAL		= 0x2b,
	NEURON_OP_BN_STATS		= 0x2c,
	NEURON_OP_BN_AGGR		= 0x2d,
	NEURON_OP_RANGE_SELECT		= 0x2e,
	NEURON_OP_SELECT_REDUCE		= 0x2f,
	NEURON_OP_ACTIVATE		= 0x30,
	NEURON_OP_ACTIVATE2		= 0x31,
	NEURON_OP_MAX8			= 0x40,
	NEURON_OP_FIND_INDEX8		= 0x41,
	NEURON_OP_MATCH_REPLACE8	= 0x42,
	NEURON_OP_STREAM_SHUFFLE	= 0x43,
	NEURON_OP_TRANSPOSE		= 0x44,
	NEURON_OP_SET_RNG_SEED		= 0x45,
	NEURON_OP_RNG			= 0x46,
	NEURON_OP_DROPOUT		= 0x47,
	NEURON_OP_RAND_SET_STATE	= 0x48,
	NEURON_OP_RAND_GET_STATE	= 0x49,
	NEURON_OP_RAND2			= 0x4a,
	NEURON_OP_EXPONENTIAL		= 0x4b,
	NEURON_OP_QUANTIZE_MX		= 0x4c,
	NEURON_OP_IOTA			= 0x50,
	NEURON_OP_AFFINE_SELECT		= 0x51,
	NEURON_OP_PARTITION_REDUCE	= 0x52,
	NEURON_OP_LOCAL_GATHER		= 0x53,
	NEURON_OP_GATHER		= 0x54,
	NEURON_OP_NONZERO_WITH_COUNT	= 0x55,
	NEURON_OP_TOPK			= 0x56,
	NEURON_OP_SEQUENCE_BOUNDS	= 0x57,
	/*
	 * Only in NEFF files: the loader replaces it with DMA_TRIGGER. addr is
	 * the id of the DMA block, reg[0] | reg[1] << 8 the queue index. The
	 * chip takes it for an unknown opcode.
	 */
	NEURON_OP_PSEUDO_DMA_TRIGGER	= 0x80,
};

/* neuron_inst.flags; bit 8 and above: neuron_inst.mode, shifted down by 8 */
#define NEURON_INST_ACCUMULATE	NEURON_BIT(0)	/* MATMUL */
#define NEURON_INST_IMM		NEURON_BIT(1)	/* REG_ALU, BRANCH, COPY_PREDICATED */
#define NEURON_INST_SRC1_COLUMN	NEURON_BIT(2)	/* TENSOR_SCALAR, ACTIVATE, ACTIVATE2 */
#define NEURON_INST_REVERSE0	NEURON_BIT(3)	/* op0, or a predicate */
#define NEURON_INST_REVERSE1	NEURON_BIT(4)	/* op1 */
#define NEURON_INST_NEGATE	NEURON_BIT(5)	/* TENSOR_REDUCE */
#define NEURON_INST_CLEAR	NEURON_BIT(6)	/* EVENT_WAIT */
#define NEURON_INST_TRANSPOSE	NEURON_BIT(7)	/* MATMUL */
/* the same, continued in neuron_inst.mode */
#define NEURON_INST_COL0	NEURON_BIT(8)	/* col0 in place of imm0 */
#define NEURON_INST_COL1	NEURON_BIT(9)	/* col1 in place of imm1 */
#define NEURON_INST_ARRAY	NEURON_BIT(10)	/* LOAD_STATIONARY, MATMUL: imm0 */
#define NEURON_INST_ONE_ZERO	NEURON_BIT(11)	/* the same: a hint for the clock */
#define NEURON_INST_DOUBLE_ROW	NEURON_BIT(12)	/* the same */
#define NEURON_INST_LANDED	NEURON_BIT(13)	/* DMA_TRIGGER, DMA_GENERATE: the post */
#define NEURON_INST_LENGTH	NEURON_BIT(14)	/* DMA_GENERATE */
#define NEURON_INST_QUEUES	NEURON_BIT(15)	/* DMA_TRIGGER */
#define NEURON_INST_WRITTEN	NEURON_BIT(16)	/* MATMUL: adds in a part: addr */

/* ALU operators; comparisons and logical ones give 1.0 or 0.0. */
enum neuron_alu {
	NEURON_ALU_BYPASS	= 0x00,
	NEURON_ALU_ADD		= 0x01,
	NEURON_ALU_SUBTRACT	= 0x02,
	NEURON_ALU_MULTIPLY	= 0x03,
	NEURON_ALU_MAX		= 0x04,
	NEURON_ALU_MIN		= 0x05,
	NEURON_ALU_DIVIDE	= 0x06,
	NEURON_ALU_ABS_MAX	= 0x07,
	NEURON_ALU_ABS_MIN	= 0x08,
	NEURON_ALU_POWER	= 0x09,	/* GpSimd */
	NEURON_ALU_AVERAGE	= 0x0a,	/* PARTITION_REDUCE */
	NEURON_ALU_IS_EQ	= 0x10,
	NEURON_ALU_IS_NE	= 0x11,
	NEURON_ALU_IS_GE	= 0x12,
	NEURON_ALU_IS_GT	= 0x13,
	NEURON_ALU_IS_LE	= 0x14,
	NEURON_ALU_IS_LT	= 0x15,
	NEURON_ALU_LOGICAL_AND	= 0x18,
	NEURON_ALU_LOGICAL_OR	= 0x19,
	NEURON_ALU_LOGICAL_XOR	= 0x1a,
	NEURON_ALU_BITWISE_AND	= 0x20,
	NEURON_ALU_BITWISE_OR	= 0x21,
	NEURON_ALU_BITWISE_XOR	= 0x22,
	NEURON_ALU_SHIFT_LEFT	= 0x23,
	NEURON_ALU_SHIFT_RIGHT	= 0x24,	/* logical */
	NEURON_ALU_INVERT	= 0x25,	/* of one operand, like the following */
	NEURON_ALU_ABS		= 0x28,
	NEURON_ALU_SQUARE	= 0x29,
	NEURON_ALU_RELU		= 0x2a,
	NEURON_ALU_RSQRT	= 0x2b,
	NEURON_ALU_RECIPROCAL	= 0x2c,
};

/* Activation functions; *_DX is the derivative. */
enum neuron_act {
	NEURON_ACT_IDENTITY			= 0x00,
	NEURON_ACT_RELU				= 0x01,
	NEURON_ACT_GELU				= 0x02,
	NEURON_ACT_EXP				= 0x03,
	NEURON_ACT_SQUARE			= 0x04,
	NEURON_ACT_SIGMOID			= 0x05,
	NEURON_ACT_PRELU			= 0x06,
	NEURON_ACT_GELU_DX			= 0x07,
	NEURON_ACT_GELU_APPRX_TANH		= 0x08,
	NEURON_ACT_GELU_APPRX_SIGMOID		= 0x09,
	NEURON_ACT_GELU_APPRX_SIGMOID_DX	= 0x0a,
	NEURON_ACT_SILU				= 0x0b,
	NEURON_ACT_SILU_DX			= 0x0c,
	NEURON_ACT_TANH				= 0x0d,
	NEURON_ACT_SOFTPLUS			= 0x0e,
	NEURON_ACT_MISH				= 0x0f,
	NEURON_ACT_ERF				= 0x10,
	NEURON_ACT_ERF_DX			= 0x11,
	NEURON_ACT_SIGN				= 0x12,
	NEURON_ACT_ABS				= 0x13,
	NEURON_ACT_LOG				= 0x14,
	NEURON_ACT_SIN				= 0x15,
	NEURON_ACT_ARCTAN			= 0x16,
	NEURON_ACT_SQRT				= 0x17,
	NEURON_ACT_RSQRT			= 0x18,
	NEURON_ACT_RECIPROCAL			= 0x19,
	NEURON_NR_ACTS
};

#endif /* NEURON_ISA_H */
