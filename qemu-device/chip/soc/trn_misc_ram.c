// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "soc/trn_misc_ram.h"

#include "base/trn_chip.h"
#include "fabric/trn_fabric.h"
#include "hook/trn_pod.h"
#include "mem/trn_ecc.h"
#include "soc/trn_firmware.h"
#include "soc/trn_reset.h"
#include "time/trn_power.h"

static uint32_t misc_position(uint32_t position)
{
	uint32_t server = NEURON_GET(NEURON_MASK(15, 8), position);
	uint32_t rack = NEURON_GET(NEURON_MASK(23, 16), position);

	return NEURON_PUT(NEURON_MISC_POSITION_SERVER, server) |
	       NEURON_MISC_POSITION_SERVER_VALID |
	       NEURON_PUT(NEURON_MISC_POSITION_RACK, rack) |
	       NEURON_MISC_POSITION_RACK_VALID;
}

static uint32_t misc_power(struct trn_chip *chip, unsigned int die)
{
	return die < chip->gen->nr_dice ?
		       trn_power_read(chip, die, trn_host_ns(chip)) : 0;
}

uint32_t trn_misc_identity(const struct trn_misc_id *id, uint32_t offset)
{
	switch (offset) {
	case NEURON_MISC_API_VERSION:
		return NEURON_MISC_API_VERSION_VALUE;
	case NEURON_MISC_ROUTING_ID:
		return id->routing_id;
	case NEURON_MISC_SERIAL_LO:
		return (uint32_t)id->serial;
	case NEURON_MISC_SERIAL_HI:
		return (uint32_t)(id->serial >> 32);
	case NEURON_MISC_POSITION:
		return misc_position(id->position);
	case NEURON_MISC_BUILD:
		return NEURON_MISC_BUILD_VALUE;
	default:
		return 0;	/* HEALTH, PARTITION, RESERVATION and the unknown */
	}
}

/* What the firmware publishes. */
static uint32_t firmware_read(struct trn_chip *chip, uint32_t offset)
{
	const struct trn_misc_id id = {
		.position = chip->config.position,
		.routing_id = chip->config.routing_id,
		.serial = chip->config.serial,
	};

	switch (offset) {
	case NEURON_MISC_SRAM_ECC:
	case NEURON_MISC_HBM_ECC(0):
	case NEURON_MISC_HBM_ECC(1):
	case NEURON_MISC_HBM_ECC(2):
	case NEURON_MISC_HBM_ECC(3):
	case NEURON_MISC_HBM_REPAIR:
		return trn_ecc_misc_read(chip, offset);
	case NEURON_MISC_POWER(0):
		return misc_power(chip, 0);
	case NEURON_MISC_POWER(1):
		return misc_power(chip, 1);
	default:
		return trn_misc_identity(&id, offset);
	}
}

static bool misc_read_only(uint32_t offset)
{
	return offset < NEURON_MISC_FIRMWARE_END ||
	       offset == NEURON_MISC_STATUS;
}

/* A request that has been accepted reads 0 when its time is over. */
static uint32_t reset_request_read(struct trn_chip *chip)
{
	struct trn_firmware *fw = chip->firmware;

	if (atomic_load(&fw->accepted) && !trn_reset_waiting(chip))
		return 0;
	return atomic_load(&fw->ram[NEURON_MISC_RESET_REQUEST / 4]);
}

uint32_t trn_misc_read(struct trn_chip *chip, uint32_t offset)
{
	if (offset < NEURON_MISC_FIRMWARE_END)
		return trn_reset_of_device(chip) ?
			       NEURON_MISC_NOT_READY :
			       firmware_read(chip, offset);
	switch (offset) {
	case NEURON_MISC_RESET_REQUEST:
		return reset_request_read(chip);
	case NEURON_MISC_TRIGGER:
		return 0;
	case NEURON_MISC_STATUS:
		return trn_reset_busy(chip) ? NEURON_MISC_STATUS_BUSY : 0;
	default:
		return atomic_load(&chip->firmware->ram[offset / 4]);
	}
}

/* The doorbell of the firmware: a reset when one has been asked for. */
static void misc_trigger(struct trn_chip *chip)
{
	struct trn_firmware *fw = chip->firmware;
	uint32_t request = atomic_load(&fw->ram[NEURON_MISC_RESET_REQUEST / 4]);
	uint32_t map = atomic_load(&fw->ram[NEURON_MISC_RESET_MAP / 4]);

	if (!request || atomic_exchange(&fw->accepted, true)) {
		trn_mailbox_trigger(chip);
		return;
	}
	switch (request) {
	case NEURON_MISC_RESET_DEVICE:
		trn_reset_request(chip);
		break;
	case NEURON_MISC_RESET_TPB:
		trn_reset_blocks(chip, map);
		break;
	default:
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"firmware: unknown reset request %u", request);
		break;
	}
}

static bool is_mailbox_address(uint32_t offset)
{
	return offset >= NEURON_MISC_REQUEST_HI &&
	       offset <= NEURON_MISC_RESPONSE_LO;
}

static void election_begins(const struct trn_chip *chip)
{
	struct trn_pod *pod = chip->fabric ? trn_fabric_pod(chip->fabric) : NULL;

	if (pod)
		trn_pod_begin(pod, chip);
}

void trn_misc_write(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	struct trn_firmware *fw = chip->firmware;

	if (offset == NEURON_MISC_TRIGGER) {
		if (value)
			misc_trigger(chip);
		return;
	}
	if (misc_read_only(offset)) {
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"MISC RAM 0x%03x is read-only", offset);
		return;
	}
	atomic_store(&fw->ram[offset / 4], value);
	if (offset == NEURON_MISC_RESET_REQUEST)
		atomic_store(&fw->accepted, false);
	else if (offset == NEURON_MISC_ELECTION && !NEURON_GET(NEURON_MISC_ELECTION_STATUS, value))
		election_begins(chip);
	else if (is_mailbox_address(offset))
		trn_mailbox_address(chip);
}
