// SPDX-License-Identifier: MIT
/*
 * Instructions that are done piece by piece: where they are cut changes nothing, a piece is
 * short, and others are served meanwhile.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec_rig.h"
#include "num_util.h"
#include "resume_shapes.h"
#include "state_rig.h"
#include "exec/trn_exec.h"
#include "num/trn_num.h"
#include "rounds.h"

/**
 * struct side - a chip that runs an instruction
 * @runs: of its tasks
 * @cuts: runs after which the instruction was cut
 * @time: of the device; of the runs that were measured
 */
struct side {
	struct seq_rig *rig;
	struct neuron_hw_completion record;
	uint64_t time;
	unsigned int runs;
	unsigned int cuts;
};

static struct seq_rig *rig_new(const struct neuron_gen *gen)
{
	struct seq_rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	seq_rig_init(rig, gen, TRN_POOL_STEPPED, 1, true);
	rig->chip[0]->config.more_operators = true;
	return rig;
}

static void rig_stop(struct seq_rig *rig)
{
	trn_chip_stop(rig->chip[0]);
	while (trn_pool_step(rig->pool, 64))
		;
	fake_chip_stop(rig->chip[0]);
}

static void rig_free(struct seq_rig *rig)
{
	rig_stop(rig);
	seq_rig_destroy(rig);
	free(rig);
}

static struct seq_job *submit(struct seq_rig *rig, unsigned int core,
			      const struct resume_shape *shape)
{
	struct seq_job *job = malloc(sizeof(*job));

	assert_non_null(job);
	seq_job_init(job, rig, 0, core);
	if (shape->load.opcode)
		seq_add(job, shape->engine, shape->load);
	seq_add(job, shape->engine, shape->inst);
	seq_add(job, shape->engine, OP(HALT, 0));
	seq_submit(job);
	return job;
}

static const struct trn_resume *place_of(struct seq_rig *rig, const struct resume_shape *shape)
{
	return &seq_core(rig, 0, 0)->seq[shape->engine].resume;
}

/* One task; @calls: as trn_budget.max_calls. False: nothing is left to do. */
static bool step(struct side *side, const struct resume_shape *shape, unsigned int calls)
{
	struct trn_budget budget = { .max_calls = calls };

	if (!trn_pool_step_with(side->rig->pool, &budget))
		return false;
	side->runs++;
	side->cuts += place_of(side->rig, shape)->cut;
	return true;
}

static void run_all(struct side *side, const struct resume_shape *shape, unsigned int calls)
{
	while (step(side, shape, calls))
		;
}

static void finish(struct side *side, struct seq_job *job)
{
	side->record = seq_wait(job);
	side->time = trn_chip_mmio_read(side->rig->chip[0],
					neuron_ctl_bar0(side->rig->chip[0]->gen) +
					NEURON_CTL_TIME, 8);
	free(job);
}

/* The part that begins in the first cell, if there is one; nobody sees the rest. */
static void expect_same_array(struct trn_pe_array *x, struct trn_pe_array *y)
{
	const struct trn_part *part = &x->part[0];
	unsigned int k;

	for (k = 0; part->kind && k < part->k * trn_part_depth(part); k++)
		assert_memory_equal(x->weight[k], y->weight[k], part->m * sizeof(float));
	for (k = 0; part->kind == TRN_PART_SPARSE && k < part->k; k++)
		assert_memory_equal(x->tag[k], y->tag[k], part->m);
}

static void expect_same_lanes(struct trn_lanes *x, struct trn_lanes *y)
{
	assert_memory_equal(x->vector_acc, y->vector_acc, sizeof(x->vector_acc));
	assert_memory_equal(x->scalar_acc, y->scalar_acc, sizeof(x->scalar_acc));
	assert_int_equal(x->vector_seeded, y->vector_seeded);
	assert_int_equal(x->gpsimd_seeded, y->gpsimd_seeded);
	if (x->vector_seeded)
		assert_memory_equal(x->vector_rng, y->vector_rng, sizeof(x->vector_rng));
	if (x->gpsimd_seeded)
		assert_memory_equal(x->gpsimd_rng, y->gpsimd_rng, sizeof(x->gpsimd_rng));
}

static void expect_same(const struct side *a, const struct side *b, const char *name,
			enum resume_how how, const char *what)
{
	struct trn_core *x = seq_core(a->rig, 0, 0), *y = seq_core(b->rig, 0, 0);
	unsigned int p;

	if (memcmp(&a->record, &b->record, sizeof(a->record)) || a->time != b->time)
		fail_msg("%s (%u, %s): cause %u, not %u, or another time", name, how, what,
			 b->record.cause, a->record.cause);
	for (p = 0; p < RESUME_PARTITIONS; p++)
		if (memcmp(seq_sbuf(x, p, 0), seq_sbuf(y, p, 0), RESUME_BYTES) ||
		    memcmp(seq_psum(x, p, 0), seq_psum(y, p, 0), 16384))
			fail_msg("%s (%u, %s): partition %u differs", name, how, what, p);
	expect_same_lanes(x->lanes, y->lanes);
	assert_memory_equal(x->array->part, y->array->part, sizeof(x->array->part));
	expect_same_array(x->array, y->array);
	assert_false(x->seq[0].resume.cut || y->seq[1].resume.cut);
}

static void refill(struct side *side)
{
	resume_fill(side->rig);
	side->runs = 0;
	side->cuts = 0;
}

/* In the middle of the instruction the chip is saved, and another one goes on. */
static void move(struct side *side, const struct resume_shape *shape, unsigned int cuts)
{
	struct seq_rig *to = rig_new(side->rig->chip[0]->gen);
	struct stream stream = { 0 };
	const char *why;

	while (side->cuts < cuts)
		assert_true(step(side, shape, 1));
	rig_stop(side->rig);
	rig_stop(to);
	stream_put_chip(&stream, side->rig->chip[0]);
	memcpy(to->port[0].host, side->rig->port[0].host, side->rig->port[0].host_size);
	if (!stream_get_chip(&stream, to->chip[0], &why))
		fail_msg("not loaded: %s", why);
	assert_int_equal(stream.at, stream.len);
	stream_free(&stream);
	trn_chip_resume(to->chip[0]);
	rig_free(side->rig);
	side->rig = to;
}

/* True when the chip was moved in the middle of the instruction. */
static bool compare(struct side side[3], const struct trn_isa *isa, enum resume_how how,
		    const struct resume_shape *shape)
{
	struct seq_job *job[3];
	unsigned int i;
	bool cut;

	for (i = 0; i < 3; i++) {
		refill(&side[i]);
		job[i] = submit(side[i].rig, 0, shape);
	}
	run_all(&side[0], shape, INT_MAX);
	finish(&side[0], job[0]);
	if (how == RESUME_APART && side[0].record.status != NEURON_JOB_OK)
		fail_msg("%s: cause %u at %u", isa->name, side[0].record.cause,
			 side[0].record.pc);
	run_all(&side[1], shape, 1);
	finish(&side[1], job[1]);
	expect_same(&side[0], &side[1], isa->name, how, "cut");
	cut = side[1].cuts && (how == RESUME_OVER || how == RESUME_INDEX);
	if (cut)
		move(&side[2], shape, (side[1].cuts + 1) / 2);
	job[2]->rig = side[2].rig;
	run_all(&side[2], shape, 1);
	finish(&side[2], job[2]);
	expect_same(&side[0], &side[2], isa->name, how, "saved and loaded");
	return cut;
}

static void compare_all(const struct neuron_gen *gen)
{
	struct side side[3] = { 0 };
	unsigned int shapes = 0, cut = 0, how, i;
	const struct trn_isa *isa;
	struct resume_shape shape;

	for (i = 0; i < 3; i++)
		side[i].rig = rig_new(gen);
	for (i = 0; (isa = trn_isa_row(i)); i++)
		for (how = 0; how < RESUME_HOWS; how++)
			if (resume_shape(gen, isa, how, false, &shape)) {
				shapes++;
				cut += compare(side, isa, how, &shape);
			}
	print_message("%u shapes, %u of them saved in the middle\n", shapes, cut);
	assert_true(cut > shapes / 4);
	for (i = 0; i < 3; i++)
		rig_free(side[i].rig);
}

static void where_it_is_cut_changes_nothing_v2(void **state)
{
	(void)state;
	compare_all(&neuron_gen_trn1);
}

static void where_it_is_cut_changes_nothing_v3(void **state)
{
	(void)state;
	compare_all(&neuron_gen_trn2);
}

static void where_it_is_cut_changes_nothing_v4(void **state)
{
	(void)state;
	compare_all(&neuron_gen_trn3);
}

/* --- pieces --- */

/* More than this is not done without a look at the clock: half of a budget on the slowest host. */
#define WORK_MOST	(5 * TRN_BUDGET_WORK)

/*
 * These two move lines of many partitions together. Their elements lie side by side with their
 * neighbours' and take a fraction of the time that a walk reckons with.
 */
static uint64_t most_of(const struct trn_isa *isa)
{
	switch (isa->opcode) {
	case NEURON_OP_STREAM_SHUFFLE:
	case NEURON_OP_QUANTIZE_MX:
		return 8 * TRN_BUDGET_WORK;
	default:
		return WORK_MOST;
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/**
 * struct most - the longest of all pieces
 * @work: in elements, by their weight
 * @ns: of one piece in processor time of the thread, which the host may have held up
 * @mean_ns: of the pieces of an instruction
 */
struct most {
	uint64_t work;
	uint64_t ns;
	uint64_t mean_ns;
	const char *by_work;
	const char *by_ns;
	const char *by_mean;
};

static uint64_t elements_of(const struct resume_shape *shape)
{
	const struct neuron_ap *ap = shape->inst.dst.dtype ? &shape->inst.dst : &shape->inst.src0;

	return (uint64_t)ap->num[0] * ap->num[1] * ap->num[2] * ap->num[3] * ap->partitions;
}

/* One run of a task; the place says whether it was a piece of the instruction. */
static bool measure_run(struct side *side, const struct trn_isa *isa,
			const struct resume_shape *shape, struct most *most)
{
	/* A deadline that has passed: each look at the clock ends the run. */
	struct trn_budget budget = { .deadline_ns = 0 };
	uint64_t ns = now_ns();

	if (!trn_pool_step_with(side->rig->pool, &budget))
		return false;
	ns = now_ns() - ns;
	side->runs++;
	if (budget.most > most_of(isa))
		fail_msg("%s: work of %llu at once", isa->name, (unsigned long long)budget.most);
	if (budget.most > most->work) {
		most->work = budget.most;
		most->by_work = isa->name;
	}
	if (!place_of(side->rig, shape)->cut)
		return true;
	side->cuts++;
	side->time += ns;
	if (ns > most->ns) {
		most->ns = ns;
		most->by_ns = isa->name;
	}
	return true;
}

static void measure(struct side *side, const struct trn_isa *isa,
		    const struct resume_shape *shape, struct most *most)
{
	struct seq_job *job = submit(side->rig, 0, shape);
	uint64_t mean;

	side->runs = 0;
	side->cuts = 0;
	side->time = 0;
	while (measure_run(side, isa, shape, most))
		;
	mean = side->cuts ? side->time / side->cuts : 0;
	if (mean > most->mean_ns) {
		most->mean_ns = mean;
		most->by_mean = isa->name;
	}
	finish(side, job);
	if (!side->cuts && side->record.status == NEURON_JOB_OK &&
	    elements_of(shape) > WORK_MOST)
		fail_msg("%s was not cut", isa->name);
}

static void measure_path(const char *path)
{
	struct side side = { .rig = rig_new(&neuron_gen_trn3) };
	unsigned int how, i, runs = 0;
	const struct trn_isa *isa;
	struct resume_shape shape;
	struct most most = { 0 };

	resume_fill(side.rig);
	for (i = 0; (isa = trn_isa_row(i)); i++)
		for (how = 0; how < RESUME_HOWS; how++)
			if (resume_shape(&neuron_gen_trn3, isa, how, true, &shape)) {
				measure(&side, isa, &shape, &most);
				runs += side.runs;
			}
	print_message("%s: %u runs; longest: work of %llu (%s), %.1f us (%s), mean %.1f us (%s)\n",
		      path, runs, (unsigned long long)most.work, most.by_work,
		      (double)most.ns / 1000.0, most.by_ns, (double)most.mean_ns / 1000.0,
		      most.by_mean);
	rig_free(side.rig);
}

/* The path that the chip takes by itself, the newest one; the others when there is time. */
static void no_piece_is_long(void **state)
{
	(void)state;
	num_on_paths(rounds_thorough(), measure_path);
}

/* --- places that no instruction has left --- */

/* The fields of a place whose values the loading of a chip cannot judge. */
static uint32_t *place_field(struct trn_resume *at, unsigned int field)
{
	uint32_t *const fields[] = { &at->step, &at->p, &at->first, &at->width, &at->scanned };

	return field < sizeof(fields) / sizeof(fields[0]) ? fields[field] : NULL;
}

/**
 * struct forged - how many places
 * @all: that an instruction was told, which was cut elsewhere
 * @refused: of those
 */
struct forged {
	unsigned int all;
	unsigned int refused;
};

static void forge(struct side *side, const struct trn_isa *isa,
		  const struct resume_shape *shape, unsigned int field, uint32_t value,
		  struct forged *forged)
{
	struct trn_resume *at = &seq_core(side->rig, 0, 0)->seq[shape->engine].resume;
	struct seq_job *job = submit(side->rig, 0, shape);

	side->cuts = 0;
	while (!side->cuts && step(side, shape, 1))
		;
	forged->all += at->cut;
	if (at->cut)
		*place_field(at, field) = value;
	run_all(side, shape, INT_MAX);
	finish(side, job);
	forged->refused += side->record.status != NEURON_JOB_OK;
	/* Some indices are out of reach when the instruction begins in its middle. */
	if (side->record.status != NEURON_JOB_OK &&
	    side->record.cause != NEURON_CAUSE_OPERAND &&
	    side->record.cause != NEURON_CAUSE_ACCESS)
		fail_msg("%s, field %u as %u: cause %u", isa->name, field, value,
			 side->record.cause);
}

static void forge_all(struct side *side, const struct trn_isa *isa,
		      const struct resume_shape *shape, struct forged *forged)
{
	static const uint32_t values[] = { 7, 3000, 65536, UINT32_MAX };
	struct trn_resume none;
	unsigned int field, v;

	for (field = 0; place_field(&none, field); field++)
		for (v = 0; v < sizeof(values) / sizeof(values[0]); v++)
			forge(side, isa, shape, field, values[v], forged);
}

/* A stream may say anything: the worst is an error of the job, and no access outside. */
static void a_forged_place_does_no_harm(void **state)
{
	struct side side = { .rig = rig_new(&neuron_gen_trn3) };
	const unsigned int hows = rounds_thorough() ? RESUME_HOWS : RESUME_OVER + 1;
	struct forged forged = { 0 };
	const struct trn_isa *isa;
	struct resume_shape shape;
	unsigned int i, how;

	(void)state;
	resume_fill(side.rig);
	for (i = 0; (isa = trn_isa_row(i)); i++)
		for (how = 0; how < hows; how++)
			if (resume_shape(&neuron_gen_trn3, isa, how, false, &shape))
				forge_all(&side, isa, &shape, &forged);
	print_message("%u places, %u refused\n", forged.all, forged.refused);
	assert_true(forged.refused > forged.all / 4);
	rig_free(side.rig);
}

/* --- others are served meanwhile --- */

/* Runs within which everything that asks for something has been served. */
#define SOON	64

/* An instruction of 8 million elements, begun and not near its end. */
static struct seq_job *start_long(struct side *side, struct resume_shape *shape)
{
	const struct trn_isa *isa = trn_isa_lookup(NEURON_OP_ACTIVATE);
	struct seq_job *job;
	unsigned int i;

	side->rig = rig_new(&neuron_gen_trn2);
	resume_fill(side->rig);
	assert_true(resume_shape(&neuron_gen_trn2, isa, RESUME_APART, true, shape));
	shape->inst.dst.partitions = 128;
	shape->inst.src0.partitions = 128;
	job = submit(side->rig, 0, shape);
	for (i = 0; i < SOON; i++)
		assert_int_equal(trn_pool_step(side->rig->pool, 1), 1);
	assert_true(place_of(side->rig, shape)->cut);
	assert_in_range(place_of(side->rig, shape)->p, 0, 100);
	return job;
}

static uint64_t core_reg(struct seq_rig *rig, unsigned int core, unsigned int reg)
{
	return neuron_ctl_bar0(rig->chip[0]->gen) + NEURON_CTL_CORE(core) + reg;
}

static void another_core_is_served(void **state)
{
	struct resume_shape shape, brief = { .engine = VECTOR };
	struct side side = { 0 };
	struct seq_job *job = start_long(&side, &shape), *other;
	unsigned int i;

	(void)state;
	brief.inst = OP(MEMSET, .imm0 = 7, .dst = ap_sbuf(0, 1, 0, I32, 4));
	other = submit(side.rig, 1, &brief);
	for (i = 0; i < SOON && !fake_irqs(&side.rig->port[0], 1); i++)
		trn_pool_step(side.rig->pool, 1);
	assert_int_equal(fake_irqs(&side.rig->port[0], 1), 1);
	assert_true(place_of(side.rig, &shape)->cut);
	assert_int_equal(fake_irqs(&side.rig->port[0], 0), 0);
	finish(&side, other);
	assert_int_equal(side.record.status, NEURON_JOB_OK);
	run_all(&side, &shape, INT_MAX);
	finish(&side, job);
	assert_int_equal(side.record.status, NEURON_JOB_OK);
	rig_free(side.rig);
}

static void a_reset_of_the_core_is_served(void **state)
{
	struct resume_shape shape;
	struct side side = { 0 };
	struct seq_job *job = start_long(&side, &shape);
	uint64_t reset = core_reg(side.rig, 0, NEURON_CORE_RESET);
	unsigned int i;

	(void)state;
	trn_chip_mmio_write(side.rig->chip[0], reset, 1, 4);
	for (i = 0; i < SOON && trn_chip_mmio_read(side.rig->chip[0], reset, 4); i++)
		trn_pool_step(side.rig->pool, 1);
	assert_int_equal(trn_chip_mmio_read(side.rig->chip[0], reset, 4), 0);
	assert_false(place_of(side.rig, &shape)->cut);
	finish(&side, job);
	assert_int_equal(side.record.cause, NEURON_CAUSE_RESET);
	/* The next claim's instruction begins at its beginning. */
	resume_fill(side.rig);
	shape.inst.dst.partitions = 2;
	shape.inst.src0.partitions = 2;
	job = submit(side.rig, 0, &shape);
	run_all(&side, &shape, 1);
	finish(&side, job);
	assert_int_equal(side.record.status, NEURON_JOB_OK);
	assert_int_not_equal(*(uint16_t *)seq_sbuf(seq_core(side.rig, 0, 0), 0, 0x10008), 0);
	rig_free(side.rig);
}

/* A function level reset, a snapshot and the end of bus mastering all begin like this. */
static void a_stop_of_the_chip_is_served(void **state)
{
	struct resume_shape shape;
	struct side side = { 0 };
	struct seq_job *job = start_long(&side, &shape);
	unsigned int i;

	(void)state;
	trn_chip_stop(side.rig->chip[0]);
	for (i = 0; i < SOON && !trn_chip_quiet(side.rig->chip[0]); i++)
		trn_pool_step(side.rig->pool, 1);
	assert_true(trn_chip_quiet(side.rig->chip[0]));
	assert_true(place_of(side.rig, &shape)->cut);
	trn_chip_resume(side.rig->chip[0]);
	run_all(&side, &shape, INT_MAX);
	finish(&side, job);
	assert_int_equal(side.record.status, NEURON_JOB_OK);
	rig_free(side.rig);

	free(start_long(&side, &shape));
	trn_chip_stop(side.rig->chip[0]);
	for (i = 0; i < SOON && !trn_chip_quiet(side.rig->chip[0]); i++)
		trn_pool_step(side.rig->pool, 1);
	assert_true(trn_chip_quiet(side.rig->chip[0]));
	trn_chip_reset(side.rig->chip[0]);
	assert_false(place_of(side.rig, &shape)->cut);
	trn_chip_resume(side.rig->chip[0]);
	rig_free(side.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_it_is_cut_changes_nothing_v2),
		cmocka_unit_test(where_it_is_cut_changes_nothing_v3),
		cmocka_unit_test(where_it_is_cut_changes_nothing_v4),
		cmocka_unit_test(no_piece_is_long),
		cmocka_unit_test(a_forged_place_does_no_harm),
		cmocka_unit_test(another_core_is_served),
		cmocka_unit_test(a_reset_of_the_core_is_served),
		cmocka_unit_test(a_stop_of_the_chip_is_served),
	};

	return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
