// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults in words.
 */
#include <linux/kernel.h>

#include "neuron_report.h"

static const char * const neuron_engine_names[NEURON_NR_ENGINES] = {
	[NEURON_ENGINE_TENSOR] = "tensor",
	[NEURON_ENGINE_VECTOR] = "vector",
	[NEURON_ENGINE_SCALAR] = "scalar",
	[NEURON_ENGINE_GPSIMD] = "gpsimd",
	[NEURON_ENGINE_SYNC] = "sync",
};

static const char * const neuron_cause_names[NEURON_NR_CAUSES] = {
	[NEURON_CAUSE_NONE] = "no cause given",
	[NEURON_CAUSE_JOB] = "malformed job block or tables",
	[NEURON_CAUSE_OPCODE] = "unknown opcode",
	[NEURON_CAUSE_OPERAND] = "illegal operand",
	[NEURON_CAUSE_ACCESS] = "access outside SBUF or PSUM",
	[NEURON_CAUSE_WINDOW] = "access outside a window",
	[NEURON_CAUSE_RIGHTS] = "access without the window's right",
	[NEURON_CAUSE_PC] = "left its image",
	[NEURON_CAUSE_QUEUE] = "queue not in the job's table",
	[NEURON_CAUSE_SEMAPHORE] = "semaphore not the job's",
	[NEURON_CAUSE_DESC] = "malformed descriptor",
	[NEURON_CAUSE_RING_ID] = "wrong ring id",
	[NEURON_CAUSE_HOST] = "host address is not memory",
	[NEURON_CAUSE_FABRIC] = "fabric refused the access",
	[NEURON_CAUSE_HOST_LIMIT] = "host limit of the device reached",
	[NEURON_CAUSE_ECC] = "uncorrectable memory error",
	[NEURON_CAUSE_ADDRESS] = "address maps to nothing",
	[NEURON_CAUSE_RESET] = "aborted by a reset",
	[NEURON_CAUSE_ABORT] = "DMA engine aborted",
	[NEURON_CAUSE_GANG] = "another member of the gang failed",
};

const char *neuron_engine_name(unsigned int engine)
{
	return engine < NEURON_NR_ENGINES ? neuron_engine_names[engine] : "?";
}

const char *neuron_cause_name(unsigned int cause)
{
	return cause < NEURON_NR_CAUSES ? neuron_cause_names[cause] : "?";
}

void neuron_fault_format(char text[NEURON_FAULT_TEXT],
			 const struct neuron_record *record)
{
	const char *what = neuron_cause_name(record->cause);
	unsigned int source = record->source;
	unsigned int queue = record->queue;
	u32 pc = record->pc;
	u64 addr = record->addr;
	int n;

	if (source == NEURON_SOURCE_DMA)
		n = scnprintf(text, NEURON_FAULT_TEXT,
			      "%s: dma engine %u queue %u %s descriptor %u",
			      what, queue >> 4 & 0x7ff, queue & 0xf,
			      queue & BIT(15) ? "S2M" : "M2S", pc);
	else if (record->cause == NEURON_CAUSE_GANG)
		n = scnprintf(text, NEURON_FAULT_TEXT, "%s: member %u", what, pc);
	else if (source == NEURON_SOURCE_JOB)
		n = scnprintf(text, NEURON_FAULT_TEXT, "%s: job block", what);
	else
		n = scnprintf(text, NEURON_FAULT_TEXT, "%s: %s engine pc %u",
			      what, neuron_engine_name(source), pc);
	if (addr)
		scnprintf(text + n, NEURON_FAULT_TEXT - n, " address 0x%llx",
			  addr);
}

#ifdef NEURON_KUNIT
#include "neuron_kunit_report.c"
#endif
