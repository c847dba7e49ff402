// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "soc/trn_firmware.h"

#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "core/trn_pe_counter.h"
#include "mem/trn_ecc.h"
#include "time/trn_power.h"

static int firmware_new(struct trn_chip *chip)
{
	struct trn_firmware *fw = calloc(1, sizeof(*fw));

	if (!fw)
		return -1;
	fw->chip = chip;
	pthread_mutex_init(&fw->mailbox.lock, NULL);
	trn_task_init(&fw->task, chip->pool, trn_mailbox_run);
	chip->firmware = fw;
	return 0;
}

static void firmware_free(struct trn_chip *chip)
{
	if (!chip->firmware)
		return;
	pthread_mutex_destroy(&chip->firmware->mailbox.lock);
	free(chip->firmware);
	chip->firmware = NULL;
}

int trn_firmware_init(struct trn_chip *chip)
{
	if (!firmware_new(chip) && !trn_ecc_init(chip) &&
	    !trn_power_init(chip) && !trn_pe_init(chip))
		return 0;
	trn_firmware_destroy(chip);
	return -1;
}

void trn_firmware_destroy(struct trn_chip *chip)
{
	trn_pe_destroy(chip);
	trn_power_destroy(chip);
	trn_ecc_destroy(chip);
	firmware_free(chip);
}

static void ram_clear(struct trn_firmware *fw, uint32_t first, uint32_t end)
{
	for (; first < end; first += 4)
		atomic_store(&fw->ram[first / 4], 0);
}

/* No request waits. Under the mailbox's lock. */
static void mailbox_forget(struct trn_mailbox *mailbox)
{
	mailbox->request = 0;
	mailbox->response = 0;
	mailbox->pending = false;
	mailbox->fresh = false;
	mailbox->seq = 0;
}

void trn_firmware_reset(struct trn_chip *chip)
{
	struct trn_firmware *fw = chip->firmware;
	struct trn_mailbox *mailbox = &fw->mailbox;

	ram_clear(fw, 0, NEURON_MISC_SIZE);
	atomic_store(&fw->accepted, false);
	pthread_mutex_lock(&mailbox->lock);
	mailbox_forget(mailbox);
	mailbox->posts = 0;
	mailbox->post_len = 0;
	memset(mailbox->post, 0, sizeof(mailbox->post));
	pthread_mutex_unlock(&mailbox->lock);
	trn_ecc_reset(chip);
	trn_pe_reset(chip);
	trn_power_rebase(chip);
}

void trn_firmware_device_reset(struct trn_chip *chip)
{
	struct trn_firmware *fw = chip->firmware;

	ram_clear(fw, NEURON_MISC_RESET_MAP_HI, NEURON_MISC_RESET_MAP + 4);
	ram_clear(fw, NEURON_MISC_REQUEST_HI, NEURON_MISC_RESPONSE_LO + 4);
	pthread_mutex_lock(&fw->mailbox.lock);
	mailbox_forget(&fw->mailbox);
	pthread_mutex_unlock(&fw->mailbox.lock);
	trn_pe_reset(chip);
	trn_power_rebase(chip);
}

size_t trn_firmware_own_bytes(const struct trn_chip *chip)
{
	return sizeof(*chip->firmware) + trn_ecc_own_bytes(chip) +
	       trn_power_own_bytes(chip) + trn_pe_own_bytes(chip);
}

void trn_firmware_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_firmware *fw = chip->firmware;
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('F', 'W', ' ', ' '), 1);
	for (i = 0; i < NEURON_MISC_SIZE / 4; i++)
		trn_state_atomic_u32(st, &fw->ram[i]);
	trn_state_atomic_bool(st, &fw->accepted);
	trn_mailbox_state(&fw->mailbox, st);
	trn_ecc_state(chip, st);
	trn_power_state(chip, st);
	trn_pe_state(chip, st);
}
