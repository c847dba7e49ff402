// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "exec/checks.h"
#include "exec/source.h"

/* Bytes of an actor as text. */
#define ACTOR	256

static void describe(const struct nrt_part *part, const struct nrt_report_actor *actor,
		     char text[ACTOR])
{
	const char *what = "descriptor", *set;
	char source[NRT_SOURCE_TEXT];

	if (actor->source < NEURON_NR_ENGINES) {
		nrt_source_text(part, actor->source, actor->pc, ", ", "", source);
		snprintf(text, ACTOR, "%s engine, pc %u%s", neff_engine_name(actor->source),
			 actor->pc, source);
		return;
	}
	if (actor->pc & NEURON_UDMA_PC_GENERATED)
		what = "generated packet";
	set = nrt_source_set(part, actor->dma_engine, actor->queue);
	snprintf(text, ACTOR, "queue \"%.64s\", %s %u", set ? set : "?", what,
		 actor->pc & ~NEURON_UDMA_PC_GENERATED);
}

/*
 * Does @b say of other descriptors what @a says? A transfer has many, and one mistake in the order
 * of transfers is a mistake of all of them.
 */
static bool repeats(const struct nrt_report *a, const struct nrt_report *b)
{
	const struct nrt_report_actor *x = &a->actor, *y = &b->actor;
	bool dma = x->source == NEURON_SOURCE_DMA;

	if (strcmp(a->kind, b->kind) || strcmp(a->what, b->what) || x->source != y->source ||
	    a->has_other != b->has_other || (!dma && a->other.source != NEURON_SOURCE_DMA))
		return false;
	if (dma ? x->dma_engine != y->dma_engine || x->queue != y->queue : x->pc != y->pc)
		return false;
	x = &a->other;
	y = &b->other;
	if (x->source != y->source)
		return false;
	if (x->source == NEURON_SOURCE_DMA)
		return x->dma_engine == y->dma_engine && x->queue == y->queue;
	return x->pc == y->pc;
}

static void tell(const struct nrt_model *model, const struct nrt_part *part,
		 const struct nrt_report *report, uint32_t more)
{
	char who[ACTOR], other[ACTOR] = "", graph[16] = "", rest[48] = "";

	describe(part, &report->actor, who);
	if (report->has_other)
		describe(part, &report->other, other);
	if (model->nr_parts > 1)
		snprintf(graph, sizeof(graph), "sg%02u: ", part->graph->index);
	if (more)
		snprintf(rest, sizeof(rest), "; the same of %u more descriptors", more);
	nrt_warn("nrt_execute", "model \"%.64s\" on core %u, check %s: %s%s, %s%s%s: %s%s",
		 model->neff->name, model->vcore->number, report->kind, graph, who, report->what,
		 *other ? " the " : "", other, report->where, rest);
}

/* Each once; what repeats it is counted, and marked by having no kind any more. */
static void tell_all(const struct nrt_model *model, const struct nrt_part *part,
		     struct nrt_report *reports, uint32_t count)
{
	uint32_t i, k, more;

	for (i = 0; i < count; i++) {
		if (!*reports[i].kind)
			continue;
		more = 0;
		for (k = i + 1; k < count; k++) {
			if (!repeats(&reports[i], &reports[k]))
				continue;
			*reports[k].kind = '\0';
			more++;
		}
		tell(model, part, &reports[i], more);
	}
}

static uint32_t tell_part(const struct nrt_model *model, const struct nrt_part *part,
			  uint64_t job)
{
	const struct nrt_device *device = part->core->device;
	nrt_reports_fn *take = device->backend->reports;
	uint32_t count = take(device->chip, part->core->index, job, NULL, 0);
	struct nrt_report *reports = count ? calloc(count, sizeof(*reports)) : NULL;

	if (!reports)
		return count;
	count = take(device->chip, part->core->index, job, reports, count);
	tell_all(model, part, reports, count);
	free(reports);
	return count;
}

uint32_t nrt_checks_tell(const struct nrt_model *model, const struct drm_neuron_wait_job *wait)
{
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < model->nr_parts; i++)
		if (model->parts[i].core->device->backend->reports)
			sum += tell_part(model, &model->parts[i], wait[i].job);
	return sum;
}
