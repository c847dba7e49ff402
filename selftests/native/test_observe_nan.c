// SPDX-License-Identifier: MIT
/*
 * Observers that are told of NaNs: which instructions left one, and where it lies.
 */
#include <stdlib.h>
#include <string.h>

#include "exec_rig.h"
#include "trn/observe.h"

#define SYNC	NEURON_ENGINE_SYNC

/**
 * struct seen - what an observer was told
 * @nans: how many instructions have left one
 * @nan, @pc: of the first
 * @posts: changes of semaphores; @posts_before: those before the first NaN
 */
struct seen {
	_Atomic unsigned int nans;
	struct trn_observe_nan nan;
	uint32_t pc;
	_Atomic unsigned int posts;
	unsigned int posts_before;
};

static void left_nan(void *opaque, const struct trn_observe_nan *nan)
{
	struct seen *seen = opaque;

	if (atomic_fetch_add(&seen->nans, 1))
		return;
	seen->nan = *nan;
	seen->pc = nan->inst->pc;
	seen->posts_before = atomic_load(&seen->posts);
}

static void semaphore(void *opaque, const struct trn_observe_sem *sem)
{
	struct seen *seen = opaque;

	if (sem->value)
		atomic_fetch_add(&seen->posts, 1);
}

struct fixture {
	struct seq_rig rig;
	struct seen seen;
	struct trn_observer observer;
};

static int begin(void **state, const struct neuron_gen *gen)
{
	struct fixture *f = calloc(1, sizeof(*f));

	seq_rig_init(&f->rig, gen, 3, 1, true);
	f->observer = (struct trn_observer){
		.opaque = &f->seen,
		.nan = left_nan,
		.semaphore = semaphore,
	};
	fake_chip_stop(f->rig.chip[0]);
	trn_chip_observe(f->rig.chip[0], &f->observer);
	trn_chip_resume(f->rig.chip[0]);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return begin(state, &neuron_gen_trn2);
}

static int setup_trn3(void **state)
{
	return begin(state, &neuron_gen_trn3);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	seq_rig_destroy(&f->rig);
	free(f);
	return 0;
}

/* Where a NaN lies that a product of infinity and zero is, and that it is told before the post. */
static void tells_of_a_nan(void **state)
{
	struct fixture *f = *state;
	struct trn_core *core = seq_core(&f->rig, 0, 0);
	const struct neuron_ap out = ap_dim(ap_sbuf(32, 8, 256, BF16, 6), 0, 6, 3);
	struct seq_job job;

	memcpy(seq_sbuf(core, 37, 64 + 4 * 4), (uint32_t[]){ 0x7f800000 }, 4);
	seq_job_init(&job, &f->rig, 0, 0);
	seq_add(&job, VECTOR, OP(MEMSET, .dst = ap_sbuf(32, 8, 0, F32, 6)));
	seq_add(&job, VECTOR, post_add(OP(TENSOR_TENSOR, .op0 = NEURON_ALU_MULTIPLY, .dst = out,
					  .src0 = ap_sbuf(32, 8, 0, F32, 6),
					  .src1 = ap_sbuf(32, 8, 64, F32, 6)), 3, 1));
	/* It passes the NaN on, to numbers and as an integer. */
	seq_add(&job, VECTOR, OP(COPY, .dst = ap_psum(32, 8, 0, F32, 6), .src0 = out));
	seq_add(&job, VECTOR, OP(COPY, .dst = ap_sbuf(32, 8, 512, I32, 6), .src0 = out));
	seq_add(&job, VECTOR, OP(HALT, 0));
	seq_expect_ok(&job);
	assert_int_equal(f->seen.nans, 2);
	assert_int_equal(f->seen.pc, 1);
	assert_int_equal(f->seen.posts_before, 0);
	assert_int_equal(f->seen.posts, 1);
	assert_false(f->seen.nan.psum);
	assert_int_equal(f->seen.nan.row, 5);
	assert_int_equal(f->seen.nan.element, 4);
	assert_int_equal(f->seen.nan.partition, 37);
	assert_int_equal(f->seen.nan.offset, 256 + 4 * 3 * 2);
	assert_int_equal(f->seen.nan.count, 1);
	assert_int_equal(f->seen.nan.elements, 8 * 6);
}

/* Bytes have no type on their way, so a transfer of a NaN is not told of. */
static void transfers_tell_of_no_nan(void **state)
{
	struct fixture *f = *state;
	struct seq_job job;

	seq_job_init(&job, &f->rig, 0, 0);
	memset(seq_data(&f->rig, 0, 0), 0xff, 64);
	seq_copy(&job, 0, neuron_window_addr(SEQ_DATA, 4096), neuron_window_addr(SEQ_DATA, 0), 64);
	seq_add(&job, SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1));
	seq_add(&job, SYNC, OP(HALT, 0));
	seq_expect_ok(&job);
	assert_true(!memcmp(seq_data(&f->rig, 0, 0) + 4096, "\xff\xff\xff\xff", 4));
	assert_int_equal(f->seen.nans, 0);
}

/* An index says where the elements of a destination lie. */
static void tells_of_a_nan_behind_an_index(void **state)
{
	struct fixture *f = *state;
	const uint32_t index = 4096;
	struct neuron_ap out = ap_sbuf(0, 32, 256, BF16, 5);
	struct trn_core *core = seq_core(&f->rig, 0, 0);
	struct seq_job job;
	unsigned int p;

	for (p = 0; p < 32; p++)
		*(uint16_t *)seq_sbuf(core, p, index) = (uint16_t)(40 - p);
	memcpy(seq_sbuf(core, 17, 4 * 4), (uint32_t[]){ 0x7fc00000 }, 4);
	out.step[0] = (uint16_t)index;
	out.step[1] = 0;
	out.index = NEURON_AP_INDEX;
	seq_job_init(&job, &f->rig, 0, 0);
	seq_add(&job, VECTOR, OP(COPY, .dst = out, .src0 = ap_sbuf(0, 32, 0, F32, 5)));
	seq_add(&job, VECTOR, OP(HALT, 0));
	seq_expect_ok(&job);
	assert_int_equal(f->seen.nans, 1);
	assert_int_equal(f->seen.nan.partition, 17);
	assert_int_equal(f->seen.nan.element, 4);
	/* Partition 20 has what is for element 4 of the second group. */
	assert_int_equal(f->seen.nan.offset, 256 + (40 - 20) * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tells_of_a_nan, setup, teardown),
		cmocka_unit_test_setup_teardown(transfers_tell_of_no_nan, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_of_a_nan_behind_an_index, setup_trn3,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
