/* SPDX-License-Identifier: MIT */
/*
 * Extensions of this project: what an emulated device knows about an execution.
 * No other implementation of the API has them. The rules of nrt.h hold.
 */
#ifndef NRT_EMU_H
#define NRT_EMU_H

#include <nrt/nrt_async.h>

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
 * @wall_ns: host time from the doorbell until the execution was found to have ended
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

/* What joins the chips of a fabric (Documentation/hardware/fabric.rst). */
enum nrt_emu_topology {
	NRT_EMU_TOPOLOGY_NONE = 0,	/* the chip has no links */
	NRT_EMU_TOPOLOGY_LINE = 1,	/* ring or chain */
	NRT_EMU_TOPOLOGY_TORUS2D = 2,	/* 4 x 4 chips */
	NRT_EMU_TOPOLOGY_TORUS3D = 3,	/* and the servers a ring */
	NRT_EMU_TOPOLOGY_SWITCH = 4,
};

/**
 * struct nrt_emu_place - where a virtual core is (28 bytes, append-only)
 * @server: its server, on the whole fabric: 256 times the rack, and the server in the rack
 * @chip: its chip in the server
 * @core: its number among the virtual cores of the chip
 * @stack: its HBM stack of the chip
 * @lnc: physical cores that it has, which a NEFF must be made for
 * @here: 1: the chip is emulated in this process; 0: it is the driver's
 * @topology: enum nrt_emu_topology of its fabric, as it is now
 */
typedef struct nrt_emu_place {
	uint32_t server;
	uint32_t chip;
	uint32_t core;
	uint32_t stack;
	uint32_t lnc;
	uint32_t here;
	uint32_t topology;
} nrt_emu_place_t;

/* Why the times of a rank are not exact. */
enum nrt_emu_time_cause {
	NRT_EMU_TIME_EXACT = 0,
	NRT_EMU_TIME_RANK = 1,		/* the job of a rank failed, or was ended */
	NRT_EMU_TIME_ENDED = 2,		/* a rank has left, and did not take part */
	NRT_EMU_TIME_OVERFLOW = 3,	/* the device has no room for so much work at once */
	NRT_EMU_TIME_ORDER = 4,		/* it follows something whose times are not exact */
};

/**
 * struct nrt_emu_group_time - device times of a rank's part in a collective (24 bytes,
 *	append-only)
 * @start_ns: modelled device time of the start; 0 when the device models none
 * @end_ns: modelled device time of the end; 0 when the device models none
 * @flags: NRT_EMU_INEXACT or 0. Inexact ones are times of a rank that has all links for itself
 * @cause: enum nrt_emu_time_cause
 */
typedef struct nrt_emu_group_time {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t flags;
	uint32_t cause;
} nrt_emu_group_time_t;

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
 * nrt_emu_get_last_error() - what was wrong with the execution of a model that ended last
 * @model: model
 * @text: what nrt_execute() has logged: the engine, file and line of the program, and the reason.
 *	If the execution has failed, a line says why, also of NRT_EXEC_COMPLETED_WITH_NUM_ERR; if
 *	the checks (NEURON_EMU_CHECK) have found errors, a line has the first one. It ends with a
 *	zero byte
 * @size: bytes at @text; what has no room is cut off, and 1536 bytes are enough
 *
 * Return: NRT_QUEUE_EMPTY when nothing was wrong, or none has ended.
 */
NRT_STATUS nrt_emu_get_last_error(const nrt_model_t *model, char *text, size_t size);

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

/**
 * nrt_emu_join_group_times() - work out device times of several ranks together
 * @vnc: core of this rank
 * @ranks: by their number in the world, this one among them
 * @count: how many
 *
 * From now on their collectives share links and memories in device time, too: those of
 * nrta_cc_schedule(), and executions of models with collectives, of each number of streams. The
 * first one of each rank belongs to the first ones of the others, and so on, also when they are of
 * other replica groups. Results are the same, and nothing waits for times. If some of these ranks
 * execute a model with another number of streams, the times of such executions are not known before
 * one of the ranks leaves, or has run 64 more.
 *
 * All of these ranks call it with the same list, while they have no collective under way, and wait
 * for each other. It ends with the world: after nrt_cc_global_comm_init() the ranks join anew.
 *
 * What nrt_emu_get_last_execution() tells of such an execution are times without any wait for links
 * and memories. An execution that is traced takes no part, so its times are not exact.
 *
 * Return: NRT_INVALID: the core is no rank, or none of the list; NRT_FAILURE: the chips do not
 * tell such times, as those of a driver before version 2.1; NRT_TIMEOUT; why the world has failed.
 */
NRT_STATUS nrt_emu_join_group_times(uint32_t vnc, const uint32_t *ranks, uint32_t count);

/**
 * nrt_emu_leave_group_times() - collectives of a rank have times of their own from now on
 * @vnc: core of the rank
 *
 * Times of the others that this rank has not taken part in are not exact then.
 */
NRT_STATUS nrt_emu_leave_group_times(uint32_t vnc);

/**
 * nrt_emu_get_group_time() - device times of a collective
 * @vnc: core that has scheduled it
 * @seq: what nrta_cc_schedule() or nrta_execute_schedule() gave; it has completed
 * @timeout_ms: how long to wait for the times, which are known when all ranks have ended; 0: not
 *	at all
 * @time: filled
 * @size: sizeof(nrt_emu_group_time_t) of the caller; no more bytes are written
 *
 * The times of all ranks of a collective belong to one clock. They are the same on every run of a
 * program whose ranks do the same work in the same order.
 *
 * Return: NRT_TIMEOUT: not known yet; NRT_QUEUE_EMPTY: it was not timed, or too long ago, which the
 * last 160 of a core are not; NRT_INVALID for a core that the process does not own.
 */
NRT_STATUS nrt_emu_get_group_time(uint32_t vnc, nrta_seq_t seq, uint32_t timeout_ms,
				  nrt_emu_group_time_t *time, size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_EMU_H */
