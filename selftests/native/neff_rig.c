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
	return trn_chip_hbm(loaded->rig->chip[0], loaded->stack);
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
	EXTRA_SIBLING,		/* semaphores of the other core of the pair */
	NR_EXTRA
};

static uint32_t extra_window(const struct neff_rig *loaded, unsigned int extra)
{
	const struct neff_graph *graph = loaded->graph;

	return (graph->nr_vars ? graph->vars[graph->nr_vars - 1].var_id + 1 : 0) + extra;
}

/* The place that the first core of a pair has for it; 0: none. */
static uint64_t shared_place(const struct neff_rig *loaded, const struct neff_var *var)
{
	const struct neff_graph *graph;
	size_t i;

	if (!loaded->first || (var->type != NEFF_VAR_INPUT && var->type != NEFF_VAR_OUTPUT))
		return 0;
	graph = loaded->first->graph;
	for (i = 0; i < graph->nr_vars; i++)
		if (!strcmp(graph->vars[i].name, var->name))
			return loaded->first->at[i];
	return 0;
}

/* Others have windows onto what a core has itself. */
static bool is_in_hbm(const struct neff_var *var)
{
	return var->type != NEFF_VAR_STATE && var->type != NEFF_VAR_SIBLING_STATE &&
	       var->type != NEFF_VAR_SIBLING_SEM;
}

static void place_vars(struct neff_rig *loaded)
{
	const struct neff_graph *graph = loaded->graph;
	size_t i;

	loaded->at = calloc(graph->nr_vars + 1, sizeof(*loaded->at));
	assert_non_null(loaded->at);
	for (i = 0; i < graph->nr_vars; i++) {
		const struct neff_var *var = &graph->vars[i];

		if (!is_in_hbm(var))
			continue;
		loaded->at[i] = shared_place(loaded, var);
		if (!loaded->at[i])
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

/* Subgraph @graph, behind what lies in @loaded's stack of HBM already. */
static void load_graph(struct neff_rig *loaded, const void *bytes, size_t size,
		       unsigned int graph)
{
	const struct neff_limits limits = {
		.unpacked_bytes = NEURON_MIB(64),
		.validate_hash = true,
	};
	struct dma_windows windows = { 0 };
	struct nrt_error error;

	assert_true(HOST_FIRST + (loaded->core + 1) * HOST_STRIDE <=
		    loaded->rig->port[0].host_size);
	if (neff_read(bytes, size, &limits, &loaded->neff, &error))
		fail_msg("%s", error.text);
	assert_true(graph < loaded->neff->nr_graphs);
	loaded->graph = &loaded->neff->graphs[graph];
	windows.constants = extra_window(loaded, EXTRA_CONSTANTS);
	windows.semaphores = extra_window(loaded, EXTRA_SEMS);
	windows.sibling = extra_window(loaded, EXTRA_SIBLING);
	if (dma_program_build(loaded->graph, &windows, MAX_DESCS, &loaded->program, &error))
		fail_msg("%s", error.text);
	place_vars(loaded);
	place_images(loaded);
	place_rings(loaded);
	loaded->constants = take(loaded, loaded->program.constants.bytes);
	memcpy(hbm(loaded) + loaded->constants, loaded->program.constants.data,
	       loaded->program.constants.bytes);
}

void neff_rig_load(struct neff_rig *loaded, struct seq_rig *rig, const void *bytes, size_t size)
{
	neff_rig_load_on(loaded, rig, 0, bytes, size);
}

void neff_rig_load_on(struct neff_rig *loaded, struct seq_rig *rig, unsigned int core,
		      const void *bytes, size_t size)
{
	assert_true(core < rig->chip[0]->gen->nr_hbm);
	*loaded = (struct neff_rig){ .rig = rig, .core = core, .stack = core, .next = HBM_FIRST };
	load_graph(loaded, bytes, size, 0);
}

void neff_rig_load_pair(struct neff_rig pair[2], struct seq_rig *rig, const void *bytes,
			size_t size)
{
	pair[0] = (struct neff_rig){ .rig = rig, .next = HBM_FIRST };
	load_graph(&pair[0], bytes, size, 0);
	pair[1] = (struct neff_rig){ .rig = rig, .core = 1, .first = &pair[0],
				     .next = pair[0].next };
	load_graph(&pair[1], bytes, size, 1);
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
				       loaded->rig->chip[0]->gen->hbm_addr[loaded->stack] + at,
				       length);
}

/* Semaphores of @core; of the other one of a pair they can be posted only. */
static struct neuron_hw_window sems_window(const struct neff_rig *loaded, unsigned int core,
					   uint32_t first, uint32_t count)
{
	const uint64_t tpb = loaded->rig->chip[0]->gen->tpb_addr[core];

	return neuron_hw_window_sems(core == loaded->core ? NEURON_WINDOW_RIGHTS :
							    NEURON_WINDOW_WRITE,
				     tpb + NEURON_TPB_SEM, first, count, 0);
}

static struct neuron_hw_window var_window(struct neff_rig *loaded, size_t i)
{
	const struct neff_var *var = &loaded->graph->vars[i];
	const __u64 *tpb = loaded->rig->chip[0]->gen->tpb_addr;
	const unsigned int sibling = loaded->core ^ 1;

	if (var->type == NEFF_VAR_STATE)
		return neuron_hw_window_memory(NEURON_WINDOW_SBUF, NEURON_WINDOW_RIGHTS,
					       tpb[loaded->core] + NEURON_TPB_SBUF,
					       NEURON_TPB_SBUF_SIZE);
	if (var->type == NEFF_VAR_SIBLING_STATE)
		return neuron_hw_window_grant(NEURON_WINDOW_RIGHTS, tpb[sibling] + NEURON_TPB_SBUF,
					      NEURON_TPB_SBUF_SIZE, 0);
	if (var->type == NEFF_VAR_SIBLING_SEM)
		return sems_window(loaded, sibling, var->first, var->count);
	return hbm_window(loaded, loaded->at[i], var->size, NEURON_WINDOW_READ |
			  (var->type == NEFF_VAR_INPUT ? 0 : NEURON_WINDOW_WRITE));
}

static uint32_t write_windows(struct neff_rig *loaded, struct neuron_hw_window *table)
{
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
	table[first + EXTRA_SEMS] = sems_window(loaded, loaded->core, 0, NEURON_NR_SEMAPHORES);
	if (loaded->gang)
		table[first + EXTRA_SIBLING] = sems_window(loaded, loaded->core ^ 1, 0,
							   NEURON_NR_SEMAPHORES);
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
	if (loaded->gang)
		neuron_hw_job_gang(job, loaded->gang, 2, loaded->core);
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

void neff_rig_submit_pair(struct neff_rig pair[2], uint64_t gang)
{
	unsigned int core;

	for (core = 0; core < 2; core++) {
		pair[core].gang = gang;
		neff_rig_submit(&pair[core]);
	}
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
