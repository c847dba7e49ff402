/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * struct trn_chip and what its parts share.
 */
#ifndef TRN_CHIP_H
#define TRN_CHIP_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_timer.h"
#include "core/trn_core.h"
#include "core/trn_gang.h"
#include "core/trn_job.h"
#include "dma/trn_udma.h"
#include "fabric/trn_link_count.h"
#include "mem/trn_bus.h"
#include "neuron/generation.h"
#include "trn/chip.h"

struct trn_bar_map;
struct trn_check;
struct trn_ecc;
struct trn_firmware;
struct trn_inject;
struct trn_nq;
struct trn_observer;
struct trn_pe;
struct trn_power;
struct trn_regfile;

#define TRN_STORM_VECTORS	32

/**
 * struct trn_storm - interrupts that a fault on demand repeats
 * @left: times to come, by vector
 */
struct trn_storm {
	struct trn_task task;
	struct trn_deadline deadline;
	_Atomic uint32_t left[TRN_STORM_VECTORS];
};

/**
 * struct trn_irq_state - causes, masks and vectors of the control block
 * @lock: all fields but @storm
 */
struct trn_irq_state {
	struct trn_storm storm;
	pthread_mutex_t lock;
	uint32_t cause, mask, vector;
	uint32_t core_cause[NEURON_MAX_UNITS];
	uint32_t core_mask[NEURON_MAX_UNITS];
	uint32_t core_vector[NEURON_MAX_UNITS];
	uint32_t dma_cause[NEURON_MAX_DMA_ENGINES];
	uint32_t dma_mask[NEURON_MAX_DMA_ENGINES];
	uint32_t dma_vector[NEURON_MAX_DMA_ENGINES];
};

/**
 * struct trn_discard - the discard operation of the control block
 * @lock: addr, len, done; they do not change while @go is set but for @done
 * @done: bytes already discarded
 */
struct trn_discard {
	struct trn_task task;
	pthread_mutex_t lock;
	uint64_t addr, len, done;
	_Atomic uint32_t go;
};

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
	pthread_mutex_t lock;
	bool stopped;
	_Atomic bool reset;
	_Atomic bool links_changed;
	_Atomic uint32_t reset_map;
	_Atomic uint64_t until_ns;
	_Atomic bool whole;
	_Atomic bool stuck;
};

/* Lines that a guest can cause are limited to some per second. */
struct trn_log_limit {
	pthread_mutex_t lock;		/* all fields */
	uint64_t since_ns;
	unsigned int lines;
	unsigned int dropped;
};

struct trn_chip {
	const struct neuron_gen *gen;
	const struct trn_port *port;
	void *opaque;
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct trn_chip_config config;
	uint64_t hbm_size;		/* populated bytes of a stack */
	uint8_t *hbm[NEURON_MAX_HBM];
	void *touched;			/* host-memory accounting, trn_mem.c */
	struct trn_core core[NEURON_MAX_UNITS];	/* CC-cores from NEURON_MAX_CORES on */
	struct trn_gangs gangs;
	struct trn_sems *top_sp;	/* of those that are no CC-cores, trn_top_sp.c */
	struct trn_queue *queues;	/* nr_dma * NEURON_UDMA_QUEUES */
	struct trn_udma_engine *udma;	/* nr_dma */
	struct trn_irq_state irq;
	struct trn_discard discard;
	struct trn_controller controller;
	struct trn_timer timer;
	struct trn_log_limit log_limit;
	struct trn_bar_map *bar_map;	/* BAR0 regions, trn_bar.c */
	struct trn_regfile *regfile;	/* registers that only read back */
	struct trn_firmware *firmware;	/* MISC RAM and mailbox, trn_misc.c */
	struct trn_ecc *ecc;		/* memory errors, trn_ecc.c */
	_Atomic uint32_t ecc_armed;	/* bad cells of HBM */
	struct trn_power *power;	/* samples and throttle, trn_power.c */
	struct trn_pe *pe;		/* gen->nr_cores, trn_pe_counter.c */
	struct trn_link_counts links;
	uint16_t slot;			/* below TRN_FABRIC_CHIPS: the fabric's, while attached */
	struct trn_nq *nq;		/* notification queues, trn_nq.c */
	struct trn_inject *inject;	/* faults on demand, trn_inject.c */
	_Atomic uint32_t inject_armed;	/* bit for each point that has a rule */
	struct trn_check *check;	/* checks on request, NULL: none */
	const struct trn_observer *_Atomic observer;	/* NULL: none */
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

/*
 * Set cause bits; an edge is raised when an unmasked bit becomes set. The causes
 * may be set under a lock; the edge is sent without one.
 */
struct trn_irq_edge {
	bool rises;
	uint32_t vector;
};

struct trn_irq_edge trn_irq_core_cause(struct trn_chip *chip, unsigned int core,
				       uint32_t cause);
void trn_irq_send(struct trn_chip *chip, struct trn_irq_edge edge);
void trn_irq_core(struct trn_chip *chip, unsigned int core, uint32_t cause);
void trn_irq_mgmt(struct trn_chip *chip, uint32_t cause);
void trn_irq_dma(struct trn_chip *chip, unsigned int engine, uint32_t cause);

const char *trn_cause_name(enum neuron_cause cause);
uint64_t trn_host_ns(void);		/* monotonic clock of the host */

/* trn_mem.c: lazily backed memory, discard, accounting. */
uint8_t *trn_mem_alloc(uint64_t size);
void trn_mem_free(uint8_t *mem, uint64_t size);
void trn_mem_discard(uint8_t *mem, uint64_t size);

#endif /* TRN_CHIP_H */
