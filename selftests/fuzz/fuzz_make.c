// SPDX-License-Identifier: MIT
/*
 * Addresses, registers and queues of domain 0 as a driver would make them, with
 * something wrong in a part of them.
 */
#include "fuzz_chip.h"

#include <string.h>

#include "contract/ring.h"
#include "neuron/dma_op.h"

#define MAX_PACKETS	8
#define MAX_PARTS	4	/* descriptors of a packet on one side */
#define OP_BLOCKS	NEURON_MIB(8)	/* in HBM stack 0 */

/* Mostly small, now and then the largest. */
static uint32_t length(struct fuzz *fuzz)
{
	static const uint32_t most[8] = { 4, 16, 64, 256, 1024, 4096, 4, 65536 };

	return 1 + fuzz_random(fuzz, most[fuzz_random(fuzz, 8)]);
}

/* An offset in @size bytes: often at its start or about its end. */
static uint64_t offset_in(struct fuzz *fuzz, uint64_t size)
{
	switch (fuzz_random(fuzz, 8)) {
	case 0:
		return size - fuzz_random(fuzz, 128);
	case 1:
		return fuzz_random(fuzz, 64) * 4;
	case 2:
		return fuzz_random64(fuzz) % size;
	default:
		return fuzz_random64(fuzz) % size & ~3ull;
	}
}

static uint64_t tpb_addr(struct fuzz *fuzz)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint64_t tpb = gen->tpb_addr[fuzz_random(fuzz, gen->nr_cores)];

	switch (fuzz_random(fuzz, 4)) {
	case 0:
		return tpb + offset_in(fuzz, NEURON_TPB_SBUF_SIZE);
	case 1:
		return tpb + NEURON_TPB_PSUM +
		       offset_in(fuzz, NEURON_TPB_PSUM_SIZE);
	case 2:
		return tpb + NEURON_TPB_SEM +
		       offset_in(fuzz, NEURON_TPB_SEM_SIZE);
	default:
		return tpb + offset_in(fuzz, NEURON_TPB_WINDOW_SIZE);
	}
}

/* The device address of a register that fuzz_register() could give. */
static uint64_t register_addr(struct fuzz *fuzz)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint64_t offset = fuzz_register(fuzz);
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (gen->apb_addr[i] &&
		    offset - gen->apb_bar0[i] < gen->apb_size)
			return gen->apb_addr[i] + (offset - gen->apb_bar0[i]);
	for (i = 0; gen->seng_size && i < NEURON_MAX_SENG; i++)
		if (offset - gen->seng_bar0 - (uint64_t)i * gen->seng_size <
		    gen->seng_size)
			return gen->seng_addr[i] + (offset - gen->seng_bar0) %
						   gen->seng_size;
	return gen->tpb_addr[0] + offset % NEURON_TPB_WINDOW_SIZE;
}

static uint64_t hbm_addr(struct fuzz *fuzz)
{
	return fuzz->gen->hbm_addr[fuzz_random(fuzz, fuzz->gen->nr_hbm)] +
	       offset_in(fuzz, FAKE_HBM_SIZE);
}

uint64_t fuzz_addr(struct fuzz *fuzz)
{
	const uint64_t host = fuzz->gen->host_base;

	switch (fuzz_random(fuzz, 16)) {
	case 0:
	case 1:
	case 2:
		return host + offset_in(fuzz, HOST_BYTES);
	case 3:
	case 4:
	case 5:
		return hbm_addr(fuzz);
	case 6:
	case 7:
	case 8:
		return tpb_addr(fuzz);
	case 9:
		return register_addr(fuzz);
	case 10:
		return neuron_fabric_addr(fuzz_random(fuzz, CHIPS + 1),
					  hbm_addr(fuzz));
	case 11:
		return neuron_fabric_addr(fuzz_random(fuzz, CHIPS),
					  tpb_addr(fuzz));
	case 12:	/* a neighbour window */
		return NEURON_BIT64(52) |
		       (uint64_t)fuzz_random(fuzz, 4) << 50 |
		       (fuzz_once_in(fuzz, 2) ? hbm_addr(fuzz) :
						register_addr(fuzz));
	case 13:
		return neuron_window_addr(fuzz_random(fuzz, 8),
					  offset_in(fuzz, NEURON_MIB(1)));
	case 14:
		return 1ull << fuzz_random(fuzz, 64);
	default:
		return fuzz_random64(fuzz);
	}
}

uint64_t fuzz_register(struct fuzz *fuzz)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint32_t core = fuzz_random(fuzz, gen->nr_cores), i;
	uint64_t ctl = neuron_ctl_bar0(gen);

	switch (fuzz_random(fuzz, 13)) {
	case 0:
		return ctl + fuzz_random(fuzz, 0x60) * 4;
	case 11:
		return ctl + NEURON_CTL_CC(fuzz_random(fuzz, gen->nr_top_sp_ids)) +
		       fuzz_random(fuzz, 0x28) * 4;
	case 1:
		return ctl + NEURON_CTL_CORE(core) + fuzz_random(fuzz, 0x28) * 4;
	case 2:
		return ctl + NEURON_CTL_DMA(fuzz_random(fuzz, gen->nr_dma)) +
		       fuzz_random(fuzz, 8) * 4;
	case 3:
		return neuron_dma_bar0(gen, fuzz_random(fuzz, gen->nr_dma)) +
		       fuzz_random(fuzz, NEURON_UDMA_BLOCK_SIZE / 4) * 4;
	case 4:
	case 5:		/* of a queue */
		i = fuzz_random(fuzz, NEURON_UDMA_QUEUES);
		return neuron_dma_bar0(gen, fuzz_random(fuzz, gen->nr_dma)) +
		       (fuzz_once_in(fuzz, 2) ? NEURON_UDMA_S2M_Q(i) :
						NEURON_UDMA_M2S_Q(i)) +
		       fuzz_random(fuzz, 0x40) * 4;
	case 6:
		return gen->misc_bar0 + fuzz_random(fuzz, 0x80) * 4;
	case 7:
		return gen->misc_bar0 + 0x800 + fuzz_random(fuzz, 4) * 4;
	case 8:
		return gen->nq_bar0[core] +
		       fuzz_random(fuzz, NEURON_NQ_BLOCK_SIZE / 4) * 4;
	case 9:
		return neuron_tpb_bar0(gen, core) + NEURON_TPB_SEM +
		       fuzz_random(fuzz, NEURON_TPB_SEM_SIZE / 4) * 4;
	case 10:
		return neuron_tpb_bar0(gen, core) +
		       fuzz_random(fuzz, NEURON_TPB_WINDOW_SIZE / 4) * 4;
	default:
		return fuzz_random64(fuzz) % gen->bar0_size & ~3ull;
	}
}

void fuzz_spoil(struct fuzz *fuzz, void *data, size_t len)
{
	uint8_t *bytes = data;
	unsigned int n;

	if (!fuzz_once_in(fuzz, 16))
		return;
	for (n = 1 + fuzz_random(fuzz, 3); n; n--)
		bytes[fuzz_random(fuzz, (uint32_t)len)] ^=
			(uint8_t)(1 << fuzz_random(fuzz, 8));
}

/**
 * struct maker - the queue being made
 * @c: its chip
 * @in_hbm: rings in HBM stack 0, else in host memory
 * @base: offset of the rings there: M2S, S2M
 * @length: descriptors of a ring
 * @count: descriptors made
 */
struct maker {
	unsigned int c;
	bool in_hbm;
	uint32_t base[2];
	uint32_t length;
	uint32_t count[2];
};

static void put_desc(struct fuzz *fuzz, struct maker *maker, unsigned int side,
		     uint32_t len, uint32_t flags, uint32_t meta, uint64_t addr)
{
	uint32_t n = maker->count[side]++;
	uint32_t at = maker->base[side] + n % maker->length * 16;
	struct neuron_udma_desc desc =
		neuron_desc(addr, len, neuron_ring_id(n, maker->length), flags, meta);

	fuzz_spoil(fuzz, &desc, sizeof(desc));
	if (maker->in_hbm)
		fuzz_hbm(fuzz, maker->c, 0, at, &desc, sizeof(desc));
	else
		fuzz_host(fuzz, maker->c, at, &desc, sizeof(desc));
}

static void put_copy(struct fuzz *fuzz, struct maker *maker)
{
	unsigned int parts = 1 + fuzz_random(fuzz, MAX_PARTS), i;
	uint32_t total = 0, len, flags;

	if (!fuzz_once_in(fuzz, 4))
		parts = 1;
	for (i = 0; i < parts; i++) {
		len = length(fuzz);
		total += len;
		flags = (i ? 0 : NEURON_UDMA_DESC_FIRST) |
			(i == parts - 1 ? NEURON_UDMA_DESC_LAST : 0) |
			(fuzz_once_in(fuzz, 4) ? NEURON_UDMA_DESC_DMB : 0) |
			(fuzz_once_in(fuzz, 8) ? NEURON_UDMA_DESC_INT_EN : 0);
		put_desc(fuzz, maker, 0, len, flags,
			 NEURON_UDMA_META_DEFAULT |
			 (fuzz_once_in(fuzz, 8) ? NEURON_UDMA_META_WRITE_BARRIER :
						  0),
			 fuzz_addr(fuzz));
	}
	for (; total; total -= len) {
		len = fuzz_once_in(fuzz, 4) ? length(fuzz) : total;
		if (len > total)
			len = total;
		if (len > NEURON_UDMA_DESC_MAX_BYTES)
			len = NEURON_UDMA_DESC_MAX_BYTES;
		put_desc(fuzz, maker, 1, len,
			 fuzz_once_in(fuzz, 2) ? NEURON_UDMA_DESC_INT_EN : 0, 0,
			 fuzz_addr(fuzz));
	}
}

static void make_pattern(struct fuzz *fuzz, struct neuron_udma_pattern *pattern,
			 const uint32_t num[4])
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		pattern->num[i] = num[i];
		pattern->step[i] = fuzz_random(fuzz, 64) * 4;
		if (fuzz_once_in(fuzz, 8))
			pattern->step[i] -= fuzz_random(fuzz, 128);
	}
}

static void make_op(struct fuzz *fuzz, struct neuron_udma_op *op)
{
	static const uint8_t dtypes[] = {
		NEURON_DTYPE_FP32, NEURON_DTYPE_BF16, NEURON_DTYPE_FP16,
		NEURON_DTYPE_INT32, NEURON_DTYPE_UINT8, NEURON_DTYPE_INT16,
	};
	uint32_t num[4], swapped[4];
	unsigned int i;

	memset(op, 0, sizeof(*op));
	op->op = (uint8_t)fuzz_random(fuzz, NEURON_UDMA_NR_OPS);
	op->nr_src = 1;
	op->nr_dst = (uint8_t)(fuzz_once_in(fuzz, 4) ? 2 : 1);
	if (op->op != NEURON_UDMA_OP_COPY && op->op != NEURON_UDMA_OP_TRANSPOSE)
		op->nr_src = (uint8_t)(1 + fuzz_random(fuzz, 4));
	op->src_dtype = dtypes[fuzz_random(fuzz, sizeof(dtypes))];
	op->dst_dtype = fuzz_once_in(fuzz, 2) ?
				op->src_dtype :
				dtypes[fuzz_random(fuzz, sizeof(dtypes))];
	for (i = 0; i < 4; i++)
		num[i] = 1 + fuzz_random(fuzz, 8);
	memcpy(swapped, num, sizeof(num));
	if (op->op == NEURON_UDMA_OP_TRANSPOSE) {
		op->dst_dtype = op->src_dtype;
		swapped[0] = num[1];
		swapped[1] = num[0];
	}
	make_pattern(fuzz, &op->src, num);
	make_pattern(fuzz, &op->dst, swapped);
	if (op->op == NEURON_UDMA_OP_FMA)
		for (i = 0; i < op->nr_src; i++)
			op->scale[i] = (uint32_t)fuzz_random64(fuzz);
	if (!fuzz_once_in(fuzz, 4))
		return;
	op->flags = (uint8_t)fuzz_random(fuzz, 32);
	if (op->flags & NEURON_UDMA_OP_STOCHASTIC)
		op->round_first = (uint32_t)fuzz_random64(fuzz);
	if (op->flags & (NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_DST_INDEXED)) {
		op->index = fuzz_addr(fuzz) & ~3ull;
		op->nr_index = num[3];
		op->index_limit = fuzz_random(fuzz, 1000);
	}
}

/* A packet with an operation block. */
static void put_op(struct fuzz *fuzz, struct maker *maker)
{
	uint32_t at = OP_BLOCKS + fuzz_random(fuzz, 64) * 512;
	struct neuron_udma_op op;
	unsigned int i;

	make_op(fuzz, &op);
	put_desc(fuzz, maker, 0, sizeof(op), NEURON_UDMA_DESC_FIRST,
		 NEURON_UDMA_META_OP, fuzz->gen->hbm_addr[0] + at);
	for (i = 0; i < op.nr_src; i++)
		put_desc(fuzz, maker, 0, 4,
			 i + 1u == op.nr_src ? NEURON_UDMA_DESC_LAST : 0,
			 NEURON_UDMA_META_DEFAULT, fuzz_addr(fuzz));
	for (i = 0; i < op.nr_dst; i++)
		put_desc(fuzz, maker, 1, 4, NEURON_UDMA_DESC_INT_EN, 0,
			 fuzz_addr(fuzz));
	fuzz_spoil(fuzz, &op, sizeof(op));
	fuzz_hbm(fuzz, maker->c, 0, at, &op, sizeof(op));
}

static void program_side(struct fuzz *fuzz, const struct maker *maker,
			 unsigned int side, uint64_t regs)
{
	const uint32_t on = NEURON_UDMA_Q_CFG_RESET |
			    NEURON_UDMA_Q_CFG_PREFETCH |
			    NEURON_UDMA_Q_CFG_SCHEDULE;
	uint64_t base = maker->base[side];
	unsigned int c = maker->c;

	base += maker->in_hbm ? fuzz->gen->hbm_addr[0] : fuzz->gen->host_base;
	if (!fuzz_once_in(fuzz, 16))
		fuzz_write(fuzz, c, regs + (side ? NEURON_UDMA_S2M_Q_SW_CTRL :
						   NEURON_UDMA_M2S_Q_SW_CTRL),
			   NEURON_UDMA_Q_SW_CTRL_RESET, 4);
	fuzz_write(fuzz, c, regs + NEURON_UDMA_Q_BASE_LO, (uint32_t)base, 4);
	fuzz_write(fuzz, c, regs + NEURON_UDMA_Q_BASE_HI, base >> 32, 4);
	fuzz_write(fuzz, c, regs + NEURON_UDMA_Q_LENGTH, maker->length, 4);
	if (fuzz_once_in(fuzz, 2)) {	/* a completion ring */
		base = fuzz_addr(fuzz);
		fuzz_write(fuzz, c, regs + NEURON_UDMA_Q_COMP_BASE_LO,
			   (uint32_t)base, 4);
		fuzz_write(fuzz, c, regs + NEURON_UDMA_Q_COMP_BASE_HI,
			   base >> 32, 4);
		fuzz_write(fuzz, c, regs + (side ? NEURON_UDMA_S2M_Q_COMP_CFG :
						   NEURON_UDMA_M2S_Q_COMP_CFG),
			   fuzz_random(fuzz, 4), 4);
	}
	fuzz_write(fuzz, c, regs + NEURON_UDMA_Q_CFG,
		   fuzz_once_in(fuzz, 16) ? fuzz_random64(fuzz) : on, 4);
}

void fuzz_make_queue(struct fuzz *fuzz, unsigned int c)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint32_t engine = fuzz_random(fuzz, gen->nr_dma);
	uint32_t queue = fuzz_random(fuzz, NEURON_UDMA_QUEUES);
	uint64_t block = neuron_dma_bar0(gen, engine);
	uint64_t m2s = block + NEURON_UDMA_M2S_Q(queue);
	uint64_t s2m = block + NEURON_UDMA_S2M_Q(queue);
	struct maker maker = { .c = c, .in_hbm = fuzz_once_in(fuzz, 2) };
	unsigned int packets = 1 + fuzz_random(fuzz, MAX_PACKETS);

	maker.length = 32 + 16 * fuzz_random(fuzz, 3);
	maker.base[0] = fuzz_random(fuzz, 32) * 0x1000;
	maker.base[1] = fuzz_random(fuzz, 32) * 0x1000 + 0x800;
	program_side(fuzz, &maker, 0, m2s);
	program_side(fuzz, &maker, 1, s2m);
	while (packets--) {
		if (fuzz_once_in(fuzz, 3))
			put_op(fuzz, &maker);
		else
			put_copy(fuzz, &maker);
	}
	if (fuzz_once_in(fuzz, 4))
		fuzz_write(fuzz, c, neuron_ctl_bar0(gen) +
			   NEURON_CTL_DMA(engine) + NEURON_DMA_MASK, 0, 4);
	fuzz_write(fuzz, c, s2m + NEURON_UDMA_Q_TAIL_INC, maker.count[1], 4);
	fuzz_write(fuzz, c, m2s + NEURON_UDMA_Q_TAIL_INC, maker.count[0], 4);
}
