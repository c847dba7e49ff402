// SPDX-License-Identifier: MIT
/*
 * Errors that the checks on request have found in programs (Documentation/hardware/check.rst).
 * Workers of the chips report them; they are kept until who has run the job takes them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/embedded/emb.h"

/* Reports of a chip that are kept; a job has 256 at most. */
#define MOST	4096

/**
 * struct emb_report - a report, and of which job it is
 * @next: the next one, which came later
 */
struct emb_report {
	struct emb_report *next;
	uint32_t unit;
	uint64_t job;
	struct nrt_report report;
};

NRT_STATUS emb_check_wanted(bool *wanted, struct nrt_error *error)
{
	const char *text = getenv("NEURON_EMU_CHECK");

	*wanted = text && !strcmp(text, "memory");
	if (!text || !*text || *wanted)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "NEURON_EMU_CHECK=\"%.40s\": use memory", text);
}

static struct nrt_report_actor actor_of(const struct trn_report_actor *actor)
{
	return (struct nrt_report_actor){
		.unit = actor->unit,
		.source = actor->source,
		.dma_engine = actor->dma_engine,
		.queue = actor->queue,
		.pc = actor->pc,
	};
}

void emb_check_report(struct nrt_chip *chip, const struct trn_report *report)
{
	struct emb_report *kept = calloc(1, sizeof(*kept)), **end;

	if (!kept)
		return;
	kept->unit = report->unit;
	kept->job = report->job_id;
	kept->report.actor = actor_of(&report->actor);
	kept->report.has_other = report->other;
	if (report->other)
		kept->report.other = actor_of(report->other);
	snprintf(kept->report.kind, sizeof(kept->report.kind), "%s", report->kind);
	snprintf(kept->report.what, sizeof(kept->report.what), "%s", report->what);
	snprintf(kept->report.where, sizeof(kept->report.where), "%s", report->where);
	pthread_mutex_lock(&chip->report_lock);
	for (end = &chip->report; *end; end = &(*end)->next)
		;
	if (chip->nr_reports < MOST) {
		chip->nr_reports++;
		*end = kept;
		kept = NULL;
	}
	pthread_mutex_unlock(&chip->report_lock);
	free(kept);
}

uint32_t emb_reports(struct nrt_chip *chip, uint32_t core, uint64_t job,
		     struct nrt_report *reports, uint32_t room)
{
	struct emb_report **at = &chip->report, *found;
	uint32_t count = 0;

	if (!chip->machine->check)
		return 0;
	pthread_mutex_lock(&chip->report_lock);
	while (*at && (count < room || !room)) {
		found = *at;
		if (found->unit == core && found->job == job)
			count++;
		if (found->unit != core || found->job != job || !room) {
			at = &found->next;
			continue;
		}
		reports[count - 1] = found->report;
		*at = found->next;
		chip->nr_reports--;
		free(found);
	}
	pthread_mutex_unlock(&chip->report_lock);
	return count;
}

void emb_reports_forget(struct nrt_chip *chip, uint32_t core)
{
	struct emb_report **at = &chip->report, *found;

	pthread_mutex_lock(&chip->report_lock);
	while (*at) {
		found = *at;
		if (found->unit != core) {
			at = &found->next;
			continue;
		}
		*at = found->next;
		chip->nr_reports--;
		free(found);
	}
	pthread_mutex_unlock(&chip->report_lock);
}

void emb_check_destroy(struct nrt_chip *chip)
{
	struct emb_report *report;

	while (chip->report) {
		report = chip->report;
		chip->report = report->next;
		free(report);
	}
}
