// SPDX-License-Identifier: MIT
/*
 * Programs for the cores: the part of the work that the driver passes on to the chip.
 */
#include <string.h>

#include "contract/ring.h"
#include "execute.h"
#include "neuron/address.h"
#include "neuron/isa.h"
#include "neuron/udma.h"

/* Windows that the programs use; those in seeds.txt bind them. */
enum image_window {
	WINDOW_IMAGE,
	WINDOW_DATA,
	WINDOW_SBUF,
	WINDOW_SEM,
};

#define DMA_BYTES	0x800

static struct neuron_inst *put_inst(struct neuron_inst **at, enum neuron_opcode opcode)
{
	(*at)->opcode = (uint8_t)opcode;
	return (*at)++;
}

static void put_store(struct neuron_inst **at, uint64_t addr)
{
	struct neuron_inst *inst = put_inst(at, NEURON_OP_REG_SET);

	inst->reg[0] = 1;
	inst->imm0 = 1;
	inst = put_inst(at, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = addr;
}

static void put_rings(uint8_t *image)
{
	struct neuron_udma_desc *ring = (void *)(image + FUZZ_RINGS);

	ring[0] = neuron_copy_source(neuron_window_addr(WINDOW_DATA, 0), DMA_BYTES,
				     NEURON_UDMA_RING_ID_FIRST, NEURON_UDMA_META_DEFAULT);
	ring[FUZZ_RING_LENGTH] = neuron_copy_target(neuron_window_addr(WINDOW_SBUF, 0), DMA_BYTES,
						    NEURON_UDMA_RING_ID_FIRST, 0);
}

static void put_wild(uint8_t *at, uint32_t seed)
{
	struct fuzz_chance chance = { .state = seed };
	uint64_t word;
	unsigned int i;

	for (i = 0; i < FUZZ_ENGINE_BYTES; i += sizeof(word)) {
		word = fuzz_random(&chance);
		memcpy(at + i, &word, sizeof(word));
	}
}

/* The program of one engine at @image. */
static void put_program(uint8_t *image, uint8_t *engine, const struct fuzz_image *args)
{
	struct neuron_inst *at = (void *)engine, *inst;

	switch (args->kind) {
	case FUZZ_IMAGE_SPIN:
		inst = put_inst(&at, NEURON_OP_BRANCH);
		inst->op0 = NEURON_ALU_BYPASS;
		break;
	case FUZZ_IMAGE_ILLEGAL:
		put_inst(&at, NEURON_OP_NOP);
		put_inst(&at, 0xee);
		break;
	case FUZZ_IMAGE_WAIT:
		inst = put_inst(&at, NEURON_OP_NOP);
		inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
		inst->wait_sem = args->seed % 4;
		inst->wait_value = 1;
		break;
	case FUZZ_IMAGE_POST:
		put_store(&at, neuron_window_addr(WINDOW_SEM, args->seed % 4 * 4));
		break;
	case FUZZ_IMAGE_NOTIFY:
		put_inst(&at, NEURON_OP_NOTIFY);
		put_inst(&at, NEURON_OP_NOTIFY);
		break;
	case FUZZ_IMAGE_DMA:
		put_rings(image);
		inst = put_inst(&at, NEURON_OP_DMA_TRIGGER);
		inst->imm0 = 1;
		inst->imm1 = 1;
		break;
	case FUZZ_IMAGE_WILD:
		put_wild(engine, args->seed);
		return;
	case FUZZ_IMAGE_LOOP:
		inst = put_inst(&at, NEURON_OP_REG_SET);
		inst->reg[0] = 3;
		inst->imm0 = args->seed % 5000;
		inst = put_inst(&at, NEURON_OP_LOOP);
		inst->reg[0] = 3;
		inst->addr = 1;
		break;
	}
	put_inst(&at, NEURON_OP_HALT);
}

void fuzz_fill_image(uint8_t *image, const struct fuzz_image *args)
{
	const struct fuzz_image halt = { .kind = FUZZ_IMAGE_HALT };
	unsigned int e;

	memset(image, 0, FUZZ_IMAGE_BYTES);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		put_program(image, image + e * FUZZ_ENGINE_BYTES,
			    args->engine >= NEURON_NR_ENGINES || args->engine == e ? args : &halt);
}
