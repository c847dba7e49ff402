// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/state.h"
#include "backend/embedded/emb.h"
#include "cc_call.h"
#include "cc_trial.h"
#include "must.h"
#include "neuron/isa.h"
#include "trn/fabric.h"
#include "trn/fault.h"

/* Of a fault that has had no opportunity. */
#define MOST_TRIES	20
#define GRACE_MS	1000	/* beyond the limit */
#define BAD_PLACES	16	/* of an input */
#define MAX_COUNT	3000

static struct trn_chip *chip_of(const struct trial_rank *rank)
{
	return rank->vcore->device->chip->chip;
}

/* --- Faults --- */

/* @text with what the words with an @ stand for. */
static void expand(const struct trial_rank *rank, const char *text, unsigned int place, char *order,
		   size_t size)
{
	const struct nrt_chip *chip = rank->vcore->device->chip;
	const struct emb_core *cc = &chip->core[rank->vcore->cc->index];
	const struct emb_bo *input = rank->bo[0] ? chip->bo[rank->bo[0]->handle - 1] : NULL;
	uint64_t length = rank->trial->task.plan->bytes[NRT_PLAN_INPUT];
	const struct { const char *word; uint64_t value; } words[] = {
		{ "@cc", cc->index - NEURON_MAX_CORES },
		{ "@cause", chip->regs + cc->regs + NEURON_CORE_CAUSE },
		{ "@stack", input ? input->stack : 0 },
		{ "@input", input ? input->piece->offset + length * place / BAD_PLACES : 0 },
	};
	size_t used = 0, i;

	while (*text && used < size - 24) {
		/* The longer of two that begin alike. */
		for (i = sizeof(words) / sizeof(words[0]); i-- > 0;)
			if (!strncmp(text, words[i].word, strlen(words[i].word)))
				break;
		if (i < sizeof(words) / sizeof(words[0])) {
			used += (size_t)snprintf(order + used, size - used, "%llu",
						 (unsigned long long)words[i].value);
			text += strlen(words[i].word);
		} else {
			order[used++] = *text++;
		}
	}
	order[used] = '\0';
}

static void give(struct trial *trial, const char *text)
{
	char why[TRN_FAULT_WHY];

	if (trn_fault_order(chip_of(trial_victim(trial)), text, why))
		trial_wrong(trial, "%s: %s", text, why);
}

/* @text, with what is said of its opportunities behind it. */
static void give_expanded(struct trial *trial, const char *text, const char *when)
{
	unsigned int i, nr = strstr(text, "@input") ? BAD_PLACES : 1;
	char order[TRN_FAULT_TEXT], whole[TRN_FAULT_TEXT + 64];

	for (i = 0; i < nr; i++) {
		expand(trial_victim(trial), text, i, order, sizeof(order));
		snprintf(whole, sizeof(whole), "%s%s", order, when);
		give(trial, whole);
	}
}

static void set_links(struct trial *trial, const char *state)
{
	struct nrt_chip *chip = trial_victim(trial)->vcore->device->chip;
	unsigned int other, nr = 0;
	const char *why;
	char text[64];

	for (other = 0; other < chip->machine->nr_chips; other++) {
		snprintf(text, sizeof(text), "%u-%u=%s", chip->index, other, state);
		nr += other != chip->index &&
		      !trn_fabric_set_links(chip->machine->fabric, text, &why);
	}
	if (!nr)
		trial_wrong(trial, "the chip has no link that could be %s", state);
}

/* How often is the call made by a collective that is the first one of its world? */
static uint64_t calls(struct trial *trial)
{
	struct nrt_device *device = trial_victim(trial)->vcore->device;

	trial_join(trial, "a world before the fault");
	cc_call_refuse(device, trial->cell->row->order, UINT64_MAX);
	trial_well(trial, "before the fault");
	return cc_call_allow(device);
}

/* How often could it strike in one collective? */
static uint64_t opportunities(struct trial *trial)
{
	struct trn_fault_status status = { .opportunities = 0 };

	if (trial->cell->row->what == CELL_CALL)
		return calls(trial);
	give_expanded(trial, trial->cell->row->order, ",skip=1000000000000");
	trial_well(trial, "before the fault");
	trn_fault_read(chip_of(trial_victim(trial)), 0, &status);
	give(trial, "clear");
	return status.opportunities;
}

/* Has each rule struck? */
static bool has_struck(struct trial *trial)
{
	struct trn_fault_status status;
	unsigned int n;

	for (n = 0; trn_fault_read(chip_of(trial_victim(trial)), n, &status); n++)
		if (!status.strikes)
			return false;
	return true;
}

static bool all_are_well(const struct trial *trial)
{
	unsigned int i;

	for (i = 0; i < trial->cell->ranks; i++)
		if (trial->rank[i].status || trial->rank[i].wrong)
			return false;
	return true;
}

static void strike_by_rule(struct trial *trial)
{
	const struct cell_row *row = trial->cell->row;
	unsigned int tries = 0;
	char when[64] = "";

	for (;; trial->cell->skip /= 2) {
		give(trial, "clear");
		trial_fill(trial);
		if (row->counted)
			snprintf(when, sizeof(when), ",skip=%llu,count=1",
				 (unsigned long long)trial->cell->skip);
		if (row->also)
			give_expanded(trial, row->also, "");
		give_expanded(trial, row->order, when);
		trial_collective(trial);
		/*
		 * How many opportunities there are may depend on the speed of ranks: a job that is
		 * over soon needs no interrupt.
		 */
		if (has_struck(trial) || !all_are_well(trial))
			return;
		if (!trial->cell->skip && ++tries == MOST_TRIES)
			break;
	}
	trial_wrong(trial, "the fault has not struck");
}

static void *change_links(void *arg)
{
	struct trial *trial = arg;
	uint64_t until = trial_now_ms() + TRIAL_LIMIT_MS / 2;

	while (!has_struck(trial) && trial_now_ms() < until)
		usleep(100);
	set_links(trial, trial->cell->row->order);
	return NULL;
}

/* The packets of the chip are so slow that the links change between two of them. */
static void strike_links(struct trial *trial)
{
	pthread_t thread;

	trial_fill(trial);
	give(trial, "dma-late,delay=3ms");
	must_start(&thread, change_links, trial);
	trial_collective(trial);
	pthread_join(thread, NULL);
}

static void strike_call(struct trial *trial)
{
	struct nrt_device *device = trial_victim(trial)->vcore->device;

	trial_join(trial, "a world for the fault");
	trial_fill(trial);
	cc_call_refuse(device, trial->cell->row->order, trial->cell->skip);
	trial_collective(trial);
	if (cc_call_allow(device) <= trial->cell->skip)
		trial_wrong(trial, "the fault has not struck");
}

static void strike(struct trial *trial)
{
	struct cell *cell = trial->cell;
	uint64_t begin = trial_now_ms();

	trial->strikes = true;
	switch (cell->row->what) {
	case CELL_FAULT:
		strike_by_rule(trial);
		break;
	case CELL_LINK:
		strike_links(trial);
		break;
	case CELL_CALL:
		strike_call(trial);
		break;
	case CELL_NO_LINK:
		trial_fill(trial);
		set_links(trial, cell->row->order);
		trial_collective(trial);
		break;
	default:
		trial_fill(trial);
		/* What is killed must not have ended before. */
		if (cell->row->what == CELL_KILLED)
			give(trial, "dma-late,delay=1s");
		trial_collective(trial);
	}
	trial->strikes = false;
	cell->ms = (unsigned int)(trial_now_ms() - begin);
}

/* --- What must become of the ranks --- */

static bool is_link(enum cell_what what)
{
	return what == CELL_LINK || what == CELL_NO_LINK;
}

static bool may_fail_so(const struct cell_row *row, NRT_STATUS status)
{
	unsigned int i;

	for (i = 0; i < CELL_STATUSES; i++)
		if (status && row->status[i] == status)
			return true;
	return false;
}

/* Does the line name the rank that fails, or who waits in a chain of ranks that ends with it? */
static bool names(const struct trial *trial, const struct trial_rank *rank)
{
	enum cell_what what = trial->cell->row->what;
	char text[32];

	snprintf(text, sizeof(text), "rank %u", trial->cell->victim);
	if (strstr(rank->error.text, text))
		return true;
	if (what == CELL_ODD_ORDER || what == CELL_ODD_GROUP)
		return strstr(rank->error.text, "for rank ");
	if (is_link(what))
		return strstr(rank->error.text, "rank ");
	return rank->status == NRT_TIMEOUT && strstr(rank->error.text, "waits for rank ");
}

/*
 * Does the line say what the row wants, or whom the rank waits for? A packet that was late and got
 * lost has no address any more. If its length was in memory, nobody knows its step.
 */
static bool tells(const struct cell_row *row, const struct trial_rank *rank)
{
	unsigned int i;

	if (strstr(rank->error.text, "waits for rank ") ||
	    strstr(rank->error.text, "in a packet of a length from memory"))
		return true;
	for (i = 0; i < CELL_SAYS && row->says[i]; i++)
		if (!strstr(rank->error.text, row->says[i]))
			return false;
	return true;
}

static void judge_rank(struct trial *trial, const struct trial_rank *rank, const char *when)
{
	const struct cell_row *row = trial->cell->row;
	unsigned int most = TRIAL_LIMIT_MS + GRACE_MS;

	if (trial_is_victim(rank) && row->what == CELL_TOO_LATE)
		most += TRIAL_TOO_LATE_MS;
	if (rank->status && !may_fail_so(row, rank->status))
		trial_wrong(trial, "%s: rank %u of %u failed (%d): %s", when, rank->number,
			    trial->cell->ranks, rank->status, rank->error.text);
	else if (rank->wrong)
		trial_wrong(trial, "%s: rank %u of %u has wrong bits", when, rank->number,
			    trial->cell->ranks);
	else if (rank->ms > most)
		trial_wrong(trial, "%s: rank %u needed %u ms", when, rank->number, rank->ms);
	else if (rank->status && !may_fail_so(row, NRT_TIMEOUT) && rank->ms >= TRIAL_LIMIT_MS)
		trial_wrong(trial, "%s: rank %u was told after %u ms", when, rank->number,
			    rank->ms);
	else if (rank->status && !names(trial, rank))
		trial_wrong(trial, "%s: rank %u was not told who: %s", when, rank->number,
			    rank->error.text);
	else if (rank->status && !tells(row, rank))
		trial_wrong(trial, "%s: rank %u was not told where: %s", when, rank->number,
			    rank->error.text);
}

static bool takes_part(const struct trial *trial, const struct trial_rank *rank)
{
	enum cell_what what = trial->cell->row->what;

	return !trial_is_victim(rank) || (what != CELL_GONE && what != CELL_LEAVES);
}

static unsigned int judge(struct trial *trial, const char *when)
{
	struct trial_rank *rank;
	unsigned int nr = 0;

	for (rank = trial->rank; rank < trial->rank + trial->cell->ranks; rank++) {
		if (!takes_part(trial, rank))
			continue;
		judge_rank(trial, rank, when);
		if (!rank->status)
			continue;
		/* Of the collective that failed first. */
		if (!nr++ && !trial_is_wrong(trial) && !trial->cell->status) {
			trial->cell->status = rank->status;
			snprintf(trial->cell->text, sizeof(trial->cell->text), "%s",
				 rank->error.text);
		}
	}
	return nr;
}

/*
 * The rank fails. Nothing has begun, and the world goes on; or it fails for all ranks, also those
 * that had ended well by then.
 */
static void judge_call(struct trial *trial)
{
	unsigned int failed;

	judge(trial, "with the fault");
	if (trial_is_wrong(trial))
		return;
	trial->cell->verdict = CELL_FAILED;
	if (!trial_victim(trial)->status)
		trial_wrong(trial, "rank %u ended well", trial->cell->victim);
	trial_fill(trial);
	trial_collective(trial);
	failed = judge(trial, "after the fault");
	if (failed && failed != trial->cell->ranks)
		trial_wrong(trial, "only %u of %u ranks know of the failure", failed,
			    trial->cell->ranks);
}

/* After a failure all ranks fail at once, also those that had ended well by then. */
static void judge_all(struct trial *trial)
{
	const struct cell_row *row = trial->cell->row;
	unsigned int failed = judge(trial, "with the fault"), must = trial->cell->ranks, i;
	bool absent = !takes_part(trial, trial_victim(trial));

	if (trial_is_wrong(trial))
		return;
	if (!row->status[0] || (row->may_pass && !failed)) {
		trial->cell->verdict = CELL_RIGHT;
		return;
	}
	trial->cell->verdict = CELL_FAILED;
	if (row->agree) {
		if (failed != must)
			trial_wrong(trial, "only %u of %u ranks failed", failed, must);
		return;
	}
	if (!is_link(row->what) && !absent && !trial_victim(trial)->status)
		trial_wrong(trial, "rank %u ended well", trial->cell->victim);
	if (absent && failed != must - 1)
		trial_wrong(trial, "only %u of %u ranks failed", failed, must - 1);
	trial_victim(trial)->absent = absent;
	trial_collective(trial);
	for (i = 0; i < trial->cell->ranks; i++)
		if (!trial->rank[i].absent && !trial->rank[i].status)
			trial_wrong(trial, "rank %u does not know of the failure", i);
	judge(trial, "after the fault");
	trial_victim(trial)->absent = false;
}

/* --- Cells --- */

static void choose(struct trial *trial)
{
	static const unsigned int dtypes[] = {
		NEURON_DTYPE_FP32, NEURON_DTYPE_BF16, NEURON_DTYPE_INT8, NEURON_DTYPE_UINT16,
	};
	struct cell *cell = trial->cell;

	cell->ranks = 2 + (unsigned int)(trial_next(trial) % (TRIAL_RANKS - 1));
	/* A group of two has only one order, and no smaller one with two. */
	if (cell->ranks == 2 &&
	    (cell->row->what == CELL_ODD_GROUP || cell->row->what == CELL_ODD_ORDER))
		cell->ranks = 3;
	cell->victim = (unsigned int)(trial_next(trial) % cell->ranks);
	cell->dtype = cell->op == NRT_PLAN_BARRIER ? 0 : dtypes[trial_next(trial) % 4];
	cell->count = cell->op == NRT_PLAN_BARRIER ? 0 : 1 + trial_next(trial) % MAX_COUNT;
}

/* What the rank that fails asks for in place of @task. */
static struct trial_task odd_of(struct trial *trial)
{
	struct trial_task task = trial->task;

	task.plan = NULL;
	switch (trial->cell->row->what) {
	case CELL_ODD_SIZE:
		task.ask.count++;
		break;
	case CELL_ODD_TYPE:
		task.ask.dtype = task.ask.dtype == NEURON_DTYPE_FP16 ? NEURON_DTYPE_BF16 :
				 NEURON_DTYPE_FP16;
		break;
	case CELL_ODD_REDUCTION:
		task.ask.reduce = task.ask.reduce == NRT_PLAN_MAX ? NRT_PLAN_MIN : NRT_PLAN_MAX;
		break;
	case CELL_ODD_OPERATION:
		task = trial_task_of(task.ask.op == NRT_PLAN_ALL_TO_ALL ? NRT_PLAN_ALL_GATHER :
			       NRT_PLAN_ALL_TO_ALL, NEURON_DTYPE_FP32, 100, trial->cell->ranks);
		break;
	case CELL_ODD_PLACE:
		task.ask.in_place = true;
		break;
	case CELL_ODD_ROOT:
		task.ask.root = (task.ask.root + 1) % trial->cell->ranks;
		break;
	default:
		break;
	}
	return task;
}

static bool is_odd(enum cell_what what)
{
	return what >= CELL_ODD_SIZE;
}

static void make_tasks(struct trial *trial)
{
	static const char *const algorithms[] = { NULL, "ring", "mesh", "rdh" };
	struct cell *cell = trial->cell;
	struct trial_task *task = &trial->task;
	const char *algorithm = NULL;

	*task = trial_task_of(cell->op, cell->dtype, cell->count, cell->ranks);
	if (nrt_plan_reduces(cell->op))
		task->ask.reduce = NRT_PLAN_ADD + trial_next(trial) % 3;
	/* Pairs that a smaller group can have, too. */
	if (cell->row->what == CELL_ODD_GROUP && cell->op == NRT_PLAN_PERMUTE)
		task->ask.nr_pairs = 1;
	/* Only the input of the root is read. */
	if (cell->op == NRT_PLAN_BROADCAST && cell->row->what != CELL_ODD_GROUP)
		task->ask.root = cell->victim;
	/* What an odd rank asks for, others may not be able to do. */
	if (!is_odd(cell->row->what))
		algorithm = algorithms[trial_next(trial) % 4];
	if (!trial_plan(trial, task, algorithm) && !trial_plan(trial, task, NULL))
		trial_wrong(trial, "there is no plan");
	/* The first block has all the elements that it can have. */
	trial->data = cell->ranks * (trial_next(trial) % 1000);
	/* Those of an odd group ask for the same. */
	if (!cell->row->agree || trial_is_wrong(trial))
		return;
	trial->odd = odd_of(trial);
	if (!trial_plan(trial, &trial->odd, NULL))
		trial_wrong(trial, "there is no plan for the odd rank");
}

static bool setup(struct trial *trial)
{
	struct cell *cell = trial->cell;
	struct trial_rank *rank;
	unsigned int i;
	NRT_STATUS status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
	uint32_t cores = 0;

	if (!status)
		trial->state = nrt_enter("matrix", &status);
	if (status) {
		trial_wrong(trial, "nrt_init() failed (%d)", status);
		return false;
	}
	nrt_get_visible_vnc_count(&cores);
	choose(trial);
	for (i = 0; i < cell->ranks; i++) {
		rank = &trial->rank[i];
		*rank = (struct trial_rank){ .trial = trial, .number = i, .place = i };
		rank->vcore = nrt_machine_vcore(&trial->state->machine, i * (cores / TRIAL_RANKS),
						&rank->error);
	}
	make_tasks(trial);
	return true;
}

static void teardown(struct trial *trial)
{
	trial_leave(trial);
	if (trial->state)
		nrt_leave(trial->state);
	nrt_close();
}

/* The others go on with a smaller group, whatever the fault does meanwhile. */
static void survive(struct trial *trial)
{
	struct cell *cell = trial->cell;

	if (trial_is_wrong(trial))
		return;
	trial_victim(trial)->absent = true;
	trial_task_fini(&trial->task);
	trial->task = trial_task_of(NRT_PLAN_ALL_REDUCE, NEURON_DTYPE_FP32, cell->count + 100,
				    cell->ranks - 1);
	trial_plan(trial, &trial->task, NULL);
	trial_join(trial, "a world of the others");
	trial_well(trial, "in a smaller group");
	trial_victim(trial)->absent = false;
}

/* All of them, when what failed is as before. */
static void recover(struct trial *trial)
{
	struct cell *cell = trial->cell;

	if (trial_is_wrong(trial))
		return;
	give(trial, "clear");
	if (is_link(cell->row->what))
		set_links(trial, "up");
	if (cell->row->stays)
		return;
	trial_task_fini(&trial->task);
	trial->task = trial_task_of(cell->op, cell->dtype, cell->count, cell->ranks);
	trial_plan(trial, &trial->task, NULL);
	trial_join(trial, "a new world of all");
	trial_well(trial, "when all is well again");
}

static void try_it(struct trial *trial)
{
	struct cell *cell = trial->cell;
	unsigned int tries = 0;

	trial_join(trial, "a world");
	trial_well(trial, "the first time");
	if (!trial_is_wrong(trial) && cell->row->counted) {
		/* That there is none may be by chance, too: see strike_by_rule(). */
		while (!cell->opportunities && !trial_is_wrong(trial) && tries++ < MOST_TRIES)
			cell->opportunities = opportunities(trial);
		if (!cell->opportunities && !trial_is_wrong(trial)) {
			cell->verdict = CELL_NOT_THERE;
			return;
		}
		cell->skip = cell->opportunities ? trial_next(trial) % cell->opportunities : 0;
	}
	if (trial_is_wrong(trial))
		return;
	strike(trial);
	if (cell->row->what == CELL_CALL)
		judge_call(trial);
	else
		judge_all(trial);
	if (cell->row->agree)
		trial_well(trial, "when they agree");
	survive(trial);
	recover(trial);
}

void cell_run(struct cell *cell)
{
	struct trial *trial = must_allocate(sizeof(*trial));

	trial->cell = cell;
	trial->random = (cell->seed + 1) * 0x9e3779b97f4a7c15u;
	if (setup(trial) && !trial_is_wrong(trial))
		try_it(trial);
	teardown(trial);
	free(trial);
}
