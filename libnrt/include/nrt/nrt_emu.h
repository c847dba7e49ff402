/* SPDX-License-Identifier: MIT */
/*
 * Extensions of this project: what an emulated device knows about an execution.
 * No other implementation of the API has them. The rules of nrt.h hold.
 */
#ifndef NRT_EMU_H
#define NRT_EMU_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Flag: the device times depend on how fast the host ran the execution. This happens when so
 * much of it waited for one engine that the device's memory for times ran out. Of an event:
 * its times, or those of one before it.
 */
#define NRT_EMU_INEXACT	(1u << 0)

/**
 * struct nrt_emu_execution - one execution (48 bytes, append-only)
 * @start_ns: modelled device time of the start; 0 when the device models none
 * @end_ns: modelled device time of the end; 0 when the device models none
 * @wall_ns: host time from doorbell to interrupt
 * @instructions: retired by all engines
 * @dma_bytes: moved by the queues of the program
 * @flags: NRT_EMU_INEXACT or 0
 * @reports: errors that the chip has found in the program; each is a line in the log. 0 unless
 *	NEURON_EMU_CHECK has it look for them
 */
typedef struct nrt_emu_execution {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t wall_ns;
	uint64_t instructions;
	uint64_t dma_bytes;
	uint32_t flags;
	uint32_t reports;
} nrt_emu_execution_t;

/* In the flags of an event. */
#define NRT_EMU_CORE_SHIFT	8

/* What an event is of. */
enum nrt_emu_event_kind {
	NRT_EMU_INSTRUCTION = 1,
	NRT_EMU_TRANSFER = 2,	/* a packet of a DMA queue */
};

/**
 * struct nrt_emu_event - an instruction or a transfer of an execution (40 bytes)
 * @begin_ns: modelled device time at which its wait was over
 * @end_ns: modelled device time of its end
 * @bytes: that a transfer moved
 * @code: opcode of an instruction; descriptors of a transfer
 * @pc: index of the instruction in its engine's program, or of the transfer's first
 *	descriptor in its ring
 * @kind: enum nrt_emu_event_kind
 * @source: instruction: 0 tensor, 1 vector, 2 scalar, 3 gpsimd, 4 sync; transfer: DMA engine
 *	of the chip times 16 plus queue
 * @flags: NRT_EMU_INEXACT or 0; from bit NRT_EMU_CORE_SHIFT on: which of the physical cores of
 *	its logical core it is, 0 or 1
 */
typedef struct nrt_emu_event {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t bytes;
	uint32_t code;
	uint32_t pc;
	uint16_t kind;
	uint16_t source;
	uint32_t flags;
} nrt_emu_event_t;

/**
 * struct nrt_emu_place - where a virtual core is (24 bytes, append-only)
 * @server: its server, on the whole fabric
 * @chip: its chip in the server
 * @core: its number among the virtual cores of the chip
 * @stack: its HBM stack of the chip
 * @lnc: physical cores that it has, which a NEFF must be made for
 * @pad: zero
 */
typedef struct nrt_emu_place {
	uint32_t server;
	uint32_t chip;
	uint32_t core;
	uint32_t stack;
	uint32_t lnc;
	uint32_t pad;
} nrt_emu_place_t;

#pragma GCC visibility push(default)

/**
 * nrt_emu_get_last_execution() - the execution of a model that ended last
 * @model: model
 * @execution: filled
 * @size: sizeof(nrt_emu_execution_t) of the caller; no more bytes are written
 *
 * Return: NRT_QUEUE_EMPTY when none has ended; failed executions count.
 */
NRT_STATUS nrt_emu_get_last_execution(const nrt_model_t *model, nrt_emu_execution_t *execution,
				      size_t size);

/**
 * nrt_emu_set_trace() - trace the executions of a model from the next one on
 * @model: model
 * @events: how many events of an execution are kept; 0: none, no trace
 *
 * Return: NRT_INVALID for more than 16,777,216 events, NRT_RESOURCE.
 */
NRT_STATUS nrt_emu_set_trace(nrt_model_t *model, size_t events);

/**
 * nrt_emu_get_trace() - what the execution of a model that ended last did
 * @model: model
 * @events: filled, in the order in which they ended, but for work in the background
 * @count: in: elements of @events; out: events that there are, also when they are more
 * @lost: out: events that there was no room for in the device's buffer, or no device time
 *
 * The times do not depend on the host: they are the same at each execution, but for that of
 * the start. Events of which that is not so have the flag NRT_EMU_INEXACT.
 *
 * Return: NRT_QUEUE_EMPTY when no execution has been traced.
 */
NRT_STATUS nrt_emu_get_trace(const nrt_model_t *model, nrt_emu_event_t *events, size_t *count,
			     uint64_t *lost);

/**
 * nrt_emu_get_core_place() - where a core is
 * @vnc: core
 * @place: filled
 * @size: sizeof(nrt_emu_place_t) of the caller; no more bytes are written
 *
 * The algorithm of a collective depends on where its ranks are.
 *
 * Return: NRT_INVALID for a core that the process does not own.
 */
NRT_STATUS nrt_emu_get_core_place(uint32_t vnc, nrt_emu_place_t *place, size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_EMU_H */
