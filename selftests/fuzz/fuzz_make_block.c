// SPDX-License-Identifier: MIT
/*
 * Requests to the smaller blocks of the chip, mostly complete: discard,
 * notification queues, the firmware's mailbox, semaphores.
 */
#include "fuzz_chip.h"

#include <string.h>

#define REQUEST_AT	0x18000	/* in host memory */
#define RESPONSE_AT	0x19000
#define QUEUE_AT	0x1a000
#define MAX_WORDS	64

/* CRC-32C of the mailbox: reflected, bit by bit. */
static uint32_t crc32c(const uint8_t *data, size_t len)
{
	uint32_t crc = ~0u;
	unsigned int bit;

	while (len--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* One request: sequence number, command, size, CRC, then @words of data. */
static void put_request(struct fuzz *fuzz, unsigned int c)
{
	uint32_t words = fuzz_random(fuzz, MAX_WORDS), i, crc;
	uint8_t data[8 + MAX_WORDS * 4] = { 0 };
	uint64_t value;

	data[0] = (uint8_t)fuzz_random(fuzz, 256);
	data[1] = (uint8_t)(1 + fuzz_random(fuzz, 6));
	data[2] = (uint8_t)(8 + words * 4);
	data[3] = (uint8_t)((8 + words * 4) >> 8);
	for (i = 0; i + 1 < words; i += 2) {
		value = fuzz_addr(fuzz);
		memcpy(data + 8 + i * 4, &value, sizeof(value));
	}
	crc = crc32c(data, 8 + words * 4);
	memcpy(data + 4, &crc, sizeof(crc));
	fuzz_spoil(fuzz, data, sizeof(data));
	fuzz_host(fuzz, c, REQUEST_AT, data, sizeof(data));
}

static void make_mailbox(struct fuzz *fuzz, unsigned int c)
{
	uint32_t misc = fuzz->gen->misc_bar0;
	uint64_t request = fuzz->gen->host_base + REQUEST_AT;
	uint64_t response = fuzz->gen->host_base + RESPONSE_AT;

	if (fuzz_once_in(fuzz, 4))
		response = fuzz_addr(fuzz);
	if (fuzz_once_in(fuzz, 8))
		request = fuzz_addr(fuzz);
	put_request(fuzz, c);
	fuzz_write(fuzz, c, misc + NEURON_MISC_REQUEST_LO, (uint32_t)request, 4);
	fuzz_write(fuzz, c, misc + NEURON_MISC_REQUEST_HI, request >> 32, 4);
	fuzz_write(fuzz, c, misc + NEURON_MISC_RESPONSE_LO, (uint32_t)response,
		   4);
	fuzz_write(fuzz, c, misc + NEURON_MISC_RESPONSE_HI, response >> 32, 4);
	fuzz_write(fuzz, c, misc + NEURON_MISC_TRIGGER, 1, 4);
}

static void make_discard(struct fuzz *fuzz, unsigned int c)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint64_t ctl = neuron_ctl_bar0(gen);
	uint64_t addr = gen->hbm_addr[fuzz_random(fuzz, gen->nr_hbm)] +
			fuzz_random(fuzz, FAKE_HBM_SIZE / 4096) * 4096ull;
	uint64_t len = fuzz_random(fuzz, 64) * 4096ull;

	fuzz_spoil(fuzz, &addr, sizeof(addr));
	fuzz_spoil(fuzz, &len, sizeof(len));
	fuzz_write(fuzz, c, ctl + NEURON_CTL_DISCARD_ADDR, addr, 8);
	fuzz_write(fuzz, c, ctl + NEURON_CTL_DISCARD_LEN, len, 8);
	if (fuzz_once_in(fuzz, 2))
		fuzz_write(fuzz, c, ctl + NEURON_CTL_MASK, 0, 4);
	fuzz_write(fuzz, c, ctl + NEURON_CTL_DISCARD_GO, 1, 4);
}

/* The queue of a core, or one of another notification block of the chip. */
static void make_notify(struct fuzz *fuzz, unsigned int c)
{
	const struct neuron_gen *gen = fuzz->gen;
	const struct neuron_storage *other =
		&gen->storage[fuzz_random(fuzz, NEURON_MAX_STORAGE)];
	uint64_t block = gen->nq_bar0[fuzz_random(fuzz, gen->nr_cores)];
	uint64_t base = gen->host_base + QUEUE_AT;

	if (fuzz_once_in(fuzz, 4) && other->count)
		block = other->bar0 +
			fuzz_random(fuzz, other->count) * other->stride;
	if (fuzz_once_in(fuzz, 4))
		base = fuzz_addr(fuzz);
	block += NEURON_NQ_SLOT(fuzz_random(fuzz, NEURON_NQ_SLOTS));
	fuzz_write(fuzz, c, block + NEURON_NQ_BASE_LO, (uint32_t)base, 4);
	fuzz_write(fuzz, c, block + NEURON_NQ_BASE_HI, base >> 32, 4);
	fuzz_write(fuzz, c, block + NEURON_NQ_SIZE,
		   64u << fuzz_random(fuzz, 8), 4);
	fuzz_write(fuzz, c, block + NEURON_NQ_HEAD, fuzz_random(fuzz, 64), 4);
}

static void make_posts(struct fuzz *fuzz, unsigned int c)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint64_t sems = neuron_tpb_bar0(gen, fuzz_random(fuzz, gen->nr_cores)) +
			NEURON_TPB_SEM;
	unsigned int n = fuzz_random(fuzz, 16), sem;

	while (n--) {
		sem = fuzz_random(fuzz, 6);
		switch (fuzz_random(fuzz, 4)) {
		case 0:
			fuzz_write(fuzz, c, sems + NEURON_SEM_SET(sem),
				   fuzz_random64(fuzz) >> fuzz_random(fuzz, 64),
				   4);
			break;
		case 1:
			fuzz_write(fuzz, c, sems + NEURON_SEM_DEC(sem), 1, 4);
			break;
		default:
			fuzz_write(fuzz, c, sems + NEURON_SEM_INC(sem), 1, 4);
		}
	}
}

void fuzz_make_block(struct fuzz *fuzz, unsigned int c)
{
	switch (fuzz_random(fuzz, 4)) {
	case 0:
		make_mailbox(fuzz, c);
		return;
	case 1:
		make_discard(fuzz, c);
		return;
	case 2:
		make_notify(fuzz, c);
		return;
	default:
		make_posts(fuzz, c);
	}
}
