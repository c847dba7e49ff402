// SPDX-License-Identifier: MIT
/*
 * A rank cannot take part, because the library fails on its core: all others are told at once and
 * why. The tests change what the back end answers, and what a core has. They also see what it is
 * asked for.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <nrt/nrt_experimental.h>

#include "kselftest_harness.h"

#include "api/state.h"
#include "must.h"
#include "programs.h"
#include "rig.h"

#define RANKS	4
#define LIMIT_S	300
/* The one that fails. */
#define VICTIM	2
/* The others wait for it by then. */
#define LATE_S	5

/* What the device of the victim refuses, how often it did, and how many grants it imported. */
static struct {
	const struct nrt_backend *real;
	struct nrt_backend changed;
	struct nrt_chip *chip;
	atomic_bool submits;
	atomic_bool copies;
	atomic_uint refused;
	atomic_uint imports;
} fault;

static bool refuses(const atomic_bool *what, const struct nrt_chip *chip)
{
	if (chip != fault.chip || !atomic_load(what))
		return false;
	atomic_fetch_add(&fault.refused, 1);
	return true;
}

static int submit(struct nrt_chip *chip, struct drm_neuron_submit *args)
{
	return refuses(&fault.submits, chip) ? -ENOMEM : fault.real->submit(chip, args);
}

static int copy(struct nrt_chip *chip, struct drm_neuron_copy *args)
{
	return refuses(&fault.copies, chip) ? -EIO : fault.real->copy(chip, args);
}

static int grant_import(struct nrt_chip *chip, struct drm_neuron_grant_import *args)
{
	if (chip == fault.chip)
		atomic_fetch_add(&fault.imports, 1);
	return fault.real->grant_import(chip, args);
}

/**
 * struct rank - a rank
 * @far: its input, in memory of another chip, or NULL
 * @pushes: it loads program_push(), else one of collectives
 * @late: it executes later than others
 */
struct rank {
	struct rig rig;
	nrt_tensor_t *far;
	pthread_t thread;
	unsigned int vnc;
	unsigned int number;
	bool pushes;
	bool late;
	NRT_STATUS status;
	unsigned int wrong;
};

static void *join(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_cc_global_comm_init((int)rank->vnc, rank->number, RANKS);
	return NULL;
}

static void *meet(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_barrier((int)rank->vnc, rank->number, RANKS);
	return NULL;
}

static void *load(void *arg)
{
	struct rank *rank = arg;

	rank->status = rig_load(&rank->rig, rank->pushes ? program_push() :
				program_many_collectives(RANKS), (int)rank->vnc, rank->number,
				RANKS);
	return NULL;
}

/* An all-reduce. */
static void *load_one(void *arg)
{
	struct rank *rank = arg;

	rank->status = rig_load(&rank->rig, program_scratch_collectives(RANKS), (int)rank->vnc,
				rank->number, RANKS);
	return NULL;
}

static void fill(const struct rank *rank, float x[RIG_VALUES])
{
	size_t i;

	for (i = 0; i < RIG_VALUES; i++)
		x[i] = rig_value(rank->number, i, 0);
}

static void *execute(void *arg)
{
	struct rank *rank = arg;
	float x[RIG_VALUES], y[RIG_VALUES], want;
	struct rig *rig = &rank->rig;
	size_t i;

	if (rank->late)
		sleep(LATE_S);
	fill(rank, x);
	rank->status = rank->far ? NRT_SUCCESS : nrt_tensor_write(rig->x, x, 0, sizeof(x));
	if (!rank->status)
		rank->status = nrt_execute(rig->model, rig->inputs, rig->outputs) ?:
			       nrt_tensor_read(rig->y, y, 0, sizeof(y));
	for (i = 0; i < RIG_VALUES && !rank->status; i++) {
		want = rank->pushes ? rig_value((rank->number + RANKS - 1) % RANKS, i, 0) :
				      rig_sum(0, RANKS, i, 0);
		rank->wrong += y[i] != want;
	}
	return NULL;
}

FIXTURE(faults)
{
	struct nrt_state *state;
	struct nrt_vcore *victim;
	struct rank ranks[RANKS];
};

FIXTURE_SETUP(faults)
{
	struct nrt_error error;
	NRT_STATUS status;
	uint32_t cores;
	unsigned int i;

	/* Whoever waits as long as that has not been told. */
	setenv("NEURON_RT_EXEC_TIMEOUT", "60", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&cores));
	self->state = nrt_enter("test", &status);
	ASSERT_NE(NULL, self->state);
	nrt_leave(self->state);
	for (i = 0; i < RANKS; i++) {
		self->ranks[i].number = i;
		self->ranks[i].vnc = i * (cores / RANKS);
	}
	self->victim = nrt_machine_vcore(&self->state->machine, self->ranks[VICTIM].vnc, &error);
	ASSERT_NE(NULL, self->victim);
	fault.real = self->victim->device->backend;
	fault.changed = *fault.real;
	fault.changed.submit = submit;
	fault.changed.copy = copy;
	fault.changed.grant_import = grant_import;
	fault.chip = self->victim->device->chip;
	self->victim->device->backend = &fault.changed;
}

FIXTURE_TEARDOWN(faults)
{
	unsigned int i;

	for (i = 0; i < RANKS; i++) {
		rig_unload(&self->ranks[i].rig);
		nrt_tensor_free(&self->ranks[i].far);
	}
	nrt_close();
}

static void all_run(struct rank ranks[RANKS], void *(*run)(void *arg))
{
	struct rank *rank;

	for (rank = ranks; rank < ranks + RANKS; rank++)
		must_start(&rank->thread, run, rank);
	for (rank = ranks; rank < ranks + RANKS; rank++)
		pthread_join(rank->thread, NULL);
}

static void expect_all(struct __test_metadata *_metadata, struct rank ranks[RANKS],
		       NRT_STATUS status)
{
	const struct rank *rank;

	for (rank = ranks; rank < ranks + RANKS; rank++) {
		EXPECT_EQ(status, rank->status) TH_LOG("rank %u", rank->number);
		EXPECT_EQ(0, rank->wrong) TH_LOG("rank %u", rank->number);
	}
}

/* All ranks do the same, and it works. */
static void all_do(struct __test_metadata *_metadata, struct rank ranks[RANKS],
		   void *(*run)(void *arg))
{
	all_run(ranks, run);
	expect_all(_metadata, ranks, NRT_SUCCESS);
}

/* All ranks do the same, which fails with @status, and somebody says @why. */
static void all_fail(struct __test_metadata *_metadata, struct rank ranks[RANKS],
		     void *(*run)(void *arg), NRT_STATUS status, const char *why)
{
	const char *text;

	rig_catch();
	all_run(ranks, run);
	text = rig_caught();
	expect_all(_metadata, ranks, status);
	EXPECT_TRUE(rig_has(text, why)) TH_LOG("%s", text);
}

/* An execution fails on the victim with @status, and the others say @why. */
static void fails(struct __test_metadata *_metadata, struct rank ranks[RANKS],
		  atomic_bool *what, NRT_STATUS status, const char *why)
{
	all_do(_metadata, ranks, execute);
	atomic_store(what, true);
	all_fail(_metadata, ranks, execute, status, why);
	atomic_store(what, false);
	EXPECT_LT(0, atomic_load(&fault.refused));
}

/* The input of the victim is copied from memory of another chip. */
static NRT_STATUS take_far_input(struct rank ranks[RANKS])
{
	struct rank *rank = &ranks[VICTIM];
	float x[RIG_VALUES];

	fill(rank, x);
	return nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 0, PROGRAM_BYTES, "x",
				   &rank->far) ?:
	       nrt_tensor_write(rank->far, x, 0, sizeof(x)) ?:
	       nrt_add_tensor_to_tensor_set(rank->rig.inputs, "x", rank->far);
}

TEST_F_TIMEOUT(faults, no_cc_cores, LIMIT_S)
{
	unsigned int nr = self->victim->nr_cc;

	all_do(_metadata, self->ranks, join);
	self->victim->nr_cc = 0;
	all_fail(_metadata, self->ranks, load, NRT_FAILURE, "rank 2 of 4 cannot take part: ");
	/* The world has not suffered. */
	all_do(_metadata, self->ranks, meet);
	self->victim->nr_cc = nr;
	all_do(_metadata, self->ranks, join);
	all_do(_metadata, self->ranks, load);
	all_do(_metadata, self->ranks, execute);
}

TEST_F_TIMEOUT(faults, collectives_not_submitted, LIMIT_S)
{
	all_do(_metadata, self->ranks, join);
	all_do(_metadata, self->ranks, load);
	fails(_metadata, self->ranks, &fault.submits, NRT_RESOURCE, "cannot submit");
	/* Until the program makes another world all are told. */
	all_fail(_metadata, self->ranks, execute, NRT_RESOURCE, "cannot submit");
	all_do(_metadata, self->ranks, join);
	all_do(_metadata, self->ranks, execute);
}

TEST_F_TIMEOUT(faults, collectives_without_inputs, LIMIT_S)
{
	all_do(_metadata, self->ranks, join);
	all_do(_metadata, self->ranks, load);
	ASSERT_EQ(NRT_SUCCESS, take_far_input(self->ranks));
	fails(_metadata, self->ranks, &fault.copies, NRT_HW_ERROR, "rank 2 of 4 cannot execute: ");
	all_do(_metadata, self->ranks, join);
	all_do(_metadata, self->ranks, execute);
}

/* The rank behind waits for it by its program. The others have got what they need. */
TEST_F_TIMEOUT(faults, peers_not_submitted, LIMIT_S)
{
	const char *text;
	unsigned int i;

	for (i = 0; i < RANKS; i++)
		self->ranks[i].pushes = true;
	all_do(_metadata, self->ranks, load);
	all_do(_metadata, self->ranks, execute);
	self->ranks[VICTIM].late = true;
	atomic_store(&fault.submits, true);
	rig_catch();
	all_run(self->ranks, execute);
	text = rig_caught();
	atomic_store(&fault.submits, false);
	EXPECT_EQ(NRT_RESOURCE, self->ranks[VICTIM].status);
	EXPECT_EQ(NRT_RESOURCE, self->ranks[VICTIM + 1].status);
	EXPECT_TRUE(rig_has(text, "rank 2 of 4 has failed: ")) TH_LOG("%s", text);
	all_do(_metadata, self->ranks, execute);
}

/* In a ring a rank posts to the ranks beside it, and needs no rights at others. */
TEST_F_TIMEOUT(faults, rights_of_peers_alone, LIMIT_S)
{
	self->state->worlds.algorithm = "ring";
	all_do(_metadata, self->ranks, join);
	all_do(_metadata, self->ranks, load_one);
	EXPECT_EQ(2, atomic_load(&fault.imports));
	all_do(_metadata, self->ranks, execute);
}

TEST_HARNESS_MAIN
