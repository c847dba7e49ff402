/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A chip as a function on a bus: what every front end needs that shows a chip to software as a
 * PCI function, whatever its bus is (QEMU, vfio-user, a program that plays the machine).
 *
 * The function decodes accesses to BARs, raises interrupts by vectors or by a line, stops DMA
 * when bus mastering is off, and carries out resets, the power states D0 and D3hot, pauses of the
 * machine and removal. Its identity and its capabilities are tables. The front end keeps the
 * bytes of configuration space, the MSI-X table, and the mapping of memory.
 *
 * Threads. Accesses to BARs and interrupts come from any thread and never wait. Requests
 * (trn_function_set_master(), _set_power(), _reset(), _pause(), _resume(), _remove()) come from
 * any thread and never wait either. A request that needs the chip to stand still takes effect
 * later: the front end calls trn_function_poll() every 50 us or so until it returns true. It
 * drops its own locks in between, and completes what asked for the request (a write of
 * configuration space) only then. Several requests may be under way at once; the chip goes on
 * when none of them keeps it any more.
 *
 * The functions of the port must not call trn_function_*(), but for those of which it is said.
 */
#ifndef TRN_API_FUNCTION_H
#define TRN_API_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "trn/chip.h"

struct trn_function;

enum trn_area_kind {
	TRN_AREA_REGISTERS,	/* aligned words of 4 and 8 bytes; else all ones */
	TRN_AREA_MSIX_TABLE,	/* the front end's, see struct trn_function_host */
	TRN_AREA_MSIX_PBA,
	TRN_AREA_HBM,		/* memory: 1 to 8 bytes; trn_chip_hbm() may be mapped there */
	TRN_AREA_NOTHING,	/* reads as zero, ignores writes */
};

/**
 * struct trn_area - a part of a BAR
 * @kind: what is decoded there
 * @stack: HBM: its number
 * @offset: in the BAR
 * @size: bytes
 */
struct trn_area {
	enum trn_area_kind kind;
	unsigned int stack;
	uint64_t offset;
	uint64_t size;
};

#define TRN_BAR_64BIT		0x4	/* as in the BAR's register */
#define TRN_BAR_PREFETCHABLE	0x8
#define TRN_BAR_AREAS		8	/* most areas of a BAR */

/**
 * struct trn_bar - a BAR; a memory BAR always
 * @index: its number; with TRN_BAR_64BIT the next one is its upper half
 * @shows: the BAR whose content it shows: itself, or (an alias) another one
 * @flags: TRN_BAR_*
 * @nr_areas: how many
 * @size: bytes, a power of two
 * @area: without gaps, in ascending order
 */
struct trn_bar {
	unsigned int index;
	unsigned int shows;
	uint32_t flags;
	unsigned int nr_areas;
	uint64_t size;
	struct trn_area area[TRN_BAR_AREAS];
};

/**
 * struct trn_identity - for the header of configuration space
 * @vendor: vendor id
 * @device: device id
 * @class_code: base class 15:8, subclass 7:0
 * @revision: revision id
 */
struct trn_identity {
	uint16_t vendor;
	uint16_t device;
	uint16_t class_code;
	uint8_t revision;
};

#define TRN_CAPABILITY_BYTES	72	/* of the largest */

/**
 * struct trn_capability - a capability in configuration space
 * @id: PCI_CAP_ID_*, or of an extended one PCI_EXT_CAP_ID_*
 * @extended: it is an extended one
 * @express: only a function on a PCI Express bus has it
 * @version: of an extended one
 * @offset: where it is; 0: wherever there is room
 * @size: bytes, its header too
 * @value: its bytes after a reset. The header (2 bytes, 4 of an extended one) is zero: the
 *	front end writes it, because it links the capabilities
 * @writable: bits that a write changes
 * @cleared: bits that a write of one clears
 */
struct trn_capability {
	uint16_t id;
	bool extended;
	bool express;
	uint8_t version;
	uint16_t offset;
	uint16_t size;
	uint8_t value[TRN_CAPABILITY_BYTES];
	uint8_t writable[TRN_CAPABILITY_BYTES];
	uint8_t cleared[TRN_CAPABILITY_BYTES];
};

#define TRN_CAPABILITIES	4	/* most of a function */

/**
 * struct trn_function_host - what a function asks of its front end, beside the port
 * @wake: have trn_function_deliver() called soon. It comes from any thread and must not wait.
 *	NULL: trn_function_deliver() is called in the thread that has the news
 * @line: the level of the interrupt line has changed; of a function without vectors. NULL: it
 *	has no line. Called as trn_port.irq is
 * @msix_read: read the MSI-X table or (@kind) the PBA at @offset from its begin; NULL: zero
 * @msix_write: the other way; NULL: ignored
 *
 * The first argument is trn_chip_config.opaque. Each may be NULL.
 */
struct trn_function_host {
	void (*wake)(void *opaque);
	void (*line)(void *opaque, bool level);
	uint64_t (*msix_read)(void *opaque, enum trn_area_kind kind, uint64_t offset,
			      unsigned int size);
	void (*msix_write)(void *opaque, enum trn_area_kind kind, uint64_t offset,
			   uint64_t value, unsigned int size);
};

#define TRN_FUNCTION_AUTO	UINT32_MAX
#define TRN_FUNCTION_WHY	160	/* bytes of a message, with its NUL */

/**
 * struct trn_function_config - how to build a function
 * @chip: the chip. Of its fields @bar4_stride and @reset_ns follow from those below;
 *	@fabric_id and @routing_id may be TRN_FUNCTION_AUTO and @serial 0: made of @position.
 *	@hbm_size 0: the generation's, or what fits in BAR4; platform mode has memory in all of
 *	BAR4 and tells the generation's. @port is the front end's; its irq() raises a vector
 * @host: what the front end has beside the port; may be NULL
 * @bar4_size: a power of two; 0: by generation and mode
 * @vectors: of MSI-X, 1 to cores + 1; 0: none; TRN_FUNCTION_AUTO: cores + 1
 * @inline_us: time in us that a register write gives to the work that it starts, 0 to 1000;
 *	TRN_FUNCTION_AUTO: by mode
 * @reset_us: least time in us that a reset shows as under way, at most 10 s;
 *	TRN_FUNCTION_AUTO: by mode
 * @silicon: silicon mode (Documentation/hardware/pci.rst), else platform mode
 */
struct trn_function_config {
	struct trn_chip_config chip;
	const struct trn_function_host *host;
	uint64_t bar4_size;
	uint32_t vectors;
	uint32_t inline_us;
	uint32_t reset_us;
	bool silicon;
};

/**
 * trn_function_complete() - fill in what a configuration leaves open, and check it
 * @config: the configuration; port, pool and fabric are not looked at
 * @why: out, on an error: what does not fit
 *
 * Return: false: it does not fit. A configuration that is complete stays as it is.
 */
bool trn_function_complete(struct trn_function_config *config, char why[TRN_FUNCTION_WHY]);

/**
 * trn_function_new() - build a chip and its function
 * @config: copied and completed; port and host must outlive the function
 * @why: out, on an error: what does not fit, or why there is no chip
 *
 * All is as after power-up: bus mastering is off, the power state is D0. The chip runs.
 *
 * Return: the function, which the caller frees with trn_function_free(), or NULL.
 */
struct trn_function *trn_function_new(const struct trn_function_config *config,
				      char why[TRN_FUNCTION_WHY]);

/**
 * trn_function_free() - free a function and its chip
 * @fn: removed, and trn_function_poll() has returned true since; or NULL
 */
void trn_function_free(struct trn_function *fn);

/**
 * trn_function_chip() - the chip of a function
 * @fn: the function
 *
 * For state, faults, a look into it. Who stops, resumes, resets or detaches it does so by the
 * function. Functions of the port may call this.
 *
 * Return: the chip, which the function owns.
 */
struct trn_chip *trn_function_chip(struct trn_function *fn);

/**
 * trn_function_bar() - a BAR of a function
 * @fn: the function
 * @n: 0 for the first one
 *
 * Return: the BAR, the function's; NULL: there are not so many.
 */
const struct trn_bar *trn_function_bar(const struct trn_function *fn, unsigned int n);

/**
 * trn_function_identity() - which function it is
 * @fn: the function
 * @identity: out
 */
void trn_function_identity(const struct trn_function *fn, struct trn_identity *identity);

/**
 * trn_function_capabilities() - the capabilities of a function
 * @fn: the function
 * @capability: out, in the order in which they are linked
 *
 * Return: their number.
 */
unsigned int trn_function_capabilities(const struct trn_function *fn,
				       struct trn_capability capability[TRN_CAPABILITIES]);

/**
 * trn_function_read() - a read of a BAR
 * @fn: the function. Any thread; never waits
 * @bar: number of the BAR
 * @offset: in the BAR
 * @size: 1 to 8 bytes
 *
 * Its first byte says which area it reads. Of an access that goes beyond the end of memory the
 * bytes behind it are zero.
 *
 * Return: the value; all ones when the function does not answer: it sleeps or is removed, the
 * BAR does not exist or is not as large, or the area does not take such an access.
 */
uint64_t trn_function_read(struct trn_function *fn, unsigned int bar, uint64_t offset,
			   unsigned int size);

/**
 * trn_function_write() - a write of a BAR
 * @fn: the function. Any thread; never waits
 * @bar: number of the BAR
 * @offset: in the BAR
 * @value: to be written
 * @size: 1 to 8 bytes
 *
 * Ignored where trn_function_read() gives ones. What a write to registers starts may be done
 * within it, for trn_function_config.inline_us at most; interrupts that this raises are
 * delivered before it returns, in this thread. A write to HBM is told to trn_port.hbm_dirty().
 */
void trn_function_write(struct trn_function *fn, unsigned int bar, uint64_t offset,
			uint64_t value, unsigned int size);

/**
 * trn_function_deliver() - raise the interrupts that are pending
 * @fn: the function. Any thread
 *
 * Calls trn_port.irq() for each vector, or trn_function_host.line() with the level. In D3hot and
 * after a removal it does nothing: vectors wait for D0, the line is low. One thread at a time
 * delivers; another one that comes meanwhile returns at once, and the first one goes on with its
 * news. So irq() and line() may call anything of the function, trn_function_poll() too.
 *
 * A vector that the function does not have is lost. Its cause stays set in the control block.
 * Which cause raises which vector is in the VECTOR registers there; software sets them, also so
 * that all causes share one vector. The line is high while any cause is set and not masked.
 */
void trn_function_deliver(struct trn_function *fn);

/**
 * trn_function_pending() - vectors that wait to be raised
 * @fn: the function. Any thread
 *
 * For a saved machine: they are not in the chip's own state.
 *
 * Return: a bit for each vector.
 */
uint32_t trn_function_pending(const struct trn_function *fn);

/**
 * trn_function_set_pending() - set them, of a machine that is being loaded
 * @fn: the function, paused
 * @vectors: a bit for each; trn_function_resume() delivers them
 */
void trn_function_set_pending(struct trn_function *fn, uint32_t vectors);

/**
 * trn_function_set_master() - switch bus mastering
 * @fn: the function
 * @on: the chip may access host memory
 *
 * Off: from now on accesses fail, with the cause HOST for the job or the queue. When
 * trn_function_poll() is true, those that were under way have ended. A vector is a write to the
 * bus as well: what is raised while bus mastering is off is lost, its cause stays set.
 */
void trn_function_set_master(struct trn_function *fn, bool on);

/**
 * trn_function_set_power() - change the power state
 * @fn: the function
 * @state: 0 for D0, 3 for D3hot
 *
 * D3hot: when trn_function_poll() is true the chip stands still with all its state, all BARs
 * read as ones, and no interrupt is raised. D0: it goes on at once, and what became due is
 * delivered. Peers reach the memory of a chip in D3hot as before.
 *
 * Return: false: there is no such state, and nothing has changed.
 */
bool trn_function_set_power(struct trn_function *fn, unsigned int state);

/**
 * trn_function_reset() - reset the function: by FLR, of the bus, of the machine
 * @fn: the function
 *
 * When trn_function_poll() is true, all is as after trn_function_new(); faults on demand and a
 * pause stay.
 */
void trn_function_reset(struct trn_function *fn);

/**
 * trn_function_pause() - the machine stands still, to be saved or loaded, or because it stops
 * @fn: the function
 *
 * When trn_function_poll() is true the chip is quiet, and stays so as long as the chips of its
 * fabric are. To be sure after the last of them has stopped, call both once more. BARs are
 * decoded as usual.
 */
void trn_function_pause(struct trn_function *fn);

/**
 * trn_function_resume() - the machine goes on
 * @fn: the function
 *
 * Delivers what is pending.
 */
void trn_function_resume(struct trn_function *fn);

/**
 * trn_function_remove() - take the function off its bus for good
 * @fn: the function
 *
 * When trn_function_poll() is true, BARs read as ones, nothing is pending, no peer reaches the
 * chip any more, and the function may be freed.
 */
void trn_function_remove(struct trn_function *fn);

/**
 * trn_function_poll() - go on with what was requested
 * @fn: the function. Any thread; never waits for another one
 *
 * A reset is carried out within it, which takes as long as trn_port.hbm_discard() does.
 *
 * Return: true: all that was requested has taken effect.
 */
bool trn_function_poll(struct trn_function *fn);

/**
 * trn_function_awake() - does the function answer on its bus?
 * @fn: the function. Any thread
 *
 * A front end that maps HBM into BAR4 looks here when trn_function_poll() has returned true,
 * and takes the mappings away as long as the function sleeps.
 *
 * Return: false in D3hot, and after a removal.
 */
bool trn_function_awake(const struct trn_function *fn);

#endif /* TRN_API_FUNCTION_H */
