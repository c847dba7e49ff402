/* SPDX-License-Identifier: MIT */
/*
 * A port for chip tests: host memory is a byte array, interrupts are counted,
 * log lines are kept. All chip tests share it.
 */
#ifndef FAKE_PORT_H
#define FAKE_PORT_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "trn/chip.h"
#include "base/trn_pool.h"

#define FAKE_VECTORS	32
#define FAKE_LOG_LINES	64
#define FAKE_LOG_LEN	256
#define FAKE_WAIT_MS	60000

/**
 * struct fake_port - what the chip under test sees of its host
 * @ops: the callbacks, to be given to trn_chip_new() with @this as opaque
 * @host: host memory: bus addresses 0 to @host_size - 1
 * @bus_master: false: every host access fails
 * @before_read: NULL, or what happens before the chip reads host memory; false: it cannot
 * @gen: generation of the chip, set by fake_chip_new()
 * @lock: all fields below
 * @changed: signalled at each interrupt
 * @irqs: interrupts raised, by vector
 * @last_vector: of the newest interrupt
 * @log: the newest lines, a ring
 * @logged: lines ever logged, by level
 * @maps: maps of host memory so far; @mapped: of them, those that have not ended
 * @dirty: of each stack a bit for each page that the chip has told of; NULL: it
 *	does not tell
 * @timers: calls of the timer
 * @timer_ns: delay of the newest
 * @now_ns: time of the host, with fake_clock_enable()
 */
struct fake_port {
	struct trn_port ops;
	uint8_t *host;
	size_t host_size;
	_Atomic bool bus_master;
	bool (*before_read)(uint64_t addr, size_t len);
	const struct neuron_gen *gen;
	void *hbm[NEURON_MAX_HBM];
	uint64_t hbm_size[NEURON_MAX_HBM];
	_Atomic uint64_t *dirty[NEURON_MAX_HBM];
	_Atomic unsigned int maps;
	_Atomic unsigned int mapped;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int irqs[FAKE_VECTORS];
	unsigned int last_vector;
	char log[FAKE_LOG_LINES][FAKE_LOG_LEN];
	unsigned int lines;
	unsigned int logged[TRN_LOG_TRACE + 1];
	unsigned int timers;
	uint64_t timer_ns;
	_Atomic uint64_t now_ns;
};

/*
 * The generation under test: that whose name is in the environment as
 * NEURON_TEST_TYPE, trn2 without. A test that is about one names it itself.
 */
const struct neuron_gen *fake_gen(void);

void fake_port_init(struct fake_port *port, size_t host_size);
/* After the chip has been freed. */
void fake_port_destroy(struct fake_port *port);

/* Stack size that fake_chip_new() uses: small, a multiple of 2 MiB. */
#define FAKE_HBM_SIZE	NEURON_MIB(64)

/*
 * A chip in its reset state on this port; fails the test when it cannot be
 * built. @fabric may be NULL.
 */
struct trn_chip *fake_chip_new(struct fake_port *port,
			       const struct neuron_gen *gen,
			       struct trn_pool *pool,
			       struct trn_fabric *fabric, uint32_t fabric_id);
/* The configuration it uses, for tests that change a field. */
struct trn_chip_config fake_chip_config(struct fake_port *port,
					const struct neuron_gen *gen,
					struct trn_pool *pool,
					struct trn_fabric *fabric,
					uint32_t fabric_id);
/* Stop, wait until quiet. */
void fake_chip_stop(struct trn_chip *chip);
/* Stop, wait until quiet, free. */
void fake_chip_free(struct trn_chip *chip);

/* Host memory is in pieces of this size to who maps it. */
#define FAKE_MAP	12288u

/* The plain address of byte @offset of the fake host memory. */
uint64_t fake_host_addr(const struct fake_port *port, uint64_t offset);

unsigned int fake_irqs(struct fake_port *port, unsigned int vector);
/* Wait until @vector has been raised @count times in all; false: timeout. */
bool fake_wait_irq(struct fake_port *port, unsigned int vector,
		   unsigned int count);
/* True when a kept log line contains @text. */
bool fake_logged(struct fake_port *port, const char *text);
unsigned int fake_log_count(struct fake_port *port, enum trn_log_level level);

/* Give the chip a timer, before it runs; without one nothing is late. */
void fake_timer_enable(struct fake_port *port);
unsigned int fake_timers(struct fake_port *port);
/* Wait until it has been asked for more than @before times. */
bool fake_wait_timer(struct fake_port *port, unsigned int before);
/* Sleep for as long as it was last asked for, and let the chip know. */
void fake_timer_ring(struct fake_port *port, struct trn_chip *chip);

/* Let the host's time stand still; the test moves @now_ns. Before the chip runs. */
void fake_clock_enable(struct fake_port *port);

#define FAKE_PAGE	4096u
/* Keep marks of pages of HBM that have been written; before the chip runs. */
void fake_dirty_enable(struct fake_port *port);
/* Clear the mark of page @page of a stack; true: it was marked. */
bool fake_dirty_take(struct fake_port *port, unsigned int stack, uint64_t page);
/* Pages of the stack that are marked. */
unsigned int fake_dirty_pages(struct fake_port *port, unsigned int stack);

/* Wait until @done(@arg); false: timeout. */
bool fake_wait(bool (*done)(void *arg), void *arg);
/* Wait until a register, masked, has a value; false: timeout. */
bool fake_wait_reg(struct trn_chip *chip, uint64_t offset, uint32_t mask,
		   uint32_t value);

#endif /* FAKE_PORT_H */
