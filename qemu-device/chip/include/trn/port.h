/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The port: everything the chip library asks of the program that hosts it.
 *
 * Locking rules
 *  - MMIO entry points (trn_chip_mmio_read/write) may be called from any
 *    thread, with the host's global lock held: they look up, store and enqueue,
 *    and never wait.
 *  - No chip lock is held across a port call or a call into a peer chip.
 *  - Every port call may come from a worker thread without the host's lock,
 *    and must not wait for another thread.
 *  - Workers never wait for a thread; a state machine that cannot go on returns
 *    to its queue.
 *  - Reset, unplug, snapshot and bus-master-off call trn_chip_stop() and then
 *    let the host poll trn_chip_quiet() from its main loop.
 */
#ifndef TRN_API_PORT_H
#define TRN_API_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trn_log_level {
	TRN_LOG_GUEST_ERROR,	/* the guest did something wrong */
	TRN_LOG_WARN,
	TRN_LOG_INFO,
	TRN_LOG_TRACE,
};

/**
 * struct trn_report_actor - who made an access
 * @unit: NeuronCore or CC-core whose job it is
 * @source: enum neuron_engine, or NEURON_SOURCE_DMA
 * @dma_engine: of a DMA queue
 * @queue: of a DMA queue
 * @pc: place of the instruction in the engine's program, or of the descriptor in the M2S ring;
 *	NEURON_UDMA_PC_GENERATED | number of the packet, when an instruction generated it
 */
struct trn_report_actor {
	uint16_t unit;
	uint16_t source;
	uint16_t dma_engine;
	uint16_t queue;
	uint32_t pc;
};

/**
 * struct trn_report - an error in a program that the checks on request have found
 * @unit: NeuronCore or CC-core whose job it is
 * @job_id: of the job block
 * @kind: "unwritten", "bank", "range" or "race"
 * @actor: who
 * @what: did what: "reads what nobody has written", "writes, in no order with the read of"
 * @other: of a race: the other one, with whom @what ends; else NULL
 * @where: the first byte of it: "SBUF of core 0 partition 3 offset 0x40"
 */
struct trn_report {
	unsigned int unit;
	uint64_t job_id;
	const char *kind;
	struct trn_report_actor actor;
	const char *what;
	const struct trn_report_actor *other;
	const char *where;
};

/**
 * struct trn_port - callbacks; @opaque is trn_chip_config.opaque
 * @host_read: copy @len bytes from bus address @addr; false when any byte is
 *	not ordinary memory or bus mastering is off
 * @host_write: the same towards memory. @buf may lie in a map of the same memory and overlap
 *	what is written, as for memmove()
 * @host_map: where the @*len bytes at bus address @addr can be reached by a pointer,
 *	to be written (@write) or read; @*len is cut to those that are there in one
 *	piece. NULL: there is no such pointer; @host_read or @host_write then tells
 *	whether the bytes can be reached at all. The chip uses it for one move of 64 KiB
 *	at most, and ends it in the same thread. May be NULL: there are no maps
 * @host_unmap: end of a map: @ptr and @len as @host_map gave them; @changed bytes
 *	from the first on may have been written. Not NULL with @host_map
 * @irq: raise MSI-X @vector (edge); the host drops it when it is not enabled
 * @irq_ended: a write of software, or a reset, may have ended causes of interrupts, for a host
 *	with an interrupt line (trn/function.h). NULL: nobody wants to know
 * @log: write one line to the log; it comes without a newline
 * @hbm_alloc: provide @size bytes of zeroed, lazily backed memory for stack
 *	@stack, private and anonymous: pages that this process does not have are
 *	zero; the pointer stays valid until the chip is freed. NULL: the library has
 *	the memory itself, and frees it with the chip
 * @hbm_discard: make [@offset, @offset + @len) of the stack zero and give its
 *	pages back; page aligned. There is no call of @hbm_dirty for it. Memory that the
 *	library has itself is told to @hbm_dirty instead. Not NULL with @hbm_alloc
 * @hbm_dirty: the chip, or a peer, has changed some of the @len bytes at @offset
 *	of the stack. It comes behind the change, so a host that clears a mark and
 *	then reads the bytes misses none; at the latest when the chip and its peers
 *	are quiet. NULL: nobody wants to know
 * @report: an error that the checks on request have found (trn_chip_config.check_memory); all of it
 *	is valid during the call. NULL: it becomes a line of @log
 * @timer: have trn_chip_expire() called in @delay_ns; of several requests that
 *	wait the earliest counts. NULL: nothing is late, and a storm
 *	of interrupts is one burst
 * @now: nanoseconds of a clock of the host that never goes back; more than 0. It measures how
 *	long resets show as under way, how long cores are busy, samples of power and the pace of
 *	messages; what @timer is asked for counts by it. NULL: CLOCK_MONOTONIC
 */
struct trn_port {
	bool (*host_read)(void *opaque, uint64_t addr, void *buf, size_t len);
	bool (*host_write)(void *opaque, uint64_t addr, const void *buf,
			   size_t len);
	void *(*host_map)(void *opaque, uint64_t addr, size_t *len, bool write);
	void (*host_unmap)(void *opaque, void *ptr, size_t len, size_t changed);
	void (*irq)(void *opaque, unsigned int vector);
	void (*irq_ended)(void *opaque);
	void (*log)(void *opaque, enum trn_log_level level, const char *line);
	void *(*hbm_alloc)(void *opaque, unsigned int stack, uint64_t size);
	void (*hbm_discard)(void *opaque, unsigned int stack, uint64_t offset,
			    uint64_t len);
	void (*hbm_dirty)(void *opaque, unsigned int stack, uint64_t offset,
			  uint64_t len);
	void (*report)(void *opaque, const struct trn_report *report);
	void (*timer)(void *opaque, uint64_t delay_ns);
	uint64_t (*now)(void *opaque);
};

/**
 * trn_bulk_move() - memmove() for what a DMA engine moves, for use in a port
 * @dst: where to
 * @src: where from
 * @len: bytes
 *
 * Descriptors cut a large copy into moves of 64 KiB at most, each too short for the
 * C library to see that the whole exceeds the caches. A large move here writes past
 * them: the host's memory is spared the read of each line that is overwritten. All
 * bytes are visible to whoever synchronises with the caller afterwards.
 */
void trn_bulk_move(void *dst, const void *src, size_t len);

#endif /* TRN_API_PORT_H */
