/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A chip and its cores: which parts they consist of. The parts are defined in the folders of
 * their layers, so there are pointers to them here and nothing else.
 */
#ifndef TRN_CHIP_H
#define TRN_CHIP_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "base/trn_timer.h"
#include "contract/job.h"
#include "neuron/generation.h"
#include "neuron/regs.h"
#include "trn/chip.h"

struct trn_bar_map;
struct trn_check;
struct trn_controller;
struct trn_desk;
struct trn_discard;
struct trn_ecc;
struct trn_fabric;
struct trn_firmware;
struct trn_gangs;
struct trn_groups;
struct trn_inject;
struct trn_irq_state;
struct trn_job;
struct trn_lanes;
struct trn_link_counts;
struct trn_nq;
struct trn_observer;
struct trn_pe;
struct trn_pe_array;
struct trn_power;
struct trn_udma_queue;
struct trn_regfile;
struct trn_remote;
struct trn_sems;
struct trn_seq;
struct trn_udma_engine;

/* Lines that a guest can cause are limited to some per second. */
struct trn_log_limit {
	pthread_mutex_t lock;		/* all fields */
	uint64_t since_ns;
	unsigned int lines;
	unsigned int dropped;
};

/**
 * struct trn_core - one NeuronCore or CC-core
 * @index: place of the core in trn_chip.core
 * @tpb: the NeuronCore whose DMA engines and memories the core's jobs use; a NeuronCore
 *	uses its own
 * @name: name of the core in the log
 * @controller: task that latches jobs, completes them and resets the core
 * @lock: doorbell, reset_request, job, status
 * @array, @lanes, @desk: NULL in a CC-core
 * @sbuf, @psum: the memories as the TPB window shows them (lazily backed); NULL in a
 *	CC-core
 * @grant_lock: granted accesses to @sbuf look at @generation under it, and the
 *	scrub takes it: none of an earlier claim lands after the scrub. A leaf, but
 *	for the lock of a shadow (trn_check.h)
 * @reset_queues: the reset asked for is one of the queues alone
 * @reset_stuck: the reset asked for never ends
 * @generation: claim generation; posts and writes granted by another one are
 *	dropped
 */
struct trn_core {
	struct trn_chip *chip;
	unsigned int index;
	struct trn_core *tpb;
	char name[20];
	struct trn_task controller;
	pthread_mutex_t lock;
	uint32_t doorbell_lo;
	uint64_t doorbell;		/* job block waiting to be latched */
	bool doorbell_rung;
	bool reset_request;
	bool reset_queues;
	bool reset_stuck;
	struct trn_job *job;
	struct trn_job *pending;	/* have ended, not settled; the oldest first */
	uint32_t status;		/* enum neuron_core_status */
	struct trn_sems *sems;
	struct trn_seq *seq;		/* NEURON_NR_ENGINES */
	struct trn_pe_array *array;
	struct trn_lanes *lanes;
	struct trn_desk *desk;
	uint8_t *sbuf;
	uint8_t *psum;
	pthread_mutex_t grant_lock;
	_Atomic uint32_t generation;
	_Atomic uint64_t progress;
	_Atomic uint64_t busy_ns;
	_Atomic uint64_t busy_since;	/* host clock, 0: idle */
	_Atomic uint32_t stale_posts;
	_Atomic uint32_t violations;
	_Atomic uint32_t jobs;
	_Atomic uint64_t virtual_ns;	/* device time, trn_time.c */
	void *time_private;		/* owned by trn_time.c */
};

static inline bool trn_core_is_cc(const struct trn_core *core)
{
	return core->tpb != core;
}

/* The engines that it has, as a mask. */
static inline uint32_t trn_core_engines(const struct trn_core *core)
{
	return neuron_hw_job_engines(trn_core_is_cc(core));
}

/**
 * struct trn_seat - a place on a fabric: of a chip, or of one of another server
 * @id: fabric id
 * @position: trn_chip_config.position
 * @pool: of all chips of the fabric
 * @links: counters of its links
 * @slot: below TRN_FABRIC_CHIPS; the fabric's, while the seat is on it
 * @chip: whose it is; NULL: of @remote
 * @remote: a chip that this process does not have (trn_pod.h), or NULL
 */
struct trn_seat {
	const struct neuron_gen *gen;
	uint32_t id;
	uint32_t position;
	struct trn_pool *pool;
	struct trn_link_counts *links;
	uint16_t slot;
	struct trn_chip *chip;
	struct trn_remote *remote;
};

struct trn_chip {
	const struct neuron_gen *gen;
	const struct trn_port *port;
	void *opaque;
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct trn_seat seat;
	struct trn_chip_config config;
	uint64_t hbm_size;		/* populated bytes of a stack */
	uint8_t *hbm[NEURON_MAX_HBM];
	int hbm_file[NEURON_MAX_HBM];	/* behind it, or TRN_NO_FILE */
	void *touched;			/* host-memory accounting, trn_touched.c */
	struct trn_core core[NEURON_MAX_UNITS];	/* CC-cores from NEURON_MAX_CORES on */
	struct trn_gangs *gangs;
	struct trn_groups *groups;	/* of its fabric, trn_group.c */
	_Atomic uint32_t group_end_lo;	/* NEURON_CTL_GROUP_END_LO */
	struct trn_sems *top_sp;	/* of those that are no CC-cores, trn_top_sp.c */
	struct trn_udma_queue *queues;	/* nr_dma * NEURON_UDMA_QUEUES */
	struct trn_udma_engine *udma;	/* nr_dma */
	struct trn_irq_state *irq;
	struct trn_discard *discard;
	struct trn_controller *controller;
	struct trn_timer timer;
	struct trn_log_limit log_limit;
	struct trn_bar_map *bar_map;	/* BAR0 regions, trn_bar.c */
	struct trn_regfile *regfile;	/* registers that only read back */
	struct trn_firmware *firmware;	/* MISC RAM and mailbox, trn_misc_ram.c */
	struct trn_ecc *ecc;		/* memory errors, trn_ecc.c */
	_Atomic uint32_t ecc_armed;	/* bad cells of HBM */
	struct trn_power *power;	/* samples and throttle, trn_power.c */
	struct trn_pe *pe;		/* gen->nr_cores, trn_pe_counter.c */
	struct trn_nq *nq;		/* notification queues, trn_nq.c */
	struct trn_inject *inject;	/* faults on demand, trn_inject.c */
	_Atomic uint32_t inject_armed;	/* bit for each point that has a rule */
	struct trn_check *check;	/* checks on request, NULL: none */
	const struct trn_observer *_Atomic observer;	/* NULL: none */
	struct trn_watches *_Atomic watches;	/* bytes that are watched, NULL: none */
	/* What goes on when something may have changed that held it up: trn_reset_kick() */
	void (*kick)(struct trn_chip *chip);
	/* Of the fabric, with its lock held: chips or links are others than before */
	void (*links_changed)(struct trn_chip *chip);
	uint64_t grace;			/* pool epoch after detaching, or 0 */
	_Atomic bool stopping;		/* actors return to idle at a boundary */
};

/* NeuronCore or CC-core @i of neuron_nr_units(), in the order of trn_chip.core. */
static inline struct trn_core *trn_unit(struct trn_chip *chip, unsigned int i)
{
	return &chip->core[neuron_unit_number(chip->gen, i)];
}

static inline struct trn_core *trn_cc_core(struct trn_chip *chip, unsigned int cc)
{
	return &chip->core[NEURON_MAX_CORES + cc];
}

void trn_log(struct trn_chip *chip, enum trn_log_level level,
	     const char *format, ...) __attribute__((format(printf, 3, 4)));

const char *trn_cause_name(enum neuron_cause cause);

#endif /* TRN_CHIP_H */
