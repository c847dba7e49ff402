/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Stop and reset of a chip, and the chip-wide controller task.
 */
#ifndef TRN_RESET_H
#define TRN_RESET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"

struct trn_chip;
struct trn_core;
struct trn_state;

/**
 * struct trn_controller - chip-wide state machine: device reset, link changes
 * @lock: @stopped, and @reset together with trn_chip.stopping
 * @stopped: the host holds the chip (trn_chip_stop)
 * @reset: a device reset waits for quiet
 * @reset_map: of the newest reset of single cores: a bit for each place in
 *	trn_chip.core
 * @until_ns: of the host's clock: software does not see the end of a reset that
 *	it asked for before
 * @whole: the reset that @until_ns is about is of the device, not of single blocks
 * @stuck: a fault on demand has swallowed the last device reset, so its end is never shown
 */
struct trn_controller {
	struct trn_task task;
	struct trn_chip *chip;
	pthread_mutex_t lock;
	bool stopped;
	_Atomic bool reset;
	_Atomic bool links_changed;
	_Atomic uint32_t reset_map;
	_Atomic uint64_t until_ns;
	_Atomic bool whole;
	_Atomic bool stuck;
};

void trn_controller_init(struct trn_chip *chip);
void trn_controller_destroy(struct trn_chip *chip);

/* trn_chip_reset(), but HBM keeps its bytes. */
void trn_reset_but_hbm(struct trn_chip *chip);
/*
 * Reset that a guest asks for. Registers that software sets up once, HBM, and
 * the rings of DMA queues that belong to no job stay (public software does not
 * program them again); everything else goes to its reset state.
 */
void trn_reset_request(struct trn_chip *chip);
/* Reset of the blocks in @map (NEURON_RESET_MAP_*): cores, DMA engines, TOP_SPs. */
void trn_reset_blocks(struct trn_chip *chip, uint32_t map);
/* Is a requested reset of either kind not done yet, as software sees it? */
bool trn_reset_busy(struct trn_chip *chip);
/* Is it one of the device, with its firmware? */
bool trn_reset_of_device(struct trn_chip *chip);
/* Is it less than trn_chip_config.reset_ns since one was asked for? */
bool trn_reset_waiting(struct trn_chip *chip);
/* What software still has to see of a reset that it asked for. */
void trn_reset_state(struct trn_chip *chip, struct trn_state *st);

/* The reset register of platform mode. */
uint32_t trn_platform_reset_read(struct trn_chip *chip);
void trn_platform_reset_write(struct trn_chip *chip, uint32_t value);

/* Let everything go on that a stop, or a fault on demand, may have interrupted. */
void trn_reset_kick(struct trn_chip *chip);

/* Is the core in reset, or asked to be? */
bool trn_reset_core_busy(struct trn_core *core);

#endif /* TRN_RESET_H */
