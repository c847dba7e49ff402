// SPDX-License-Identifier: MIT
#include "chip_rig.h"

#include <stdlib.h>
#include <string.h>

static void rig_init(struct rig *rig, const struct neuron_gen *gen,
		     uint64_t host_limit, uint64_t hbm_size, unsigned int workers)
{
	struct trn_chip_config config;
	const char *why = NULL;
	unsigned int c;

	rig->seed = 0x243f6a8885a308d3ull;
	rig->stepped = workers == TRN_POOL_STEPPED;
	rig->pool = trn_pool_new(workers, NULL, NULL);
	assert_non_null(rig->pool);
	rig->fabric = trn_fabric_new();
	assert_non_null(rig->fabric);
	for (c = 0; c < RIG_CHIPS; c++) {
		fake_port_init(&rig->port[c], RIG_HOST_BYTES);
		config = fake_chip_config(&rig->port[c], gen, rig->pool,
					  rig->fabric, c);
		config.host_limit = host_limit;
		config.hbm_size = hbm_size;
		config.bar4_stride = hbm_size;
		rig->chip[c] = trn_chip_new(&config, &why);
		if (!rig->chip[c])
			fail_msg("no chip: %s", why);
		rig->host_next[c] = 4096;
	}
}

static int setup_sized(void **state, const struct neuron_gen *gen, uint64_t limit,
		       uint64_t hbm_size, unsigned int workers)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig_init(rig, gen, limit, hbm_size, workers);
	*state = rig;
	return 0;
}

static int setup(void **state, const struct neuron_gen *gen, uint64_t limit,
		 unsigned int workers)
{
	return setup_sized(state, gen, limit, FAKE_HBM_SIZE, workers);
}

int rig_setup(void **state)
{
	return setup(state, fake_gen(), 0, RIG_WORKERS);
}

int rig_setup_trn1(void **state)
{
	return setup(state, &neuron_gen_trn1, 0, RIG_WORKERS);
}

int rig_setup_limited(void **state)
{
	return setup(state, fake_gen(), RIG_LIMIT, RIG_WORKERS);
}

int rig_setup_alone(void **state)
{
	return setup(state, fake_gen(), 0, 1);
}

int rig_setup_stepped(void **state)
{
	return setup(state, fake_gen(), 0, TRN_POOL_STEPPED);
}

static int setup_large(void **state, unsigned int workers)
{
	const struct neuron_gen *gen = fake_gen();

	return setup_sized(state, gen, 0, RIG_LARGE / gen->nr_hbm, workers);
}

int rig_setup_large(void **state)
{
	return setup_large(state, RIG_WORKERS);
}

int rig_setup_large_stepped(void **state)
{
	return setup_large(state, TRN_POOL_STEPPED);
}

void rig_step(struct rig *rig)
{
	while (rig->stepped && trn_pool_step(rig->pool, 64))
		;
}

int rig_teardown(void **state)
{
	struct rig *rig = *state;
	unsigned int c;

	for (c = 0; c < RIG_CHIPS; c++)
		trn_chip_stop(rig->chip[c]);
	rig_step(rig);
	for (c = 0; c < RIG_CHIPS; c++)
		fake_chip_stop(rig->chip[c]);
	for (c = 0; c < RIG_CHIPS && rig->stepped; c++)
		trn_chip_detach(rig->chip[c]);
	rig_step(rig);
	for (c = 0; c < RIG_CHIPS; c++)
		fake_chip_free(rig->chip[c]);
	trn_fabric_unref(rig->fabric);
	trn_pool_free(rig->pool);
	for (c = 0; c < RIG_CHIPS; c++)
		fake_port_destroy(&rig->port[c]);
	free(rig);
	return 0;
}

uint32_t rig_random(struct rig *rig, uint32_t below)
{
	rig->seed ^= rig->seed << 13;
	rig->seed ^= rig->seed >> 7;
	rig->seed ^= rig->seed << 17;
	return (uint32_t)(rig->seed >> 32) % below;
}

void rig_fill(struct rig *rig, void *buf, size_t len)
{
	uint8_t *bytes = buf;

	while (len--)
		*bytes++ = (uint8_t)rig_random(rig, 256);
}

uint64_t rig_host(struct rig *rig, unsigned int c, size_t len)
{
	uint64_t offset = rig->host_next[c];

	rig->host_next[c] += (len + 255) & ~(size_t)255;
	assert_true(rig->host_next[c] <= RIG_HOST_BYTES);
	return offset;
}

void *rig_host_ptr(struct rig *rig, unsigned int c, uint64_t offset)
{
	return rig->port[c].host + offset;
}

uint64_t rig_host_addr(struct rig *rig, unsigned int c, uint64_t offset)
{
	return fake_host_addr(&rig->port[c], offset);
}

uint64_t rig_hbm_addr(const struct rig *rig, unsigned int stack, uint64_t offset)
{
	return rig->chip[0]->gen->hbm_addr[stack] + offset;
}

uint64_t rig_sbuf_addr(const struct rig *rig, unsigned int core)
{
	return rig->chip[0]->gen->tpb_addr[core] + NEURON_TPB_SBUF;
}

uint64_t rig_sem_addr(const struct rig *rig, unsigned int core)
{
	return rig->chip[0]->gen->tpb_addr[core] + NEURON_TPB_SEM;
}

uint64_t rig_core_reg(struct rig *rig, unsigned int core, uint32_t reg)
{
	uint32_t block = core < NEURON_MAX_CORES ?
			 NEURON_CTL_CORE(core) :
			 NEURON_CTL_CC(core - NEURON_MAX_CORES);

	return neuron_ctl_bar0(rig->chip[0]->gen) + block + reg;
}

uint64_t rig_dma_reg(struct rig *rig, unsigned int engine, uint32_t reg)
{
	return neuron_ctl_bar0(rig->chip[0]->gen) + NEURON_CTL_DMA(engine) +
	       reg;
}
