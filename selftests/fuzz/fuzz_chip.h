/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the chip fuzzer share.
 *
 * A bench is two chips on one fabric without threads: what is kicked runs in
 * trn_pool_step(), so an input does the same each time. Every access that the
 * fuzzer makes through the port (a register, host memory, HBM, a doorbell) is one
 * operation and is counted.
 */
#ifndef FUZZ_CHIP_H
#define FUZZ_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_port.h"
#include "neuron/address.h"

#define CHIPS		2
#define HOST_BYTES	NEURON_KIB(256)

/**
 * struct bench - the chips of one generation
 * @own: bytes that the chips said they held when they were new
 */
struct bench {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct fake_port port[CHIPS];
	struct trn_chip *chip[CHIPS];
	int64_t own;
};

/**
 * struct fuzz - one input being carried out
 * @data, @size: what is left of the input
 * @operations: so far, of all inputs
 * @random: state of fuzz_random(), from the input
 */
struct fuzz {
	const struct neuron_gen *gen;
	struct bench *bench;
	const uint8_t *data;
	size_t size;
	uint64_t operations;
	uint64_t random;
};

/* The next bytes of the input; zeroes after its end. */
void fuzz_take(struct fuzz *fuzz, void *out, size_t len);
uint32_t fuzz_take32(struct fuzz *fuzz);

/* Continues from the input's last fuzz_seed(); below @below, which is not 0. */
void fuzz_seed(struct fuzz *fuzz);
uint32_t fuzz_random(struct fuzz *fuzz, uint32_t below);
uint64_t fuzz_random64(struct fuzz *fuzz);
/* True once in @n times. */
bool fuzz_once_in(struct fuzz *fuzz, uint32_t n);

/* Accesses of chip @c, each an operation. */
void fuzz_write(struct fuzz *fuzz, unsigned int c, uint64_t offset,
		uint64_t value, unsigned int size);
uint64_t fuzz_read(struct fuzz *fuzz, unsigned int c, uint64_t offset,
		   unsigned int size);
void fuzz_host(struct fuzz *fuzz, unsigned int c, uint32_t offset,
	       const void *data, size_t len);
void fuzz_hbm(struct fuzz *fuzz, unsigned int c, unsigned int stack,
	      uint32_t offset, const void *data, size_t len);

/* fuzz_make.c: things that mostly pass the first checks. */

/* An address of any kind that a descriptor can hold. */
uint64_t fuzz_addr(struct fuzz *fuzz);
/* BAR0 offset of a register of a block that does something. */
uint64_t fuzz_register(struct fuzz *fuzz);
/* Some bits of @data changed, now and then. */
void fuzz_spoil(struct fuzz *fuzz, void *data, size_t len);
/* A queue of domain 0: rings, descriptors, doorbells. */
void fuzz_make_queue(struct fuzz *fuzz, unsigned int c);

/* The chip's other blocks: discard, notification queue, mailbox, posts. */
void fuzz_make_block(struct fuzz *fuzz, unsigned int c);

/* fuzz_make_job.c: a job block with its tables, programs and doorbell. */
void fuzz_make_job(struct fuzz *fuzz, unsigned int c);

/* What libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_CHIP_H */
