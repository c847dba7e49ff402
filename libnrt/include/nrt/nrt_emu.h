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

/**
 * struct nrt_emu_execution - one execution (40 bytes, append-only)
 * @start_ns: modelled device time of the start; 0 when the device models none
 * @end_ns: modelled device time of the end; 0 when the device models none
 * @wall_ns: host time from doorbell to interrupt
 * @instructions: retired by all engines
 * @dma_bytes: moved by the queues of the program
 */
typedef struct nrt_emu_execution {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t wall_ns;
	uint64_t instructions;
	uint64_t dma_bytes;
} nrt_emu_execution_t;

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

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_EMU_H */
