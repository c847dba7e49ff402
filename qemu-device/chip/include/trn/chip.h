/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A chip: built, reached through its registers and memory, stopped, saved, freed.
 *
 * The headers in trn/ are the whole public interface of the chip library, and include
 * nothing else of it but the contracts with software (neuron/). Whoever hosts a chip
 * (QEMU, a runtime in whose process it lies, a debugger, a test) needs no other header.
 *
 * TRN_API_VERSION changes when a program that was written for the one before must be
 * changed. What is added does not change it.
 */
#ifndef TRN_API_CHIP_H
#define TRN_API_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/generation.h"
#include "trn/port.h"

#define TRN_API_VERSION	3

struct trn_chip;
struct trn_fabric;
struct trn_pool;
struct trn_state;

/**
 * struct trn_chip_config - how to build a chip
 * @gen: generation table
 * @port: callbacks, must outlive the chip
 * @opaque: first argument of the callbacks
 * @pool: workers (trn/pool.h); the chips of a fabric must share one
 * @fabric: NULL: a chip alone (trn/fabric.h)
 * @fabric_id: id in routed addresses, unique on the fabric
 * @position: {rack 23:16, server 15:8, chip 7:0}
 * @routing_id: public routing id (MISC RAM), 0 to 63
 * @serial: serial number
 * @hbm_size: populated bytes of each stack; 0: the generation's
 * @hbm_told: bytes of each stack that the control block tells; 0: @hbm_size
 * @bar4_stride: distance of the stacks in BAR4
 * @host_limit: host bytes that device writes may touch; 0: no limit
 * @fault_seed: of the faults on demand that strike by chance
 * @reset_ns: least time, of the host, that a reset asked for by MISC RAM or the
 *	platform register shows as under way; 0: as fast as possible
 * @repair_fails: an uncorrectable error of HBM ends in repair state 2, not 1
 * @hbm_files: HBM lies in files of the memory, one for each stack, which others can map
 *	(trn_chip_hbm_file()); trn_port.hbm_alloc() is not called
 * @more_operators: carry out operators on engines where the public documents of the
 *	hardware have none, instead of ending the job with an error
 * @clock: model device time
 * @check_memory: look for programming errors of jobs, see trn_chip_check_reports()
 */
struct trn_chip_config {
	const struct neuron_gen *gen;
	const struct trn_port *port;
	void *opaque;
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	uint32_t fabric_id;
	uint32_t position;
	uint32_t routing_id;
	uint64_t serial;
	uint64_t hbm_size;
	uint64_t hbm_told;
	uint64_t bar4_stride;
	uint64_t host_limit;
	uint64_t fault_seed;
	uint64_t reset_ns;
	bool repair_fails;
	bool hbm_files;
	bool more_operators;
	bool clock;
	bool check_memory;
};

/**
 * trn_chip_new() - build a chip in its reset state
 * @config: copied
 * @why: out, on an error: a static string (memory, sizes, fabric id taken)
 *
 * From here on its peers on the fabric find it.
 *
 * Return: the chip, which the caller frees with trn_chip_free(), or NULL.
 */
struct trn_chip *trn_chip_new(const struct trn_chip_config *config,
			      const char **why);

/**
 * trn_chip_detach() - leave the fabric for good
 * @chip: stopped and quiet
 *
 * New accesses of peers fail, and from then on a quiet chip is also one that no peer is
 * using. One thread.
 */
void trn_chip_detach(struct trn_chip *chip);

/**
 * trn_chip_free() - free a chip
 * @chip: stopped and quiet, or NULL
 *
 * It leaves the fabric if it has not; then this waits for peers that are just using it.
 */
void trn_chip_free(struct trn_chip *chip);

/**
 * trn_chip_mmio_read() - a read of BAR0. Any thread; never waits
 * @chip: the chip
 * @offset: in BAR0, a multiple of @size
 * @size: 4 or 8 bytes
 *
 * Return: the register; all ones for an access that is not aligned or has another size.
 */
uint64_t trn_chip_mmio_read(struct trn_chip *chip, uint64_t offset,
			    unsigned int size);

/**
 * trn_chip_mmio_write() - a write of BAR0. Any thread; never waits
 * @chip: the chip
 * @offset: in BAR0, a multiple of @size
 * @value: to be written
 * @size: 4 or 8 bytes
 *
 * What the write starts is done by the workers (see trn_pool_inline_begin()).
 */
void trn_chip_mmio_write(struct trn_chip *chip, uint64_t offset,
			 uint64_t value, unsigned int size);

/**
 * trn_chip_hbm() - the memory behind a stack, as BAR4 shows it
 * @chip: the chip
 * @stack: its number
 *
 * Return: what the port's hbm_alloc() gave, or the library's own memory; NULL: there is no such
 * stack.
 */
void *trn_chip_hbm(struct trn_chip *chip, unsigned int stack);

/**
 * struct trn_hbm_file - where the memory behind a stack lies in a file
 * @fd: of a memfd, sealed: its size never changes. It is the chip's, who keeps it uses dup()
 * @offset: of the stack's first byte
 * @size: bytes of the stack
 */
struct trn_hbm_file {
	int fd;
	uint64_t offset;
	uint64_t size;
};

/**
 * trn_chip_hbm_file() - the file behind a stack
 * @chip: the chip, with trn_chip_config.hbm_files. Any thread
 * @stack: its number
 * @file: out
 *
 * For a front end that hands HBM on to another process (vfio-user), to another device
 * (a dma-buf made of it) or to mappings of its own. Whoever maps the file MAP_SHARED sees what
 * the chip sees. What is written there the chip finds by itself; trn_port.hbm_dirty() is not
 * told of it. A page that is read through a mapping before anybody has written it takes memory.
 * After a reset of the chip the file has no pages; mappings stay, and read as zero.
 *
 * Return: false: there is no such stack, or no file behind it.
 */
bool trn_chip_hbm_file(struct trn_chip *chip, unsigned int stack, struct trn_hbm_file *file);

/**
 * trn_chip_hbm_used() - call for each part of a stack that may be other than zero
 * @chip: the chip. Any thread
 * @stack: its number
 * @offset: where to begin, page aligned
 * @len: bytes to look at, page aligned
 * @run: gets the distance from @offset and the length of a part; parts come in ascending
 *	order. Other than 0 ends the walk
 * @opaque: first argument of @run
 *
 * The memory is not touched. While the chip runs, or software writes through BAR4, a part
 * may come or grow at any moment.
 *
 * Return: what the last @run returned, or 0.
 */
int trn_chip_hbm_used(struct trn_chip *chip, unsigned int stack, uint64_t offset, uint64_t len,
		      int (*run)(void *opaque, uint64_t offset, uint64_t len), void *opaque);

/**
 * trn_chip_stop() - stop all state machines at their next boundary. Any thread
 * @chip: the chip
 *
 * The chip is quiet soon after. Then it may be reset, saved or freed.
 */
void trn_chip_stop(struct trn_chip *chip);

/**
 * trn_chip_quiet() - does nothing of the chip run any more?
 * @chip: the chip. Any thread
 *
 * Return: true; it stays so while the chip is stopped.
 */
bool trn_chip_quiet(const struct trn_chip *chip);

/**
 * trn_chip_resume() - let a stopped chip go on. Any thread
 * @chip: the chip
 */
void trn_chip_resume(struct trn_chip *chip);

/**
 * trn_chip_expire() - the time that trn_port.timer() was asked for has passed
 * @chip: the chip. Any thread; never waits
 */
void trn_chip_expire(struct trn_chip *chip);

/**
 * trn_chip_reset() - back to the reset state
 * @chip: stopped and quiet
 *
 * Memories read as zero, faults on demand stay.
 */
void trn_chip_reset(struct trn_chip *chip);

/**
 * trn_chip_identity() - write what is fixed when a chip is built, or compare it
 * @chip: the chip
 * @st: saving or loading
 *
 * trn_chip_load() compares it as well. This is for a host that wants to refuse a stream for
 * another chip before it loads HBM.
 *
 * Return: false when @st->why says what differs; the chip has not changed.
 */
bool trn_chip_identity(struct trn_chip *chip, struct trn_state *st);

/**
 * trn_chip_save() - write the state of a chip to a stream (trn/state.h)
 * @chip: stopped and quiet, and so are all chips of its fabric
 * @st: saving
 *
 * Everything but HBM; trn_chip_save_hbm() writes that, in a stream of its own, before or
 * behind, or the host has means of its own (trn_chip_hbm_used(), trn_port.hbm_dirty()). The
 * fabric has a stream, too (trn_fabric_state()), once for all its chips. The chip does not
 * change. What is written is proportional to the memory that has been touched.
 *
 * Return: false when @st->why says why not.
 */
bool trn_chip_save(struct trn_chip *chip, struct trn_state *st);

/**
 * trn_chip_save_hbm() - write the HBM of a chip to a stream
 * @chip: as for trn_chip_save()
 * @st: saving
 *
 * Return: false when @st->why says why not.
 */
bool trn_chip_save_hbm(struct trn_chip *chip, struct trn_state *st);

/**
 * trn_chip_load() - put a chip into a saved state
 * @chip: stopped and quiet, of the same type, position, memory size and clock;
 *	the chips of its fabric that are there are stopped and quiet
 * @st: loading; it may say anything
 *
 * The chip is reset first, but for HBM, which stays as it is. trn_chip_load_hbm() or other
 * means of the host load that, before or after. trn_chip_resume() lets the chip go on, with
 * the device times that it would have had.
 *
 * Return: false when @st->why says why not; the chip is in its reset state, without
 * faults on demand.
 */
bool trn_chip_load(struct trn_chip *chip, struct trn_state *st);

/**
 * trn_chip_load_hbm() - read the HBM of a chip from a stream
 * @chip: as for trn_chip_load()
 * @st: loading; what is not in it becomes zero
 *
 * Return: false when @st->why says why not.
 */
bool trn_chip_load_hbm(struct trn_chip *chip, struct trn_state *st);

/**
 * trn_chip_check_reports() - programming errors that the checks on request have told of
 * @chip: the chip. Any thread
 *
 * Return: their number, all kinds; 0 without trn_chip_config.check_memory.
 */
uint64_t trn_chip_check_reports(const struct trn_chip *chip);

/**
 * trn_chip_own_bytes() - what the library itself holds for a chip
 * @chip: the chip
 *
 * It is all, when the chip is stopped and quiet, and has no job and no request in its
 * mailbox. Of what is made when it is first needed, a reset keeps two things: notification
 * blocks without entries, and the clocks of cores. They are at most 500 KiB in all.
 *
 * Return: bytes, without device memory.
 */
size_t trn_chip_own_bytes(struct trn_chip *chip);

#endif /* TRN_API_CHIP_H */
