// SPDX-License-Identifier: MIT
/*
 * Fuzz target: two chips on one fabric through their MMIO and their memories.
 *
 * The input is a list of operations: register reads and writes, bytes of host
 * memory or HBM, and shortcuts that a random walk would hardly find: a queue with
 * rings and a doorbell, a job block that passes the first checks. Whatever it is,
 * nothing may crash and the chips must come to rest when they are stopped.
 */
#include <stdlib.h>
#include <string.h>

#include "neuron/address.h"
#include "neuron/job.h"
#include "neuron/window.h"

#include <stdarg.h>
#include "fake_port.h"

#define CHIPS		2
#define HOST_BYTES	NEURON_MIB(1)
#define MAX_OPERATIONS	256

struct bench {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct fake_port port[CHIPS];
	struct trn_chip *chip[CHIPS];
};

struct input {
	const uint8_t *data;
	size_t size;
};

enum {
	OP_WRITE,
	OP_READ,
	OP_HOST,
	OP_HBM,
	OP_QUEUE,
	OP_JOB,
	OP_RESET,
	NR_OPS
};

static void take(struct input *in, void *out, size_t len)
{
	size_t n = len < in->size ? len : in->size;

	memset(out, 0, len);
	memcpy(out, in->data, n);
	in->data += n;
	in->size -= n;
}

static uint32_t take32(struct input *in)
{
	uint32_t value;

	take(in, &value, sizeof(value));
	return value;
}

/* Mostly an offset in a block that does something. */
static uint64_t take_register(const struct neuron_gen *gen, struct input *in)
{
	uint32_t word = take32(in), low = word >> 8;

	switch (word & 7) {
	case 0:
		return neuron_ctl_bar0(gen) + low % NEURON_CTL_SIZE;
	case 1:
		return neuron_ctl_bar0(gen) + NEURON_CTL_CORE(low >> 8 & 7) +
		       low % 0x100;
	case 2:
		return neuron_dma_bar0(gen, low % gen->nr_dma) +
		       (low >> 4) % NEURON_UDMA_BLOCK_SIZE;
	case 3:
		return gen->misc_bar0 + low % NEURON_MISC_SIZE;
	case 4:
		return neuron_tpb_bar0(gen, low % gen->nr_cores) +
		       NEURON_TPB_SEM + (low >> 4) % NEURON_TPB_SEM_SIZE;
	default:
		return (uint64_t)word * 4 % gen->bar0_size;
	}
}

static void op_queue(struct bench *bench, unsigned int c, struct input *in)
{
	const struct neuron_gen *gen = bench->port[c].gen;
	uint32_t word = take32(in), side;
	uint64_t block = neuron_dma_bar0(gen, word % gen->nr_dma);
	uint64_t queue;

	for (side = 0; side < 2; side++) {
		queue = block + (side ? NEURON_UDMA_S2M_Q(word >> 8 & 15) :
					NEURON_UDMA_M2S_Q(word >> 8 & 15));
		trn_chip_mmio_write(bench->chip[c], queue + NEURON_UDMA_Q_BASE_LO,
				    take32(in) % HOST_BYTES & ~0xffu, 4);
		trn_chip_mmio_write(bench->chip[c], queue + NEURON_UDMA_Q_BASE_HI,
				    gen->host_base >> 32, 4);
		trn_chip_mmio_write(bench->chip[c], queue + NEURON_UDMA_Q_LENGTH,
				    32, 4);
		trn_chip_mmio_write(bench->chip[c], queue + NEURON_UDMA_Q_CFG,
				    NEURON_UDMA_Q_CFG_RESET |
				    NEURON_UDMA_Q_CFG_PREFETCH |
				    NEURON_UDMA_Q_CFG_SCHEDULE, 4);
		trn_chip_mmio_write(bench->chip[c], queue + NEURON_UDMA_Q_TAIL_INC,
				    word >> 12 & 31, 4);
	}
}

/* A job whose tables lie at the start of host memory, as earlier bytes left it. */
static void op_job(struct bench *bench, unsigned int c, struct input *in)
{
	const uint64_t host = bench->port[c].gen->host_base;
	struct neuron_hw_job *job = (void *)(bench->port[c].host + 0x1000);
	uint64_t core;

	take(in, job, sizeof(*job));
	job->magic = NEURON_JOB_MAGIC;
	job->version = NEURON_JOB_VERSION;
	job->flags = 0;
	job->reserved0 = 0;
	memset(job->reserved, 0, sizeof(job->reserved));
	job->window_table = host | 0x2000;
	job->queue_table = host | 0x3000;
	job->completion = host | 0x4000;
	job->nr_windows %= 8;
	job->nr_queues %= 4;
	core = neuron_ctl_bar0(bench->port[c].gen) +
	       NEURON_CTL_CORE(take32(in) % bench->port[c].gen->nr_cores);
	trn_chip_mmio_write(bench->chip[c], core + NEURON_CORE_DOORBELL_LO,
			    0x1000, 4);
	trn_chip_mmio_write(bench->chip[c], core + NEURON_CORE_DOORBELL_HI,
			    host >> 32, 4);
}

static void operate(struct bench *bench, struct input *in)
{
	uint32_t word = take32(in), offset, len;
	unsigned int c = word >> 8 & 1, size = word & 0x200 ? 8 : 4;
	struct trn_chip *chip = bench->chip[c];
	const struct neuron_gen *gen = bench->port[c].gen;
	uint64_t value;

	switch (word % NR_OPS) {
	case OP_WRITE:
		take(in, &value, sizeof(value));
		trn_chip_mmio_write(chip, take_register(gen, in), value, size);
		break;
	case OP_READ:
		trn_chip_mmio_read(chip, take_register(gen, in), size);
		break;
	case OP_HOST:
		offset = take32(in) % (HOST_BYTES - 256);
		len = word >> 16 & 0xff;
		take(in, bench->port[c].host + offset, len);
		break;
	case OP_HBM:
		offset = take32(in) % (FAKE_HBM_SIZE - 256);
		len = word >> 16 & 0xff;
		take(in, (uint8_t *)trn_chip_hbm(chip, word >> 24 & 1) + offset,
		     len);
		break;
	case OP_QUEUE:
		op_queue(bench, c, in);
		break;
	case OP_JOB:
		op_job(bench, c, in);
		break;
	case OP_RESET:
		trn_chip_mmio_write(chip, neuron_ctl_bar0(gen) +
				    NEURON_CTL_CORE(word >> 16 & 7) +
				    NEURON_CORE_RESET, 1, 4);
		break;
	}
}

static struct bench *bench_get(void)
{
	static struct bench bench;
	unsigned int c;

	if (bench.pool)
		return &bench;
	bench.pool = trn_pool_new(2, NULL, NULL);
	bench.fabric = trn_fabric_new();
	if (!bench.pool || !bench.fabric)
		abort();
	for (c = 0; c < CHIPS; c++) {
		fake_port_init(&bench.port[c], HOST_BYTES);
		bench.chip[c] = fake_chip_new(&bench.port[c], &neuron_gen_trn2,
					      bench.pool, bench.fabric, c);
	}
	return &bench;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bench *bench = bench_get();
	struct input in = { data, size };
	unsigned int c, n;

	for (n = 0; in.size && n < MAX_OPERATIONS; n++)
		operate(bench, &in);
	/* fake_chip_stop() fails when a chip does not come to rest. */
	for (c = 0; c < CHIPS; c++)
		fake_chip_stop(bench->chip[c]);
	for (c = 0; c < CHIPS; c++) {
		trn_chip_reset(bench->chip[c]);
		memset(bench->port[c].host, 0, HOST_BYTES);
		trn_chip_resume(bench->chip[c]);
	}
	return 0;
}
