/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Public interface of the chip library: what QEMU, the embedded back end of
 * libnrt and the native tests use. Everything else in this folder is private.
 */
#ifndef TRN_CHIP_H
#define TRN_CHIP_H

#include "trn_port.h"
#include "neuron/generation.h"

struct trn_chip;
struct trn_fabric;
struct trn_pool;

/* A fabric joins chips of one process; chips keep a reference. */
struct trn_fabric *trn_fabric_new(void);
void trn_fabric_unref(struct trn_fabric *fabric);

/**
 * struct trn_chip_config - how to build a chip
 * @gen: generation table
 * @port: callbacks, must outlive the chip
 * @opaque: first argument of the callbacks
 * @pool: workers; the chips of a fabric must share one
 * @fabric: NULL: a chip alone
 * @fabric_id: id in routed addresses, unique on the fabric
 * @position: {rack 23:16, server 15:8, chip 7:0}
 * @routing_id: public routing id (MISC RAM), 0 to 63
 * @serial: serial number
 * @hbm_size: populated bytes of each stack; 0: the generation's
 * @bar4_stride: distance of the stacks in BAR4
 * @host_limit: host bytes that device writes may touch; 0: no limit
 * @fault_seed: of the faults on demand that strike by chance
 * @clock: model device time
 */
struct trn_chip_config {
	const struct neuron_gen *gen;
	const struct trn_port *port;
	void *opaque;
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	uint32_t fabric_id;
	uint32_t position;
	uint32_t routing_id;
	uint64_t serial;
	uint64_t hbm_size;
	uint64_t bar4_stride;
	uint64_t host_limit;
	uint64_t fault_seed;
	bool clock;
};

/**
 * trn_chip_new() - build a chip in its reset state
 *
 * Return: the chip, or NULL with *@why a static string that says why not
 * (memory, sizes, fabric id taken).
 */
struct trn_chip *trn_chip_new(const struct trn_chip_config *config,
			      const char **why);

/*
 * Leave the fabric for good: new accesses of peers fail. From then on a quiet
 * chip is also one that no peer is using.
 */
void trn_chip_detach(struct trn_chip *chip);

/*
 * Free a chip that has been stopped and is quiet. It leaves the fabric if it
 * has not; then this waits for peers that are just using it.
 */
void trn_chip_free(struct trn_chip *chip);

/* BAR0 accesses of 4 or 8 bytes, naturally aligned; others read as all ones. */
uint64_t trn_chip_mmio_read(struct trn_chip *chip, uint64_t offset,
			    unsigned int size);
void trn_chip_mmio_write(struct trn_chip *chip, uint64_t offset,
			 uint64_t value, unsigned int size);

/* The memory behind stack @stack, as BAR4 shows it. */
void *trn_chip_hbm(struct trn_chip *chip, unsigned int stack);

/*
 * Stop all state machines at their next boundary. When trn_chip_quiet() the
 * caller may reset, save or free the chip; trn_chip_resume() lets it go on.
 */
void trn_chip_stop(struct trn_chip *chip);
bool trn_chip_quiet(const struct trn_chip *chip);
void trn_chip_resume(struct trn_chip *chip);

/* Back to the reset state; the chip must be stopped and quiet. */
void trn_chip_reset(struct trn_chip *chip);

/* Bytes the library itself holds for this chip, without device memory. */
size_t trn_chip_own_bytes(const struct trn_chip *chip);

#endif /* TRN_CHIP_H */
