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
struct trn_state;

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
 * @hbm_told: bytes of each stack that the control block tells; 0: @hbm_size
 * @bar4_stride: distance of the stacks in BAR4
 * @host_limit: host bytes that device writes may touch; 0: no limit
 * @fault_seed: of the faults on demand that strike by chance
 * @reset_ns: least time, of the host, that a reset asked for by MISC RAM or the
 *	platform register shows as under way; 0: as fast as possible
 * @repair_fails: an uncorrectable error of HBM ends in repair state 2, not 1
 * @clock: model device time
 * @check_memory: look for programming errors of jobs, trn_check.h
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
	uint64_t hbm_told;
	uint64_t bar4_stride;
	uint64_t host_limit;
	uint64_t fault_seed;
	uint64_t reset_ns;
	bool repair_fails;
	bool clock;
	bool check_memory;
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
 * Leave the fabric for good; the chip is stopped and quiet. New accesses of peers
 * fail, and from then on a quiet chip is also one that no peer is using.
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

/* The time that trn_port.timer() was asked for has passed. Any thread; never waits. */
void trn_chip_expire(struct trn_chip *chip);

/* Back to the reset state; the chip must be stopped and quiet. */
void trn_chip_reset(struct trn_chip *chip);

/**
 * trn_chip_save() - write the state of a chip to a stream (trn_state.h)
 * @chip: stopped and quiet, and so are all chips of its fabric
 * @st: saving
 *
 * Everything but HBM; trn_chip_save_hbm() writes that, in a stream of its own
 * or behind. The chip does not change. What is written is proportional to the
 * memory that has been touched.
 *
 * Return: false when @st->why says why not.
 */
bool trn_chip_save(struct trn_chip *chip, struct trn_state *st);
bool trn_chip_save_hbm(struct trn_chip *chip, struct trn_state *st);

/**
 * trn_chip_load() - put a chip into a saved state
 * @chip: stopped and quiet, of the same type, position, memory size and clock;
 *	the chips of its fabric that are there are stopped and quiet
 * @st: loading; it may say anything
 *
 * The chip is reset first. trn_chip_load_hbm() comes after it; trn_chip_resume()
 * lets the chip go on, with the device times that it would have had.
 *
 * Return: false when @st->why says why not; the chip is in its reset state, without
 * faults on demand. The fabric may have the link faults of the stream.
 */
bool trn_chip_load(struct trn_chip *chip, struct trn_state *st);
bool trn_chip_load_hbm(struct trn_chip *chip, struct trn_state *st);

/* Programming errors that the checks on request have told of, all kinds. */
uint64_t trn_chip_check_reports(const struct trn_chip *chip);

/* Bytes the library itself holds for this chip, without device memory. */
size_t trn_chip_own_bytes(const struct trn_chip *chip);

#endif /* TRN_CHIP_H */
