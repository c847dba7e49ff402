/* SPDX-License-Identifier: MIT */
/*
 * One or two chips on fake ports, for all tests of what runs on them.
 */
#ifndef CHIP_RIG_H
#define CHIP_RIG_H

#include "fake_port.h"
#include "neuron/isa.h"
#include "chip_parts.h"
#include "mem/trn_window.h"

#define RIG_CHIPS	2
#define RIG_HOST_BYTES	NEURON_MIB(8)
#define RIG_LIMIT	NEURON_MIB(2)
#define RIG_LARGE	NEURON_GIB(8)
#define RIG_WORKERS	4
/* A plain address that maps to nothing on trn2: between registers and cores. */
#define RIG_NOWHERE	NEURON_GIB(100)

/**
 * struct rig - chips 0 and 1 on one fabric
 * @host_next: first free byte of each chip's host memory
 * @seed: of rig_random()
 * @stepped: by rig_setup_stepped()
 */
struct rig {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct fake_port port[RIG_CHIPS];
	struct trn_chip *chip[RIG_CHIPS];
	uint64_t host_next[RIG_CHIPS];
	uint64_t seed;
	bool stepped;
};

/* cmocka set-up and tear-down; *@state is the rig, on fake_gen() or on trn1. */
int rig_setup(void **state);
int rig_setup_trn1(void **state);
/* fake_gen() with a host limit of RIG_LIMIT bytes for each chip. */
int rig_setup_limited(void **state);
/* fake_gen() with RIG_LARGE bytes of HBM on each chip. */
int rig_setup_large(void **state);
int rig_setup_large_stepped(void **state);
/* fake_gen() with one worker. */
int rig_setup_alone(void **state);
/* fake_gen() without threads: tasks run in rig_step() only, until none has work. */
int rig_setup_stepped(void **state);
void rig_step(struct rig *rig);
int rig_teardown(void **state);

/* Uniform below @below; the same sequence on every run. */
uint32_t rig_random(struct rig *rig, uint32_t below);
void rig_fill(struct rig *rig, void *buf, size_t len);

/* Zeroed, 256-byte aligned host memory of chip @c: the offset (bus address). */
uint64_t rig_host(struct rig *rig, unsigned int c, size_t len);
void *rig_host_ptr(struct rig *rig, unsigned int c, uint64_t offset);
/* Its plain address. */
uint64_t rig_host_addr(struct rig *rig, unsigned int c, uint64_t offset);

/* The plain address of byte @offset of HBM stack @stack; on every chip. */
uint64_t rig_hbm_addr(const struct rig *rig, unsigned int stack,
		      uint64_t offset);

/* Plain addresses of a core's memories. */
uint64_t rig_sbuf_addr(const struct rig *rig, unsigned int core);
uint64_t rig_sem_addr(const struct rig *rig, unsigned int core);

/*
 * Control registers of core @core, a place in trn_chip.core, and of DMA engine
 * @engine: BAR0 offsets.
 */
uint64_t rig_core_reg(struct rig *rig, unsigned int core, uint32_t reg);
uint64_t rig_dma_reg(struct rig *rig, unsigned int engine, uint32_t reg);

#endif /* CHIP_RIG_H */
