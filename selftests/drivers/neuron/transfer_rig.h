/* SPDX-License-Identifier: MIT */
/*
 * What the tests of transfers share.
 */
#ifndef NEURON_TRANSFER_RIG_H
#define NEURON_TRANSFER_RIG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "job_rig.h"

#define TRANSFER_LIMIT	60000		/* ms, of what should end at once */
#define TRANSFER_SIZE	(2u << 20)	/* bytes of each buffer */

enum transfer_place {
	TRANSFER_HBM0,
	TRANSFER_HBM1,
	TRANSFER_HOST,
	TRANSFER_USER,
	TRANSFER_NR_PLACES
};

/**
 * struct transfer_rig - a file with a buffer in each place
 * @fd: device node
 * @limits: answer of QUERY
 * @bo: buffers; that of TRANSFER_USER is 0 where nothing can be imported
 * @user: memory of that one
 * @model: for what a destination should have
 * @data: for what it has
 * @before: what the device held before
 * @rig: of a job that does not end; its fd is -1 without one
 */
struct transfer_rig {
	int fd;
	struct drm_neuron_limits_info limits;
	uint32_t bo[TRANSFER_NR_PLACES];
	uint8_t *user;
	uint8_t *model;
	uint8_t *data;
	struct rig_usage before;
	struct rig rig;
};

/* All functions that return int: 0 or a negative errno. */

/* Everything but the job. To be closed if it has a file. */
int transfer_open(struct transfer_rig *t);
/* Return: the device holds what it did not hold before. */
bool transfer_close(struct transfer_rig *t);

int transfer_bo(int fd, enum transfer_place place, uint32_t *handle);
int transfer_import(int fd, void *memory, uint32_t flags, uint32_t *handle);

/* Submit @args with one syncobj before and one after it, if they are not 0. */
int transfer_submit(int fd, struct drm_neuron_transfer *args, uint32_t in,
		    uint32_t out);
int transfer_wait(int fd, uint64_t transfer, struct drm_neuron_wait_job *result);
/* Submit, wait, and look at the result: -EIO it failed, -ENODATA not all bytes. */
int transfer_run(int fd, struct drm_neuron_transfer *args);
/* What @args moves. */
uint64_t transfer_bytes(const struct drm_neuron_transfer *args);

#define TRANSFER_LOOKED_AT	1000	/* last results of a queue; 1024 are kept */

/**
 * struct transfer_feeder - keeps a queue of a file full of transfers
 * @fd: device node
 * @args: the transfer that is submitted again and again
 * @thread: that does so
 * @fed: a transfer was taken
 * @full: the queue has taken no more for once
 * @was_full: it had when transfer_feed() returned
 * @nr: transfers that were taken
 * @id: of the last ones; transfer i at i modulo its size
 * @error: why the next one was refused, a negative errno
 *
 * However fast the device is, there are some under way when something happens to it.
 */
struct transfer_feeder {
	int fd;
	struct drm_neuron_transfer args;
	pthread_t thread;
	_Atomic bool fed;
	_Atomic bool full;
	bool was_full;
	uint64_t nr;
	uint64_t id[TRANSFER_LOOKED_AT];
	int error;
};

/* Begin, with @fd and @args set, and return when the queue is full, or cannot be filled. */
int transfer_feed(struct transfer_feeder *feeder);
/* Wait until a transfer is refused for another reason than a full queue. */
int transfer_feed_end(struct transfer_feeder *feeder);

/*
 * How the last transfers of a feeder have ended: those behind one that failed have failed, too.
 * Return: how many have failed, or -EPROTO: one behind them is well, or ended in another way.
 */
int transfer_feed_failed(const struct transfer_feeder *feeder);

/* A syncobj in @fd's file that a job of @rig, which it opens, signals when it ends. */
int transfer_endless(struct rig *rig, int fd, uint32_t *handle);
/* The same with a job of another device than the first one. */
int transfer_endless_on(struct rig *rig, unsigned int device, int fd, uint32_t *handle);
/* The job of transfer_endless() ends well. */
void transfer_endless_end(struct rig *rig);

#endif /* NEURON_TRANSFER_RIG_H */
