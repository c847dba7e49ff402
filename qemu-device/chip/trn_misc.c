// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_misc.h"

#include "trn_internal.h"
#include "trn_regfile.h"
#include "trn_reset.h"

#define MISC_POSITION_SERVER_VALID	NEURON_BIT(15)
#define MISC_POSITION_RACK_VALID	NEURON_BIT(31)

/* v3 platform register: two versions of public software ask in two ways. */
#define PLATFORM_RESET_DEVICE_OLD	0u
#define PLATFORM_RESET_DEVICE		0xffffffffu

/* Bits of a reset map that name cores; DMA and CC-core groups follow. */
static uint32_t map_cores(const struct trn_chip *chip, uint32_t map)
{
	return map & (NEURON_BIT(chip->gen->nr_cores) - 1);
}

static uint32_t misc_position(const struct trn_chip *chip)
{
	uint32_t position = chip->config.position;
	uint32_t server = NEURON_GET(NEURON_MASK(15, 8), position);
	uint32_t rack = NEURON_GET(NEURON_MASK(23, 16), position);

	return server | MISC_POSITION_SERVER_VALID | rack << 16 |
	       MISC_POSITION_RACK_VALID;
}

/* Registers that software cannot write; false: plain RAM. */
static bool misc_constant(struct trn_chip *chip, uint32_t offset,
			  uint32_t *value)
{
	switch (offset) {
	case NEURON_MISC_API_VERSION:
		*value = NEURON_MISC_API_VERSION_VALUE;
		return true;
	case NEURON_MISC_ROUTING_ID:
		*value = chip->config.routing_id;
		return true;
	case NEURON_MISC_SERIAL_LO:
		*value = (uint32_t)chip->config.serial;
		return true;
	case NEURON_MISC_SERIAL_HI:
		*value = (uint32_t)(chip->config.serial >> 32);
		return true;
	case NEURON_MISC_POSITION:
		*value = misc_position(chip);
		return true;
	case NEURON_MISC_STATUS:
		*value = trn_reset_busy(chip) ? NEURON_MISC_STATUS_BUSY : 0;
		return true;
	case NEURON_MISC_SRAM_ECC:
	case NEURON_MISC_HBM_ECC(0):
	case NEURON_MISC_HBM_ECC(1):
	case NEURON_MISC_HBM_ECC(2):
	case NEURON_MISC_HBM_ECC(3):
	case NEURON_MISC_POWER(0):
	case NEURON_MISC_POWER(1):
	case NEURON_MISC_HBM_REPAIR:
	case NEURON_MISC_TRIGGER:
		*value = 0;
		return true;
	default:
		return false;
	}
}

uint32_t trn_misc_read(struct trn_chip *chip, uint32_t offset)
{
	uint32_t value;

	if (misc_constant(chip, offset, &value))
		return value;
	return trn_regfile_read(chip->regfile, chip->gen->misc_bar0 + offset);
}

/*
 * The doorbell of the firmware: a reset when one has been asked for. There is
 * no host mailbox yet: its requests get no answer, as from hung firmware.
 */
static void misc_trigger(struct trn_chip *chip)
{
	uint32_t base = chip->gen->misc_bar0;
	uint32_t request = trn_regfile_read(chip->regfile,
					    base + NEURON_MISC_RESET_REQUEST);
	uint32_t map = trn_regfile_read(chip->regfile,
					base + NEURON_MISC_RESET_MAP);

	switch (request) {
	case 0:
		trn_log(chip, TRN_LOG_INFO, "firmware mailbox request ignored");
		return;
	case NEURON_MISC_RESET_DEVICE:
		trn_reset_request(chip);
		break;
	case NEURON_MISC_RESET_TPB:
		trn_reset_cores(chip, map_cores(chip, map));
		break;
	default:
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"firmware: unknown reset request %u", request);
		break;
	}
	trn_regfile_write(chip->regfile, base + NEURON_MISC_RESET_REQUEST, 0);
}

void trn_misc_write(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	uint32_t bar0 = chip->gen->misc_bar0 + offset;
	uint32_t constant;

	if (offset == NEURON_MISC_TRIGGER) {
		if (value)
			misc_trigger(chip);
		return;
	}
	if (misc_constant(chip, offset, &constant)) {
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"MISC RAM 0x%03x is read-only", offset);
		return;
	}
	if (!trn_regfile_write(chip->regfile, bar0, value))
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"MISC RAM 0x%03x: write lost, too many registers in use",
			offset);
}

uint32_t trn_platform_reset_read(struct trn_chip *chip)
{
	return trn_reset_busy(chip);
}

/*
 * v2 software writes 1 and then says through MISC RAM what to reset, so the
 * write itself does nothing there.
 */
void trn_platform_reset_write(struct trn_chip *chip, uint32_t value)
{
	if (chip->gen->generation == 2)
		return;
	if (value == PLATFORM_RESET_DEVICE_OLD ||
	    value == PLATFORM_RESET_DEVICE)
		trn_reset_request(chip);
	else
		trn_reset_cores(chip, map_cores(chip, value));
}
