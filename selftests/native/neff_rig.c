// SPDX-License-Identifier: MIT
#include "neff_rig.h"

#include <stdlib.h>
#include <string.h>

#include "contract/job.h"
#include "contract/window.h"

#define HBM_FIRST	NEURON_MIB(1)	/* so that offset 0 is never right by chance */
#define HBM_ALIGN	NEURON_KIB(64)
#define MAX_DESCS	(1u << 20)

/* Host memory of each core. */
#define HOST_FIRST	0x40000
#define HOST_STRIDE	0x40000
#define HOST_COMPLETION	0x400
#define HOST_WINDOWS	0x1000
#define HOST_QUEUES	0x20000

static uint8_t *hbm(struct neff_rig *loaded)
{
	return trn_chip_hbm(loaded->rig->chip[0], loaded->core);
}

static size_t host_at(const struct neff_rig *loaded, size_t offset)
{
	return HOST_FIRST + loaded->core * HOST_STRIDE + offset;
}

static void *host(struct neff_rig *loaded, size_t offset)
{
	return loaded->rig->port[0].host + host_at(loaded, offset);
}

static uint64_t host_addr(struct neff_rig *loaded, size_t offset)
{
	return fake_host_addr(&loaded->rig->port[0], host_at(loaded, offset));
}

static uint64_t take(struct neff_rig *loaded, uint64_t bytes)
{
	uint64_t at = loaded->next;

	loaded->next += (bytes + HBM_ALIGN - 1) & ~(HBM_ALIGN - 1);
	assert_true(loaded->next <= FAKE_HBM_SIZE);
	return at;
}

/* Windows behind those of the variables. */
enum {
	EXTRA_CODE,
	EXTRA_RINGS,
	EXTRA_CONSTANTS,
	EXTRA_SEMS,
	NR_EXTRA
};

static uint32_t extra_window(const struct neff_rig *loaded, unsigned int extra)
{
	const struct neff_graph *graph = loaded->graph;

	return (graph->nr_vars ? graph->vars[graph->nr_vars - 1].var_id + 1 : 0) + extra;
}

static void place_vars(struct neff_rig *loaded)
{
	const struct neff_graph *graph = loaded->graph;
	size_t i;

	loaded->at = calloc(graph->nr_vars + 1, sizeof(*loaded->at));
	assert_non_null(loaded->at);
	for (i = 0; i < graph->nr_vars; i++) {
		const struct neff_var *var = &graph->vars[i];

		/* SBUF has its own. */
		if (var->type == NEFF_VAR_STATE)
			continue;
		loaded->at[i] = take(loaded, var->size);
		if (neff_var_has_contents(var))
			memcpy(hbm(loaded) + loaded->at[i], var->data, var->size);
	}
}

static void place_images(struct neff_rig *loaded)
{
	const struct neff_graph *graph = loaded->graph;
	uint64_t bytes = 0, at = 0;
	struct nrt_error error;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		bytes += (uint64_t)graph->image_count[e] * NEURON_INST_SIZE;
	loaded->code = take(loaded, bytes);
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (!graph->image_count[e])
			continue;
		if (dma_patch_image(graph, &loaded->program, e,
				    (void *)(hbm(loaded) + loaded->code + at), &error))
			fail_msg("%s", error.text);
		at += (uint64_t)graph->image_count[e] * NEURON_INST_SIZE;
	}
}

static void place_rings(struct neff_rig *loaded)
{
	uint64_t bytes = 0, size;
	unsigned int i;

	for (i = 0; i < loaded->program.nr_rings; i++)
		bytes += 2ull * loaded->program.rings[i].length * sizeof(struct neuron_udma_desc);
	loaded->rings = take(loaded, bytes);
	bytes = loaded->rings;
	for (i = 0; i < loaded->program.nr_rings; i++) {
		const struct dma_ring *ring = &loaded->program.rings[i];

		size = ring->length * sizeof(struct neuron_udma_desc);
		memcpy(hbm(loaded) + bytes, ring->m2s, size);
		memcpy(hbm(loaded) + bytes + size, ring->s2m, size);
		bytes += 2 * size;
	}
}

void neff_rig_load(struct neff_rig *loaded, struct seq_rig *rig, const void *bytes, size_t size)
{
	neff_rig_load_on(loaded, rig, 0, bytes, size);
}

void neff_rig_load_on(struct neff_rig *loaded, struct seq_rig *rig, unsigned int core,
		      const void *bytes, size_t size)
{
	const struct neff_limits limits = {
		.unpacked_bytes = NEURON_MIB(64),
		.validate_hash = true,
	};
	struct dma_windows windows;
	struct nrt_error error;

	memset(loaded, 0, sizeof(*loaded));
	assert_true(core < rig->chip[0]->gen->nr_hbm);
	assert_true(HOST_FIRST + (core + 1) * HOST_STRIDE <= rig->port[0].host_size);
	loaded->rig = rig;
	loaded->core = core;
	loaded->next = HBM_FIRST;
	if (neff_read(bytes, size, &limits, &loaded->neff, &error))
		fail_msg("%s", error.text);
	loaded->graph = &loaded->neff->graphs[0];
	windows.constants = extra_window(loaded, EXTRA_CONSTANTS);
	windows.semaphores = extra_window(loaded, EXTRA_SEMS);
	if (dma_program_build(loaded->graph, &windows, MAX_DESCS, &loaded->program, &error))
		fail_msg("%s", error.text);
	place_vars(loaded);
	place_images(loaded);
	place_rings(loaded);
	loaded->constants = take(loaded, loaded->program.constants.bytes);
	memcpy(hbm(loaded) + loaded->constants, loaded->program.constants.data,
	       loaded->program.constants.bytes);
}

void neff_rig_free(struct neff_rig *loaded)
{
	dma_program_free(&loaded->program);
	neff_free(loaded->neff);
	free(loaded->at);
}

void *neff_rig_var(struct neff_rig *loaded, const char *name)
{
	size_t i;

	for (i = 0; i < loaded->graph->nr_vars; i++)
		if (!strcmp(loaded->graph->vars[i].name, name))
			return hbm(loaded) + loaded->at[i];
	fail_msg("no variable %s", name);
	return NULL;
}

static struct neuron_hw_window hbm_window(struct neff_rig *loaded, uint64_t at, uint64_t length,
					  unsigned int rights)
{
	/* An empty window says nothing else. */
	if (!length)
		return (struct neuron_hw_window){ 0 };
	return neuron_hw_window_memory(NEURON_WINDOW_HBM, rights,
				       loaded->rig->chip[0]->gen->hbm_addr[loaded->core] + at,
				       length);
}

static struct neuron_hw_window var_window(struct neff_rig *loaded, size_t i)
{
	const struct neff_var *var = &loaded->graph->vars[i];
	const uint64_t tpb = loaded->rig->chip[0]->gen->tpb_addr[loaded->core];

	if (var->type == NEFF_VAR_STATE)
		return neuron_hw_window_memory(NEURON_WINDOW_SBUF, NEURON_WINDOW_RIGHTS,
					       tpb + NEURON_TPB_SBUF, NEURON_TPB_SBUF_SIZE);
	return hbm_window(loaded, loaded->at[i], var->size, NEURON_WINDOW_READ |
			  (var->type == NEFF_VAR_INPUT ? 0 : NEURON_WINDOW_WRITE));
}

static uint32_t write_windows(struct neff_rig *loaded, struct neuron_hw_window *table)
{
	const uint64_t tpb = loaded->rig->chip[0]->gen->tpb_addr[loaded->core];
	const struct neff_graph *graph = loaded->graph;
	uint32_t first = extra_window(loaded, 0);
	size_t i;

	assert_true((first + NR_EXTRA) * sizeof(*table) <= HOST_QUEUES - HOST_WINDOWS);
	memset(table, 0, (first + NR_EXTRA) * sizeof(*table));
	for (i = 0; i < graph->nr_vars; i++)
		table[graph->vars[i].var_id] = var_window(loaded, i);
	table[first + EXTRA_CODE] = hbm_window(loaded, loaded->code, loaded->rings - loaded->code,
					       NEURON_WINDOW_READ);
	table[first + EXTRA_RINGS] = hbm_window(loaded, loaded->rings,
						loaded->constants - loaded->rings,
						NEURON_WINDOW_READ);
	table[first + EXTRA_CONSTANTS] = hbm_window(loaded, loaded->constants,
						    loaded->program.constants.bytes,
						    NEURON_WINDOW_READ);
	table[first + EXTRA_SEMS] = neuron_hw_window_sems(NEURON_WINDOW_RIGHTS,
							  tpb + NEURON_TPB_SEM, 0,
							  NEURON_NR_SEMAPHORES, 0);
	return first + NR_EXTRA;
}

static void write_queues(struct neff_rig *loaded, struct neuron_hw_job_queue *queues)
{
	const uint32_t window = extra_window(loaded, EXTRA_RINGS);
	uint64_t at = 0, size;
	unsigned int i;

	for (i = 0; i < loaded->program.nr_rings; i++) {
		uint32_t length = loaded->program.rings[i].length;

		size = length * sizeof(struct neuron_udma_desc);
		neuron_hw_job_queue_place(&queues[i], neuron_core_dma(loaded->core),
					  (uint16_t)(i % NEURON_JOB_DMA_ENGINES),
					  (uint16_t)(i / NEURON_JOB_DMA_ENGINES));
		neuron_hw_job_queue_rings(&queues[i], neuron_window_addr(window, at), length,
					  neuron_window_addr(window, at + size), length, 0);
		at += 2 * size;
	}
}

static void write_job(struct neff_rig *loaded, struct neuron_hw_job *job)
{
	const struct neff_graph *graph = loaded->graph;
	uint64_t at = 0;
	unsigned int e, i;

	neuron_hw_job_begin(job, 1, host_addr(loaded, HOST_COMPLETION));
	neuron_hw_job_windows(job, host_addr(loaded, HOST_WINDOWS),
			      write_windows(loaded, host(loaded, HOST_WINDOWS)));
	neuron_hw_job_queues(job, host_addr(loaded, HOST_QUEUES), loaded->program.nr_rings);
	for (i = 0; i < NEURON_NR_SEMAPHORES / 64; i++)
		neuron_hw_job_sem_clear(job, i, graph->sem_clear[i]);
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		neuron_hw_job_start(job, e, neuron_window_addr(extra_window(loaded, EXTRA_CODE),
							       at),
				    graph->image_count[e]);
		at += (uint64_t)graph->image_count[e] * NEURON_INST_SIZE;
	}
}

void neff_rig_submit(struct neff_rig *loaded)
{
	struct trn_chip *chip = loaded->rig->chip[0];
	uint64_t doorbell = neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(loaded->core);
	uint64_t at = host_addr(loaded, 0);

	write_queues(loaded, host(loaded, HOST_QUEUES));
	write_job(loaded, host(loaded, 0));
	memset(host(loaded, HOST_COMPLETION), 0, sizeof(struct neuron_hw_completion));
	trn_chip_mmio_write(chip, doorbell + NEURON_CORE_DOORBELL_LO, (uint32_t)at, 4);
	trn_chip_mmio_write(chip, doorbell + NEURON_CORE_DOORBELL_HI, at >> 32, 4);
}

struct neuron_hw_completion neff_rig_record(struct neff_rig *loaded)
{
	struct neuron_hw_completion record;

	memcpy(&record, host(loaded, HOST_COMPLETION), sizeof(record));
	return record;
}

struct neuron_hw_completion neff_rig_wait(struct neff_rig *loaded)
{
	struct fake_port *port = &loaded->rig->port[0];
	struct trn_chip *chip = loaded->rig->chip[0];
	struct neuron_hw_completion record;

	if (!fake_wait_irq(port, loaded->core, ++loaded->rig->done[0][loaded->core]))
		fail_msg("the job does not end");
	trn_chip_mmio_write(chip, neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(loaded->core) +
			    NEURON_CORE_CAUSE, 0xffffffff, 4);
	record = neff_rig_record(loaded);
	assert_int_equal(record.flags & NEURON_COMPLETION_INEXACT, 0);
	return record;
}
