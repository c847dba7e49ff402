// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "exec/checks.h"
#include "exec/source.h"

/* Bytes of an actor as text. */
#define ACTOR	256

/**
 * struct finding - a report, and where its accesses come from
 * @actor, @other: of the report's actors: the part of the model, NULL for a CC-core's; and the
 *	instruction if it is @known
 * @told: it is in the log, perhaps in the line of another one
 */
struct finding {
	struct nrt_report report;
	struct origin {
		const struct nrt_part *part;
		bool known;
		unsigned int engine;
		uint32_t pc;
	} actor, other;
	bool told;
};

/* The part of the model that runs on unit @unit; NULL: none, it is a CC-core. */
static const struct nrt_part *part_on(const struct nrt_model *model, uint16_t unit)
{
	unsigned int i;

	if (!model)
		return NULL;
	for (i = 0; i < model->nr_parts; i++)
		if (model->parts[i].core->index == unit)
			return &model->parts[i];
	return NULL;
}

/* The instruction, or of a descriptor the one that triggers it. */
static struct origin find_origin(const struct nrt_model *model,
				 const struct nrt_report_actor *actor)
{
	struct origin origin = { part_on(model, actor->unit), true, actor->source, actor->pc };
	const struct nrt_descriptor descriptor = {
		.dma_engine = actor->dma_engine,
		.queue = actor->queue,
		.index = actor->pc,
	};

	if (!origin.part)
		origin.known = false;
	else if (actor->source >= NEURON_NR_ENGINES)
		origin.known = nrt_source_trigger(origin.part, &descriptor, &origin.engine,
						  &origin.pc);
	return origin;
}

/* What a CC-core does is libnrt's own. */
static void describe_cc(const struct nrt_report_actor *actor, char text[ACTOR])
{
	if (actor->source < NEURON_NR_ENGINES)
		snprintf(text, ACTOR, "%s engine of a collective, pc %u",
			 neff_engine_name(actor->source), actor->pc);
	else
		snprintf(text, ACTOR, "queue %u of DMA engine %u of a collective", actor->queue,
			 actor->dma_engine);
}

static void describe(const struct nrt_model *model, const struct nrt_report_actor *actor,
		     const struct origin *origin, char text[ACTOR])
{
	char source[NRT_SOURCE_TEXT] = "", graph[16] = "";
	const struct nrt_part *part = origin->part;
	const char *what = "descriptor", *set;

	if (!part) {
		describe_cc(actor, text);
		return;
	}
	if (model->nr_parts > 1)
		snprintf(graph, sizeof(graph), "sg%02u ", part->graph->index);
	if (origin->known)
		nrt_source_text(part, origin->engine, origin->pc, ", ", "", source);
	if (actor->source < NEURON_NR_ENGINES) {
		snprintf(text, ACTOR, "%s%s engine, pc %u%s", graph,
			 neff_engine_name(actor->source), actor->pc, source);
		return;
	}
	if (actor->pc & NEURON_UDMA_PC_GENERATED)
		what = "generated packet";
	set = nrt_source_set(part, actor->dma_engine, actor->queue);
	snprintf(text, ACTOR, "%squeue \"%.64s\", %s %u%s", graph, set ? set : "?", what,
		 actor->pc & ~NEURON_UDMA_PC_GENERATED, source);
}

/* The same instruction, or descriptors of a queue that come from the same place. */
static bool same_actor(const struct nrt_report_actor *a, const struct origin *from_a,
		       const struct nrt_report_actor *b, const struct origin *from_b)
{
	if (a->unit != b->unit || a->source != b->source)
		return false;
	if (a->source < NEURON_NR_ENGINES)
		return a->pc == b->pc;
	return a->dma_engine == b->dma_engine && a->queue == b->queue &&
	       from_a->known == from_b->known && (!from_a->known || from_a->pc == from_b->pc);
}

/* A transfer has many descriptors, and one mistake in its order is a mistake of all of them. */
static bool same(const struct finding *a, const struct finding *b)
{
	return !strcmp(a->report.kind, b->report.kind) &&
	       !strcmp(a->report.what, b->report.what) &&
	       a->report.has_other == b->report.has_other &&
	       same_actor(&a->report.actor, &a->actor, &b->report.actor, &b->actor) &&
	       (!a->report.has_other ||
		same_actor(&a->report.other, &a->other, &b->report.other, &b->other));
}

/* A line in the log. Who asks for the first line of several has @first, else NULL. */
static __attribute__((format(printf, 3, 4))) void say(const char *call, char *first,
						      const char *format, ...)
{
	char line[NRT_ERROR_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	nrt_warn(call, "%s", line);
	if (first && !*first)
		memcpy(first, line, sizeof(line));
}

static void tell(const struct nrt_model *model, const char *name, const struct finding *finding,
		 uint32_t more, char *first)
{
	const struct nrt_report *report = &finding->report;
	char who[ACTOR], other[ACTOR] = "", rest[48] = "";

	describe(model, &report->actor, &finding->actor, who);
	if (report->has_other)
		describe(model, &report->other, &finding->other, other);
	if (more)
		snprintf(rest, sizeof(rest), "; the same of %u more descriptors", more);
	say(model ? "nrt_execute" : "nrta_cc_schedule", first, "%s, check %s: %s, %s%s%s: %s%s",
	    name, report->kind, who, report->what, *other ? " the " : "", other, report->where,
	    rest);
}

/* Each once. */
static void tell_all(const struct nrt_model *model, const char *name,
		     const struct nrt_report *reports, uint32_t count, struct finding *findings,
		     char *first)
{
	uint32_t i, k, more;

	for (i = 0; i < count; i++) {
		findings[i].report = reports[i];
		findings[i].actor = find_origin(model, &reports[i].actor);
		if (reports[i].has_other)
			findings[i].other = find_origin(model, &reports[i].other);
	}
	for (i = 0; i < count; i++) {
		if (findings[i].told)
			continue;
		for (k = i + 1, more = 0; k < count; k++) {
			if (!same(&findings[i], &findings[k]))
				continue;
			findings[k].told = true;
			more++;
		}
		tell(model, name, &findings[i], more, first);
	}
}

/* @model: NULL: the job is a collective of its own; @name: what ran. */
static uint32_t tell_job(const struct nrt_model *model, const char *name,
			 const struct nrt_core *core, uint64_t job, char *first)
{
	const struct nrt_device *device = core->device;
	nrt_reports_fn *take = device->backend->reports;
	struct nrt_report *reports;
	struct finding *findings;
	uint32_t count;

	if (!take)
		return 0;
	count = take(device->chip, core->index, job, NULL, 0);
	if (!count)
		return 0;
	reports = calloc(count, sizeof(*reports));
	findings = calloc(count, sizeof(*findings));
	if (reports && findings) {
		count = take(device->chip, core->index, job, reports, count);
		tell_all(model, name, reports, count, findings, first);
	}
	free(findings);
	free(reports);
	return count;
}

uint32_t nrt_checks_tell(const struct nrt_model *model, const struct drm_neuron_wait_job *wait,
			 char first[NRT_ERROR_TEXT])
{
	uint32_t sum = 0;
	char name[128];
	unsigned int i, k;

	snprintf(name, sizeof(name), "model \"%.64s\" on core %u", model->neff->name,
		 model->vcore->number);
	for (i = 0; i < model->nr_parts; i++)
		sum += tell_job(model, name, model->parts[i].core, wait[i].job, first);
	/* A collective may be the one that comes second, and has the report then. */
	for (k = 0; k < model->cc_cores.nr; k++)
		sum += tell_job(model, name, model->cc_cores.core[k], wait[i + k].job, first);
	return sum;
}

void nrt_checks_tell_cc(const struct nrt_core *core, uint64_t job, const char *name)
{
	tell_job(NULL, name, core, job, NULL);
}

static bool tell_output(const struct nrt_model *model, const struct neff_var *var,
			const struct nrt_place *place, char *first)
{
	const struct nrt_device *device = place->bo->device;
	struct nrt_unwritten found = { .count = 0 };
	char rest[64] = "";

	if (device->backend->unwritten)
		device->backend->unwritten(device->chip, place->bo->handle, place->offset,
					   var->size, &found);
	if (!found.count)
		return false;
	if (found.count > found.end - found.first)
		snprintf(rest, sizeof(rest), ", and %llu more",
			 (unsigned long long)(found.count - (found.end - found.first)));
	say("nrt_execute", first,
	    "model \"%.64s\" on core %u, check output: \"%.64s\", of %llu bytes, has bytes that nobody has written: %llu to %llu%s",
	    model->neff->name, model->vcore->number, var->name, (unsigned long long)var->size,
	    (unsigned long long)found.first, (unsigned long long)found.end - 1, rest);
	return true;
}

uint32_t nrt_checks_outputs(const struct nrt_model *model, const struct nrt_binding *binding,
			    char first[NRT_ERROR_TEXT])
{
	const struct neff *neff = model->neff;
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < neff->nr_ios; i++)
		if (neff->ios[i]->type == NEFF_VAR_OUTPUT && neff->ios[i]->size &&
		    binding->places[i].bo)
			sum += tell_output(model, neff->ios[i], &binding->places[i], first);
	return sum;
}
