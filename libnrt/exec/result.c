// SPDX-License-Identifier: MIT
/*
 * How a job ended: the device's cause becomes a public status and one line.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "exec/cause.h"
#include "exec/compute.h"
#include "exec/hang.h"
#include "exec/source.h"
#include "neuron/address.h"
#include "neuron/udma.h"

/*
 * Documentation/libnrt/errors.rst has this table with its reasons. NRT_INVALID is the public
 * code for a bad instruction or DMA descriptor, NRT_EXEC_OOB for an access outside of what
 * the program was given.
 */
static const struct {
	NRT_STATUS status;
	const char *text;
} causes[NEURON_NR_CAUSES] = {
	[NEURON_CAUSE_NONE] = { NRT_FAILURE, "no cause given" },
	[NEURON_CAUSE_JOB] = { NRT_FAILURE, "the device refused the job block" },
	[NEURON_CAUSE_OPCODE] = { NRT_INVALID, "unknown instruction, or not one of this engine" },
	[NEURON_CAUSE_OPERAND] = { NRT_INVALID,
				   "illegal operand; neuron-as --target says which rule" },
	[NEURON_CAUSE_ACCESS] = { NRT_EXEC_OOB, "access outside of SBUF or PSUM" },
	[NEURON_CAUSE_WINDOW] = { NRT_EXEC_OOB, "access outside of a variable" },
	[NEURON_CAUSE_RIGHTS] = { NRT_EXEC_OOB, "write to a read-only variable, or the like" },
	[NEURON_CAUSE_PC] = { NRT_INVALID, "ran out of its instructions; a halt is missing" },
	[NEURON_CAUSE_QUEUE] = { NRT_INVALID, "trigger of a queue that the model does not have" },
	[NEURON_CAUSE_SEMAPHORE] = { NRT_INVALID, "semaphore that the model does not own" },
	[NEURON_CAUSE_DESC] = { NRT_INVALID, "malformed DMA descriptor" },
	[NEURON_CAUSE_RING_ID] = { NRT_INVALID, "more descriptors triggered than the ring has" },
	[NEURON_CAUSE_HOST] = { NRT_EXEC_HW_ERR_DMA_ABORT, "host memory does not answer" },
	[NEURON_CAUSE_FABRIC] = { NRT_EXEC_HW_ERR_COLLECTIVES,
				  "the fabric does not reach the chip of a peer" },
	[NEURON_CAUSE_HOST_LIMIT] = { NRT_RESOURCE,
				      "the memory limit of the emulated chip is reached" },
	[NEURON_CAUSE_ECC] = { NRT_EXEC_HW_ERR_NC_UE, "uncorrectable memory error" },
	[NEURON_CAUSE_ADDRESS] = { NRT_EXEC_HW_ERR_DMA_ABORT, "address that maps to nothing" },
	[NEURON_CAUSE_RESET] = { NRT_HW_ERROR, "aborted by a reset" },
	[NEURON_CAUSE_ABORT] = { NRT_EXEC_HW_ERR_DMA_ABORT, "DMA engine aborted" },
	[NEURON_CAUSE_GANG] = { NRT_FAILURE, "a job that had to run beside it failed" },
};

static NRT_STATUS cause_status(const struct drm_neuron_wait_job *wait)
{
	if (wait->flags & DRM_NEURON_JOB_HANG)
		return NRT_TIMEOUT;
	if (wait->status == NEURON_JOB_ABORTED)
		return NRT_HW_ERROR;
	if (wait->cause >= NEURON_NR_CAUSES)
		return NRT_FAILURE;
	/* What a queue reads and writes at large is HBM. */
	if (wait->cause == NEURON_CAUSE_ECC && wait->source == NEURON_SOURCE_DMA)
		return NRT_EXEC_HW_ERR_HBM_UE;
	return causes[wait->cause].status;
}

static bool is_well(const struct drm_neuron_wait_job *wait)
{
	return wait->status == NEURON_JOB_OK && !(wait->flags & DRM_NEURON_JOB_HANG);
}

/* The part that failed by itself: the others end with it. */
static unsigned int culprit(const struct nrt_model *model, const struct drm_neuron_wait_job *wait)
{
	unsigned int i, first = 0;

	for (i = model->nr_parts; i--;) {
		if (is_well(&wait[i]))
			continue;
		if (wait[i].flags & DRM_NEURON_JOB_HANG || wait[i].cause != NEURON_CAUSE_GANG)
			return i;
		first = i;
	}
	return first;
}

static bool is_fatal(const struct drm_neuron_wait_job *wait)
{
	switch (cause_status(wait)) {
	case NRT_TIMEOUT:
	case NRT_HW_ERROR:
	case NRT_EXEC_HW_ERR_COLLECTIVES:
	case NRT_EXEC_HW_ERR_HBM_UE:
	case NRT_EXEC_HW_ERR_NC_UE:
	case NRT_EXEC_HW_ERR_DMA_ABORT:
		return !is_well(wait);
	default:
		return false;
	}
}

bool nrt_result_is_fatal(const struct nrt_model *model, const struct drm_neuron_wait_job *wait)
{
	unsigned int i;

	for (i = 0; i < model->cc_cores.nr; i++)
		if (is_fatal(&wait[model->nr_parts + i]))
			return true;
	return is_fatal(&wait[culprit(model, wait)]);
}

static const char *cause_text(const struct drm_neuron_wait_job *wait)
{
	if (wait->flags & DRM_NEURON_JOB_HANG)
		return "made no progress until the time limit (NEURON_RT_EXEC_TIMEOUT)";
	if (wait->status == NEURON_JOB_ABORTED)
		return wait->cause == NEURON_CAUSE_HOST ?
			       "the chip could not read the job: a read of host memory failed" :
			       causes[NEURON_CAUSE_RESET].text;
	if (wait->cause >= NEURON_NR_CAUSES)
		return "unknown cause";
	if (wait->cause == NEURON_CAUSE_WINDOW && wait->source == NEURON_SOURCE_DMA)
		return "access outside of a variable, or an index that is not below its limit";
	return causes[wait->cause].text;
}

NRT_STATUS nrt_cause(const struct drm_neuron_wait_job *result, const char **text)
{
	if (is_well(result))
		return NRT_SUCCESS;
	*text = cause_text(result);
	return cause_status(result);
}

static void describe_source(const struct nrt_part *part, const struct drm_neuron_wait_job *wait,
			    char *text, size_t size)
{
	const struct nrt_descriptor descriptor = {
		.dma_engine = wait->dma_engine,
		.queue = wait->queue & ~DRM_NEURON_QUEUE_WRITES,
		.s2m = wait->queue & DRM_NEURON_QUEUE_WRITES,
		.index = wait->pc,
		.addr = wait->addr,
	};
	const char *what = descriptor.s2m ? "destination descriptor" : "source descriptor", *set;
	char line[NRT_TRIGGER_TEXT] = "";

	if (wait->source < NEURON_NR_ENGINES) {
		nrt_source_text(part, wait->source, wait->pc, ", ", "", line);
		snprintf(text, size, "%s engine, pc %u%s: ", neff_engine_name(wait->source),
			 wait->pc, line);
	} else if (wait->source == NEURON_SOURCE_DMA) {
		set = nrt_source_set(part, wait->dma_engine, descriptor.queue);
		if (wait->pc & NEURON_UDMA_PC_GENERATED)
			what = "generated packet";
		nrt_source_trigger_text(part, &descriptor, line);
		snprintf(text, size, "queue \"%.64s\", %s %u%s: ", set ? set : "?", what,
			 wait->pc & ~NEURON_UDMA_PC_GENERATED, line);
	} else {
		*text = '\0';
	}
}

static void describe_address(const struct nrt_part *part, const struct drm_neuron_wait_job *wait,
			     char *text, size_t size)
{
	uint32_t index = (uint32_t)NEURON_GET(NEURON_ADDR_WINDOW_INDEX, wait->addr);
	unsigned long long offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, wait->addr);
	size_t i;

	*text = '\0';
	if (!wait->addr)
		return;
	snprintf(text, size, " (address 0x%llx)", (unsigned long long)wait->addr);
	if (!(wait->addr & NEURON_ADDR_WINDOW))
		return;
	for (i = 0; i < part->graph->nr_vars; i++)
		if (part->graph->vars[i].var_id == index)
			break;
	if (i < part->graph->nr_vars)
		snprintf(text, size, " (\"%.64s\" + 0x%llx; it has 0x%llx bytes)",
			 part->graph->vars[i].name, offset,
			 (unsigned long long)part->graph->vars[i].size);
	else
		snprintf(text, size, " (window %u + 0x%llx)", index, offset);
}

static void describe_core(const struct nrt_model *model, const struct nrt_part *part, char *text,
			  size_t size)
{
	if (model->nr_parts == 1)
		snprintf(text, size, "core %u", model->vcore->number);
	else
		snprintf(text, size, "core %u (physical core %u, sg%02u)", model->vcore->number,
			 part->core->number, part->graph->index);
}

NRT_STATUS nrt_result(const struct nrt_model *model, const struct drm_neuron_wait_job *wait,
		      struct nrt_error *error)
{
	const struct nrt_part *part = &model->parts[culprit(model, wait)];
	char core[64], source[448], address[160], hang[NRT_HANG_TEXT];
	const char *text;

	wait += part - model->parts;
	if (is_well(wait))
		return NRT_SUCCESS;
	text = cause_text(wait);
	*source = '\0';
	*address = '\0';
	if (nrt_hang_explain(model, wait - (part - model->parts), hang) &&
	    wait->flags & DRM_NEURON_JOB_HANG)
		text = "still ran when its time was over (16 times NEURON_RT_EXEC_TIMEOUT)";
	describe_core(model, part, core, sizeof(core));
	if (!(wait->flags & DRM_NEURON_JOB_HANG) && wait->status == NEURON_JOB_ERROR) {
		describe_source(part, wait, source, sizeof(source));
		describe_address(part, wait, address, sizeof(address));
	}
	return nrt_error_set(error, cause_status(wait), "model \"%.64s\" failed on %s: %s%s%s%s",
			     model->neff->name, core, source, text, address, hang);
}
