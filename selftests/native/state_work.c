// SPDX-License-Identifier: MIT
#include "state_work.h"

#include <string.h>

#include "contract/ring.h"
#include "contract/window.h"
#include "neuron/dma_op.h"
#include "neuron/notify.h"
#include "state_rig.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define TENSOR	NEURON_ENGINE_TENSOR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define F32	NEURON_DTYPE_FP32

/* Semaphores of a job; the last is posted by the other chip. */
enum {
	S_LOADED = 1,
	S_ADDED,
	S_PRODUCT,
	S_ACTIVATED,
	S_STORED,
	S_COPIED,
	S_PEER = 220,
};

/* In host memory, behind what the jobs need. */
#define HOST_DATA	0x80000
#define HOST_DATA_BYTES	0x20000
#define HOST_M2S	0xc0000
#define HOST_S2M	0xd0000
#define HOST_COPIES	0xe0000

/* In a job's data window. */
#define DATA_NOTIFY	0x80000
#define DATA_OUT	0x90000
#define DATA_BULK	0xa0000
#define BULK_BYTES	0x4000
#define DATA_DGE	0xb0000
#define DATA_DGE_OUT	0xb1000
#define DGE_ELEMENTS	2048
#define DGE_QUEUE	3
#define DGE_BURST	20

#define IN_PART		(NEURON_INST_ARRAY >> 8)

/* The kernel's queue: a copy engine, in domain 0. */
#define COPY_QUEUE	3
#define COPY_RING	64
#define COPY_BYTES	0x2000

/* Rings of notifications; each wraps several times. */
#define NQ_AT		NEURON_MIB(1)
#define NQ_BYTES	1024

static void fill(uint8_t *bytes, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (uint8_t)(seed >> 56);
	}
}

/* --- programs --- */

static uint64_t in_data(uint64_t offset)
{
	return neuron_window_addr(SEQ_DATA, offset);
}

static uint64_t in_sbuf(unsigned int partition, uint64_t offset)
{
	return neuron_window_addr(SEQ_SBUF,
				  partition * NEURON_TPB_SBUF_STRIDE + offset);
}

static uint64_t in_sem(unsigned int sem)
{
	return neuron_window_addr(SEQ_SEM, 4 * sem);
}

static uint64_t host_window(struct seq_job *job)
{
	struct fake_port *port = &job->rig->port[job->chip];

	job->window[job->nr_windows] = neuron_hw_window_memory(NEURON_WINDOW_HOST,
							       NEURON_WINDOW_READ,
							       fake_host_addr(port, HOST_DATA),
							       HOST_DATA_BYTES);
	return neuron_window_addr(job->nr_windows++, 0);
}

static void trigger(struct seq_job *job, enum neuron_engine engine,
		    unsigned int queue, unsigned int count)
{
	seq_add(job, engine, OP(DMA_TRIGGER, .reg = { (uint8_t)queue },
				.imm0 = count, .imm1 = count));
}

static void store(struct seq_job *job, enum neuron_engine engine, uint64_t addr,
		  uint32_t value)
{
	seq_add(job, engine, OP(REG_SET, .reg = { 1 }, .imm0 = value));
	seq_add(job, engine, OP(REG_STORE, .reg = { 1 }, .addr = addr));
}

/* Operands from host memory and HBM, and in the background a bulk copy. */
static void load_round(struct seq_job *job, unsigned int i, uint64_t host)
{
	seq_copy(job, 0, in_sbuf(i % 32, 0), host + 0x400 * i, 256);
	seq_copy(job, 0, in_sbuf((i + 7) % 32, 0x80), in_data(0x300 * i), 384);
	seq_copy(job, 0, in_sem(S_LOADED), host, 4);
	seq_copy(job, 2, in_data(DATA_BULK + (i % 4) * BULK_BYTES),
		 in_data(i * 0x1000), BULK_BYTES);
	seq_copy(job, 2, in_sem(S_COPIED), host, 4);
	trigger(job, SYNC, 0, 3);
	trigger(job, SYNC, 2, 2);
	seq_add(job, SYNC, OP(NOTIFY, .imm0 = i));
}

static void compute_round(struct seq_job *job, unsigned int i)
{
	unsigned int accumulate = i % 3 ? NEURON_INST_ACCUMULATE : 0;
	uint32_t half = neuron_array_put((struct neuron_array){
		.row = (uint8_t)(i % 2 * 64), .rows = 64, .cols = 64,
	});

	seq_add(job, VECTOR,
		post_add(take_ge(OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ADD,
				    .dst = ap_sbuf(0, 32, 0x1000, F32, 128),
				    .src0 = ap_sbuf(0, 32, 0, F32, 128),
				    .src1 = ap_sbuf(0, 32, 0x1000, F32, 128)),
				 S_LOADED, 1), S_ADDED, 1));
	seq_add(job, TENSOR, take_ge(OP(LOAD_STATIONARY, .mode = IN_PART, .imm0 = half,
					.src0 = ap_sbuf(0, 32, 0, F32, 64)),
				     S_ADDED, 1));
	seq_add(job, TENSOR,
		post_add(OP(MATMUL, .flags = (uint8_t)accumulate,
			    .mode = IN_PART, .imm0 = half,
			    .dst = ap_psum(0, 64, 0, F32, 128),
			    .src0 = ap_sbuf(0, 32, 0x1000, F32, 128)),
			 S_PRODUCT, 1));
	seq_add(job, SCALAR,
		post_add(take_ge(OP(ACTIVATE, .op0 = NEURON_ACT_RELU,
				    .imm0 = f32(0.5f),
				    .dst = ap_sbuf(0, 64, 0x2000, F32, 128),
				    .src0 = ap_psum(0, 64, 0, F32, 128)),
				 S_PRODUCT, 1), S_ACTIVATED, 1));
}

/* Results go home; now and then the other chip is told and waited for. */
static void store_round(struct seq_job *job, unsigned int i, uint64_t host,
			uint64_t peer)
{
	seq_copy(job, 1, in_data(DATA_OUT + 0x400 * i),
		 in_sbuf((5 * i) % 64, 0x2000), 512);
	seq_copy(job, 1, in_sem(S_STORED), host, 4);
	seq_add(job, GPSIMD, take_ge(OP(NOP, 0), S_ACTIVATED, 1));
	seq_add(job, GPSIMD, OP(REG_SET, .reg = { 2 }, .imm0 = 1000 + 99 * i));
	seq_add(job, GPSIMD, OP(LOOP, .reg = { 2 }, .addr = job->nr[GPSIMD]));
	trigger(job, GPSIMD, 1, 2);
	seq_add(job, SYNC, take_ge(OP(NOP, 0), S_STORED, 1));
	if (i % 3)
		return;
	store(job, GPSIMD, peer, 1);
	seq_add(job, SYNC, take_ge(OP(NOP, 0), S_PEER, 1));
}

/* More packets than a queue has room for. */
static void generate_round(struct seq_job *job)
{
	unsigned int i;

	for (i = 0; i < DGE_BURST; i++)
		seq_add(job, SCALAR,
			OP(DMA_GENERATE, .addr = in_data(DATA_DGE),
			   .reg = { DGE_QUEUE }));
}

/* The jobs of the first chip are a gang, those of the other one are not. */
static void join_gang(struct seq_job *job)
{
	if (job->chip)
		return;
	job->block.gang = 0x100000001;
	job->block.gang_size = STATE_CORES;
	job->block.gang_index = (uint16_t)job->core;
}

void work_job(struct seq_job *job)
{
	uint64_t host = host_window(job);
	uint64_t peer = seq_sem_window(job, 1 - job->chip, job->core, S_PEER);
	unsigned int i, e;

	job->block.notify_addr = in_data(DATA_NOTIFY);
	job->block.notify_size = 128;
	job->nr_queues = DGE_QUEUE + 1;
	join_gang(job);
	for (i = 0; i < STATE_ROUNDS; i++) {
		load_round(job, i, host);
		compute_round(job, i);
		if (i % 4 == 1)
			generate_round(job);
		store_round(job, i, host, peer);
	}
	seq_add(job, SYNC, take_ge(OP(NOP, 0), S_COPIED, STATE_ROUNDS));
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		seq_add(job, e, OP(HALT, 0));
}

/* --- the kernel's queue --- */

static uint64_t copy_reg(const struct trn_chip *chip, bool s2m, uint32_t reg)
{
	return neuron_dma_bar0(chip->gen, chip->gen->nr_ring) + reg +
	       (s2m ? NEURON_UDMA_S2M_Q(COPY_QUEUE) :
		      NEURON_UDMA_M2S_Q(COPY_QUEUE));
}

static void copy_write(struct trn_chip *chip, bool s2m, uint32_t reg,
		       uint32_t value)
{
	trn_chip_mmio_write(chip, copy_reg(chip, s2m, reg), value, 4);
}

static void copy_program(struct seq_rig *rig, unsigned int c)
{
	const uint64_t base[2] = {
		fake_host_addr(&rig->port[c], HOST_M2S),
		fake_host_addr(&rig->port[c], HOST_S2M),
	};
	struct trn_chip *chip = rig->chip[c];
	unsigned int s2m;

	trn_chip_mmio_write(chip, neuron_dma_bar0(chip->gen, chip->gen->nr_ring) +
			    NEURON_UDMA_M2S_CHANGE_STATE,
			    NEURON_UDMA_CHANGE_NORMAL, 4);
	trn_chip_mmio_write(chip, neuron_dma_bar0(chip->gen, chip->gen->nr_ring) +
			    NEURON_UDMA_S2M_CHANGE_STATE,
			    NEURON_UDMA_CHANGE_NORMAL, 4);
	for (s2m = 0; s2m < 2; s2m++) {
		copy_write(chip, s2m, s2m ? NEURON_UDMA_S2M_Q_SW_CTRL :
					    NEURON_UDMA_M2S_Q_SW_CTRL,
			   NEURON_UDMA_Q_SW_CTRL_RESET);
		copy_write(chip, s2m, NEURON_UDMA_Q_BASE_LO, (uint32_t)base[s2m]);
		copy_write(chip, s2m, NEURON_UDMA_Q_BASE_HI, base[s2m] >> 32);
		copy_write(chip, s2m, NEURON_UDMA_Q_LENGTH, COPY_RING);
		copy_write(chip, s2m, NEURON_UDMA_Q_CFG,
			   NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
			   NEURON_UDMA_Q_CFG_SCHEDULE);
	}
}

void work_copies(struct seq_rig *rig, unsigned int c)
{
	uint8_t *host = rig->port[c].host;
	struct neuron_udma_desc *m2s = (void *)(host + HOST_M2S);
	struct neuron_udma_desc *s2m = (void *)(host + HOST_S2M);
	unsigned int i;

	copy_program(rig, c);
	for (i = 0; i < COPY_RING - 1; i++) {
		m2s[i] = neuron_copy_source(seq_data_addr(rig, c, 6) + i * 0x800, COPY_BYTES,
					    NEURON_UDMA_RING_ID_FIRST, NEURON_UDMA_META_DEFAULT);
		s2m[i] = neuron_copy_target(fake_host_addr(&rig->port[c],
							   HOST_COPIES + i * 0x200),
					    COPY_BYTES, NEURON_UDMA_RING_ID_FIRST, 0);
	}
	copy_write(rig->chip[c], true, NEURON_UDMA_Q_TAIL_INC, i);
	copy_write(rig->chip[c], false, NEURON_UDMA_Q_TAIL_INC, i);
}

bool work_copied(struct seq_rig *rig, unsigned int c)
{
	return fake_wait_reg(rig->chip[c],
			     copy_reg(rig->chip[c], false, NEURON_UDMA_Q_STATUS),
			     NEURON_MASK(23, 0), 0);
}

/* --- notification queues of the driver's: in stack 1, which nobody compares --- */

static void nq_program(struct seq_rig *rig, unsigned int c, uint32_t block,
		       unsigned int slot, unsigned int nth)
{
	struct trn_chip *chip = rig->chip[c];
	uint64_t base = chip->gen->hbm_addr[1] + NQ_AT + nth * NQ_BYTES;
	uint32_t at = block + NEURON_NQ_SLOT(slot);

	trn_chip_mmio_write(chip, at + NEURON_NQ_BASE_LO, (uint32_t)base, 4);
	trn_chip_mmio_write(chip, at + NEURON_NQ_BASE_HI, base >> 32, 4);
	trn_chip_mmio_write(chip, at + NEURON_NQ_CONTROL,
			    NEURON_NQ_CONTROL_TRACE, 4);
	trn_chip_mmio_write(chip, at + NEURON_NQ_SIZE, NQ_BYTES, 4);
}

void work_notify(struct seq_rig *rig, unsigned int c)
{
	static const unsigned int slot[] = {
		NEURON_NQ_TYPE_SLOT(NEURON_NQ_TYPE_TRACE, VECTOR),
		NEURON_NQ_TYPE_SLOT(NEURON_NQ_TYPE_TRACE, SYNC),
		NEURON_NQ_TYPE_SLOT(NEURON_NQ_TYPE_NOTIFY, SYNC),
	};
	const struct neuron_gen *gen = rig->chip[c]->gen;
	unsigned int i, s, nth = 0;

	for (i = 0; i < STATE_CORES; i++)
		for (s = 0; s < sizeof(slot) / sizeof(slot[0]); s++)
			nq_program(rig, c, gen->nq_bar0[i], slot[s], nth++);
	nq_program(rig, c, neuron_sdma_bar0(gen, gen->nr_ring) +
		   NEURON_SDMA_NQ, 0, nth);
}

/* --- what all of it works on --- */

/* A slow copy: every element alone. */
static void put_dge(uint8_t *data)
{
	const struct neuron_udma_dge dge = {
		.op = {
			.op = NEURON_UDMA_OP_COPY,
			.nr_src = 1,
			.nr_dst = 1,
			.src_dtype = NEURON_DTYPE_FP32,
			.dst_dtype = NEURON_DTYPE_FP32,
			.src = { .num = { DGE_ELEMENTS, 1, 1, 1 }, .step = { 8 } },
			.dst = { .num = { DGE_ELEMENTS, 1, 1, 1 }, .step = { 4 } },
		},
		.src = { in_data(0) },
		.dst = { in_data(DATA_DGE_OUT) },
	};

	memcpy(data + DATA_DGE, &dge, sizeof(dge));
}

void work_prepare(struct seq_rig *rig, unsigned int c)
{
	unsigned int i;

	fill(rig->port[c].host + HOST_DATA, HOST_DATA_BYTES, 77 + c);
	*(uint32_t *)(void *)(rig->port[c].host + HOST_DATA) = 1;
	for (i = 0; i < STATE_CORES; i++) {
		fill(seq_data(rig, c, i), 0x80000, 100 * c + i);
		put_dge(seq_data(rig, c, i));
	}
	fill(seq_data(rig, c, 6), 0x40000, 1000 + c);
}
