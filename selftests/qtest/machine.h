/* SPDX-License-Identifier: MIT */
/*
 * A machine with one chip, as firmware and a driver would set it up.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include "qtest.h"

#include <cmocka.h>

#include "neuron/generation.h"

/* Guest memory that tests use; 64 MiB in all. */
#define RAM_MSI		0x800000u	/* where messages go, 16 bytes each */
#define RAM_RINGS	0x900000u
#define RAM_DATA	0xa00000u

/**
 * struct machine - the machine of a test
 * @silicon: the chip's mode
 * @bar0, @bar2, @bar4: where they are; @bar2 0: there is none
 * @express, @msix: offsets of the capabilities
 */
struct machine {
	struct qtest qt;
	const struct neuron_gen *gen;
	bool silicon;
	uint64_t bar0;
	uint64_t bar2;
	uint64_t bar4;
	uint8_t express;
	uint8_t msix;
};

/* The generation of a type by its name, or NULL. */
const struct neuron_gen *machine_gen(const char *name);

/* cmocka set-up and tear-down: *@state is the machine to start. */
int machine_setup(void **state);
int machine_teardown(void **state);

/* Configuration space, 32 bits. */
uint32_t machine_config_read(struct machine *m, unsigned int reg);
void machine_config_write(struct machine *m, unsigned int reg, uint32_t value);
/* The size that a BAR's address bits tell; the flags are checked. */
uint64_t machine_bar_size(struct machine *m, unsigned int bar);
/* Place the BARs, switch memory and bus mastering on. */
void machine_map(struct machine *m);

/* Registers of BAR0. */
uint32_t machine_read(struct machine *m, uint64_t offset);
void machine_write(struct machine *m, uint64_t offset, uint32_t value);
/* Wait for (register & @mask) == @value. */
void machine_wait(struct machine *m, uint64_t offset, uint32_t mask,
		  uint32_t value);
/* The same of a 32-bit word of guest memory. */
void machine_wait_ram(struct machine *m, uint64_t addr, uint32_t value);

/* Vector @v: its message goes to RAM_MSI + 16 * v, and is @data. */
void machine_vector(struct machine *m, unsigned int v, uint32_t data);

/**
 * struct queue - a DMA queue in domain 0
 * @engine, @index: which
 * @length: descriptors of a ring
 * @ram: guest memory with the rings, M2S first
 * @tail: descriptors so far, the same on both sides
 */
struct queue {
	struct machine *m;
	unsigned int engine;
	unsigned int index;
	uint32_t length;
	uint64_t ram;
	uint32_t tail;
};

/* The register accesses of the public driver, in its order. */
void queue_init_engine(struct machine *m, unsigned int engine);
void queue_init(struct queue *q, struct machine *m, unsigned int engine,
		unsigned int index, uint32_t length);
/* BAR0 offset of a register. */
uint64_t queue_reg(const struct queue *q, bool s2m, uint32_t reg);
/* Append a packet of one descriptor on each side. */
void queue_copy(struct queue *q, uint64_t dst, uint64_t src, uint32_t len,
		uint32_t s2m_flags);
/* Ring for the last @n, S2M first. */
void queue_ring(struct queue *q, uint32_t n);
/* Wait until the completion heads have reached the tails. */
void queue_wait(struct queue *q);

/* The device's address of guest memory, and of byte @offset of an HBM stack. */
uint64_t machine_host(const struct machine *m, uint64_t addr);
uint64_t machine_hbm(const struct machine *m, unsigned int stack,
		     uint64_t offset);

#endif /* MACHINE_H */
