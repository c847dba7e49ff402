// SPDX-License-Identifier: MIT
/*
 * Jobs as a driver and a runtime would make them, with something wrong in a part
 * of them: tables in host memory, programs and rings in a window of HBM.
 */
#include "fuzz_chip.h"

#include <string.h>

#include "contract/job.h"
#include "contract/window.h"
#include "neuron/dma_op.h"
#include "neuron/job.h"
#include "neuron/window.h"
#include "isa/trn_isa.h"

/* Of core n, in host memory. */
#define JOB_AT(core)		(0x20000u + (core) * 0x2000)
#define WINDOWS_AT		0x100
#define QUEUES_AT		0x400
#define EXTENTS_AT		0x800
#define DIRECTORY_AT		0xc00
#define COMPLETION_AT		0xf00
#define SETTLE_AT		0xf40
#define LINKED_AT		0xfd0	/* two extents, and a link at the end of the page */
#define DATA_AT			0x1000
#define DATA_BYTES		0x1000

/* Of core n, in HBM stack 0. */
#define HBM_AT(core)		(NEURON_MIB(16) + (core) * 0x100000u)
#define HBM_BYTES		0x100000
#define PROGRAM_AT(engine)	((engine) * 0x1000)
#define RING_AT(q, side)	(0x8000 + ((q) * 2 + (side)) * 0x400)
#define DGE_AT			0x10000
#define FREE_AT			0x20000

#define NR_WINDOWS		13
#define MAX_QUEUES		4
#define MAX_INSTRUCTIONS	12
#define RING			32

enum {
	W_HBM,
	W_HOST,
	W_SBUF,
	W_PSUM,
	W_SEM,
	W_PEER,
	W_PEER_SEM,
	W_LIST,
	W_READ_ONLY,
	W_STREAM,
	W_GRANT,
	W_PEER_GRANT,
	W_EMPTY,
};

/*
 * The job being made. @cc: not of the core but of its CC-core @cc - 1; it shares the
 * memories that the job's tables and programs are in.
 */
struct maker {
	unsigned int c;
	uint32_t core;
	uint32_t cc;
	uint32_t nr_queues;
	struct neuron_hw_job block;
};

static uint64_t host_addr(struct fuzz *fuzz, const struct maker *maker,
			  uint32_t offset)
{
	return fuzz->gen->host_base + JOB_AT(maker->core) + offset;
}

static void put_host(struct fuzz *fuzz, const struct maker *maker,
		     uint32_t offset, void *data, size_t len)
{
	fuzz_spoil(fuzz, data, len);
	fuzz_host(fuzz, maker->c, JOB_AT(maker->core) + offset, data, len);
}

static void put_hbm(struct fuzz *fuzz, const struct maker *maker,
		    uint32_t offset, void *data, size_t len)
{
	fuzz_spoil(fuzz, data, len);
	fuzz_hbm(fuzz, maker->c, 0, HBM_AT(maker->core) + offset, data, len);
}

static void put_extents(struct fuzz *fuzz, struct maker *maker, uint32_t n)
{
	struct neuron_hw_extent extents[8];
	uint32_t i;

	for (i = 0; i < n; i++)
		extents[i] = neuron_hw_extent(host_addr(fuzz, maker, DATA_AT +
							fuzz_random(fuzz, 8) * 0x200), 0x100);
	put_host(fuzz, maker, EXTENTS_AT, extents, n * sizeof(extents[0]));
}

/* A list of four extents in two pages; the second page is that of the data. */
static void put_linked(struct fuzz *fuzz, struct maker *maker)
{
	struct neuron_hw_extent extents[3];
	uint32_t i;

	for (i = 0; i < 2; i++)
		extents[i] = neuron_hw_extent(host_addr(fuzz, maker, DATA_AT + 0x800), 0x100);
	extents[2] = neuron_hw_extent_link(host_addr(fuzz, maker, DATA_AT));
	put_host(fuzz, maker, LINKED_AT, extents, sizeof(extents));
	for (i = 0; i < 2; i++)
		extents[i].addr += 0x100;
	put_host(fuzz, maker, DATA_AT, extents, 2 * sizeof(extents[0]));
}

static void put_pieces(struct fuzz *fuzz, struct maker *maker)
{
	uint64_t directory[2] = { maker->block.window_table, 0 };

	put_host(fuzz, maker, DIRECTORY_AT, directory, sizeof(directory));
	neuron_hw_job_pieces(&maker->block, host_addr(fuzz, maker, DIRECTORY_AT),
			     fuzz_once_in(fuzz, 8) ? 2 * NEURON_TABLE_PIECE : NR_WINDOWS);
}

static uint32_t cc_number(const struct fuzz *fuzz, const struct maker *maker)
{
	return maker->core * neuron_cc_per_core(fuzz->gen) + maker->cc - 1;
}

static uint64_t own_sems(const struct fuzz *fuzz, const struct maker *maker)
{
	const struct neuron_gen *gen = fuzz->gen;

	if (!maker->cc)
		return gen->tpb_addr[maker->core] + NEURON_TPB_SEM;
	return neuron_top_sp_addr(gen, neuron_top_sp_of_id(gen, cc_number(fuzz, maker)));
}

static void put_windows(struct fuzz *fuzz, struct maker *maker)
{
	const uint32_t rw = NEURON_WINDOW_RIGHTS;
	const struct neuron_gen *gen = fuzz->gen;
	uint64_t tpb = gen->tpb_addr[maker->core];
	uint64_t sems = own_sems(fuzz, maker);
	uint32_t peer = fuzz_once_in(fuzz, 8) ? 5 : !maker->c;
	uint32_t extents = 1 + fuzz_random(fuzz, 8);
	struct neuron_hw_window w[NR_WINDOWS] = {
		[W_HBM] = neuron_hw_window_memory(NEURON_WINDOW_HBM, rw,
						  gen->hbm_addr[0] + HBM_AT(maker->core),
						  HBM_BYTES),
		[W_HOST] = neuron_hw_window_memory(NEURON_WINDOW_HOST, rw,
						   host_addr(fuzz, maker, DATA_AT), DATA_BYTES),
		[W_SBUF] = neuron_hw_window_memory(NEURON_WINDOW_SBUF, rw, tpb,
						   NEURON_TPB_SBUF_SIZE),
		[W_PSUM] = neuron_hw_window_memory(NEURON_WINDOW_PSUM, rw, tpb + NEURON_TPB_PSUM,
						   NEURON_TPB_PSUM_SIZE),
		[W_SEM] = neuron_hw_window_sems(rw, sems, 0, NEURON_NR_SEMAPHORES, 0),
		[W_PEER] = neuron_hw_window_memory(NEURON_WINDOW_PEER, rw,
						   neuron_fabric_addr(peer, gen->hbm_addr[0] +
								      0x1000), 0x8000),
		[W_PEER_SEM] = neuron_hw_window_sems(rw, neuron_fabric_addr(peer, sems), 8, 16,
						     fuzz_random(fuzz, 2)),
		[W_LIST] = neuron_hw_window_list(NEURON_WINDOW_HOST, rw,
						 host_addr(fuzz, maker, EXTENTS_AT), extents,
						 extents * 0x100),
		[W_READ_ONLY] = neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_READ,
							gen->hbm_addr[1], 0x1000),
		[W_STREAM] = neuron_hw_window_memory(NEURON_WINDOW_STREAM, 0,
						     host_addr(fuzz, maker, DATA_AT), DATA_BYTES),
		[W_GRANT] = neuron_hw_window_grant(rw, gen->tpb_addr[!maker->core] +
						   NEURON_TPB_SBUF + 0x100, 0x1000,
						   fuzz_random(fuzz, 2)),
		[W_PEER_GRANT] = neuron_hw_window_grant(rw,
							neuron_fabric_addr(peer, tpb +
									   NEURON_TPB_SBUF),
							0x1000, fuzz_random(fuzz, 2)),
	};

	put_extents(fuzz, maker, extents);
	if (fuzz_once_in(fuzz, 4)) {
		put_linked(fuzz, maker);
		w[W_LIST] = neuron_hw_window_list(NEURON_WINDOW_HOST, rw,
						  host_addr(fuzz, maker, LINKED_AT), 4, 4 * 0x100);
	}
	put_host(fuzz, maker, WINDOWS_AT, w, sizeof(w));
	neuron_hw_job_windows(&maker->block, host_addr(fuzz, maker, WINDOWS_AT), NR_WINDOWS);
	if (fuzz_once_in(fuzz, 4))
		put_pieces(fuzz, maker);
}

/* Now and then an address that no window has. */
static uint64_t window_addr(struct fuzz *fuzz)
{
	static const uint32_t bytes[NR_WINDOWS] = {
		HBM_BYTES, DATA_BYTES, NEURON_TPB_SBUF_SIZE,
		NEURON_TPB_PSUM_SIZE, 1024, 0x8000, 64, 0x800, 0x1000,
		DATA_BYTES, 0x1000, 0x1000, 1,
	};
	uint32_t window = fuzz_random(fuzz, NR_WINDOWS);
	uint64_t offset = fuzz_random(fuzz, bytes[window]);

	if (fuzz_once_in(fuzz, 16))
		return fuzz_addr(fuzz);
	if (window == W_HBM && offset < FREE_AT && !fuzz_once_in(fuzz, 8))
		offset += FREE_AT;
	return neuron_window_addr(window, fuzz_once_in(fuzz, 8) ? offset :
								  offset & ~3ull);
}

static void put_ring(struct fuzz *fuzz, struct maker *maker, uint32_t q,
		     unsigned int side)
{
	struct neuron_udma_desc desc[RING];
	uint32_t bytes[RING], i;
	uint64_t addr[RING];
	bool same;

	for (i = 0; i < RING; i++) {
		bytes[i] = 1 + fuzz_random(fuzz, 256);
		addr[i] = window_addr(fuzz);
	}
	same = !fuzz_once_in(fuzz, 3);		/* packets of the same shape */
	for (i = 0; i < RING; i++)
		desc[i] = neuron_desc(addr[i], same ? 64 : bytes[i], NEURON_UDMA_RING_ID_FIRST,
				      side ? 0 : NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST,
				      side ? 0 : NEURON_UDMA_META_DEFAULT);
	put_hbm(fuzz, maker, RING_AT(q, side), desc, sizeof(desc));
}

/* Most jobs have none: before NeuronCore-v4 it is refused. */
static uint32_t priority(struct fuzz *fuzz)
{
	if (!fuzz_once_in(fuzz, 4))
		return 0;
	return NEURON_PUT(NEURON_JOB_QUEUE_PRIORITY, fuzz_random(fuzz, NEURON_NR_PRIORITIES));
}

static void put_queues(struct fuzz *fuzz, struct maker *maker)
{
	uint32_t first = neuron_core_dma(maker->core), q;
	struct neuron_hw_job_queue queues[MAX_QUEUES];

	maker->nr_queues = fuzz_random(fuzz, MAX_QUEUES + 1);
	for (q = 0; q < maker->nr_queues; q++) {
		neuron_hw_job_queue_place(&queues[q], first, (uint16_t)fuzz_random(fuzz, 16),
					  (uint16_t)(q * 4 + fuzz_random(fuzz, 4)));
		neuron_hw_job_queue_rings(&queues[q], neuron_window_addr(W_HBM, RING_AT(q, 0)),
					  RING, neuron_window_addr(W_HBM, RING_AT(q, 1)), RING,
					  fuzz_random(fuzz, 2) | priority(fuzz));
		put_ring(fuzz, maker, q, 0);
		put_ring(fuzz, maker, q, 1);
	}
	if (q)
		put_host(fuzz, maker, QUEUES_AT, queues, q * sizeof(queues[0]));
	maker->block.queue_table = host_addr(fuzz, maker, QUEUES_AT);
	maker->block.nr_queues = q;
}

/* Behind the queues: to HBM or host memory, in one piece or several, or to what it may not. */
static void put_trace(struct fuzz *fuzz, struct maker *maker)
{
	const uint32_t kind = fuzz_once_in(fuzz, 8) ? fuzz_random(fuzz, 10) :
			      NEURON_WINDOW_HBM + fuzz_random(fuzz, 2);
	struct neuron_hw_window window = {
		.base = kind == NEURON_WINDOW_HBM ? HBM_AT(maker->core) + FREE_AT :
						    host_addr(fuzz, maker, DATA_AT),
		.length = fuzz_random(fuzz, 0x400),
		.flags = kind | NEURON_WINDOW_WRITE,
	};

	if (kind == NEURON_WINDOW_HOST && fuzz_once_in(fuzz, 2)) {
		window.base = host_addr(fuzz, maker, EXTENTS_AT);
		window.nr_extents = 1 + fuzz_random(fuzz, 2);
		window.length = window.nr_extents * 0x100;
		window.flags |= NEURON_WINDOW_LIST;
	}
	put_host(fuzz, maker, QUEUES_AT + maker->nr_queues * sizeof(struct neuron_hw_job_queue),
		 &window, sizeof(window));
	maker->block.flags |= NEURON_JOB_TRACE;
}

/* What the tiles of an instruction have in common, mostly. */
static void make_shape(struct fuzz *fuzz, struct neuron_ap *ap)
{
	static const uint8_t partitions[8] = { 1, 1, 2, 16, 32, 64, 128, 4 };
	static const uint8_t dtypes[8] = {
		NEURON_DTYPE_FP32, NEURON_DTYPE_FP32, NEURON_DTYPE_BF16,
		NEURON_DTYPE_FP16, NEURON_DTYPE_INT32, NEURON_DTYPE_UINT8,
		NEURON_DTYPE_INT16, NEURON_DTYPE_FP8_E4,
	};
	unsigned int i;

	*ap = (struct neuron_ap){
		.partitions = partitions[fuzz_random(fuzz, 8)],
		.dtype = dtypes[fuzz_random(fuzz, 8)],
	};
	for (i = 0; i < 4; i++)
		ap->num[i] = (uint16_t)(i && !fuzz_once_in(fuzz, 4) ?
					1 : 1 + fuzz_random(fuzz, 8));
}

/* Mostly where the tile begins, in memory that other instructions write. */
static void make_index(struct fuzz *fuzz, struct neuron_ap *ap)
{
	unsigned int i;

	for (i = 1; i < 4; i++) {
		ap->num[i] = 1;
		ap->step[i] = 0;
	}
	ap->step[0] = (uint16_t)(fuzz_random(fuzz, 1024) * 2);
	if (fuzz_once_in(fuzz, 8))
		ap->step[1] = (uint16_t)(fuzz_random(fuzz, 4) << 13);
	ap->index = NEURON_AP_INDEX;
}

static void make_tile(struct fuzz *fuzz, const struct neuron_ap *shape,
		      struct neuron_ap *ap)
{
	uint16_t step = 1;
	unsigned int i;

	if (fuzz_once_in(fuzz, 8))
		make_shape(fuzz, ap);
	else
		*ap = *shape;
	ap->addr = fuzz_random(fuzz, 512) * 4;
	if (fuzz_once_in(fuzz, 3))
		ap->addr |= NEURON_AP_PSUM;
	if (fuzz_once_in(fuzz, 16))
		ap->offset_reg = (uint8_t)fuzz_random(fuzz, 8);
	for (i = 0; i < 4; i++) {
		ap->step[i] = step;
		if (fuzz_once_in(fuzz, 8))
			ap->step[i] = (uint16_t)fuzz_random(fuzz, 64);
		step = (uint16_t)(step * ap->num[i]);
	}
}

/* The tensor engine wants the stationary operand's shape in what follows. */
static void make_matmul(struct fuzz *fuzz, struct neuron_inst *inst)
{
	inst->dst.addr |= NEURON_AP_PSUM;
	inst->dst.dtype = NEURON_DTYPE_FP32;
	inst->dst.partitions = 8;
	inst->src0.addr &= ~NEURON_AP_PSUM;
	inst->src0.partitions = 8;
	inst->src0.dtype = NEURON_DTYPE_BF16;
	if (inst->opcode == NEURON_OP_MATMUL)
		return;
	memset(&inst->dst, 0, sizeof(inst->dst));
	inst->src0.num[0] = 8;
	inst->src0.num[1] = 1;
	inst->src0.num[2] = 1;
	inst->src0.num[3] = 1;
	if (fuzz_once_in(fuzz, 8))
		inst->src0.num[0] = 16;
}

static void make_operands(struct fuzz *fuzz, struct neuron_inst *inst,
			  unsigned int fields)
{
	struct neuron_ap shape;
	unsigned int i;

	make_shape(fuzz, &shape);
	if (fields & TRN_FIELD_DST)
		make_tile(fuzz, &shape, &inst->dst);
	if (fields & TRN_FIELD_SRC0)
		make_tile(fuzz, &shape, &inst->src0);
	if (fields & TRN_FIELD_SRC1) {
		make_tile(fuzz, &shape, &inst->src1);
		if (inst->flags & NEURON_INST_SRC1_COLUMN)
			for (i = 0; i < 4; i++)
				inst->src1.num[i] = 1;
	}
	if ((inst->opcode == NEURON_OP_MATMUL ||
	     inst->opcode == NEURON_OP_LOAD_STATIONARY) &&
	    !fuzz_once_in(fuzz, 8))
		make_matmul(fuzz, inst);
	if (fields & TRN_FIELD_IMM0)
		inst->imm0 = fuzz_random(fuzz, 4);
	if (fields & TRN_FIELD_IMM1)
		inst->imm1 = fuzz_random(fuzz, 4);
	for (i = 0; i < 4; i++)
		if (fields & TRN_FIELD_REG(i))
			inst->reg[i] = (uint8_t)fuzz_random(fuzz, 8);
	if (fields & TRN_FIELD_ADDR)
		inst->addr = fuzz_once_in(fuzz, 2) ? fuzz_random(fuzz, 16) :
						     window_addr(fuzz);
}

static void make_sync(struct fuzz *fuzz, struct neuron_inst *inst)
{
	if (fuzz_once_in(fuzz, 4)) {
		inst->sync |= (uint8_t)(1 + fuzz_random(fuzz, 2));
		if (fuzz_once_in(fuzz, 2))
			inst->sync |= NEURON_SYNC_TAKE;
		inst->wait_sem = (uint16_t)fuzz_random(fuzz, 4);
		inst->wait_value = fuzz_random(fuzz, 2);
	}
	if (fuzz_once_in(fuzz, 2)) {
		inst->sync |= (uint8_t)(fuzz_random(fuzz, 4) << 4);
		inst->post_sem = (uint16_t)fuzz_random(fuzz, 4);
		inst->post_value = fuzz_random(fuzz, 3);
	}
}

/* A row of the table, mostly one that @engine has. */
static const struct trn_isa *some_row(struct fuzz *fuzz, unsigned int engine)
{
	bool any = fuzz_once_in(fuzz, 16);
	const struct trn_isa *row = NULL;
	unsigned int n = 0, first, i;

	while (trn_isa_row(n))
		n++;
	first = fuzz_random(fuzz, n);
	for (i = 0; i < n; i++) {
		row = trn_isa_row((first + i) % n);
		if (any || (row->engines & NEURON_BIT(engine)))
			break;
	}
	return row;
}

static void make_bytes(struct fuzz *fuzz, void *bytes, size_t n)
{
	uint8_t *out = bytes;

	while (n--)
		*out++ = (uint8_t)fuzz_random(fuzz, 40);
}

static void make_indices(struct fuzz *fuzz, struct neuron_inst *inst, unsigned int fields)
{
	if (fuzz->gen->generation < 4 && !fuzz_once_in(fuzz, 16))
		return;
	if ((fields & TRN_FIELD_DST) && fuzz_once_in(fuzz, 4))
		make_index(fuzz, &inst->dst);
	if ((fields & TRN_FIELD_SRC0) && fuzz_once_in(fuzz, 4))
		make_index(fuzz, &inst->src0);
	if ((fields & TRN_FIELD_SRC1) && fuzz_once_in(fuzz, 4))
		make_index(fuzz, &inst->src1);
}

/* A part of a destination that has sums; no other flag may say what becomes of them. */
static void make_written(struct fuzz *fuzz, struct neuron_inst *inst)
{
	inst->flags &= (uint8_t)~(NEURON_INST_ACCUMULATE | NEURON_INST_TRANSPOSE);
	inst->addr = neuron_written_put((struct neuron_written) {
		.lines = (uint16_t)(1 + fuzz_random(fuzz, 4)),
		.first = (uint16_t)fuzz_random(fuzz, 4),
		.count = (uint16_t)(1 + fuzz_random(fuzz, 4)) });
}

/* What the flags, the accumulators and a few instructions need besides. */
static void make_extras(struct fuzz *fuzz, const struct trn_isa *row,
			struct neuron_inst *inst, unsigned int fields)
{
	if (fields & TRN_FIELD_STEPS1)
		make_bytes(fuzz, &inst->src1, 16);
	if (fields & TRN_FIELD_MASK)
		make_bytes(fuzz, &inst->src1, NEURON_INST_MASK);
	if (fields & TRN_FIELD_COL0)
		inst->col0 = fuzz_random(fuzz, 512) * 4;
	if (fields & TRN_FIELD_COL1)
		inst->col1 = fuzz_random(fuzz, 512) * 4;
	if ((fields & TRN_FIELD_COL0) && (row->typed & NEURON_INST_COL0))
		inst->col_dtype[0] = (uint8_t)fuzz_random(fuzz, NEURON_NR_DTYPES);
	if ((fields & TRN_FIELD_COL1) && (row->typed & NEURON_INST_COL1))
		inst->col_dtype[1] = (uint8_t)fuzz_random(fuzz, NEURON_NR_DTYPES);
	if (fields & TRN_FIELD_IMM2)
		inst->addr = fuzz_random(fuzz, 16);
	if (trn_isa_flags(inst) & NEURON_INST_WRITTEN)
		make_written(fuzz, inst);
	if (trn_isa_flags(inst) & NEURON_INST_ARRAY)
		inst->imm0 = neuron_array_put((struct neuron_array) {
			.row = (uint8_t)(fuzz_random(fuzz, 2) * 64), .rows = 64,
			.col = (uint8_t)(fuzz_random(fuzz, 2) * 64), .cols = 64 });
	if (row->reduces && fuzz_once_in(fuzz, 2)) {
		inst->op2 = (uint8_t)(1 + fuzz_random(fuzz, NEURON_ALU_MIN));
		inst->reduce = (uint8_t)fuzz_random(fuzz, NEURON_REDUCE_LOAD_REDUCE);
	}
}

/* An instruction of the table with only its own fields filled in. */
static void make_inst(struct fuzz *fuzz, const struct maker *maker,
		      unsigned int engine, struct neuron_inst *inst)
{
	static const uint8_t ops[] = {
		NEURON_ALU_BYPASS, NEURON_ALU_ADD, NEURON_ALU_MULTIPLY,
		NEURON_ALU_MAX, NEURON_ALU_DIVIDE, NEURON_ALU_IS_GT,
		NEURON_ALU_BITWISE_XOR, NEURON_ALU_SHIFT_LEFT,
	};
	const struct trn_isa *row = some_row(fuzz, engine);
	unsigned int fields = 0, i;

	memset(inst, 0, sizeof(*inst));
	inst->opcode = row->opcode;
	inst->flags = (uint8_t)(fuzz_random(fuzz, 256) & row->flags);
	inst->mode = (uint16_t)(fuzz_random(fuzz, 256) & (row->flags >> 8));
	if (row->func)
		inst->reg[0] = (uint8_t)fuzz_random(fuzz, NEURON_NR_ACTS);
	if (row->op[0] != TRN_OP_NONE)
		inst->op0 = row->op[0] == TRN_OP_ACT ?
				    (uint8_t)fuzz_random(fuzz, NEURON_NR_ACTS) :
				    ops[fuzz_random(fuzz, sizeof(ops))];
	if (row->op[1] != TRN_OP_NONE)
		inst->op1 = ops[fuzz_random(fuzz, sizeof(ops))];
	for (i = 0; i < TRN_ISA_OPERANDS; i++) {
		enum trn_operand operand = (enum trn_operand)row->operand[i];

		fields |= trn_isa_operand_fields(operand, inst);
	}
	make_operands(fuzz, inst, fields);
	make_extras(fuzz, row, inst, fields);
	make_indices(fuzz, inst, fields & row->indirect);
	make_sync(fuzz, inst);
	if (row->opcode == NEURON_OP_DMA_TRIGGER && maker->nr_queues) {
		inst->reg[0] = (uint8_t)fuzz_random(fuzz, maker->nr_queues);
		inst->reg[1] = 0;
		inst->imm1 = inst->imm0;
	}
	if (row->opcode == NEURON_OP_DMA_GENERATE) {
		inst->reg[0] = 0;
		inst->reg[1] = 0;
		inst->addr = neuron_window_addr(W_HBM, DGE_AT +
						fuzz_random(fuzz, 4) * 512);
		if (trn_isa_flags(inst) & NEURON_INST_LENGTH) {
			inst->imm0 = fuzz_random(fuzz, NEURON_NR_REGS);
			inst->imm1 = fuzz_random(fuzz, 4);
		}
	}
}

static void put_program(struct fuzz *fuzz, struct maker *maker,
			unsigned int engine)
{
	struct neuron_inst program[MAX_INSTRUCTIONS];
	uint32_t n = 1 + fuzz_random(fuzz, MAX_INSTRUCTIONS), i;

	for (i = 0; i < n; i++)
		make_inst(fuzz, maker, engine, &program[i]);
	if (!fuzz_once_in(fuzz, 8))
		program[n - 1] = (struct neuron_inst){
			.opcode = NEURON_OP_HALT,
		};
	put_hbm(fuzz, maker, PROGRAM_AT(engine), program,
		n * sizeof(program[0]));
	maker->block.start[engine] = (struct neuron_hw_start){
		.addr = neuron_window_addr(W_HBM, PROGRAM_AT(engine)),
		.count = n,
	};
}

/* What DMA_GENERATE instructions name. */
static void put_generated(struct fuzz *fuzz, struct maker *maker)
{
	struct neuron_udma_dge dge = {
		.op = {
			.op = (uint8_t)fuzz_random(fuzz, NEURON_UDMA_NR_OPS),
			.nr_src = 1,
			.nr_dst = 1,
			.src_dtype = NEURON_DTYPE_FP32,
			.dst_dtype = NEURON_DTYPE_FP32,
			.src = { { 4, 4, 1, 1 }, { 4, 16, 64, 64 } },
			.dst = { { 4, 4, 1, 1 }, { 4, 16, 64, 64 } },
		},
		.src = { window_addr(fuzz) },
		.dst = { window_addr(fuzz) },
	};

	put_hbm(fuzz, maker, DGE_AT + fuzz_random(fuzz, 4) * 512, &dge,
		sizeof(dge));
}

static void ring(struct fuzz *fuzz, struct maker *maker)
{
	uint64_t core = neuron_ctl_bar0(fuzz->gen) +
			(maker->cc ? NEURON_CTL_CC(cc_number(fuzz, maker)) :
				     NEURON_CTL_CORE(maker->core));
	uint64_t addr = host_addr(fuzz, maker, 0);

	if (fuzz_once_in(fuzz, 2))
		fuzz_write(fuzz, maker->c, core + NEURON_CORE_MASK, 0, 4);
	if (fuzz_once_in(fuzz, 2)) {
		fuzz_write(fuzz, maker->c, core + NEURON_CORE_DOORBELL_LO, addr,
			   8);
		return;
	}
	fuzz_write(fuzz, maker->c, core + NEURON_CORE_DOORBELL_LO,
		   (uint32_t)addr, 4);
	fuzz_write(fuzz, maker->c, core + NEURON_CORE_DOORBELL_HI, addr >> 32,
		   4);
}

/* A CC-core has sync alone, and is given others now and then. */
static bool has_program(struct fuzz *fuzz, const struct maker *maker, unsigned int e)
{
	if (!maker->cc)
		return fuzz_once_in(fuzz, 2);
	return e == NEURON_ENGINE_SYNC || fuzz_once_in(fuzz, 64);
}

/* One of few gangs, so that others are in it, too. */
static void join_gang(struct fuzz *fuzz, struct maker *maker)
{
	maker->block.gang = 1 + fuzz_random(fuzz, 4);
	maker->block.gang_size = (uint16_t)(2 + fuzz_random(fuzz, 2));
	maker->block.gang_index = (uint16_t)fuzz_random(fuzz, 3);
}

/* One of few, of jobs on both chips; and the end of one, which may be another. */
static void join_time_group(struct fuzz *fuzz, struct maker *maker)
{
	struct neuron_hw_time_group group = {
		.group = 1 + fuzz_random(fuzz, 8),
		.settle = host_addr(fuzz, maker, SETTLE_AT),
		.size = 1 + fuzz_random(fuzz, 3),
		.index = fuzz_random(fuzz, 3),
	};

	neuron_hw_job_group(&maker->block, host_addr(fuzz, maker, QUEUES_AT));
	put_host(fuzz, maker,
		 (uint32_t)(neuron_hw_job_group_at(&maker->block) - host_addr(fuzz, maker, 0)),
		 &group, sizeof(group));
	if (fuzz_once_in(fuzz, 4))
		fuzz_write(fuzz, maker->c,
			   neuron_ctl_bar0(fuzz->gen) + NEURON_CTL_GROUP_END_LO,
			   1 + fuzz_random(fuzz, 8), 8);
}

void fuzz_make_job(struct fuzz *fuzz, unsigned int c)
{
	struct maker maker = {
		.c = c,
		.core = fuzz_random(fuzz, fuzz->gen->nr_cores),
		.block = {
			.magic = NEURON_JOB_MAGIC,
			.version = NEURON_JOB_VERSION,
			.sem_clear = { fuzz_random(fuzz, 16) },
			.sem_own = { fuzz_once_in(fuzz, 8) ? 1 : ~0ull },
		},
	};
	unsigned int e;

	if (fuzz_once_in(fuzz, 4))
		maker.cc = 1 + fuzz_random(fuzz, neuron_cc_per_core(fuzz->gen));
	maker.block.job_id = fuzz_random64(fuzz);
	maker.block.completion = host_addr(fuzz, &maker, COMPLETION_AT);
	if (fuzz_once_in(fuzz, 3))
		join_gang(fuzz, &maker);
	put_windows(fuzz, &maker);
	put_queues(fuzz, &maker);
	put_generated(fuzz, &maker);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (has_program(fuzz, &maker, e))
			put_program(fuzz, &maker, e);
	if (fuzz_once_in(fuzz, 2)) {
		unsigned int window = fuzz_once_in(fuzz, 2) ? W_HOST : W_STREAM;

		maker.block.notify_addr = neuron_window_addr(window, 0);
		maker.block.notify_size = 256;
	}
	if (fuzz_once_in(fuzz, 3))
		put_trace(fuzz, &maker);
	if (fuzz_once_in(fuzz, 3))
		join_time_group(fuzz, &maker);
	put_host(fuzz, &maker, 0, &maker.block, sizeof(maker.block));
	ring(fuzz, &maker);
}
