/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The firmware: MISC RAM, the mailbox in host memory, and what it keeps of the
 * chip's health: power, memory errors, activity counters of the PE arrays.
 */
#ifndef TRN_FIRMWARE_H
#define TRN_FIRMWARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "neuron/regs.h"

struct trn_chip;
struct trn_state;

/* Bytes of the newest post that are kept. */
#define TRN_POST_KEPT	256

/**
 * struct trn_mailbox - the mailbox in host memory
 * @lock: all fields
 * @request, @response: addresses as they were at the trigger
 * @pending: a trigger waits for the task
 * @fresh: an address has been written since the last request was taken
 * @seq: of that request; 0: none
 * @posts: POST requests taken
 * @post_len: bytes of the newest one; its first TRN_POST_KEPT are in @post
 */
struct trn_mailbox {
	pthread_mutex_t lock;
	uint64_t request;
	uint64_t response;
	bool pending;
	bool fresh;
	uint8_t seq;
	uint32_t posts;
	uint32_t post_len;
	uint8_t post[TRN_POST_KEPT];
};

/**
 * struct trn_firmware - the firmware of @chip
 * @task: serves the mailbox
 * @ram: MISC RAM, the words that software writes
 * @accepted: the reset request in @ram has been taken
 */
struct trn_firmware {
	struct trn_chip *chip;
	struct trn_task task;
	_Atomic uint32_t ram[NEURON_MISC_SIZE / 4];
	_Atomic bool accepted;
	struct trn_mailbox mailbox;
};

/* The firmware with its power, ECC and PE parts; 0 or -1: no memory. */
int trn_firmware_init(struct trn_chip *chip);
void trn_firmware_destroy(struct trn_chip *chip);
/* Power-on: everything forgotten; the chip is quiet. */
void trn_firmware_reset(struct trn_chip *chip);
/*
 * A device reset that software asked for: what it has set up for the mailbox
 * (a request that waits too) and for a reset of single cores is forgotten; the
 * rest of MISC RAM stays.
 */
void trn_firmware_device_reset(struct trn_chip *chip);
size_t trn_firmware_own_bytes(const struct trn_chip *chip);
void trn_firmware_state(struct trn_chip *chip, struct trn_state *st);

/* trn_mailbox.c: an address is written, a trigger, by MMIO; the task; its state. */
void trn_mailbox_address(struct trn_chip *chip);
void trn_mailbox_trigger(struct trn_chip *chip);
enum trn_run trn_mailbox_run(struct trn_task *task, struct trn_budget *budget);
void trn_mailbox_state(struct trn_mailbox *mailbox, struct trn_state *st);

/*
 * The newest post: how long it was; its first bytes, up to @len, go to @buf.
 * Any thread.
 */
size_t trn_mailbox_last_post(struct trn_chip *chip, void *buf, size_t len);
uint32_t trn_mailbox_posts(struct trn_chip *chip);

#endif /* TRN_FIRMWARE_H */
