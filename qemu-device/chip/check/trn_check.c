// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Checks on request: chips, jobs, reports.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/trn_chip.h"
#include "check/trn_check_private.h"
#include "dma/trn_udma.h"
#include "isa/trn_isa.h"
#include "job/trn_job.h"
#include "mem/trn_bus.h"
#include "sync/trn_sem.h"
#include "time/trn_time.h"

#define NAME_MAX_BYTES	64

static const char *const kind_names[TRN_CHECK_KINDS] = {
	[TRN_CHECK_UNWRITTEN]	= "unwritten",
	[TRN_CHECK_BANK]	= "bank",
	[TRN_CHECK_RANGE]	= "range",
	[TRN_CHECK_RACE]	= "race",
};

/* --- Chips --- */

static int init_shadows(struct trn_check *check)
{
	struct trn_chip *chip = check->chip;
	const struct neuron_gen *gen = chip->gen;
	struct trn_shadow *shadow = check->shadow;
	unsigned int i;

	for (i = 0; i < gen->nr_hbm; i++)
		if (trn_shadow_init(shadow++, chip->hbm_size, chip->hbm[i]))
			return -1;
	for (i = 0; i < gen->nr_cores; i++) {
		if (trn_shadow_init(shadow++, NEURON_TPB_SBUF_SIZE, NULL) ||
		    trn_shadow_init(shadow++, NEURON_TPB_PSUM_SIZE, NULL))
			return -1;
	}
	return 0;
}

int trn_check_init(struct trn_chip *chip)
{
	unsigned int nr = chip->gen->nr_hbm + 2 * chip->gen->nr_cores;
	struct trn_check *check;

	if (!chip->config.check_memory)
		return 0;
	check = calloc(1, sizeof(*check) + nr * sizeof(check->shadow[0]));
	if (!check)
		return -1;
	pthread_mutex_init(&check->lock, NULL);
	check->chip = chip;
	check->nr_shadows = nr;
	chip->check = check;
	if (!init_shadows(check))
		return 0;
	trn_check_destroy(chip);
	return -1;
}

void trn_check_destroy(struct trn_chip *chip)
{
	struct trn_check *check = chip->check;
	unsigned int i;

	if (!check)
		return;
	for (i = 0; i < check->nr_shadows; i++)
		trn_shadow_destroy(&check->shadow[i]);
	pthread_mutex_destroy(&check->lock);
	free(check);
	chip->check = NULL;
}

uint64_t trn_check_count(const struct trn_chip *chip, enum trn_check_kind kind)
{
	return chip->check ? atomic_load(&chip->check->reports[kind]) : 0;
}

uint64_t trn_chip_check_reports(const struct trn_chip *chip)
{
	uint64_t sum = 0;
	unsigned int kind;

	for (kind = 0; kind < TRN_CHECK_KINDS; kind++)
		sum += trn_check_count(chip, kind);
	return sum;
}

size_t trn_check_own_bytes(const struct trn_chip *chip)
{
	const struct trn_check *check = chip->check;

	return check ? sizeof(*check) + check->nr_shadows *
						sizeof(check->shadow[0]) : 0;
}

struct trn_shadow *trn_shadow_find(const struct trn_chip *chip,
				   enum trn_place place, unsigned int index)
{
	struct trn_check *check = chip->check;

	if (!check)
		return NULL;
	switch (place) {
	case TRN_PLACE_HBM:
		return &check->shadow[index];
	case TRN_PLACE_SBUF:
		return &check->shadow[chip->gen->nr_hbm + 2 * index];
	case TRN_PLACE_PSUM:
		return &check->shadow[chip->gen->nr_hbm + 2 * index + 1];
	default:
		return NULL;
	}
}

void trn_check_forget(struct trn_chip *chip, unsigned int place,
		      unsigned int index, uint64_t offset, uint64_t len)
{
	struct trn_shadow *shadow = trn_shadow_find(chip, place, index);

	if (shadow)
		trn_shadow_forget(shadow, offset, len);
}

void trn_check_trust(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; chip->check && i < chip->check->nr_shadows; i++)
		trn_shadow_trust(&chip->check->shadow[i]);
}

void trn_check_written(const struct trn_loc *loc, size_t len)
{
	struct trn_shadow *shadow;

	if (!loc->chip->check)
		return;
	shadow = trn_shadow_find(loc->chip, loc->place, loc->index);
	if (shadow)
		trn_shadow_written(shadow, loc->offset, len);
}

void trn_check_unwritten(const struct trn_loc *loc, uint64_t len, struct trn_unwritten *found)
{
	struct trn_shadow *shadow = NULL;

	if (loc->chip->check)
		shadow = trn_shadow_find(loc->chip, loc->place, loc->index);
	if (!shadow)
		return;
	trn_shadow_take(shadow, loc->offset, len, found);
	found->first -= found->count ? loc->offset : 0;
	found->end -= found->count ? loc->offset : 0;
}

/* --- Jobs --- */

static void follow_sems(struct trn_core *core, struct trn_check_job *cj)
{
	pthread_mutex_lock(&core->sems->lock);
	core->sems->check = cj;
	pthread_mutex_unlock(&core->sems->lock);
}

/* Without memory for it the job is not checked. */
void trn_check_job_begin(struct trn_job *job)
{
	struct trn_check *check = job->core->chip->check;
	unsigned int nr = TRN_ACTOR_QUEUE + job->nr_queues;
	struct trn_check_job *cj;

	if (!check)
		return;
	cj = calloc(1, sizeof(*cj) + nr * sizeof(cj->actor[0]));
	if (!cj)
		return;
	cj->check = check;
	cj->job = job;
	cj->nr_actors = nr;
	if (!trn_check_group_join(cj)) {
		free(cj);
		return;
	}
	pthread_mutex_init(&cj->lock, NULL);
	job->check = cj;
	follow_sems(job->core, cj);
}

void trn_check_job_run(struct trn_job *job)
{
	if (job->check)
		trn_check_group_run(job->check);
}

void trn_check_job_end(struct trn_job *job)
{
	struct trn_check_job *cj = job->check;

	if (!cj)
		return;
	follow_sems(job->core, NULL);
	job->check = NULL;
	trn_check_sync_destroy(cj);
	trn_check_group_leave(cj);
	pthread_mutex_destroy(&cj->lock);
	free(cj);
}

struct trn_check_actor *trn_check_actor(const struct trn_job *job,
					unsigned int index)
{
	return job->check ? &job->check->actor[index] : NULL;
}

void trn_check_at(struct trn_check_actor *actor, uint32_t pc, uint32_t debug)
{
	if (!actor)
		return;
	actor->pc = pc;
	actor->debug = debug;
}

/* --- Reports --- */

/* True when there has been no such report of the job; there has been one now. */
static bool first_time(struct trn_check_job *cj, uint64_t key)
{
	bool first;
	unsigned int i;

	pthread_mutex_lock(&cj->lock);
	for (i = 0; i < cj->nr_reported && cj->reported[i] != key; i++)
		;
	first = i == cj->nr_reported && i < TRN_CHECK_REPORTS;
	if (first)
		cj->reported[cj->nr_reported++] = key;
	pthread_mutex_unlock(&cj->lock);
	return first;
}

static void place_text(char *text, size_t size, const struct trn_check_actor *actor,
		       const struct trn_check_place *place)
{
	const struct trn_chip *chip = actor->job->check->chip;
	uint64_t stride = place->place == TRN_PLACE_PSUM ?
				  NEURON_TPB_PSUM_STRIDE :
				  NEURON_TPB_SBUF_STRIDE;
	int n = 0;

	if (place->chip != chip)
		n = snprintf(text, size, "fabric chip %u ",
			     place->chip->config.fabric_id);
	if (place->place == TRN_PLACE_HBM)
		snprintf(text + n, size - (size_t)n, "HBM %u offset 0x%" PRIx64,
			 place->index, place->offset);
	else
		snprintf(text + n, size - (size_t)n,
			 "%s of core %u partition %u offset 0x%" PRIx64,
			 place->place == TRN_PLACE_PSUM ? "PSUM" : "SBUF",
			 place->index, (unsigned int)(place->offset / stride),
			 place->offset % stride);
}

static struct trn_report_actor describe(const struct trn_check_group *group, unsigned int actor,
					uint32_t pc)
{
	struct trn_report_actor who = group->who[actor];

	who.pc = pc;
	return who;
}

static void actor_text(char *text, size_t size, const struct trn_report_actor *actor)
{
	if (actor->source == NEURON_SOURCE_DMA)
		snprintf(text, size, "DMA engine %u queue %u at %s %u", actor->dma_engine,
			 actor->queue,
			 actor->pc & NEURON_UDMA_PC_GENERATED ? "generated packet" :
								"descriptor",
			 actor->pc & ~NEURON_UDMA_PC_GENERATED);
	else
		snprintf(text, size, "%s engine at instruction %u",
			 trn_isa_engine_name(actor->source), actor->pc);
}

static void log_report(const struct trn_check_job *cj, const struct trn_report *report,
		       uint32_t debug)
{
	const bool elsewhere = report->other && report->other->unit != report->unit;
	const char *core_name = elsewhere ? cj->check->chip->core[report->other->unit].name : "";
	char who[NAME_MAX_BYTES], other[2 * NAME_MAX_BYTES] = "", line[24] = "";
	int n;

	actor_text(who, sizeof(who), &report->actor);
	if (debug)
		snprintf(line, sizeof(line), " (line %u)", debug);
	if (report->other) {
		n = snprintf(other, sizeof(other), " %s%s", core_name, elsewhere ? " " : "");
		actor_text(other + n, sizeof(other) - (size_t)n, report->other);
	}
	trn_log(cj->check->chip, TRN_LOG_WARN, "check %s: %s %s%s %s%s: %s", report->kind,
		cj->job->core->name, who, line, report->what, other, report->where);
}

void trn_check_report(struct trn_check_actor *actor, enum trn_check_kind kind,
		      const struct trn_check_place *place, const char *what,
		      const struct trn_race *race)
{
	struct trn_check_job *cj = actor->job;
	struct trn_chip *chip = cj->check->chip;
	uint64_t key = (uint64_t)kind << 48 | (uint64_t)actor->index << 32 |
		       actor->pc;
	struct trn_report_actor other;
	char where[NAME_MAX_BYTES];
	struct trn_report report = {
		.unit = cj->job->core->index,
		.job_id = cj->job->block.job_id,
		.kind = kind_names[kind],
		.actor = describe(cj->group, actor->index, actor->pc),
		.what = what,
		.where = where,
	};

	if (!first_time(cj, key))
		return;
	atomic_fetch_add(&cj->check->reports[kind], 1);
	place_text(where, sizeof(where), actor, place);
	if (race) {
		other = describe(cj->group, trn_race_actor(race), trn_race_pc(race));
		report.other = &other;
	}
	if (chip->port->report)
		chip->port->report(chip->opaque, &report);
	else
		log_report(cj, &report, actor->debug);
}
