/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * MISC RAM: the registers of the firmware.
 */
#ifndef TRN_MISC_RAM_H
#define TRN_MISC_RAM_H

#include <stdint.h>

struct trn_chip;

/**
 * struct trn_misc_id - what the firmware tells of a chip's identity
 * @position: trn_chip_config.position
 */
struct trn_misc_id {
	uint32_t position;
	uint32_t routing_id;
	uint64_t serial;
};

/* A word below NEURON_MISC_FIRMWARE_END of a chip that is well and has measured nothing. */
uint32_t trn_misc_identity(const struct trn_misc_id *id, uint32_t offset);

uint32_t trn_misc_read(struct trn_chip *chip, uint32_t offset);
void trn_misc_write(struct trn_chip *chip, uint32_t offset, uint32_t value);

#endif /* TRN_MISC_RAM_H */
