// SPDX-License-Identifier: MIT
/*
 * What the DMA engines of the chip library move, beside memcpy of the same size in
 * the same run: one queue from HBM to HBM and from host memory to HBM, and two
 * queues at once beside two threads, with the host's cores that they keep busy.
 * From the doorbell to the interrupt, without a VM.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "figure.h"
#include "base/trn_bulk.h"
#include "contract/ring.h"
#include "trn/chip.h"
#include "base/trn_pool.h"

#define SIZE		((size_t)64 << 20)
#define PIECE		65536
#define PIECES		(SIZE / PIECE)
#define RING		8192
#define RING_BYTES	(RING * sizeof(struct neuron_udma_desc))
#define HBM_BYTES	((size_t)512 << 20)
#define QUEUES		2
#define GOAL		0.8
/* Two threads that start together may share a core for a while. */
#define TOGETHER	6

/* Host memory: the rings of each queue, then the data. */
#define RINGS_AT(q)	((q) * 2 * RING_BYTES)
#define DATA_AT		(QUEUES * 2 * RING_BYTES)
#define HOST_BYTES	(DATA_AT + SIZE)

/**
 * struct machine - a chip and the host that it sees
 * @irqs: interrupts so far, under @lock
 */
struct machine {
	const struct neuron_gen *gen;
	struct trn_pool *pool;
	struct trn_chip *chip;
	char *host;
	char *hbm;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int irqs;
	uint32_t tail[QUEUES];
};

static bool host_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct machine *m = opaque;

	if (addr > HOST_BYTES || len > HOST_BYTES - addr)
		return false;
	trn_bulk_move(buf, m->host + addr, len);
	return true;
}

static bool host_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct machine *m = opaque;

	if (addr > HOST_BYTES || len > HOST_BYTES - addr)
		return false;
	trn_bulk_move(m->host + addr, buf, len);
	return true;
}

static void irq(void *opaque, unsigned int vector)
{
	struct machine *m = opaque;

	(void)vector;
	pthread_mutex_lock(&m->lock);
	m->irqs++;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

static void show(void *opaque, enum trn_log_level level, const char *line)
{
	(void)opaque;
	(void)level;
	fprintf(stderr, "%s\n", line);
}

static void *hbm_alloc(void *opaque, unsigned int stack, uint64_t size)
{
	struct machine *m = opaque;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (!stack)
		m->hbm = p;
	return p;
}

static void hbm_discard(void *opaque, unsigned int stack, uint64_t offset,
			uint64_t len)
{
	(void)opaque;
	(void)stack;
	(void)offset;
	(void)len;
}

static const struct trn_port port = {
	.host_read = host_read,
	.host_write = host_write,
	.irq = irq,
	.log = show,
	.hbm_alloc = hbm_alloc,
	.hbm_discard = hbm_discard,
};

/* Each queue is on an engine of its own. */
static uint64_t engine(const struct machine *m, unsigned int q)
{
	return neuron_dma_bar0(m->gen, m->gen->nr_ring + q);
}

static void put(struct machine *m, uint64_t offset, uint32_t value)
{
	trn_chip_mmio_write(m->chip, offset, value, 4);
}

static void init_side(struct machine *m, uint64_t regs,
		      uint32_t reset, uint64_t ring)
{
	uint64_t base = m->gen->host_base | ring;

	put(m, regs + reset, NEURON_UDMA_Q_SW_CTRL_RESET);
	put(m, regs + NEURON_UDMA_Q_BASE_LO, (uint32_t)base);
	put(m, regs + NEURON_UDMA_Q_BASE_HI, (uint32_t)(base >> 32));
	put(m, regs + NEURON_UDMA_Q_LENGTH, RING);
	put(m, regs + NEURON_UDMA_Q_CFG, NEURON_UDMA_Q_CFG_RESET |
	    NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULE);
}

static void init_queue(struct machine *m, unsigned int q)
{
	uint64_t dma = neuron_ctl_bar0(m->gen) +
		       NEURON_CTL_DMA(m->gen->nr_ring + q);

	put(m, engine(m, q) + NEURON_UDMA_M2S_CHANGE_STATE,
	    NEURON_UDMA_CHANGE_NORMAL);
	put(m, engine(m, q) + NEURON_UDMA_S2M_CHANGE_STATE,
	    NEURON_UDMA_CHANGE_NORMAL);
	init_side(m, engine(m, q) + NEURON_UDMA_M2S_Q(0),
		  NEURON_UDMA_M2S_Q_SW_CTRL, RINGS_AT(q));
	init_side(m, engine(m, q) + NEURON_UDMA_S2M_Q(0),
		  NEURON_UDMA_S2M_Q_SW_CTRL, RINGS_AT(q) + RING_BYTES);
	put(m, dma + NEURON_DMA_VECTOR, q);
	put(m, dma + NEURON_DMA_MASK, 0);
}

static int machine_init(struct machine *m)
{
	struct trn_chip_config config = {
		.gen = m->gen,
		.port = &port,
		.opaque = m,
		.hbm_size = HBM_BYTES,
		.bar4_stride = HBM_BYTES,
	};
	const char *why = "no threads";
	unsigned int q;

	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	m->host = aligned_alloc(4096, HOST_BYTES);
	m->pool = trn_pool_new(0, NULL, NULL);
	config.pool = m->pool;
	if (m->host && m->pool)
		m->chip = trn_chip_new(&config, &why);
	if (!m->chip) {
		fprintf(stderr, "no chip: %s\n", why);
		return -1;
	}
	memset(m->host, 1, HOST_BYTES);
	memset(m->hbm, 2, HBM_BYTES);
	for (q = 0; q < QUEUES; q++)
		init_queue(m, q);
	return 0;
}

/* One copy; only the @last one of several interrupts. */
static void fill(struct machine *m, unsigned int q, uint64_t dst, uint64_t src,
		 bool last)
{
	struct neuron_udma_desc *m2s = (void *)(m->host + RINGS_AT(q));
	struct neuron_udma_desc *s2m = m2s + RING;
	uint32_t i, n, id;

	for (i = 0; i < PIECES; i++) {
		n = m->tail[q]++;
		id = neuron_ring_id(n, RING);
		m2s[n % RING] = neuron_copy_source(src + (uint64_t)i * PIECE, PIECE, id,
						   NEURON_UDMA_META_DEFAULT);
		s2m[n % RING] = neuron_copy_target(dst + (uint64_t)i * PIECE, PIECE, id,
						   last && i == PIECES - 1 ?
							   NEURON_UDMA_DESC_INT_EN : 0);
	}
}

static void ring(struct machine *m, unsigned int q)
{
	put(m, engine(m, q) + NEURON_UDMA_S2M_Q(0) + NEURON_UDMA_Q_TAIL_INC,
	    PIECES);
	put(m, engine(m, q) + NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_Q_TAIL_INC,
	    PIECES);
}

/* Clear the causes, so that the next ones make edges again. */
static void wait_irqs(struct machine *m, unsigned int nr)
{
	unsigned int q;

	pthread_mutex_lock(&m->lock);
	while (m->irqs < nr)
		pthread_cond_wait(&m->changed, &m->lock);
	m->irqs = 0;
	pthread_mutex_unlock(&m->lock);
	for (q = 0; q < QUEUES; q++)
		put(m, neuron_ctl_bar0(m->gen) +
		       NEURON_CTL_DMA(m->gen->nr_ring + q) + NEURON_DMA_CAUSE,
		    ~0u);
}

/* Seconds of one copy on one queue. */
static double time_dma(struct machine *m, uint64_t src)
{
	double begin;

	fill(m, 0, SIZE, src, true);
	begin = figure_now();
	ring(m, 0);
	wait_irqs(m, 1);
	return figure_now() - begin;
}

/* Seconds of one of some copies on each of two queues. */
static double time_two(struct machine *m)
{
	unsigned int q, i;
	double begin;

	for (i = 0; i < TOGETHER; i++)
		for (q = 0; q < QUEUES; q++)
			fill(m, q, (uint64_t)(2 * q + 1) * SIZE, 2 * q * SIZE,
			     i == TOGETHER - 1);
	begin = figure_now();
	for (i = 0; i < TOGETHER; i++)
		for (q = 0; q < QUEUES; q++)
			ring(m, q);
	wait_irqs(m, QUEUES);
	return (figure_now() - begin) / TOGETHER;
}

/* The copy that queue @q makes. */
static void copy_as(const struct machine *m, unsigned int q)
{
	memcpy(m->hbm + (2 * q + 1) * SIZE, m->hbm + 2 * q * SIZE, SIZE);
	/* Or the compiler leaves the copy out. */
	__asm__ volatile("" ::: "memory");
}

static void *copy_second(void *arg)
{
	copy_as(arg, 1);
	return NULL;
}

/* Seconds of memcpy in @nr threads. */
static double time_memcpy(struct machine *m, unsigned int nr)
{
	double begin = figure_now();
	pthread_t second;

	if (nr > 1 && pthread_create(&second, NULL, copy_second, m)) {
		fprintf(stderr, "no second thread\n");
		exit(EXIT_FAILURE);
	}
	copy_as(m, 0);
	if (nr > 1)
		pthread_join(second, NULL);
	return figure_now() - begin;
}

/**
 * struct rounds - what each round took, in seconds until it is reported in GB/s
 * @nr: rounds
 * @cpu: processor time of two queues by their time
 */
struct rounds {
	unsigned int nr;
	double copy[QUEUES][FIGURE_MAX_ROUNDS];
	double hbm[QUEUES][FIGURE_MAX_ROUNDS];
	double in[FIGURE_MAX_ROUNDS];
	double cpu[FIGURE_MAX_ROUNDS];
};

/* In turns, so that what disturbs one disturbs all. */
static void measure(struct machine *m, struct rounds *r)
{
	const uint64_t host = m->gen->host_base | DATA_AT;
	double cpu;
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		r->copy[0][i] = time_memcpy(m, 1);
		r->hbm[0][i] = time_dma(m, 0);
		r->in[i] = time_dma(m, host);
		r->copy[1][i] = time_memcpy(m, 2);
		cpu = figure_process_now();
		r->hbm[1][i] = time_two(m);
		r->cpu[i] = (figure_process_now() - cpu) / (TOGETHER * r->hbm[1][i]);
	}
}

static void add(struct figures *figures, const char *name, const struct rounds *r,
		const double *value, const double *baseline)
{
	figures_add(figures, (struct figure){
		.name = name, .unit = "GB/s", .goal = baseline ? GOAL : FIGURE_NONE,
	}, value, baseline, r->nr);
}

static void report(struct rounds *r, struct figures *figures)
{
	unsigned int q;

	for (q = 0; q < QUEUES; q++) {
		figure_rates(r->copy[q], r->nr, (q + 1) * SIZE * 1e-9);
		figure_rates(r->hbm[q], r->nr, (q + 1) * SIZE * 1e-9);
	}
	figure_rates(r->in, r->nr, SIZE * 1e-9);
	add(figures, "queue_memcpy_64MiB", r, r->copy[0], NULL);
	add(figures, "queue_hbm_to_hbm_64MiB", r, r->hbm[0], r->copy[0]);
	add(figures, "queue_host_to_hbm_64MiB", r, r->in, r->copy[0]);
	add(figures, "two_threads_memcpy_64MiB", r, r->copy[1], NULL);
	add(figures, "two_queues_hbm_to_hbm_64MiB", r, r->hbm[1], r->copy[1]);
	figures_add(figures, (struct figure){
		.name = "two_queues_host_cores", .unit = "cores", .goal = 1.5,
	}, r->cpu, NULL, r->nr);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct machine m = { .gen = &neuron_gen_trn2 };
	struct figures figures = { .count = 0 };
	struct rounds rounds = { .nr = options.rounds };

	/* Threads and memory go with the process. */
	if (machine_init(&m))
		return EXIT_FAILURE;
	measure(&m, &rounds);
	report(&rounds, &figures);
	if (memcmp(m.hbm + SIZE, m.hbm, SIZE)) {
		fprintf(stderr, "the copy differs from its source\n");
		return EXIT_FAILURE;
	}
	if (figures_report(&figures, options.json))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
